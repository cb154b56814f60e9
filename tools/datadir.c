/* The shipped data is found from where the program lies. */
#include "tools/datadir.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

static bool program_lies_in(const char *folder)
{
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) {
        return false;
    }
    path[length] = '\0';
    const size_t folder_length = strlen(folder);
    return strncmp(path, folder, folder_length) == 0 && path[folder_length] == '/';
}

const char *datadir_find(struct arena *arena)
{
    const char *chosen = getenv("SHARDPLAN_DATA");
    if (chosen == NULL || chosen[0] == '\0') {
        chosen = program_lies_in(SHARDPLAN_BUILD_DIR) ? SHARDPLAN_DATA_DIR : SHARDPLAN_INSTALL_DATA_DIR;
    }
    return text_build(arena, "%s", chosen);
}

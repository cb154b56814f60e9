/* The data folder is the environment's, else the one that belongs to the running program. */
#include "base/data_folder.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#define PROGRAM_LINK "/proc/self/exe"
#define PATH_ROOM 4096u

struct names {
    const char **items;
    size_t count, capacity;
};

/* Does the running program lie below the folder it was built in? */
static bool is_built_here(void)
{
    static const char built[] = SHARDPLAN_BUILD_DIR "/";
    char path[PATH_ROOM];
    const ssize_t length = readlink(PROGRAM_LINK, path, sizeof path);
    return length >= (ssize_t)sizeof built && memcmp(path, built, sizeof built - 1) == 0;
}

static const char *find_root(void)
{
    const char *stated = getenv("SHARDPLAN_DATA");
    if (stated != NULL && stated[0] != '\0') {
        return stated;
    }
    return is_built_here() ? SHARDPLAN_DATA_DIR : SHARDPLAN_INSTALL_DATA_DIR;
}

const char *data_folder_find(const char *relative, struct arena *arena)
{
    const char *root = find_root();
    char current[PATH_ROOM];
    if (root[0] != '/' && getcwd(current, sizeof current) != NULL) {
        return text_build(arena, "%s/%s/%s", current, root, relative);
    }
    return text_build(arena, "%s/%s", root, relative);
}

static void push(struct names *names, const char *name, struct arena *arena)
{
    ARENA_MAKE_ROOM(arena, names->items, names->count, names->capacity);
    names->items[names->count++] = name;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *const *data_folder_each(const char *relative, const char *suffix, struct arena *arena)
{
    struct names names = {.items = ARENA_PUSH(arena, const char *, 1)};
    DIR *folder = opendir(data_folder_find(relative, arena));
    if (folder == NULL) {
        return names.items;
    }
    const size_t tail = strlen(suffix);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        const size_t length = strlen(entry->d_name);
        if (entry->d_name[0] != '.' && length > tail &&
            strcmp(entry->d_name + length - tail, suffix) == 0) {
            push(&names, text_build_copy(arena, entry->d_name, length - tail), arena);
        }
    }
    closedir(folder);
    ARENA_MAKE_ROOM(arena, names.items, names.count, names.capacity); /* for the closing NULL */
    qsort(names.items, names.count, sizeof *names.items, compare);
    return names.items;
}

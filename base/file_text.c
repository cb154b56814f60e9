/* Reading a whole file, never much more of it than is allowed. */
#include "base/file_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define READ_CHUNK_BYTES ((size_t)64 << 10)

/* Reads to the end, but no more than one chunk above `limit`. */
static bool read_to_end(FILE *file, uint64_t limit, struct arena *arena, struct text *out)
{
    text_init(out, arena);
    char *chunk = arena_push(arena, READ_CHUNK_BYTES, 1);
    while (out->length <= limit) {
        const size_t got = fread(chunk, 1, READ_CHUNK_BYTES, file);
        text_push_bytes(out, chunk, got);
        if (got < READ_CHUNK_BYTES) {
            break;
        }
    }
    return ferror(file) == 0;
}

static bool refuse_file(const char *name, int error, struct diag *diag)
{
    return diag_push(diag, DIAG_B101, (struct diag_place){.file = name}, NULL,
                     "cannot read the file: %s", strerror(error));
}

bool file_text_refuse_size(const char *name, uint64_t limit_bytes, struct diag *diag)
{
    return diag_push(diag, DIAG_B102, (struct diag_place){.file = name},
                     "raise the limit with --max-input", "the text is larger than %llu bytes",
                     (unsigned long long)limit_bytes);
}

const char *file_text_name(const char *path, struct arena *arena)
{
    return strcmp(path, "-") == 0 ? "<stdin>" : text_build_copy(arena, path, strlen(path));
}

bool file_text_read(const char *path, const char *name, uint64_t limit_bytes, struct arena *arena,
                    struct text *out, struct diag *diag)
{
    const bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "rb");
    if (file == NULL) {
        return refuse_file(name, errno, diag);
    }
    errno = 0;
    const bool good = read_to_end(file, limit_bytes, arena, out);
    const int error = errno;
    if (!standard) {
        fclose(file);
    }
    if (!good) {
        return refuse_file(name, error, diag);
    }
    return out->length <= limit_bytes || file_text_refuse_size(name, limit_bytes, diag);
}

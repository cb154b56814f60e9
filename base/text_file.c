/* A file is read to its end, but never beyond the limit. */
#include "base/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

#define READ_CHUNK_BYTES ((size_t)64 << 10)
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static bool read_all(FILE *file, uint64_t limit, struct text *out)
{
    char *chunk = arena_push(out->arena, READ_CHUNK_BYTES, 1);
    size_t got = READ_CHUNK_BYTES;
    while (got == READ_CHUNK_BYTES && out->length <= limit) {
        got = fread(chunk, 1, READ_CHUNK_BYTES, file);
        text_push_bytes(out, chunk, got);
    }
    return ferror(file) == 0;
}

static bool check_bytes(const char *name, const struct text *text, struct diag *diag)
{
    uint32_t line = 1;
    for (size_t i = 0; i < text->length;) {
        const uint32_t bytes = text_count_character(text->bytes + i, text->length - i);
        if (bytes == 0 || text->bytes[i] == '\0') {
            return diag_push(diag, DIAG_B130, (struct diag_place){.file = name, .line = line}, NULL,
                             "byte 0x%02x is no text in UTF-8", (unsigned char)text->bytes[i]);
        }
        line += text->bytes[i] == '\n';
        i += bytes;
    }
    return true;
}

static void drop_mark(struct text *text)
{
    const size_t mark = sizeof BYTE_ORDER_MARK - 1;
    if (text->length >= mark && memcmp(text->bytes, BYTE_ORDER_MARK, mark) == 0) {
        text->length -= mark;
        memmove(text->bytes, text->bytes + mark, text->length + 1);
    }
}

bool text_file_read(const char *path, struct arena *arena, struct text *out, struct diag *diag)
{
    const bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "<stdin>" : text_build_copy(arena, path, strlen(path));
    const struct diag_place place = {.file = name};
    const uint64_t limit = json_limits.max_bytes;
    struct text text;
    FILE *file = standard ? stdin : fopen(path, "rb");
    text_init(&text, arena);
    errno = 0;
    const bool good = file != NULL && read_all(file, limit, &text);
    const int error = errno;
    if (file != NULL && !standard) {
        fclose(file);
    }
    if (!good) {
        return diag_push(diag, DIAG_B101, place, NULL, "cannot read the file: %s", strerror(error));
    }
    if (text.length > limit) {
        return diag_push(diag, DIAG_B102, place, "raise the limit with --max-input",
                         "the text is larger than %llu bytes", (unsigned long long)limit);
    }
    drop_mark(&text);
    if (!check_bytes(name, &text, diag)) {
        return false;
    }
    *out = text;
    return true;
}

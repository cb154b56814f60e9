/* From a byte of a text to its line, column and the line's own text. */
#include "base/json_inside.h"

#include <string.h>

static void start_line(struct json_source *source, size_t begin, uint32_t line)
{
    source->line_begin = begin;
    source->at = begin;
    source->line = line;
    source->column = 1;
    source->line_copy = NULL;
}

/* Moves the cursor to `offset`: forward from where it stands where possible. */
static void seek(struct json_source *source, size_t offset)
{
    if (source->line == 0 || offset < source->line_begin) {
        start_line(source, 0, 1);
    } else if (offset < source->at) {
        source->at = source->line_begin;
        source->column = 1;
    }
    const char *text = source->text;
    const char *newline;
    while ((newline = memchr(text + source->at, '\n', offset - source->at)) != NULL) {
        start_line(source, (size_t)(newline - text) + 1, source->line + 1);
    }
    for (; source->at < offset; source->at++) {
        source->column += ((unsigned char)text[source->at] & 0xc0) != 0x80;
    }
}

static const char *copy_line(struct json_source *source)
{
    if (source->line_copy == NULL) {
        const char *line = source->text + source->line_begin;
        const size_t rest = source->length - source->line_begin;
        const char *newline = memchr(line, '\n', rest);
        size_t length = newline == NULL ? rest : (size_t)(newline - line);
        length -= length > 0 && line[length - 1] == '\r' ? 1 : 0;
        source->line_copy = text_build_copy(source->arena, line, length);
    }
    return source->line_copy;
}

struct diag_place json_source_place(struct json_source *source, size_t offset)
{
    seek(source, offset);
    return (struct diag_place){
        .file = source->name,
        .line = source->line,
        .column = source->column,
        .source_line = copy_line(source),
    };
}

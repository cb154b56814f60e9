/* A text is either refused with a diagnostic, or it is written again value by value, read again
 * and equal. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "base/json.h"

static void write(struct json_value value, struct json_writer *writer);

static void write_container(struct json_value value, struct json_writer *writer)
{
    const bool object = json_is_object(value);
    object ? json_push_object(writer) : json_push_array(writer);
    for (uint32_t i = 0; i < json_count(value); i++) {
        const struct json_value child = json_find_index(value, i);
        if (object) {
            json_push_key(writer, json_key(child));
        }
        write(child, writer);
    }
    object ? json_pop_object(writer) : json_pop_array(writer);
}

/* Also asks each value for all that a reader may ask. */
static void write(struct json_value value, struct json_writer *writer)
{
    const struct diag_place place = json_place(value);
    if (place.line == 0 || place.column == 0 || strlen(place.source_line) + 1 < place.column) {
        BUG("a value without a place");
    }
    json_pointer(value, writer->out->arena);
    uint64_t whole;
    double number;
    const char *string;
    bool truth;
    if (json_is_object(value) || json_is_array(value)) {
        write_container(value, writer);
    } else if (json_value_double(value, &number)) {
        json_push_double(writer, number);
        if (json_value_u64(value, &whole) && (double)whole != number) {
            BUG("%.17g is also %llu", number, (unsigned long long)whole);
        }
    } else if (json_value_string(value, &string)) {
        json_push_string(writer, string);
    } else if (json_value_bool(value, &truth)) {
        json_push_bool(writer, truth);
    } else {
        json_push_null(writer);
    }
}

/* Reads and writes; NULL for a refused text. */
static const char *rewrite(const char *bytes, size_t length, bool lenient, struct arena *arena)
{
    struct diag diag;
    struct json *document;
    struct text text;
    struct json_writer writer;
    diag_init(&diag, arena);
    text_init(&text, arena);
    if (!json_open_text("input", bytes, length, lenient, arena, &document, &diag)) {
        if (diag.count == 0) {
            BUG("refused without a word");
        }
        diag_dump(&diag, &text);
        return NULL;
    }
    json_writer_init(&writer, &text, !lenient);
    write(json_root(document), &writer);
    json_close(document);
    return text.bytes;
}

static void read_text(const uint8_t *bytes, size_t length, bool lenient)
{
    struct arena arena;
    arena_init(&arena);
    const char *once = rewrite((const char *)bytes, length, lenient, &arena);
    if (once != NULL) {
        const char *twice = rewrite(once, strlen(once), lenient, &arena);
        if (twice == NULL || strcmp(once, twice) != 0) {
            BUG("written and read again it differs:\n%s", once);
        }
    }
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    read_text(bytes, length, false);
    read_text(bytes, length, true);
    return 0;
}

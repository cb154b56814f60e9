/* One JSON object as text, for the tests of nouns that are read from one: the test says how. */
#ifndef SHARDPLAN_TESTS_UNIT_OBJECT_TEXT_H
#define SHARDPLAN_TESTS_UNIT_OBJECT_TEXT_H

#include <string.h>

#include "base/json.h"
#include "tests/fresh.h"

static inline bool read_object_text(const char *text, bool (*read_object)(struct json_value))
{
    struct json *document;
    if (!json_open_text("t.json", text, strlen(text), false, &arena, &document, &diag)) {
        return false;
    }
    const bool good = read_object(json_root(document));
    json_close(document);
    return good;
}

static inline const char *dump_object_text(void (*dump_object)(struct json_writer *))
{
    struct text text;
    struct json_writer writer;
    text_init(&text, &arena);
    json_writer_init(&writer, &text, true);
    dump_object(&writer);
    return text.bytes;
}

#endif

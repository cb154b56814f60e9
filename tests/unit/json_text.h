/* One open document for the tests of the JSON reader. */
#ifndef SHARDPLAN_TESTS_UNIT_JSON_TEXT_H
#define SHARDPLAN_TESTS_UNIT_JSON_TEXT_H

#include <string.h>

#include "base/json.h"
#include "tests/fresh.h"

static struct json *document;

static inline bool open_text(const char *text, bool lenient)
{
    begin();
    return json_open_text("t.json", text, strlen(text), lenient, &arena, &document, &diag);
}

static inline struct json_value root(const char *text)
{
    ck_assert_msg(open_text(text, false), "%s: %s", text, diag.entries[0].message);
    return json_root(document);
}

static inline void close_text(void)
{
    json_close(document);
    arena_release(&arena);
}

#endif

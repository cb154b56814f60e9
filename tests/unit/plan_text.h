/* Plans from short texts, for the tests of the noun plan. */
#ifndef SHARDPLAN_TESTS_UNIT_PLAN_TEXT_H
#define SHARDPLAN_TESTS_UNIT_PLAN_TEXT_H

#include <string.h>

#include "plan/plan.h"
#include "tests/fresh.h"

static struct plan_file file;
static struct problem problem;

static inline bool read_text(const char *text)
{
    struct json *document;
    if (!json_open_text("t.json", text, strlen(text), false, &arena, &document, &diag)) {
        return false;
    }
    const bool good = plan_read_json(json_root(document), "t", &arena, &file, &diag);
    json_close(document);
    if (good) {
        problem =
            (struct problem){.model = file.model, .cluster = file.cluster, .setup = file.setup};
    }
    return good;
}

/* A plan for a model of the zoo on so many nodes of eight devices; `rest` follows the setup. */
static inline const char *plan_text(const char *model, uint32_t nodes, const char *setup,
                                    const char *rest)
{
    return text_build(
        &arena,
        "{\"format\": \"shardplan/plan/1\", \"model\": {\"name\": \"%s\"}, \"cluster\": {\"name\": "
        "\"dgx-h100:%u\"}, \"setup\": {%s}, %s}",
        model, nodes, setup, rest);
}

static inline const char *dump(bool embed)
{
    struct text text;
    struct json_writer writer;
    text_init(&text, &arena);
    json_writer_init(&writer, &text, false);
    plan_dump(&problem, file.plan, embed, &writer);
    text_push(&text, "\n");
    return text.bytes;
}

#endif

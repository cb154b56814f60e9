/* Operator graphs: what they say is what is built, and faults are named at their place. */
#include "models/graph.h"

#include <string.h>

#include "tests/fresh.h"

#define AXES \
    "\"axes\": [{\"name\": \"batch\"}, {\"name\": \"pixels\", \"size\": 100}, " \
    "{\"name\": \"taps\", \"size\": 9}, {\"name\": \"in\", \"size\": 3}, " \
    "{\"name\": \"out\", \"size\": 8}]"
#define CONV(more) \
    "{\"name\": \"first\", \"inputs\": [{\"name\": \"x\", \"axes\": [\"batch\", \"pixels\", " \
    "\"in\"]}], \"ops\": [{\"name\": \"conv\", \"kind\": \"contract\", \"reads\": [\"x\"], " \
    "\"weights\": [{\"name\": \"w\", \"axes\": [\"taps\", \"in\", \"out\"]}], \"writes\": " \
    "{\"name\": \"y\", \"axes\": [\"batch\", \"pixels\", \"out\"]}" more "}]}"
#define LOSS(more) \
    "{\"name\": \"last\", \"input\": {\"name\": \"z\", \"axes\": [\"batch\", \"pixels\", " \
    "\"out\"]}, \"ops\": [{\"name\": \"loss\", \"kind\": \"kernel\", \"reads\": [\"z\"], " \
    "\"writes\": {\"name\": \"l\", \"axes\": [\"batch\"]}, \"bytes\": 4, \"flops\": 5" more "}]}"
#define COPY(name, more) \
    "{\"name\": \"" name "\"" more ", \"input\": {\"name\": \"a\", \"axes\": [\"batch\", " \
    "\"pixels\", \"out\"]}, \"ops\": [{\"name\": \"copy\", \"kind\": \"stream\", \"reads\": " \
    "[\"a\"], \"bytes\": 4, \"writes\": {\"name\": \"b\", \"axes\": [\"batch\", \"pixels\", " \
    "\"out\"]}}]}"
#define BETWEEN ", " COPY("middle", "") ", "
#define GRAPH(parts) "{" AXES ", \"parts\": [" parts "]}"

static bool read_text(const char *text, struct model *out)
{
    struct json *document;
    begin();
    ck_assert_msg(json_open_text("g.json", text, strlen(text), false, &arena, &document, &diag),
                  "%s", text);
    const bool good = graph_read(json_root(document), "g", &arena, out, &diag);
    json_close(document);
    return good;
}

/* A convolution sums over taps and the maps that go in: 2 x 9 x 3 x 8 per pixel, three passes; the
 * kernel's 5 forward and twice that backward, per sample. */
START_TEST(counts_follow_from_axes)
{
    struct model model;
    ck_assert_msg(read_text(GRAPH(CONV("") BETWEEN LOSS("")), &model), "%s",
                  diag.entries[0].message);
    ck_assert_uint_eq(model_count_parameters(&model), 9 * 3 * 8);
    ck_assert_double_eq(model_flops_per_token(&model, 1, true),
                        3.0 * 2 * 9 * 3 * 8 * 100 + 5 + 2 * 5);
    ck_assert_uint_eq(model_count_layers(&model), 3);
    ck_assert_uint_eq(model.ops[0].keep_count, 1);
    ck_assert_ptr_null(model.transformer);
    arena_release(&arena);
}
END_TEST

START_TEST(faults_are_named)
{
    static const char *const rows[] = {
        GRAPH(CONV("")),
        "the chain has 1 part, must have 3 at least",
        GRAPH(CONV("") ", " LOSS("")),
        "the chain has 2 parts, must have 3 at least",
        GRAPH(CONV("") BETWEEN COPY("end", ", \"repeat\": 2")),
        "the first and the last part must run once",
        GRAPH(CONV(", \"bytes\": 4") ", " LOSS("")),
        "follow from its axes",
        GRAPH(CONV("") ", " LOSS(", \"axes\": [\"pixel\"]")),
        "no axis 'pixel'",
        GRAPH(CONV("") ", " LOSS(", \"keeps\": [\"x\"]")),
        "no tensor 'x' so far",
        GRAPH(CONV(", \"mirrored\": [\"w2\"]") ", " LOSS("")),
        "no tensor 'w2' so far",
        "{\"axes\": [{\"name\": \"width\"}], \"parts\": [" CONV("") "]}",
        "needs a size",
        "{\"axes\": [{\"name\": \"width\", \"size\": 1}], \"parts\": [" CONV("") "]}",
        "must be 'batch'",
        "{" AXES ", \"parts\": []}",
        "'parts' must be a list",
        "{" AXES ", \"parts\": [{\"name\": \"p\", \"ops\": []}]}",
        "at least one op",
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i += 2) {
        struct model model;
        ck_assert_msg(!read_text(rows[i], &model), "%s", rows[i]);
        ck_assert_msg(diag.entries[0].code == DIAG_M208 &&
                          strstr(diag.entries[0].message, rows[i + 1]) != NULL,
                      "%s: %s", rows[i + 1], diag.entries[0].message);
        arena_release(&arena);
    }
}
END_TEST

TAP_MAIN("graph", counts_follow_from_axes, faults_are_named)

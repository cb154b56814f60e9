/* Every JSON text is read exactly or refused at the byte at fault. */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/json_text.h"

/* --- accepted and refused texts -------------------------------------------------------------- */

START_TEST(accepts)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "12.5e+3",
        "1E-2",
        "\"\"",
        "null",
        " true ",
        "\n\t[ ]\r\n",
        "{}",
        "[[],{}]",
        "{\"a\":{\"a\":1},\"b\":[{\"a\":2},{\"a\":3}]}",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
        "\"\\ud83d\\ude00 \xf0\x9f\x98\x80\"",
        "\xef\xbb\xbf[1]",
        "\xef\xbb\xbf\x39",
        "{\"\":1}",
        "1e-999",
        "[1,2,[3,[4,[5]]],\"]\",\"}\"]",
        "0.123456789012345678901234567890123456789012345678901234567890",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        root(texts[i]);
        close_text();
    }
}
END_TEST

/* `offset` is where the fault is said to stand. */
struct refusal {
    const char *text;
    enum diag_code code;
    uint32_t line, column;
    const char *part; /* of the message */
};

static const struct refusal refusals[] = {
    {"", DIAG_B103, 1, 1, "ends where a value"},
    {"  ", DIAG_B103, 1, 3, "ends where a value"},
    {"[1,2", DIAG_B103, 1, 5, "']' is expected"},
    {"{\"a\":1\n\"b\":2}", DIAG_B103, 2, 1, "'}' is expected"},
    {"{\"a\" 1}", DIAG_B103, 1, 6, "colon"},
    {"{a:1}", DIAG_B103, 1, 2, "key is expected"},
    {"{\"a\":1,}", DIAG_B103, 1, 8, "closes where a key"},
    {"[1,]", DIAG_B103, 1, 4, "closes where a value"},
    {"[,1]", DIAG_B103, 1, 2, "value is expected"},
    {"[1}", DIAG_B103, 1, 3, "']' is expected"},
    {"{\"a\":1]", DIAG_B103, 1, 7, "'}' is expected"},
    {"{\"a\":}", DIAG_B103, 1, 6, "closes where a value"},
    {"1 2", DIAG_B103, 1, 3, "follows"},
    {"{} {}", DIAG_B103, 1, 4, "follows"},
    {"nul", DIAG_B103, 1, 1, "value is expected"},
    {"truee", DIAG_B103, 1, 5, "follows"},
    {"// c\n1", DIAG_B103, 1, 1, "value is expected"},
    {"'a'", DIAG_B103, 1, 1, "value is expected"},
    {"01", DIAG_B103, 1, 1, "starts with 0"},
    {"-", DIAG_B103, 1, 1, "minus"},
    {"+1", DIAG_B103, 1, 1, "value is expected"},
    {"1.", DIAG_B103, 1, 1, "decimal point"},
    {".5", DIAG_B103, 1, 1, "value is expected"},
    {"[1e]", DIAG_B103, 1, 2, "exponent"},
    {"0x10", DIAG_B103, 1, 2, "follows"},
    {"1e999", DIAG_B103, 1, 1, "1e999 is no finite number"},
    {"-1E+400", DIAG_B103, 1, 1, "no finite"},
    {"[NaN]", DIAG_B103, 1, 2, "NaN is no finite"},
    {"-Infinity", DIAG_B103, 1, 1, "-Infinity is no finite"},
    {"Infinity", DIAG_B103, 1, 1, "Infinity is no finite"},
    {"100000000000000000000000000000000000000000000000000000000000000", DIAG_B103, 1, 1, "62 char"},
    {"[\"abc", DIAG_B103, 1, 2, "does not end"},
    {"[\"abc\n\"]", DIAG_B103, 1, 2, "does not end"},
    {"\"a\tb\"", DIAG_B103, 1, 3, "control character"},
    {"\"a\\x\"", DIAG_B103, 1, 3, "unknown escape"},
    {"\"a\\", DIAG_B103, 1, 3, "unknown escape"},
    {"\"\\u12g4\"", DIAG_B103, 1, 2, "four hexadecimal"},
    {"\"\\u12", DIAG_B103, 1, 2, "four hexadecimal"},
    {"\"\\u0000\"", DIAG_B103, 1, 2, "NUL"},
    {"\"\\ud800\"", DIAG_B103, 1, 2, "surrogate"},
    {"\"\\udc00\\ud800\"", DIAG_B103, 1, 2, "surrogate"},
    {"\"\\ud800\\u0041\"", DIAG_B103, 1, 2, "surrogate"},
    {"\"\xc3\xb6\xff\"", DIAG_B103, 1, 3, "not UTF-8"},
    {"\"\xc0\xaf\"", DIAG_B103, 1, 2, "not UTF-8"},         /* overlong */
    {"\"\xed\xa0\x80\"", DIAG_B103, 1, 2, "not UTF-8"},     /* a surrogate */
    {"\"\xf4\x90\x80\x80\"", DIAG_B103, 1, 2, "not UTF-8"}, /* above U+10FFFF */
    {"\"\xe2\x82\"", DIAG_B103, 1, 2, "not UTF-8"},
    {"\xff", DIAG_B103, 1, 1, "value is expected"},
    {"{\"a\":1,\n \"b\":2, \"a\":3}", DIAG_B104, 2, 9, "'a' appears twice"},
    {"[{\"k\":[{\"x\":1,\"\\u0078\":2}]}]", DIAG_B104, 1, 15, "'x' appears twice"},
    {"{\"a\\\"\":1,\"a\\\"\" : 2}", DIAG_B104, 1, 10, "appears twice"},
};

START_TEST(refuses)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *row = &refusals[i];
        ck_assert_msg(!open_text(row->text, false), "accepted: %s", row->text);
        ck_assert_uint_eq(diag.count, 1);
        const struct diag_entry *entry = &diag.entries[0];
        ck_assert_msg(entry->code == row->code && entry->place.line == row->line &&
                          entry->place.column == row->column &&
                          strstr(entry->message, row->part) != NULL,
                      "%s\n%s", row->text, messages());
        arena_release(&arena);
    }
}
END_TEST

START_TEST(refuses_nul_bytes)
{
    static const char text[] = "[1]\0[2]", string[] = "[\"a\0b\"]";
    arena_init(&arena);
    diag_init(&diag, &arena);
    ck_assert(!json_open_text("t", text, 7, true, &arena, &document, &diag));
    ck_assert_uint_eq(diag.entries[0].place.column, 4);
    ck_assert(!json_open_text("t", string, 7, true, &arena, &document, &diag));
    ck_assert_uint_eq(diag.entries[1].place.column, 4);
    arena_release(&arena);
}
END_TEST

START_TEST(every_prefix_of_a_text_is_refused)
{
    static const char text[] =
        "{\"a\": [1.5e3, -2, \"x\\u00e9\\n\", true, null], \"b\": {\"c\": false}}";
    for (size_t length = 0; length < sizeof text - 1; length++) {
        arena_init(&arena);
        diag_init(&diag, &arena);
        ck_assert(!json_open_text("t", text, length, true, &arena, &document, &diag));
        ck_assert_uint_eq(diag.count, 1);
        ck_assert_uint_le(diag.entries[0].place.column, length + 1);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(many_twins_are_all_found)
{
    struct text text;
    struct arena scratch;
    arena_init(&scratch);
    text_init(&text, &scratch);
    for (int i = 0; i < 3000; i++) {
        text_push(&text, "%s\"k%d\":%d", i == 0 ? "{" : ",\n", i % 2990, i);
    }
    text_push(&text, "}");
    ck_assert(!open_text(text.bytes, false));
    ck_assert_uint_eq(diag.count, 10);
    for (uint32_t i = 0; i < 10; i++) {
        ck_assert_uint_eq(diag.entries[i].place.line, 2991 + i);
    }
    arena_release(&arena);
    arena_release(&scratch);
}
END_TEST

START_TEST(lenient_takes_numbers_without_value_as_null)
{
    static const char text[] =
        "{\"a\": NaN, \"b\": [Infinity, -Infinity, 1e999, -1e-999, 7], \"c\": 5}";
    ck_assert(open_text(text, true));
    const struct json_value object = json_root(document);
    ck_assert(json_is_null(json_find(object, "a")) && !json_is_absent(json_find(object, "a")));
    const struct json_value array = json_find(object, "b");
    ck_assert_uint_eq(json_count(array), 5);
    for (uint32_t i = 0; i < 5; i++) {
        ck_assert_int_eq(json_is_null(json_find_index(array, i)), i < 3);
    }
    ck_assert_str_eq(json_value_text(json_find_index(array, 1), &arena), "-Infinity");
    ck_assert_ptr_nonnull(strstr(json_place(array).source_line, "\"a\": NaN, "));
    uint32_t c;
    ck_assert(json_read_u32(object, "c", 0, 9, &c, &diag) && c == 5);
    close_text();
    ck_assert(open_text("NaN", true) && json_is_null(json_root(document)));
    close_text();
    ck_assert(!open_text("nan", true));
    arena_release(&arena);
}
END_TEST

static const char *build_nested(uint32_t depth, struct text *text)
{
    for (uint32_t i = 0; i < depth; i++) {
        text_push(text, i % 2 == 0 ? "[" : "{\"k\":");
    }
    text_push(text, "1");
    for (uint32_t i = depth; i-- > 0;) {
        text_push(text, i % 2 == 0 ? "]" : "}");
    }
    return text->bytes;
}

START_TEST(siblings_are_no_depth)
{
    struct arena scratch;
    struct text wide;
    arena_init(&scratch);
    text_init(&wide, &scratch);
    for (uint32_t i = 0; i < 1000; i++) {
        text_push(&wide, "%s{},[[{\"k\":[]}]]", i == 0 ? "[" : ",");
    }
    text_push(&wide, "]");
    ck_assert_uint_eq(json_count(root(wide.bytes)), 2000);
    close_text();
    arena_release(&scratch);
}
END_TEST

START_TEST(depth_is_limited)
{
    struct arena scratch;
    struct text deep, deeper, endless;
    arena_init(&scratch);
    text_init(&deep, &scratch);
    text_init(&deeper, &scratch);
    text_init(&endless, &scratch);
    root(build_nested(256, &deep));
    close_text();
    ck_assert(!open_text(build_nested(257, &deeper), false));
    ck_assert_int_eq(diag.entries[0].code, DIAG_B111);
    ck_assert_uint_eq(diag.entries[0].place.column, 128 * 6 + 1);
    arena_release(&arena);
    /* Whatever the limit says, no text reaches the recursion of the parser. */
    const struct json_limits limits = json_limits;
    json_limits.max_depth = UINT32_MAX;
    ck_assert(!open_text(build_nested(100000, &endless), false));
    ck_assert_int_eq(diag.entries[0].code, DIAG_B111);
    json_limits = limits;
    arena_release(&arena);
    arena_release(&scratch);
}
END_TEST

START_TEST(size_and_values_are_limited)
{
    const struct json_limits limits = json_limits;
    json_limits.max_values = 5;
    root("[1,2,3,\",,,,,,\"]");
    close_text();
    ck_assert(!open_text("[1,2,3,4,5]", false));
    ck_assert_int_eq(diag.entries[0].code, DIAG_B102);
    ck_assert_uint_eq(diag.entries[0].place.column, 10);
    ck_assert_ptr_nonnull(strstr(diag.entries[0].hint, "--max-input"));
    arena_release(&arena);
    json_limits.max_bytes = 7;
    root("[1,2,3]");
    close_text();
    ck_assert(!open_text("[1,2,3] ", false));
    ck_assert_int_eq(diag.entries[0].code, DIAG_B102);
    arena_release(&arena);
    json_limits = limits;
}
END_TEST

/* --- looking --------------------------------------------------------------------------------- */

START_TEST(places_and_pointers)
{
    static const char text[] = "{\n"
                               "  \"a\": [10, \"two\", {\"x/y~z\": true}],\n"
                               "\t\"gr\xc3\xb6\xc3\x9f"
                               "e\" : {\"\": -1.5}\n"
                               "}\n";
    const struct json_value object = root(text);
    const struct json_value array = json_find(object, "a");
    const struct json_value size = json_find(object, "gr\xc3\xb6\xc3\x9f"
                                                     "e");
    const struct {
        struct json_value value;
        uint32_t line, column;
        const char *pointer, *text;
    } rows[] = {
        {object, 1, 1, "", text},
        {array, 2, 8, "/a", "[10, \"two\", {\"x/y~z\": true}]"},
        {json_find_index(array, 0), 2, 9, "/a/0", "10"},
        {json_find_index(array, 1), 2, 13, "/a/1", "\"two\""},
        {json_find_index(array, 2), 2, 20, "/a/2", "{\"x/y~z\": true}"},
        {json_find(json_find_index(array, 2), "x/y~z"), 2, 30, "/a/2/x~1y~0z", "true"},
        {size, 3, 12,
         "/gr\xc3\xb6\xc3\x9f"
         "e",
         "{\"\": -1.5}"},
        {json_find(size, ""), 3, 17,
         "/gr\xc3\xb6\xc3\x9f"
         "e/",
         "-1.5"},
    };
    for (size_t i = sizeof rows / sizeof rows[0]; i-- > 0;) {
        const struct diag_place place = json_place(rows[i].value);
        ck_assert_str_eq(place.file, "t.json");
        ck_assert_uint_eq(place.line, rows[i].line);
        ck_assert_uint_eq(place.column, rows[i].column);
        ck_assert_str_eq(json_pointer(rows[i].value, &arena), rows[i].pointer);
        ck_assert(strncmp(rows[i].text, json_value_text(rows[i].value, &arena), 10) == 0);
    }
    ck_assert_str_eq(json_value_text(rows[4].value, &arena), rows[4].text);
    ck_assert_str_eq(json_place(array).source_line, "  \"a\": [10, \"two\", {\"x/y~z\": true}],");
    const struct diag_place kept = json_place(size);
    json_close(document);
    ck_assert_str_eq(kept.source_line, "\t\"gr\xc3\xb6\xc3\x9f"
                                       "e\" : {\"\": -1.5}");
    arena_release(&arena);
}
END_TEST

START_TEST(children_by_index)
{
    const struct json_value object = root("{\"a\":[1,[2,3],{}],\"b\":{\"c\":4},\"d\":5}");
    ck_assert_uint_eq(json_count(object), 3);
    ck_assert_str_eq(json_key(json_find_index(object, 1)), "b");
    ck_assert_str_eq(json_key(json_find_index(object, 2)), "d");
    ck_assert(json_is_absent(json_find_index(object, 3)));
    const struct json_value array = json_find_index(object, 0);
    uint64_t value;
    ck_assert(json_value_u64(json_find_index(json_find_index(array, 1), 1), &value));
    ck_assert_uint_eq(value, 3);
    ck_assert_uint_eq(json_count(json_find_index(array, 2)), 0);
    ck_assert_uint_eq(json_count(json_find(object, "d")), 0);
    ck_assert(json_is_absent(json_find_index(json_find(object, "d"), 0)));
    ck_assert(json_is_absent(json_find(array, "a")));
    ck_assert(json_is_absent(json_find(json_find(object, "none"), "a")));
    ck_assert(json_is_absent(json_find(object, "B")));
    ck_assert_uint_eq(json_count(json_find(object, "none")), 0);
    ck_assert_ptr_null(json_place(json_find(object, "none")).source_line);
    close_text();
}
END_TEST

/* --- files ----------------------------------------------------------------------------------- */

START_TEST(opens_files)
{
    char path[] = "/tmp/shardplan-test-json-XXXXXX";
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    const char text[] = "{\"a\": 1}\n";
    ck_assert_int_eq(write(file, text, sizeof text - 1), sizeof text - 1);
    close(file);
    arena_init(&arena);
    diag_init(&diag, &arena);
    ck_assert(json_open(path, false, &arena, &document, &diag));
    ck_assert_str_eq(json_place(json_root(document)).file, path);
    ck_assert_uint_eq(json_digest(document), text_digest(TEXT_DIGEST_SEED, text, sizeof text - 1));
    json_close(document);
    const struct json_limits limits = json_limits;
    json_limits.max_bytes = sizeof text - 2;
    ck_assert(!json_open(path, false, &arena, &document, &diag));
    json_limits = limits;
    ck_assert_int_eq(diag.entries[0].code, DIAG_B102);
    unlink(path);
    ck_assert(!json_open(path, false, &arena, &document, &diag));
    ck_assert(!json_open("/tmp", false, &arena, &document, &diag));
    ck_assert_int_eq(diag.entries[1].code, DIAG_B101);
    ck_assert_int_eq(diag.entries[2].code, DIAG_B101);
    ck_assert_ptr_nonnull(strstr(messages(), "/tmp: error: cannot read the file: Is a directory"));
    arena_release(&arena);
}
END_TEST

TAP_MAIN("json", accepts, refuses, refuses_nul_bytes, every_prefix_of_a_text_is_refused,
         many_twins_are_all_found, lenient_takes_numbers_without_value_as_null,
         siblings_are_no_depth, depth_is_limited, size_and_values_are_limited, places_and_pointers,
         children_by_index, opens_files)

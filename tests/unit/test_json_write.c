/* What is written is valid JSON that reads back to the same values. */
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "tests/unit/json_text.h"

static void write_sample(struct json_writer *writer)
{
    json_push_object(writer);
    json_push_key_string(writer, "s", "a\"b\\c\n\x01\xc3\xa9\xff");
    json_push_key(writer, "empty");
    json_push_array(writer);
    json_pop_array(writer);
    json_push_key(writer, "list");
    json_push_array(writer);
    json_push_u64(writer, UINT64_MAX);
    json_push_null(writer);
    json_push_object(writer);
    json_pop_object(writer);
    json_push_raw(writer, "[1]");
    json_pop_array(writer);
    json_push_key_double(writer, "d", 0.1);
    json_push_key_u64(writer, "u", 0);
    json_push_key_bool(writer, "b", false);
    json_push_key_string(writer, "none", NULL);
    json_push_key_quantity(writer, "q", UNIT_BYTES, 0x1p30);
    json_pop_object(writer);
}

START_TEST(writes)
{
    struct text text;
    struct json_writer writer;
    arena_init(&arena);
    text_init(&text, &arena);
    json_writer_init(&writer, &text, true);
    write_sample(&writer);
    ck_assert_str_eq(text.bytes,
                     "{\"s\":\"a\\\"b\\\\c\\n\\u0001\xc3\xa9\xef\xbf\xbd\",\"empty\":[],"
                     "\"list\":[18446744073709551615,null,{},[1]],\"d\":0.1,\"u\":0,\"b\":false,"
                     "\"none\":null,\"q\":\"1 GiB\"}");
    text_init(&text, &arena);
    json_writer_init(&writer, &text, false);
    write_sample(&writer);
    ck_assert_str_eq(text.bytes, "{\n"
                                 "  \"s\": \"a\\\"b\\\\c\\n\\u0001\xc3\xa9\xef\xbf\xbd\",\n"
                                 "  \"empty\": [],\n"
                                 "  \"list\": [\n"
                                 "    18446744073709551615,\n"
                                 "    null,\n"
                                 "    {},\n"
                                 "    [1]\n"
                                 "  ],\n"
                                 "  \"d\": 0.1,\n"
                                 "  \"u\": 0,\n"
                                 "  \"b\": false,\n"
                                 "  \"none\": null,\n"
                                 "  \"q\": \"1 GiB\"\n"
                                 "}");
    arena_release(&arena);
}
END_TEST

START_TEST(doubles_round_trip_shortest)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0, "0"},
        {1, "1"},
        {-2.5, "-2.5"},
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e22, "1e+22"},
        {123456789, "123456789"},
        {5e-324, "4.94065645841247e-324"},
        {0.3, "0.3"},
    };
    struct random random;
    random_init(&random, 3);
    for (size_t i = 0; i < 20000; i++) {
        const bool listed = i < sizeof rows / sizeof rows[0];
        const uint64_t bits = random_pop_u64(&random);
        double value = 0, back = 0;
        memcpy(&value, &bits, sizeof value);
        value = listed ? rows[i].value : value;
        if (!isfinite(value)) {
            continue;
        }
        struct text text;
        struct json_writer writer;
        struct arena scratch;
        arena_init(&scratch);
        text_init(&text, &scratch);
        json_writer_init(&writer, &text, true);
        json_push_double(&writer, value);
        ck_assert(json_value_double(root(text.bytes), &back));
        ck_assert_int_eq(memcmp(&value, &back, sizeof back), 0);
        ck_assert(!listed || strcmp(text.bytes, rows[i].text) == 0);
        close_text();
        arena_release(&scratch);
    }
}
END_TEST

static void write_infinity(void)
{
    struct text text;
    struct json_writer writer;
    arena_init(&arena);
    text_init(&text, &arena);
    json_writer_init(&writer, &text, true);
    json_push_double(&writer, INFINITY);
}

START_TEST(infinity_is_a_bug)
{
    ck_assert_int_eq(tap_find_end(write_infinity), 3);
}
END_TEST

TAP_MAIN("json_write", writes, doubles_round_trip_shortest, infinity_is_a_bug)

/* Typed reads give the exact value or say what would be right. */
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "tests/unit/json_text.h"

START_TEST(whole_numbers_are_exact_or_refused)
{
    static const struct {
        const char *text;
        bool whole;
        uint64_t value;
    } rows[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"0e99", true, 0},
        {"0.000", true, 0},
        {"7", true, 7},
        {"-7", false, 0},
        {"9007199254740993", true, 9007199254740993u},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"18446744073709551615.0", true, UINT64_MAX},
        {"1844674407370955161.5e1", true, UINT64_MAX},
        {"1.8446744073709551615e19", true, UINT64_MAX},
        {"1.8446744073709551616e19", false, 0},
        {"1e19", true, 10000000000000000000u},
        {"1e20", false, 0},
        {"4503599627370496.4", false, 0}, /* its double is whole */
        {"1.5", false, 0},
        {"1.5e1", true, 15},
        {"120e-1", true, 12},
        {"12e-1", false, 0},
        {"1200.00e-2", true, 12},
        {"100020000.0", true, 100020000},
        {"1e-400", false, 0},
        {"1.5e-99999999999999999999", false, 0},
        {"0.0e99999999999999999999", true, 0},
        {"\"7\"", false, 0},
        {"null", false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t value = 42;
        const bool whole = json_value_u64(root(rows[i].text), &value);
        ck_assert_msg(whole == rows[i].whole && value == (whole ? rows[i].value : 42),
                      "%s gives %llu", rows[i].text, (unsigned long long)value);
        close_text();
    }
}
END_TEST

static const char *const choices[] = {"ring", "tree", "direct", NULL};

START_TEST(reads)
{
    const struct json_value object =
        root("{\"u\": 7, \"d\": -2.5, \"t\": true, \"s\": \"\\u00e9\", \"q\": \"2.5 us\", \"c\": "
             "\"tree\", \"n\": null}");
    uint32_t u = 0;
    uint64_t wide = 0;
    double d = 0;
    bool t = false;
    const char *s = NULL;
    ck_assert(json_read_u32(object, "u", 7, 7, &u, &diag) && u == 7);
    ck_assert(json_read_u64(object, "u", 0, UINT64_MAX, &wide, &diag) && wide == 7);
    ck_assert(json_read_double(object, "d", -2.5, INFINITY, &d, &diag) && d == -2.5);
    ck_assert(json_read_bool_or(object, "t", false, &t, &diag) && t);
    ck_assert(json_read_string(object, "s", &arena, &s, &diag));
    ck_assert(json_read_quantity(object, "q", UNIT_SECONDS, &d, &diag) && d == 2.5e-6);
    ck_assert(json_read_choice(object, "c", choices, &u, &diag) && u == 1);
    static const char *const left_out[] = {"n", "none"};
    for (size_t i = 0; i < 2; i++) {
        const char *key = left_out[i];
        const char *word = NULL;
        ck_assert(json_read_u32_or(object, key, 1, 2, 9, &u, &diag) && u == 9);
        ck_assert(json_read_double_or(object, key, 1, 2, 9.5, &d, &diag) && d == 9.5);
        ck_assert(json_read_bool_or(object, key, true, &t, &diag) && t);
        ck_assert(json_read_string_or(object, key, "x", &arena, &word, &diag));
        ck_assert_str_eq(word, "x");
        ck_assert(json_read_quantity_or(object, key, UNIT_BYTES, 3, &d, &diag) && d == 3);
    }
    ck_assert_uint_eq(diag.count, 0);
    json_close(document);
    ck_assert_str_eq(s, "\xc3\xa9"); /* a copy */
    arena_release(&arena);
}
END_TEST

START_TEST(each_fault_is_said)
{
    const struct json_value object = root("{\"u\": 7, \"s\": \"abc\", \"n\": null, \"f\": 1.5, "
                                          "\"q\": 80, \"w\": \"80 GB/s\", \"c\": \"rign\","
                                          " \"o\": {\"k\": []}}");
    const char *const expected =
        "t.json:1:1: error: the document lacks the key 'none': it must be a whole number from 1 to "
        "8 [B106]\n"
        "t.json:1:7: error: /u is 7, but must be a whole number from 1 to 6 [B108]\n"
        "t.json:1:15: error: /s is \"abc\", but must be a whole number, at least 0 [B107]\n"
        "t.json:1:15: error: /s is \"abc\", but must be a number from 0 to 0.5 [B107]\n"
        "t.json:1:15: error: /s is \"abc\", but must be true or false [B107]\n"
        "t.json:1:27: error: /n is null, but must be a string [B107]\n"
        "t.json:1:38: error: /f is 1.5, but must be a whole number, at least 1 [B108]\n"
        "t.json:1:38: error: /f is 1.5, but must be a number, at least 2 [B108]\n"
        "t.json:1:48: error: /q is 80, but must be a size with its unit [B109]\n"
        "t.json:1:57: error: /w is \"80 GB/s\", but must be a size with its unit [B109]\n"
        "t.json:1:73: error: /c is \"rign\", but must be \"ring\", \"tree\" or \"direct\" [B110]\n"
        "t.json:1:92: error: /o/k is an array, but must be an object with the key 'x' [B107]\n";
    uint32_t u = 99;
    double d = 99;
    bool b;
    const char *s = NULL;
    ck_assert(!json_read_u32(object, "none", 1, 8, &u, &diag));
    ck_assert(!json_read_u32(object, "u", 1, 6, &u, &diag));
    ck_assert(!json_read_u32_or(object, "s", 0, UINT32_MAX, 3, &u, &diag));
    ck_assert(!json_read_double(object, "s", 0, 0.5, &d, &diag));
    ck_assert(!json_read_bool_or(object, "s", true, &b, &diag));
    ck_assert(!json_read_string(object, "n", &arena, &s, &diag));
    ck_assert(!json_read_u32(object, "f", 1, UINT32_MAX, &u, &diag));
    ck_assert(!json_read_double_or(object, "f", 2, INFINITY, 3, &d, &diag));
    ck_assert(!json_read_quantity(object, "q", UNIT_BYTES, &d, &diag));
    ck_assert(!json_read_quantity_or(object, "w", UNIT_BYTES, 1, &d, &diag));
    ck_assert(!json_read_choice(object, "c", choices, &u, &diag));
    ck_assert(!json_read_u32_or(json_find(json_find(object, "o"), "k"), "x", 0, 1, 0, &u, &diag));
    ck_assert(u == 99 && d == 99 && s == NULL);
    ck_assert_uint_eq(diag.count, 12);
    struct text lines;
    text_init(&lines, &arena);
    for (const char *line = messages(); *line != '\0'; line = strchr(line, '\n') + 1) {
        if (strncmp(line, "t.json:", 7) == 0) {
            text_push_bytes(&lines, line, (size_t)(strchr(line, '\n') - line) + 1);
        }
    }
    ck_assert_str_eq(lines.bytes, expected);
    ck_assert_ptr_nonnull(strstr(messages(), "hint: did you mean 'ring'?"));
    ck_assert_ptr_nonnull(strstr(messages(), "such as \"80 GiB\""));
    close_text();
}
END_TEST

START_TEST(long_values_are_shortened)
{
    const struct json_value object = root("{\"s\": "
                                          "\"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3"
                                          "\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
                                          "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
                                          "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\"}");
    uint32_t u;
    ck_assert(!json_read_u32(object, "s", 0, 1, &u, &diag));
    ck_assert_ptr_nonnull(strstr(diag.entries[0].message, "\xc3\xa4\xc3\xa4..., but"));
    close_text();
}
END_TEST

START_TEST(unknown_keys_are_refused)
{
    static const char *const keys[] = {"name", "degree", NULL};
    const struct json_value object = root("{\"name\": 1,\n \"degre\": 2, \"zzz\": 3}");
    ck_assert(!json_check_keys(object, keys, &diag));
    ck_assert_str_eq(messages(),
                     "t.json:2:2: error: the document has an unknown key 'degre' [B105]\n"
                     "     \"degre\": 2, \"zzz\": 3}\n"
                     "     ^\n"
                     "    hint: did you mean 'degree'?\n"
                     "t.json:2:14: error: the document has an unknown key 'zzz' [B105]\n"
                     "     \"degre\": 2, \"zzz\": 3}\n"
                     "                 ^\n"
                     "    hint: known keys: name, degree\n");
    ck_assert(!json_check_keys(json_find(object, "name"), keys, &diag));
    ck_assert_int_eq(diag.entries[2].code, DIAG_B107);
    close_text();
    ck_assert(json_check_keys(root("{\"degree\": {\"any\": 1}}"), keys, &diag));
    close_text();
}
END_TEST

TAP_MAIN("json_read", whole_numbers_are_exact_or_refused, reads, each_fault_is_said,
         long_values_are_shortened, unknown_keys_are_refused)

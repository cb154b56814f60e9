/* Diagnostics look as compilers show them, in the order of their places, no more than twenty. */
#include "base/diag.h"

#include <string.h>

#include "tests/fresh.h"

static void init(void)
{
    begin();
}

static const char *dump(void)
{
    struct text text;
    text_init(&text, &arena);
    diag_dump(&diag, &text);
    return text.bytes;
}

static struct diag_place place(const char *file, uint32_t line, uint32_t column, const char *source)
{
    return (struct diag_place){file, line, column, source};
}

START_TEST(codes_are_a_list)
{
    ck_assert_str_eq(diag_code_name(DIAG_B101), "B101");
    ck_assert_str_eq(diag_code_slug(DIAG_B105), "unknown-key");
    for (int i = 0; i < DIAG_CODE_COUNT; i++) {
        const enum diag_code code = (enum diag_code)i;
        ck_assert_uint_eq(strlen(diag_code_name(code)), 4);
        ck_assert_uint_gt(strlen(diag_code_summary(code)), 10);
        for (int j = 0; j < i; j++) {
            ck_assert_str_ne(diag_code_slug((enum diag_code)j), diag_code_slug(code));
            ck_assert_str_ne(diag_code_name((enum diag_code)j), diag_code_name(code));
        }
    }
}
END_TEST

START_TEST(looks)
{
    init();
    char hint[] = "did you mean 'degree'?";
    ck_assert(!diag_push(&diag, DIAG_B105, place("a.json", 2, 4, "   \"degre\": 8,"), hint,
                         "'%s' is unknown", "degre"));
    hint[0] = 'X'; /* the hint was copied */
    ck_assert_str_eq(dump(), "a.json:2:4: error: 'degre' is unknown [B105]\n"
                             "       \"degre\": 8,\n"
                             "       ^\n"
                             "    hint: did you mean 'degree'?\n");
    ck_assert_uint_eq(diag.count, 1);
    arena_release(&arena);
}
END_TEST

START_TEST(places_may_be_vague)
{
    init();
    diag_push(&diag, DIAG_B101, place("b.json", 0, 0, NULL), NULL, "no such file");
    diag_push(&diag, DIAG_B108, place(NULL, 0, 0, NULL), "from 1 to 8", "--tp is 0");
    diag_push(&diag, DIAG_B103, place("a.xml", 7, 0, NULL), NULL, "bad");
    ck_assert_str_eq(dump(), "shardplan: error: --tp is 0 [B108]\n"
                             "    hint: from 1 to 8\n"
                             "a.xml:7: error: bad [B103]\n"
                             "b.json: error: no such file [B101]\n");
    arena_release(&arena);
}
END_TEST

START_TEST(sorts_by_place_then_report)
{
    static const struct {
        const char *file;
        uint32_t line, column;
    } rows[] = {
        {"b", 1, 1}, {"a", 10, 2}, {"a", 9, 30}, {"a", 9, 4}, {"a", 9, 4}, {"a", 0, 0},
    };
    init();
    for (unsigned i = 0; i < 6; i++) {
        diag_push(&diag, DIAG_B103, place(rows[i].file, rows[i].line, rows[i].column, NULL), NULL,
                  "%u", i);
    }
    ck_assert_str_eq(dump(), "a: error: 5 [B103]\n"
                             "a:9:4: error: 3 [B103]\n"
                             "a:9:4: error: 4 [B103]\n"
                             "a:9:30: error: 2 [B103]\n"
                             "a:10:2: error: 1 [B103]\n"
                             "b:1:1: error: 0 [B103]\n");
    arena_release(&arena);
}
END_TEST

START_TEST(keeps_twenty_counts_all)
{
    init();
    for (unsigned i = 0; i < 50; i++) {
        diag_push(&diag, DIAG_B103, place("a", i + 1, 1, NULL), NULL, "x");
    }
    ck_assert_uint_eq(diag.count, 50);
    ck_assert_uint_eq(diag.kept, DIAG_MAX);
    const char *text = dump();
    ck_assert_ptr_nonnull(strstr(text, "a:20:1: "));
    ck_assert_ptr_null(strstr(text, "a:21:1: "));
    ck_assert_ptr_nonnull(strstr(text, "shardplan: and 30 more errors"));
    arena_release(&arena);
}
END_TEST

START_TEST(warnings_never_hide_errors)
{
    init();
    for (unsigned i = 0; i < 30; i++) {
        diag_push_warning(&diag, DIAG_B105, place("a", 1, 1, NULL), NULL, "only said");
    }
    ck_assert_uint_eq(diag.count, 0);
    diag_push(&diag, DIAG_B103, place("a", 2, 1, NULL), NULL, "the fault");
    ck_assert_uint_eq(diag.count, 1);
    ck_assert_uint_eq(diag.kept, DIAG_MAX);
    const char *text = dump();
    ck_assert_ptr_nonnull(strstr(text, "a:1:1: warning: only said [B105]\n"));
    ck_assert_ptr_nonnull(strstr(text, "a:2:1: error: the fault [B103]\n"));
    ck_assert_ptr_null(strstr(text, "more"));
    arena_release(&arena);
}
END_TEST

/* What stands in the source line above the caret. */
static char above_caret(const char *text)
{
    const char *source = strchr(text, '\n') + 1;
    const char *caret_line = strchr(source, '\n') + 1;
    return source[strcspn(caret_line, "^")];
}

START_TEST(clips_long_lines_around_the_column)
{
    enum { LENGTH = 100000 };
    static char source[LENGTH + 1];
    static const uint32_t columns[] = {1, 2, 59, 89, 90, 91, 92, 101, 5000, LENGTH - 1, LENGTH};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        memset(source, '.', LENGTH);
        source[columns[i] - 1] = '#';
        init();
        diag_push(&diag, DIAG_B103, place("a", 1, columns[i], source), NULL, "here");
        const char *text = dump();
        ck_assert_uint_lt(strlen(text), 300);
        ck_assert_int_eq(above_caret(text), '#');
        arena_release(&arena);
    }
}
END_TEST

START_TEST(one_line_stays_one_line)
{
    init();
    diag_push(&diag, DIAG_B103, place("a\nb", 1, 3, "x\x1b[31m\xe4y"), "h\ti", "key '\n\xff'");
    diag_push(&diag, DIAG_B103, place("c", 1, 1, ""), NULL, "empty");
    ck_assert_str_eq(dump(), "a b:1:3: error: key ' ?' [B103]\n"
                             "    x [31m?y\n"
                             "      ^\n"
                             "    hint: h i\n"
                             "c:1:1: error: empty [B103]\n");
    arena_release(&arena);
}
END_TEST

START_TEST(quotes_of_any_length_are_clipped)
{
    init();
    char quoted[5001];
    for (size_t i = 0; i < sizeof quoted - 1; i += 2) {
        memcpy(&quoted[i], "\xc3\xb6", 2);
    }
    quoted[sizeof quoted - 1] = '\0';
    diag_push(&diag, DIAG_B110, place(quoted, 0, 0, NULL), quoted, "'%s' is no word", quoted);
    const char *text = dump();
    ck_assert_uint_lt(strlen(text), 3 * 2 * 1300);
    ck_assert_ptr_nonnull(strstr(text, "\xb6...\xc3"));
    ck_assert_ptr_nonnull(strstr(text, "\xb6' is no word [B110]\n"));
    arena_release(&arena);
}
END_TEST

START_TEST(caret_counts_characters)
{
    init();
    diag_push(&diag, DIAG_B103,
              place("a", 1, 8,
                    "\t\"gr\xc3\xb6\xc3\x9f"
                    "e\""),
              NULL, "here");
    ck_assert_str_eq(dump(), "a:1:8: error: here [B103]\n"
                             "     \"gr\xc3\xb6\xc3\x9f"
                             "e\"\n"
                             "           ^\n");
    arena_release(&arena);
    /* A column behind the end of its line, and bytes that are no UTF-8, stay inside the line. */
    init();
    diag_push(&diag, DIAG_B103, place("a", 1, 900, "short\x80\x80"), NULL, "here");
    ck_assert_str_eq(dump() + strlen("a:1:900: error: here [B103]\n"), "    shor?\n"
                                                                       "         ^\n");
    arena_release(&arena);
}
END_TEST

static void believe(void)
{
    BUG("belief %d", 1);
}

START_TEST(bug_exits_with_3)
{
    ck_assert_int_eq(tap_find_end(believe), 3);
}
END_TEST

TAP_MAIN("diag", codes_are_a_list, looks, places_may_be_vague, sorts_by_place_then_report,
         keeps_twenty_counts_all, warnings_never_hide_errors, clips_long_lines_around_the_column,
         caret_counts_characters, quotes_of_any_length_are_clipped, one_line_stays_one_line,
         bug_exits_with_3)

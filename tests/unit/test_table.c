/* Columns line up for people. */
#include "base/table.h"

#include "tests/tap_main.h"

static struct arena arena;
static struct table table;

static const char *dump(void)
{
    struct text text;
    text_init(&text, &arena);
    table_dump(&table, &text);
    return text.bytes;
}

static void init(const char *const *headings)
{
    arena_init(&arena);
    table_init(&table, &arena, headings);
}

START_TEST(columns_align)
{
    init((const char *const[]){"name", ">bytes", "note", NULL});
    table_push(&table, "%s", "weights");
    table_push(&table, "%d", 7);
    table_push(&table, "kept");
    table_push(&table, "a");
    table_push(&table, "%u", 123456u);
    table_push(&table, "%s", "");
    ck_assert_str_eq(dump(), "name      bytes  note\n"
                             "---------------------\n"
                             "weights       7  kept\n"
                             "a        123456\n");
    arena_release(&arena);
}
END_TEST

START_TEST(widths_count_characters)
{
    init((const char *const[]){"µs", "x", NULL});
    table_push(&table, "größe");
    table_push(&table, "1");
    table_push(&table, "grosse");
    table_push(&table, "2");
    ck_assert_str_eq(dump(), "µs      x\n"
                             "---------\n"
                             "größe   1\n"
                             "grosse  2\n");
    arena_release(&arena);
}
END_TEST

START_TEST(started_row_and_no_row)
{
    init((const char *const[]){">p", "q", NULL});
    ck_assert_str_eq(dump(), "p  q\n----\n");
    table_push(&table, "1");
    ck_assert_str_eq(dump(), "p  q\n----\n1\n");
    arena_release(&arena);
}
END_TEST

START_TEST(many_rows)
{
    init((const char *const[]){">i", ">square", NULL});
    for (int i = 0; i < 1000; i++) {
        table_push(&table, "%d", i);
        table_push(&table, "%d", i * i);
    }
    ck_assert_uint_eq(table.rows, 1001);
    const char *line = dump();
    for (int row = -2; row < 1000; row++) {
        char expected[32];
        snprintf(expected, sizeof expected, "%3d  %6d\n", row, row * row);
        for (int column = 0; column < 12; column++) {
            ck_assert(row < 0 || line[column] == expected[column]);
        }
        line += 12; /* every line is as wide: no column moved */
        ck_assert_int_eq(line[-1], '\n');
    }
    ck_assert_int_eq(*line, '\0');
    arena_release(&arena);
}
END_TEST

TAP_MAIN("table", columns_align, widths_count_characters, started_row_and_no_row, many_rows)

/* Tables of cells: what RFC 4180 allows is read, what it does not is reported at its line. */
#include "base/csv.h"

#include <string.h>

#include "tests/tap_main.h"

static bool read_table(struct arena *arena, const char *text, struct csv *out, struct diag *diag)
{
    arena_init(arena);
    diag_init(diag, arena);
    return csv_read("t.csv", text, strlen(text), arena, out, diag);
}

START_TEST(cells_and_quotes)
{
    struct arena arena;
    struct csv csv;
    struct diag diag;
    ck_assert(read_table(&arena,
                         "\xef\xbb\xbf"
                         "a,b,c\r\n1,\"x, \"\"y\"\"\nz\", d\r\n\n,,\n",
                         &csv, &diag));
    ck_assert_uint_eq(csv.column_count, 3);
    ck_assert_uint_eq(csv.row_count, 2);
    ck_assert_str_eq(csv_find_cell(&csv, 0, csv_find_column(&csv, "b")), "x, \"y\"\nz");
    ck_assert_str_eq(csv_find_cell(&csv, 0, csv_find_column(&csv, "c")), " d");
    ck_assert_str_eq(csv_find_cell(&csv, 1, 0), "");
    ck_assert_uint_eq(csv_place(&csv, 0).line, 2);
    ck_assert_uint_eq(csv_place(&csv, 1).line, 5);
    ck_assert_uint_eq(csv_find_column(&csv, "d"), CSV_NO_COLUMN);
    ck_assert_str_eq(csv_find_cell(&csv, 1, CSV_NO_COLUMN), "");
    arena_release(&arena);
}
END_TEST

/* A last cell that is empty, a last line without its end. */
START_TEST(ends)
{
    struct arena arena;
    struct csv csv;
    struct diag diag;
    ck_assert(read_table(&arena, "a,b\n1,\n2,\"\"", &csv, &diag));
    ck_assert_uint_eq(csv.row_count, 2);
    ck_assert_str_eq(csv_find_cell(&csv, 1, 1), "");
    arena_release(&arena);
    ck_assert(read_table(&arena, "a,b", &csv, &diag));
    ck_assert_uint_eq(csv.row_count, 0);
    arena_release(&arena);
}
END_TEST

struct fault {
    const char *text, *message;
    uint32_t line;
};

static const struct fault faults[] = {
    {"", "no heading", 1},
    {"\n\n", "no heading", 3},
    {"a,b\n1\n", "1 cells, the heading 2", 2},
    {"a,b\n1,2\n1,2,3\n", "3 cells", 3},
    {"a,a\n", "named twice", 1},
    {"a,b\n1,\"x\ny", "not closed", 3},
    {"a,b\n\"x\"y,1\n", "follows the closing quote", 2},
    {"a,b\nx\"y\",1\n", "inside a cell", 2},
};

START_TEST(faults_are_named)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct arena arena;
        struct csv csv;
        struct diag diag;
        ck_assert(!read_table(&arena, faults[i].text, &csv, &diag));
        ck_assert_uint_eq(diag.count, 1);
        ck_assert_int_eq(diag.entries[0].code, DIAG_B113);
        ck_assert_ptr_nonnull(strstr(diag.entries[0].message, faults[i].message));
        ck_assert_uint_eq(diag.entries[0].place.line, faults[i].line);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(no_text)
{
    struct arena arena;
    struct csv csv;
    struct diag diag;
    arena_init(&arena);
    diag_init(&diag, &arena);
    ck_assert(!csv_read("t.csv", "a,b\n1,\0\n", 8, &arena, &csv, &diag));
    ck_assert_int_eq(diag.entries[0].code, DIAG_B113);
    arena_release(&arena);
}
END_TEST

TAP_MAIN("csv", cells_and_quotes, ends, faults_are_named, no_text)

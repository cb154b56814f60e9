/* Aligned columns for people. */
#include "base/table.h"

#include <assert.h>
#include <string.h>

#define FIRST_ROWS 16

/* Code points of UTF-8 text: bytes that do not continue a sequence. */
static uint32_t width(const char *cell)
{
    uint32_t count = 0;
    for (; *cell != '\0'; cell++) {
        count += ((unsigned char)*cell & 0xc0) != 0x80;
    }
    return count;
}

/* A new row of empty (NULL) cells. */
static void start_row(struct table *table)
{
    if (table->rows == table->capacity) {
        const uint32_t capacity = table->capacity * 2;
        const char **cells =
            ARENA_PUSH(table->arena, const char *, (size_t)capacity * table->columns);
        memcpy(cells, table->cells, (size_t)table->rows * table->columns * sizeof *cells);
        table->cells = cells;
        table->capacity = capacity;
    }
    table->rows++;
}

static const char **row_cells(const struct table *table, uint32_t row)
{
    return table->cells + (size_t)row * table->columns;
}

/* Where the next cell goes: the first empty one of the last row, which a full row lacks. */
static const char **next_cell(struct table *table)
{
    const char **cells = row_cells(table, table->rows - 1);
    for (uint32_t column = 0; column < table->columns; column++) {
        if (cells[column] == NULL) {
            return &cells[column];
        }
    }
    start_row(table);
    return row_cells(table, table->rows - 1);
}

void table_init(struct table *table, struct arena *arena, const char *const *headings)
{
    *table = (struct table){.arena = arena, .capacity = FIRST_ROWS};
    while (headings[table->columns] != NULL) {
        table->columns++;
    }
    assert(table->columns > 0 && table->columns <= TABLE_COLUMNS_MAX);
    table->cells = ARENA_PUSH(arena, const char *, (size_t)FIRST_ROWS * table->columns);
    table->rows = 1;
    for (uint32_t column = 0; column < table->columns; column++) {
        table->right[column] = headings[column][0] == '>';
        table->cells[column] = headings[column] + (table->right[column] ? 1 : 0);
    }
}

void table_push(struct table *table, const char *format, ...)
{
    struct text cell;
    text_init(&cell, table->arena);
    va_list arguments;
    va_start(arguments, format);
    text_push_list(&cell, format, arguments);
    va_end(arguments);
    *next_cell(table) = cell.bytes;
}

static void pad(struct text *out, uint32_t count, const char *with)
{
    for (uint32_t i = 0; i < count; i++) {
        text_push_bytes(out, with, 1);
    }
}

static void dump_row(const struct table *table, const char **cells, const uint32_t *widths,
                     struct text *out)
{
    uint32_t blanks = 0; /* owed, so that none trail */
    for (uint32_t column = 0; column < table->columns; column++) {
        const char *cell = cells[column] == NULL ? "" : cells[column];
        const uint32_t slack = widths[column] - width(cell);
        blanks += (column == 0 ? 0 : 2) + (table->right[column] ? slack : 0);
        if (cell[0] != '\0') {
            pad(out, blanks, " ");
            text_push_bytes(out, cell, strlen(cell));
            blanks = 0;
        }
        blanks += table->right[column] ? 0 : slack;
    }
    text_push_bytes(out, "\n", 1);
}

void table_dump(const struct table *table, struct text *out)
{
    uint32_t widths[TABLE_COLUMNS_MAX] = {0};
    uint32_t total = 2 * (table->columns - 1);
    for (uint32_t column = 0; column < table->columns; column++) {
        for (uint32_t row = 0; row < table->rows; row++) {
            const char *cell = row_cells(table, row)[column];
            const uint32_t needed = cell == NULL ? 0 : width(cell);
            widths[column] = needed > widths[column] ? needed : widths[column];
        }
        total += widths[column];
    }
    dump_row(table, row_cells(table, 0), widths, out);
    pad(out, total, "-");
    text_push_bytes(out, "\n", 1);
    for (uint32_t row = 1; row < table->rows; row++) {
        dump_row(table, row_cells(table, row), widths, out);
    }
}

/* Comma-separated tables: one pass over the bytes, cells copied out. */
#include "base/csv.h"

#include <string.h>

struct scanner {
    const char *at, *end;
    uint32_t line;
    struct arena *arena;
    struct diag *diag;
    const char *name;
    struct text cell; /* reused for quoted cells */
};

/* Cells and lines found so far, growing. */
struct found {
    const char **cells;
    uint32_t *lines;
    uint64_t cell_count, cell_capacity, line_count, line_capacity;
};

static bool report(struct scanner *scan, const char *hint, const char *message)
{
    const struct diag_place place = {.file = scan->name, .line = scan->line};
    return diag_push(scan->diag, DIAG_B113, place, hint, "%s", message);
}

static void push_cell(struct found *found, struct arena *arena, const char *cell)
{
    ARENA_MAKE_ROOM(arena, found->cells, found->cell_count, found->cell_capacity);
    found->cells[found->cell_count++] = cell;
}

static void push_line(struct found *found, struct arena *arena, uint32_t line)
{
    ARENA_MAKE_ROOM(arena, found->lines, found->line_count, found->line_capacity);
    found->lines[found->line_count++] = line;
}

static bool at_line_end(const struct scanner *scan)
{
    return scan->at == scan->end || *scan->at == '\n' ||
           (*scan->at == '\r' && scan->at + 1 < scan->end && scan->at[1] == '\n');
}

static bool read_quoted(struct scanner *scan, const char **out)
{
    text_init(&scan->cell, scan->arena);
    for (scan->at++; scan->at < scan->end; scan->at++) {
        scan->line += *scan->at == '\n' ? 1 : 0;
        if (*scan->at == '"' && scan->at + 1 < scan->end && scan->at[1] == '"') {
            scan->at++;
        } else if (*scan->at == '"') {
            scan->at++;
            *out = scan->cell.bytes;
            return at_line_end(scan) || *scan->at == ',' ||
                   report(scan, "a quote inside a quoted cell is written twice",
                          "text follows the closing quote of a cell");
        }
        text_push_bytes(&scan->cell, scan->at, 1);
    }
    return report(scan, NULL, "a quoted cell is not closed before the end of the file");
}

static bool read_plain(struct scanner *scan, const char **out)
{
    const char *start = scan->at;
    while (!at_line_end(scan) && *scan->at != ',') {
        if (*scan->at == '"') {
            return report(scan, "put the whole cell in quotes and write inner quotes twice",
                          "a quote stands inside a cell that does not begin with one");
        }
        scan->at++;
    }
    *out = text_build_copy(scan->arena, start, (size_t)(scan->at - start));
    return true;
}

/* One record; *count cells are appended. */
static bool read_record(struct scanner *scan, struct found *found, uint32_t *count)
{
    for (*count = 0;; scan->at++) {
        const char *cell = NULL;
        const bool quoted = scan->at < scan->end && *scan->at == '"';
        if (!(quoted ? read_quoted(scan, &cell) : read_plain(scan, &cell))) {
            return false;
        }
        if (++*count > CSV_COLUMN_MAX) {
            return report(scan, NULL, "a record has more than 256 cells");
        }
        push_cell(found, scan->arena, cell);
        if (at_line_end(scan)) {
            return true;
        }
    }
}

static void skip_line_ends(struct scanner *scan)
{
    while (scan->at < scan->end && at_line_end(scan)) {
        scan->at += *scan->at == '\r' ? 2 : 1;
        scan->line++;
    }
}

static bool check_columns(const struct csv *csv, struct scanner *scan)
{
    for (uint32_t i = 0; i < csv->column_count; i++) {
        if (csv_find_column(csv, csv->columns[i]) != i) {
            scan->line = 1;
            return report(scan, "columns are told apart by their names",
                          text_build(scan->arena, "column '%s' is named twice", csv->columns[i]));
        }
    }
    return true;
}

static bool read_rows(struct scanner *scan, struct found *found, struct csv *out)
{
    uint32_t count = 0;
    for (skip_line_ends(scan); scan->at < scan->end; skip_line_ends(scan)) {
        const uint32_t line = scan->line;
        if (!read_record(scan, found, &count)) {
            return false;
        }
        if (out->column_count == 0) {
            out->column_count = count;
        } else if (count != out->column_count) {
            scan->line = line;
            return report(scan, "a cell with a comma or a line break stands in quotes",
                          text_build(scan->arena, "a record has %u cells, the heading %u", count,
                                     out->column_count));
        }
        push_line(found, scan->arena, line);
    }
    return out->column_count > 0 || report(scan, NULL, "the file has no heading");
}

bool csv_read(const char *name, const char *bytes, size_t length, struct arena *arena,
              struct csv *out, struct diag *diag)
{
    static const char mark[] = "\xef\xbb\xbf";
    const size_t skipped = length >= 3 && memcmp(bytes, mark, 3) == 0 ? 3 : 0;
    struct scanner scan = {.at = bytes + skipped,
                           .end = bytes + length,
                           .line = 1,
                           .arena = arena,
                           .diag = diag,
                           .name = name};
    struct found found = {0};
    struct csv csv = {.name = text_build(arena, "%s", name)};
    if (memchr(bytes, '\0', length) != NULL) {
        return report(&scan, NULL, "the file has a NUL byte: it is no text");
    }
    if (!read_rows(&scan, &found, &csv)) {
        return false;
    }
    csv.columns = found.cells;
    csv.cells = found.cells + csv.column_count;
    csv.lines = found.lines + 1;
    csv.row_count = (uint32_t)(found.line_count - 1);
    if (!check_columns(&csv, &scan)) {
        return false;
    }
    *out = csv;
    return true;
}

uint32_t csv_find_column(const struct csv *csv, const char *column)
{
    for (uint32_t i = 0; i < csv->column_count; i++) {
        if (strcmp(csv->columns[i], column) == 0) {
            return i;
        }
    }
    return CSV_NO_COLUMN;
}

const char *csv_find_cell(const struct csv *csv, uint32_t row, uint32_t column)
{
    return column == CSV_NO_COLUMN ? "" : csv->cells[(size_t)row * csv->column_count + column];
}

struct diag_place csv_place(const struct csv *csv, uint32_t row)
{
    return (struct diag_place){.file = csv->name, .line = csv->lines[row]};
}

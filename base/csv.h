/* Comma-separated tables (RFC 4180) whose every row knows its line. */
#ifndef SHARDPLAN_BASE_CSV_H
#define SHARDPLAN_BASE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"

#define CSV_COLUMN_MAX 256u
#define CSV_NO_COLUMN UINT32_MAX

/* The first record names the columns. All texts are NUL-terminated and in the arena. */
struct csv {
    const char *name;         /* of the file, for messages */
    const char *const *columns;
    uint32_t column_count, row_count;
    const char *const *cells; /* [row * column_count + column] */
    const uint32_t *lines;    /* per row: the line it starts on, 1-based */
};

/* Cells in quotes may hold commas, line breaks and doubled quotes; blanks belong to a cell. Lines
 * end in LF or CRLF; a byte order mark and empty lines are left out. A record of another width, a
 * column named twice, text behind a closing quote, a quote left open or a NUL byte is reported. */
bool csv_read(const char *name, const char *bytes, size_t length, struct arena *arena,
              struct csv *out, struct diag *diag);

uint32_t csv_find_column(const struct csv *csv, const char *column); /* CSV_NO_COLUMN if none */
/* "" where the column does not exist. */
const char *csv_find_cell(const struct csv *csv, uint32_t row, uint32_t column);
struct diag_place csv_place(const struct csv *csv, uint32_t row);

#endif

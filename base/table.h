/* Aligned columns for people. */
#ifndef SHARDPLAN_BASE_TABLE_H
#define SHARDPLAN_BASE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

#define TABLE_COLUMNS_MAX 24

struct table {
    struct arena *arena;
    uint32_t columns, rows, capacity;
    bool right[TABLE_COLUMNS_MAX]; /* numbers to the right */
    const char **cells;            /* rows * columns, row 0 is the heading */
};

/* headings: NULL-terminated; a heading that starts with '>' aligns its column right ('>' is not
 * printed). */
void table_init(struct table *table, struct arena *arena, const char *const *headings);
/* Next cell in reading order. */
void table_push(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Two spaces between columns, a rule of dashes under the heading, no trailing blanks; UTF-8
 * aware widths. */
void table_dump(const struct table *table, struct text *out);

#endif

/* What the readers of settings share: a list under way, a cursor over a text. */
#ifndef SHARDPLAN_BASE_SETTING_INSIDE_H
#define SHARDPLAN_BASE_SETTING_INSIDE_H

#include "base/setting.h"
#include "base/text.h"

void setting_list_init(struct setting_list *list, const char *name, struct arena *arena);
/* "a.b" of "a" and "b"; `table` may be "". */
const char *setting_join(struct arena *arena, const char *table, const char *key);

struct setting_cursor {
    const char *name, *text;
    size_t length, at, line_begin;
    uint32_t line;
    struct arena *arena;
    /* Characters of the line up to `counted_to`: a long line is counted once, not for each word. */
    size_t counted_from, counted_to;
    uint32_t counted;
};

/* Line, column (1-based) and text of the line where the cursor is. */
struct diag_place setting_place(struct setting_cursor *cursor);
/* Moves on by one byte. */
void setting_step(struct setting_cursor *cursor);

#endif

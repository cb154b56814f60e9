/* What went wrong with an input, where in it, next to what would be right. */
#ifndef SHARDPLAN_BASE_DIAG_H
#define SHARDPLAN_BASE_DIAG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"

/* Codes are stable forever; base/codes.def is the one list: DIAG_CODE(P417, "slug", "summary"). */
enum diag_code {
#define DIAG_CODE(code, slug, summary) DIAG_##code,
#include "base/codes.def"
#undef DIAG_CODE
    DIAG_CODE_COUNT
};

const char *diag_code_name(enum diag_code code); /* "P417" */
const char *diag_code_slug(enum diag_code code);
const char *diag_code_summary(enum diag_code code);

/* file NULL: the command line or a value built in memory. line 0: the whole file. Both 1-based;
 * the column counts characters (code points). */
struct diag_place {
    const char *file;
    uint32_t line, column;
    const char *source_line; /* text of that line, or NULL */
};

struct diag_entry {
    enum diag_code code;
    struct diag_place place;
    const char *message; /* names the thing, the value with its unit, and what would be right */
    const char *hint;    /* or NULL */
    bool warning;
};

#define DIAG_MAX 20

/* Faults are kept in arena memory; entries beyond DIAG_MAX are counted, not kept. */
struct diag {
    struct arena *arena;
    struct diag_entry entries[DIAG_MAX];
    uint32_t count; /* errors reported, kept or not */
    uint32_t kept;
};

void diag_init(struct diag *diag, struct arena *arena);

/* Reports one fault. Always returns false, so that a reader can `return diag_push(...)`. hint
 * may be NULL. */
bool diag_push(struct diag *diag, enum diag_code code, struct diag_place place, const char *hint,
               const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Same for something worth saying that does not stop the answer; does not raise `count`. */
void diag_push_warning(struct diag *diag, enum diag_code code, struct diag_place place,
                       const char *hint, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* All entries sorted by (file, line, column, order of report), in the compiler look:
 * file:line:column: error: message [P417] / source line / caret / hint. */
void diag_dump(const struct diag *diag, struct text *out);

/* A belief of ours failed: prints place and message to stderr, exits with 3. */
_Noreturn void diag_bug(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define BUG(...) diag_bug(__FILE__, __LINE__, __VA_ARGS__)

#endif

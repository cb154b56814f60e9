/* What the JSON files share among themselves: where each value of a text stands. */
#ifndef SHARDPLAN_BASE_JSON_INSIDE_H
#define SHARDPLAN_BASE_JSON_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/json.h"

/* A text under a name, with a cursor that makes places in ascending order cheap. */
struct json_source {
    const char *name;
    const char *text; /* NUL-terminated behind `length` */
    size_t length;
    struct arena *arena;   /* source lines of places are copied here; outlives the text */
    size_t line_begin, at; /* the cursor: start of its line, bytes counted so far */
    uint32_t line, column; /* of `at`; line 0 before the first use */
    const char *line_copy; /* that line, or NULL while not copied */
};

/* Line and column (both 1-based, the column in characters) of a byte. */
struct diag_place json_source_place(struct json_source *source, size_t offset);

#define JSON_NO_PARENT UINT32_MAX
#define JSON_TEXT_BYTES_MAX ((uint64_t)UINT32_MAX - 1) /* offsets are 32 bits wide */
#define JSON_VALUES_MAX ((uint64_t)INT32_MAX - 1)      /* ordinals fit an int */
#define JSON_DEPTH_MAX 900u                            /* below the limit of the parser, 1000 */

/* One value; values are numbered in the order of their first byte. */
struct json_mark {
    uint32_t begin, end; /* bytes */
    uint32_t parent;     /* ordinal of the container, or JSON_NO_PARENT */
    uint32_t count;      /* members or elements */
    uint32_t first;      /* containers: where the children start in a list of all children */
};

struct json_scan {
    struct json_mark *marks;
    uint32_t count;
    uint32_t nonfinite; /* numbers without a finite value, accepted because lenient */
};

/* True if a value at `text` is a number (or a lenient non-finite word) that no double holds. */
bool json_scan_is_nonfinite(const char *text, size_t length);

/* Refuses all that is no JSON (RFC 8259), NUL and invalid UTF-8, numbers no double holds (unless
 * `lenient`), more values or levels than json_limits. */
bool json_scan_text(struct json_source *source, bool lenient, struct arena *arena,
                    struct json_scan *out, struct diag *diag);

/* The value's own text inside the document, not NUL-terminated; "" for an absent one. */
const char *json_value_span(struct json_value value, size_t *out_length);
/* Place of a member's key. */
struct diag_place json_key_place(struct json_value member);
/* Refuses an object that has the same key twice, compared after decoding. */
bool json_check_twins(struct json_value object, struct arena *scratch, struct diag *diag);
/* True once all faults that `diag` keeps are there: a further one is only counted (and true is
 * given), which spares finding its place and words. A text can hold millions of faults. */
bool json_is_only_counted(struct diag *diag, enum diag_code code);
/* "/levels/0" for messages, "the document" for the root. */
const char *json_name(struct json_value value, struct arena *arena);
/* "an object", "a string", ... */
const char *json_type_name(struct json_value value);

#endif

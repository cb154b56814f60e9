/* JSON documents whose every value knows its place. */
#ifndef SHARDPLAN_BASE_JSON_H
#define SHARDPLAN_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/text.h"
#include "base/units.h"

/* One parsed document; a handle: open and close in the same function, copy contents out. */
struct json;

/* A value by reference; node NULL means absent. Valid while its document is open. */
struct json_value {
    struct json *document;
    void *node;
};

struct json_limits {
    uint64_t max_bytes;  /* refuse larger texts before parsing */
    uint64_t max_values; /* refuse more values, counted while streaming, before parsing */
    uint32_t max_depth;
};
/* 64 MiB, 2 million values, 256 levels; set once by the command line (--max-input). */
extern struct json_limits json_limits;

/* Reads and parses a file ("-" is standard input). Refuses duplicate keys, trailing text, texts
 * over the limits; bare Infinity / -Infinity / NaN are accepted as null only when `lenient`
 * (Hugging Face files). Nothing to close on false. */
bool json_open(const char *path, bool lenient, struct arena *arena, struct json **out,
               struct diag *diag);
/* Same from text; `name` stands for the file in messages. */
bool json_open_text(const char *name, const char *text, size_t length, bool lenient,
                    struct arena *arena, struct json **out, struct diag *diag);
void json_close(struct json *document);
struct json_value json_root(struct json *document);
/* Digest of the document's text. */
unsigned long long json_digest(const struct json *document);

bool json_is_absent(struct json_value value); /* no such member */
bool json_is_null(struct json_value value);   /* absent or null */
bool json_is_object(struct json_value value);
bool json_is_array(struct json_value value);
bool json_is_string(struct json_value value);
bool json_is_number(struct json_value value);
bool json_is_bool(struct json_value value);

struct json_value json_find(struct json_value object, const char *key); /* absent if none */
uint32_t json_count(struct json_value array_or_object);
/* O(1). */
struct json_value json_find_index(struct json_value array_or_object, uint32_t index);
const char *json_key(struct json_value member); /* key of a member got from an object */
struct diag_place json_place(struct json_value value);
/* "/levels/0/bandwidth" */
const char *json_pointer(struct json_value value, struct arena *arena);

/* Refuses members not in `keys` (NULL-terminated), with the nearest as hint. Reports all; false
 * if any. */
bool json_check_keys(struct json_value object, const char *const *keys, struct diag *diag);

/* Typed reads. Absent or of another type or out of range: one diagnostic naming the key, the
 * value and what would be right, false, *out untouched. `_or` forms give `fallback` when the
 * value is absent or null. */
bool json_read_u32(struct json_value object, const char *key, uint32_t min, uint32_t max,
                   uint32_t *out, struct diag *diag);
bool json_read_u32_or(struct json_value object, const char *key, uint32_t min, uint32_t max,
                      uint32_t fallback, uint32_t *out, struct diag *diag);
bool json_read_u64(struct json_value object, const char *key, uint64_t min, uint64_t max,
                   uint64_t *out, struct diag *diag);
bool json_read_double(struct json_value object, const char *key, double min, double max,
                      double *out, struct diag *diag);
bool json_read_double_or(struct json_value object, const char *key, double min, double max,
                         double fallback, double *out, struct diag *diag);
bool json_read_bool_or(struct json_value object, const char *key, bool fallback, bool *out,
                       struct diag *diag);
bool json_read_string(struct json_value object, const char *key, struct arena *arena,
                      const char **out, struct diag *diag);
bool json_read_string_or(struct json_value object, const char *key, const char *fallback,
                         struct arena *arena, const char **out, struct diag *diag);
/* A string with a unit ("80 GiB"); a bare number is an error whose hint gives an example. */
bool json_read_quantity(struct json_value object, const char *key, enum unit_kind kind, double *out,
                        struct diag *diag);
bool json_read_quantity_or(struct json_value object, const char *key, enum unit_kind kind,
                           double fallback, double *out, struct diag *diag);
/* The string must be one of `names` (NULL-terminated); gives its index, or reports with the
 * nearest as hint. */
bool json_read_choice(struct json_value object, const char *key, const char *const *names,
                      uint32_t *out, struct diag *diag);
/* Plain values of an element (array members, say); false when of another type, without a report. */
bool json_value_u64(struct json_value value, uint64_t *out);
bool json_value_double(struct json_value value, double *out);
bool json_value_string(struct json_value value, const char **out);
bool json_value_bool(struct json_value value, bool *out);
/* The value's own text as it stands in the document, copied. */
const char *json_value_text(struct json_value value, struct arena *arena);

/* --- writing: a streaming writer; two-space indented, or compact on one line ----------------- */
struct json_writer {
    struct text *out;
    uint32_t depth;
    bool first, after_key, compact;
};
void json_writer_init(struct json_writer *writer, struct text *out, bool compact);
void json_push_object(struct json_writer *writer);
void json_pop_object(struct json_writer *writer);
void json_push_array(struct json_writer *writer);
void json_pop_array(struct json_writer *writer);
void json_push_key(struct json_writer *writer, const char *key);
void json_push_string(struct json_writer *writer, const char *value); /* NULL writes null */
/* Shortest decimal that reads back to the same double; non-finite is a BUG. */
void json_push_double(struct json_writer *writer, double value);
void json_push_u64(struct json_writer *writer, uint64_t value);
void json_push_bool(struct json_writer *writer, bool value);
void json_push_null(struct json_writer *writer);
/* Raw JSON text (already valid). */
void json_push_raw(struct json_writer *writer, const char *json);
/* A quantity string with unit. */
void json_push_quantity(struct json_writer *writer, enum unit_kind kind, double value);
/* key + value in one call */
void json_push_key_string(struct json_writer *writer, const char *key, const char *value);
void json_push_key_double(struct json_writer *writer, const char *key, double value);
void json_push_key_u64(struct json_writer *writer, const char *key, uint64_t value);
void json_push_key_bool(struct json_writer *writer, const char *key, bool value);
void json_push_key_quantity(struct json_writer *writer, const char *key, enum unit_kind kind,
                            double value);

#endif

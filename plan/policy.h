/* What happens to a tensor or an edge rather than to an axis: rewrites of the work program. */
#ifndef SHARDPLAN_PLAN_POLICY_H
#define SHARDPLAN_PLAN_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/json.h"
#include "plan/setup.h"

#define POLICY_FIELD_MAX 16

struct plan;
struct work;

enum policy_field_kind {
    POLICY_FIELD_WORD,      /* one of choices */
    POLICY_FIELD_WORDS,     /* list of strings (dims, levels, tensor classes, stages) */
    POLICY_FIELD_TEXT,
    POLICY_FIELD_COUNT,     /* unsigned integer */
    POLICY_FIELD_NUMBER,
    POLICY_FIELD_FRACTION,  /* 0 .. 1 */
    POLICY_FIELD_BOOL,
    POLICY_FIELD_QUANTITY,  /* with unit */
    POLICY_FIELD_NUMBERS,   /* list of numbers: one amount per rank */
    POLICY_FIELD_KIND_COUNT
};

struct policy_field {
    const char *key;
    enum policy_field_kind kind;
    const char *const *choices;     /* POLICY_FIELD_WORD and the members of POLICY_FIELD_WORDS when not NULL */
    enum unit_kind unit;            /* POLICY_FIELD_QUANTITY */
    bool required;
    const char *summary;
};

struct policy_value {
    bool present;
    uint32_t word;                  /* index into choices */
    uint64_t count;
    double number;
    bool flag;
    const char *text;
    const char *const *words;
    uint32_t word_count;
    const double *numbers;
    uint32_t number_count;
};

/* One use of a policy in a plan. values[i] belongs to kind->fields[i]. */
struct policy_use {
    const struct policy *kind;
    struct policy_value values[POLICY_FIELD_MAX];
};

struct policy {
    const char *name;               /* "shard" */
    const char *summary;
    uint32_t order;                 /* policies apply in ascending order, then list order */
    const struct policy_field *fields;
    uint32_t field_count;
    /* NULL when this use can be costed for this plan, else why not (arena text naming the field): judges refuse by name. */
    const char *(*refuses)(const struct problem *problem, const struct plan *plan, const struct policy_use *use,
                           struct arena *arena);
    /* Applies the use to the work program. NULL: this policy can be stated but is never costed yet. */
    void (*rewrite)(const struct policy_use *use, struct work *work);
};

extern const struct policy *const policy_table[];
extern const uint32_t policy_table_count;
extern const char *const policy_table_names[];  /* NULL-terminated */
const struct policy *policy_find(const char *name);
const char *const *policy_names(void);
const struct policy_value *policy_find_value(const struct policy_use *use, const char *key);   /* NULL: absent */

bool policy_read_json(struct json_value object, struct arena *arena, struct policy_use *out, struct diag *diag);
void policy_dump(const struct policy_use *use, struct json_writer *out);

#endif

/* What happens to a tensor or an edge rather than to an axis: rewrites of the work program. */
#ifndef SHARDPLAN_PLAN_POLICY_H
#define SHARDPLAN_PLAN_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/json.h"
#include "plan/setup.h"

#define POLICY_FIELD_MAX 24

struct plan;
struct work;

enum policy_field_kind {
    POLICY_FIELD_WORD,  /* one of choices */
    POLICY_FIELD_WORDS, /* list of strings (dims, levels, tensor classes, stages) */
    POLICY_FIELD_TEXT,
    POLICY_FIELD_COUNT, /* unsigned integer */
    POLICY_FIELD_NUMBER,
    POLICY_FIELD_FRACTION, /* 0 .. 1 */
    POLICY_FIELD_BOOL,
    POLICY_FIELD_QUANTITY, /* with unit */
    POLICY_FIELD_NUMBERS,  /* list of numbers: one amount per rank */
    POLICY_FIELD_KIND_COUNT
};

/* What the words of a field are names of, so that one rule checks them all. */
enum policy_target {
    POLICY_TARGET_NONE,
    POLICY_TARGET_RANKS,  /* dims of the mesh or levels of the cluster */
    POLICY_TARGET_PARTS,  /* parts of the model */
    POLICY_TARGET_LAYERS, /* a range of layers, "0-11" */
    POLICY_TARGET_STAGES, /* ranges of stages, "last" too */
    POLICY_TARGET_EDGES,  /* edge classes, "DIM CAUSE"; mechanisms stand for dims: tie, outer,
                             * table, halo, host, world */
    POLICY_TARGET_PHASES, /* training phases of the setup */
    POLICY_TARGET_COUNT
};

struct policy_field {
    const char *key;
    enum policy_field_kind kind;
    const char *const *choices; /* POLICY_FIELD_WORD and the members of POLICY_FIELD_WORDS when
                                     * not NULL */
    enum unit_kind unit;        /* POLICY_FIELD_QUANTITY */
    bool required;
    enum policy_target target;
    bool selects; /* says what the policy is about: two uses of one kind must
                                     * differ in such a field */
    const char *summary;
};

struct policy_value {
    bool present;
    uint32_t word; /* index into choices */
    uint64_t count;
    double number;
    bool flag;
    const char *text;
    const char *const *words;
    uint32_t word_count;
    const double *numbers;
    uint32_t number_count;
};

/* The selectors that all kinds share; they end every field table. Absent: all. */
#define POLICY_SELECTORS \
    {.key = "parts", \
     .kind = POLICY_FIELD_WORDS, \
     .target = POLICY_TARGET_PARTS, \
     .selects = true, \
     .summary = "parts of the model"}, \
        {.key = "layer_range", \
         .kind = POLICY_FIELD_TEXT, \
         .target = POLICY_TARGET_LAYERS, \
         .selects = true, \
         .summary = "layers in chain order, ends of the chain not counted"}, \
        {.key = "stages", \
         .kind = POLICY_FIELD_WORDS, \
         .target = POLICY_TARGET_STAGES, \
         .selects = true, \
         .summary = "pipeline stages"}, \
        {.key = "edges", \
         .kind = POLICY_FIELD_WORDS, \
         .target = POLICY_TARGET_EDGES, \
         .selects = true, \
         .summary = "edge classes: what travels over which dimension and why"}, \
        {.key = "phase", \
         .kind = POLICY_FIELD_WORD, \
         .choices = policy_phases, \
         .selects = true, \
         .summary = "phase of the pipeline schedule"}, \
        {.key = "iterations", \
         .kind = POLICY_FIELD_NUMBERS, \
         .selects = true, \
         .summary = "iterations within a period"}, \
    { \
        .key = "training_phase", .kind = POLICY_FIELD_TEXT, .target = POLICY_TARGET_PHASES, \
        .selects = true, .summary = "training phase of the setup" \
    }
/* Tensor classes that a policy is about, for the kinds that have no list of their own. */
#define POLICY_SELECTOR_TENSORS \
    { \
        .key = "tensors", .kind = POLICY_FIELD_WORDS, .choices = policy_tensors, .selects = true, \
        .summary = "tensor classes" \
    }
extern const char *const policy_phases[]; /* warm-up, steady, cool-down */
extern const char *const policy_tensors[];

/* One use of a policy in a plan. values[i] belongs to kind->fields[i]. */
struct policy_use {
    const struct policy *kind;
    struct policy_value values[POLICY_FIELD_MAX];
};

/* The parts of a work program that a rewrite can change. */
enum policy_event {
    POLICY_EVENT_FORWARD,  /* items of a forward */
    POLICY_EVENT_BACKWARD, /* items of a backward */
    POLICY_EVENT_GATHER,   /* parameters before the first forward */
    POLICY_EVENT_SYNC,     /* gradient sums behind the last backward */
    POLICY_EVENT_UPDATE,   /* the optimizer */
    POLICY_EVENT_RESIDENT, /* bytes of parameters, gradients, optimizer states */
    POLICY_EVENT_SAVED,    /* what is kept for the backward, in which layers */
    POLICY_EVENT_SEND,     /* between stages */
    POLICY_EVENT_TIED,     /* sums of tied weights */
    POLICY_EVENT_NORM,     /* agreement on the gradient norm */
    POLICY_EVENT_COUNT
};

struct policy {
    const char *name; /* "shard" */
    const char *summary;
    uint32_t order; /* policies apply in ascending order, then list order */
    const struct policy_field *fields;
    uint32_t field_count;
    bool reconciles; /* settles how copies of one tensor on several groups or replicas
                             * agree */
    /* Can it be meant at all: do its targets exist, does the runtime allow it? diag NULL: no
     * message, no allocation. NULL: always. */
    bool (*fits)(const struct problem *problem, const struct plan *plan,
                 const struct policy_use *use, struct diag *diag);
    /* Does it go with the plan's other policies? As above. NULL: with all. */
    bool (*agrees)(const struct problem *problem, const struct plan *plan,
                   const struct policy_use *use, struct diag *diag);
    /* Why a plan with that mesh and schedule must have a use of this kind (static text with what
     * would be right), or NULL. The member may set NULL: none ever must. */
    const char *(*needed)(const struct problem *problem, const struct plan *plan);
    /* NULL when this use can be costed for this plan, else why not (arena text naming the field):
     * judges refuse by name. */
    const char *(*refuses)(const struct problem *problem, const struct plan *plan,
                           const struct policy_use *use, struct arena *arena);
    /* The index-th use that a search should try on a plan with that mesh and schedule; false: no
     * more. Not using the policy is always tried. Such uses never shorten a block's forward or
     * backward (a law): searches rely on it. NULL: only on demand. */
    bool (*choose)(const struct problem *problem, const struct plan *plan, uint32_t index,
                   struct arena *arena, struct policy_use *out);
    /* A search tries them only where it is asked to, or where nothing fits without. */
    bool on_demand;
    /* Does the index-th of those never need more memory on any stage than the one before it (the
     * first: than not using the policy)? NULL: never known. */
    bool (*leaner)(uint32_t index);
    /* Rewrites nothing but which form the layers have (work.keep, work.recompute_layers), which no
     * other policy reads: a search prices the blocks once for all such uses (a law). */
    bool only_keeps;
    /* Applies the use to the work program, whatever its number of chunks. NULL: this policy can
     * be stated but is never costed yet. */
    void (*rewrite)(const struct policy_use *use, struct work *work);
    /* 1 << event for each part of the program that `rewrite` may change: laws hold all else to
     * what it was without the policy. */
    uint32_t touches;
    /* Uses, as in a plan file, that say what holds anyway: a law wants the program unchanged. Ends
     * with NULL; NULL: there are none. */
    const char *const *identities;
};

extern const struct policy *const policy_table[];
extern const uint32_t policy_table_count;
extern const char *const policy_table_names[]; /* NULL-terminated */
const struct policy *policy_find(const char *name);
const char *const *policy_names(void);
const struct policy_value *policy_find_value(const struct policy_use *use,
                                             const char *key); /* NULL: absent */

/* Reasons for `refuses`, arena text: the kind as a whole; the fields stated that are not in
 * `costed` (NULL-terminated), or NULL. */
const char *policy_refuse_kind(const struct problem *problem, const struct plan *plan,
                               const struct policy_use *use, struct arena *arena);
const char *policy_refuse_fields(const struct policy_use *use, const char *const *costed,
                                 struct arena *arena);

bool policy_read_json(struct json_value object, struct arena *arena, struct policy_use *out,
                      struct diag *diag);
void policy_dump(const struct policy_use *use, struct json_writer *out);

#endif

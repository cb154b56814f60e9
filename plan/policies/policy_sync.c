/* Replicas agree every so often, late, in part, or through a server. */
#include "plan/policy.h"
#include "plan/work.h"

extern const struct policy policy_sync;

static const char *const vias[] = {"all-reduce", "parameter-server", "peer-to-peer", NULL};
static const char *const lates[] = {"dropped", "queued", "next-round", NULL};

static const struct policy_field fields[] = {
    {.key = "via", .kind = POLICY_FIELD_WORD, .choices = vias, .summary = "who sums"},
    {.key = "every", .kind = POLICY_FIELD_COUNT, .summary = "steps between two agreements"},
    {.key = "stale",
     .kind = POLICY_FIELD_COUNT,
     .summary = "steps until the result is used; 0: at once"},
    {.key = "turns",
     .kind = POLICY_FIELD_BOOL,
     .summary = "layers agree in turn, each in a step of its own of `every`"},
    {.key = "quorum", .kind = POLICY_FIELD_COUNT, .summary = "ranks that suffice"},
    {.key = "sample",
     .kind = POLICY_FIELD_COUNT,
     .summary = "random ranks that a barrier looks at"},
    {.key = "late",
     .kind = POLICY_FIELD_WORD,
     .choices = lates,
     .summary = "what happens to those who come late"},
    {.key = "servers", .kind = POLICY_FIELD_COUNT, .summary = "parameter servers"},
    {.key = "redundancy",
     .kind = POLICY_FIELD_COUNT,
     .summary = "copies of every share of the batch"},
    {.key = "extra_state",
     .kind = POLICY_FIELD_QUANTITY,
     .unit = UNIT_BYTES,
     .summary = "per parameter: anchors, outer momentum"},
    {.key = "scalars_only",
     .kind = POLICY_FIELD_BOOL,
     .summary = "only losses travel, updates are made again from seeds"},
    POLICY_SELECTOR_TENSORS,
    POLICY_SELECTORS,
};

enum { FIELD_VIA };

static const char *refuses(const struct problem *problem, const struct plan *plan,
                           const struct policy_use *use, struct arena *arena)
{
    static const char *const costed[] = {"via", "every", "turns", "stale", "extra_state", NULL};
    (void)problem;
    (void)plan;
    const uint32_t via = use->values[FIELD_VIA].word;
    if (use->values[FIELD_VIA].present && via != 0)
        return text_build(arena, "the judges cannot cost policy 'sync' via '%s' yet", vias[via]);
    return policy_refuse_fields(use, costed, arena);
}

/* Gradient sums once in `every` steps, needed `stale` steps later; the state that this takes is
 * held per parameter. */
static void rewrite(const struct policy_use *use, struct work *work)
{
    const struct policy_value *every = policy_find_value(use, "every");
    const struct policy_value *turns = policy_find_value(use, "turns");
    const struct policy_value *stale = policy_find_value(use, "stale");
    const struct policy_value *extra = policy_find_value(use, "extra_state");
    for (uint32_t b = 0; b < work->block_count; b++) {
        for (uint32_t i = 0; i < work->blocks[b].weights_count; i++) {
            struct work_weights *weights = &work->blocks[b].weights[i];
            weights->period = every == NULL || every->count == 0 ? 1 : (uint32_t)every->count;
            weights->turns = weights->period > 1 && turns != NULL && turns->flag;
            weights->distance = stale == NULL ? 0 : (uint32_t)stale->count;
            weights->extra_state_bytes = extra == NULL ? 0.0 : extra->number;
        }
    }
}

/* Replicas agree in every step anyway. */
static const char *const identities[] = {
    "{\"kind\": \"sync\", \"every\": 1}",
    "{\"kind\": \"sync\", \"every\": 1, \"stale\": 0, \"extra_state\": \"0 B\"}",
    NULL,
};

const struct policy policy_sync = {
    .name = "sync",
    .summary = "how often, how late, among whom replicas agree",
    .order = 30,
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
    .reconciles = true,
    .refuses = refuses,
    .rewrite = rewrite,
    .touches = 1u << POLICY_EVENT_SYNC | 1u << POLICY_EVENT_BACKWARD | 1u << POLICY_EVENT_GATHER |
               1u << POLICY_EVENT_RESIDENT,
    .identities = identities,
};

/* What targets that run training have in common: what they ask of a plan before they write it.
 *
 * Each question reports what the target cannot express (codes X60x), under the target's name. */
#ifndef SHARDPLAN_EXPORTS_EXPRESS_H
#define SHARDPLAN_EXPORTS_EXPRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

bool express_is_one_of(const char *word, const char *const *words);

/* One step of pretraining on sequences of one length, in one of these formats with one of these
 * optimizers. Both lists are NULL-terminated. */
bool express_setup(const struct setup *setup, const char *target, const char *const *dtypes,
                   const char *const *optimizers, struct diag *diag);
/* Replicas and their shards are any model's; what cuts layers knows the usual ones. */
bool express_cuts(const struct problem *problem, const struct plan *plan, const char *target,
                  struct diag *diag);
/* One group of whole devices in their order, its dims and folds among these. */
bool express_group(const struct plan *plan, const char *target, const char *const *factors,
                   const char *const *folds, struct diag *diag);
/* Ranks in this order, innermost first; NULL-terminated. */
bool express_order(const struct plan *plan, const char *target, const char *const *order,
                   struct diag *diag);
/* Whole nodes, for targets whose launcher starts as many ranks on each. */
bool express_nodes(const struct problem *problem, const struct plan *plan, struct diag *diag);
/* Devices of a host that the launcher starts ranks on. */
uint32_t express_count_node_devices(const struct problem *problem, const struct plan *plan);
/* One of these schedules by name, with nothing further said of it; layers stated where there is
 * more than one chunk. */
bool express_schedule(const struct problem *problem, const struct plan *plan, const char *target,
                      const char *const *schedules, struct diag *diag);
/* Name of the variant of a dim in force; NULL: it has degree 1, or no variants. */
const char *express_find_variant(const struct plan *plan, const char *dim);

/* Policies: states over all ranks with the same weights, recomputation. */
struct express_states {
    uint32_t zero;              /* level of sharding, 0: none */
    const char *granularity;    /* "selective", "latents", "full", NULL: nothing is
                                 * recomputed */
    uint64_t layers;            /* "full": the first so many of each chunk, UINT64_MAX: all */
};
void express_find_states(const struct plan *plan, struct express_states *out);
/* Tensors that a target keeps in the host's memory together, as policy 'offload' calls them. */
struct express_move {
    const char *tensors[5];     /* NULL-terminated */
    uint32_t zero;              /* least level of sharding, where replicas could share states */
    bool parts;                 /* a share of them too */
};
/* Share of such tensors in the host's memory, 0: none. */
double express_find_moved(const struct plan *plan, const char *tensors);
/* No other policies, nothing of these that express_find_states does not say; levels of sharding
 * above `most` are refused with `instead` as what would be right; moves to the host that are not
 * among `moves`, which end with an empty one. */
bool express_policies(const struct plan *plan, const char *target, uint32_t most,
                      const char *instead, const struct express_move *moves, struct diag *diag);
/* Layers of the fullest chunk. */
uint32_t express_find_most_layers(const struct problem *problem, const struct plan *plan);
/* Nothing is recomputed, or every layer whole. */
bool express_whole_layers(const struct problem *problem, const struct plan *plan,
                          const struct express_states *states, const char *target,
                          struct diag *diag);
/* Layers of model chunk 0 .. stages * chunks - 1 in the order of the chain; 0 where the plan
 * leaves them open. */
uint32_t express_find_layers(const struct plan *plan, uint32_t chunk);

#endif

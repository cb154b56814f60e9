/* The best plan of a space, with a certificate.
 *
 * Data structure: the space is a tree. A *node* fixes degrees, folds, variants and micro-batch;
 * under it stand rank orders; under those schedule shapes (schedule, chunks); under those
 * *alternatives* (one way of using each searched policy); the partition of layers is solved
 * exactly inside each leaf. Nodes are taken in the order of their lower bound, so the first good
 * leaves cut off the rest. Every leaf is counted once: evaluated, or pruned by a named bound. */
#ifndef SHARDPLAN_PLANNER_PLANNER_H
#define SHARDPLAN_PLANNER_PLANNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "plan/estimator.h"
#include "plan/plan.h"

#define PLANNER_POLICY_MAX 16
#define PIN_SEARCH 0u
#define PIN_ON UINT32_MAX           /* on_or_off folds: over all of the hosts' ranks; 1: off */
#define PIN_ANY UINT32_MAX          /* variants */

/* What is fixed; everything else is searched. */
struct planner_pins {
    uint32_t degrees[DIM_MAX];      /* per dim_table entry, PIN_SEARCH: searched */
    uint32_t variants[DIM_MAX];     /* PIN_ANY: searched */
    uint32_t micro_batch, chunks;   /* 0: searched */
    const struct schedule *schedule;    /* NULL: searched */
    bool order_pinned;              /* the first legal rank order, by the dims' default places, on
                                     * the devices as they are numbered */
    struct slice_range *slices;     /* ranks sit on these devices in that order, no others are used;
                                     * none: on all, kinds of device in every order */
    uint32_t slice_count;
    bool policy_pinned[PLANNER_POLICY_MAX];     /* per policy_table entry: exactly the uses below of
                                                 * that kind */
    const struct policy_use *uses;
    uint32_t use_count;
    /* Per policy_table entry, 0: as above; n: its (n-1)-th own choice where the plan has one,
     * else no use. */
    uint32_t policy_choices[PLANNER_POLICY_MAX];
    /* Per policy_table entry: policies that are tried on demand are tried. */
    bool policy_asked[PLANNER_POLICY_MAX];
};

enum planner_bound { BOUND_NODE, BOUND_PIPELINE, BOUND_MEMORY, BOUND_PATH, BOUND_COUNT };
const char *planner_bound_name(enum planner_bound bound);   /* "compute", "pipeline", "memory",
                                                             * "path" */

/* How far a search is. */
struct planner_progress {
    const char *doing;              /* "bounded", "looked into", "searched": of how many meshes */
    uint32_t done, total;
    double best_s;                  /* 0: nothing fits yet */
};

struct ranked_plan {
    struct plan *plan;              /* layers filled in */
    struct estimate estimate;       /* with stages */
};

struct planner_options {
    struct planner_pins pins;
    uint32_t top;                   /* plans wanted, >= 1 */
    bool no_prune;                  /* evaluate every leaf */
    uint64_t budget;                /* leaves to evaluate at most, 0: no limit */
    /* Called before each mesh that a pass looks at, with no effect on the answer; NULL: nobody
     * asks. */
    void (*progress)(void *state, const struct planner_progress *at);
    void *progress_state;
    /* Plans known beforehand, fastest first, all fit: they cut the search, and take their places in
     * the answer, be they in the space or not; the certificate speaks of the space and of them. */
    const struct ranked_plan *seeds;
    uint32_t seed_count;
};

struct certificate {
    double lower_bound_s;           /* no plan of the space is faster */
    double gap_frac;                /* (best - lower bound) / best; 0 when complete */
    /* The plans of the space have their layers placed as the planner places them. No plan with
     * its layers placed in any other way is faster than that; the lower bound where every placement
     * that may be faster was tried. */
    double placement_bound_s, placement_gap_frac;
    uint64_t space_size;            /* distinct legal plans before cost */
    uint64_t evaluated;
    uint64_t pruned[BOUND_COUNT];   /* evaluated + sum of pruned = space_size when complete */
    bool complete;
    uint32_t schedules_left;        /* [bit] of the table: legal, but not in the space: on demand */
};

struct planner_result {
    struct ranked_plan *plans;      /* fastest first, all fit */
    uint32_t count;                 /* 0: no plan of the space fits in memory */
    /* count 0 and the space not empty: the plan whose fullest stage lacks least, and how much.
     * Unless nothing is pruned it is near the least only: of the meshes without room for weights,
     * states and one micro-batch a few that need least are looked at; of the others no plan that
     * surely needs as much memory as one that lacks room, or cannot lack 2 % less. */
    struct ranked_plan least_over;
    double least_over_bytes;
    struct certificate certificate;
};

/* False only on a fault of the question (an empty space: how many meshes broke what; one that is
 * too wide; codes P46x); "nothing fits" is an ordinary result. */
bool planner_search(const struct problem *problem, const struct estimator *estimator,
                    const struct planner_options *options, struct arena *arena,
                    struct planner_result *out, struct diag *diag);
/* Where nothing fits of a space of so many plans: the best plan with policies on demand that are
 * not pinned. NULL: none fits either, or there are none. */
const struct ranked_plan *planner_search_on_demand(const struct problem *problem,
                                                   const struct estimator *estimator,
                                                   const struct planner_options *options,
                                                   uint64_t space_size, struct arena *arena);

/* Does any plan of the space fit in memory? Much cheaper than to search for one. False for an
 * empty space too. */
bool planner_fits(const struct problem *problem, const struct estimator *estimator,
                  const struct planner_options *options, struct arena *arena);

/* Fills plan->schedule.layers by the same exact partition that the search uses, and judges it.
 * Out of memory is no fault: then layers are spread as if memory were no limit, and the estimate
 * says that it does not fit. */
void planner_complete(const struct problem *problem, const struct estimator *estimator,
                      struct plan *plan, struct arena *arena, struct estimate *out);

#endif

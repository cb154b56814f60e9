/* Plans of one group, written out degree by degree. */
#ifndef SHARDPLAN_TESTS_LAW_SINGLE_PLAN_H
#define SHARDPLAN_TESTS_LAW_SINGLE_PLAN_H

#include <string.h>

#include "plan/plan.h"
#include "tests/tap_main.h"

static inline bool same(double a, double b)
{
    const double larger = a > b ? a : b;
    return a - b <= 1e-9 * larger && b - a <= 1e-9 * larger;
}

static inline const struct dim *the_dim(const char *name)
{
    const struct dim *dim = dim_find(name);
    ck_assert_msg(dim != NULL, "no dim '%s'", name);
    return dim;
}

/* A plan of one group; degrees not given are 1. */
struct single {
    struct group group;
    struct plan plan;
};

static inline void init(struct single *single, uint32_t micro_batch)
{
    memset(single, 0, sizeof *single);
    single->plan.groups = &single->group;
    single->plan.group_count = 1;
    single->plan.schedule = (struct plan_schedule){
        .schedule = schedule_find("1f1b"), .micro_batch = micro_batch, .chunks = 1};
}

static inline void add_factor(struct single *single, const char *dim, uint32_t degree,
                              const char *variant)
{
    struct mesh_dim *factor = &single->group.mesh[single->group.mesh_count++];
    *factor = (struct mesh_dim){.dim = the_dim(dim), .degree = degree};
    while (variant != NULL && strcmp(factor->dim->variants[factor->variant].name, variant) != 0) {
        factor->variant++;
        ck_assert_uint_lt(factor->variant, factor->dim->variant_count);
    }
}

static inline void add_fold(struct single *single, const char *dim, uint32_t degree)
{
    single->group.folds[single->group.fold_count++] =
        (struct mesh_fold){.dim = the_dim(dim), .degree = degree};
}

#endif

/* Data parallelism: every replica takes its share of the batch. */
#include "plan/dim.h"

extern const struct dim dim_dp;

const struct dim dim_dp = {
    .name = "dp",
    .flag = "--dp",
    .summary = "data parallel: the batch is cut, gradients are summed over the replicas",
    .kind = DIM_FACTOR,
    .variants = {{.cuts = {{.axis = "batch"}}, .cut_count = 1}},
    .variant_count = 1,
    .order = 5,
};

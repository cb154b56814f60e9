/* Pipeline parallelism: the chain of layers is cut into stages. */
#include "plan/dim.h"

extern const struct dim dim_pp;

const struct dim dim_pp = {
    .name = "pp",
    .flag = "--pp",
    .summary = "pipeline parallel: the chain of layers is cut into stages",
    .kind = DIM_FACTOR,
    .cuts_chain = true,
    .variants = {{.cut_count = 0}},
    .variant_count = 1,
    .order = 4,
};

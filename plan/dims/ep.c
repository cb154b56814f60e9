/* Expert parallelism: where experts work, context and data ranks hold other experts, not other
 * tokens. */
#include "plan/dim.h"

extern const struct dim dim_ep;

const struct dim dim_ep = {
    .name = "ep",
    .flag = "--ep",
    .summary = "expert parallel: the experts of a layer are spread over context and data ranks",
    .kind = DIM_FOLD_INSTEAD,
    .hosts = {"cp", "dp"},
    .variants = {{.cuts = {{.axis = "experts"}}, .cut_count = 1}},
    .variant_count = 1,
    .order = 3,
};

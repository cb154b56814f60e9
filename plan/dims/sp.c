/* Sequence parallelism: tensor ranks cut the sequence where they would repeat each other's work. */
#include "plan/dim.h"

extern const struct dim dim_sp;

const struct dim dim_sp = {
    .name = "sp",
    .flag = "--sequence-parallel",
    .summary = "sequence parallel: the tensor ranks cut the sequence between the matrices",
    .kind = DIM_FOLD_BESIDE,
    .hosts = {"tp"},
    .on_or_off = true,
    .variants = {{.cuts = {{.axis = "seq"}}, .cut_count = 1}},
    .variant_count = 1,
    .order = 1,
};

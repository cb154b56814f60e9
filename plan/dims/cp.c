/* Context parallelism: the sequence is cut everywhere, so attention must fetch keys or trade
 * heads. */
#include "plan/dim.h"

extern const struct dim dim_cp;

const struct dim dim_cp = {
    .name = "cp",
    .flag = "--cp",
    .summary = "context parallel: the sequence is cut; attention gathers keys or trades heads",
    .kind = DIM_FACTOR,
    .variants =
        {
            /* Keys and values go round while attention on those at hand runs (Ring Attention,
             * 2023). */
            {.name = "ring", .cuts = {{.axis = "seq"}}, .cut_count = 1, .overlap_chunks = 1},
            /* Attention sees the whole sequence of some heads (DeepSpeed Ulysses, 2023). */
            {
                .name = "ulysses",
                .cuts =
                    {
                        {.axis = "heads", .beside = "keys"},
                        {.axis = "kv_heads", .beside = "keys"},
                        {.axis = "scan_heads", .beside = "keys"},
                        {.axis = "seq"},
                    },
                .cut_count = 4,
            },
            /* All keys and values first (Llama 3, 2024). */
            {.name = "allgather", .cuts = {{.axis = "seq"}}, .cut_count = 1},
        },
    .variant_count = 3,
    .order = 2,
};

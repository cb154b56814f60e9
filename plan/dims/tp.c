/* Tensor parallelism: every matrix is cut along its width. */
#include "plan/dim.h"

extern const struct dim dim_tp;

const struct dim dim_tp = {
    .name = "tp",
    .flag = "--tp",
    .summary = "tensor parallel: heads, feed-forward widths and the vocabulary are cut",
    .kind = DIM_FACTOR,
    .variants = {{
        .cuts =
            {
                {.axis = "heads"},
                {.axis = "kv_heads"},
                {.axis = "ffn"},
                {.axis = "expert_ffn"},
                {.axis = "shared_ffn"},
                {.axis = "vocab"},
                {.axis = "scan_heads"},
                {.axis = "scan_groups"},
                {.axis = "vision_heads"},
                {.axis = "vision_kv_heads"},
                {.axis = "vision_ffn"},
            },
        .cut_count = 11,
    }},
    .variant_count = 1,
    .order = 0,
};

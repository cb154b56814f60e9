/* Names of what seconds and bytes go to. */
#include "plan/estimator.h"

#include <string.h>

const char *estimator_cost_key(uint32_t cost, struct arena *arena)
{
    static const char *const keys[COST_DIM] = {"compute_s", "recompute_s", "optimizer_s",
                                               "overhead_s", "bubble_s"};
    if (cost < COST_DIM) {
        return keys[cost];
    }
    const uint32_t dim = cost - COST_DIM;
    /* a beside fold's traffic is charged to its host */
    if (dim >= dim_table_count || dim_table[dim]->kind == DIM_FOLD_BESIDE) {
        return NULL;
    }
    return text_build(arena, "%s_comm_s", dim_table[dim]->name);
}

const char *estimator_memory_key(enum memory_class class)
{
    static const char *const keys[MEMORY_CLASS_COUNT] = {
        "parameters_bytes",  "gradients_bytes", "optimizer_bytes", "kv_cache_bytes",
        "activations_bytes", "logits_bytes",    "buffers_bytes",   "context_bytes"};
    return keys[class];
}

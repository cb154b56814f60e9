/* What the files that read torchtitan's job configuration share.
 *
 * Keys and rules are those of tag v0.2.2 of February 2026 (torchtitan/config/job_config.py,
 * distributed/parallel_dims.py, distributed/pipeline_parallel.py, train.py). */
#ifndef SHARDPLAN_IMPORTS_TORCHTITAN_TOML_H
#define SHARDPLAN_IMPORTS_TORCHTITAN_TOML_H

#include "imports/configuration.h"

#define TORCHTITAN_PARTS 4096u

struct torchtitan_sizes {
    uint64_t tp, cp, pp, ep, etp, replicate, shard, dp;
};

/* Layers of the model parts, in the order of the chain, into the plan; its schedule is there. */
void torchtitan_read_layers(struct configuration *configuration, uint32_t stages, bool multi);

#endif

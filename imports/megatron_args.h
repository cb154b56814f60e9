/* What the files that read Megatron-LM's arguments share.
 *
 * Flags and rules are those of its parser (megatron/training/arguments.py, transformer_config.py,
 * pipeline_parallel_layer_layout.py) at commit d98e8a64 of August 2026. */
#ifndef SHARDPLAN_IMPORTS_MEGATRON_ARGS_H
#define SHARDPLAN_IMPORTS_MEGATRON_ARGS_H

#include "imports/configuration.h"

#define MEGATRON_ARGS_CHUNKS 4096u

/* The model that the flags describe, or the one asked for; false: reported. */
bool megatron_args_read_model(struct configuration *configuration);
/* The sizes of --moe-layer-freq: a 1 per layer with experts. False: it is no such expression. */
bool megatron_args_read_pattern(const char *text, uint32_t layers, uint8_t *out, uint32_t *count);

/* Layers of the chunks of --pipeline-model-parallel-layout, in the order of the chain; false:
 * reported. */
bool megatron_args_read_layout(struct configuration *configuration, const char *layout,
                               uint32_t *layers, uint32_t *chunks);

/* Letters of --hybrid-layer-pattern, one per layer; NULL: it is not given, or reported. */
const char *megatron_args_find_hybrid(struct configuration *configuration);
/* Keys "mixers", "mlps", "scan" of a native description. */
void megatron_args_push_hybrid(struct configuration *configuration, const char *letters,
                               uint64_t hidden, struct json_writer *out);
/* Layers of its chunks, room for MEGATRON_ARGS_CHUNKS; their number, 0: reported. */
uint32_t megatron_args_split_hybrid(struct configuration *configuration, uint32_t *layers);

/* Degrees, batch, schedule, states. */
void megatron_args_read_plan(struct configuration *configuration);

/* Combinations of flags that its parser refuses, whatever is planned. */
void megatron_args_check_flags(struct configuration *configuration);
/* What the flags switch on that no plan can say. */
void megatron_args_refuse_limits(struct configuration *configuration);

#endif

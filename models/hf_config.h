/* Descriptions of transformers as the Hugging Face library stores them. */
#ifndef SHARDPLAN_MODELS_HF_CONFIG_H
#define SHARDPLAN_MODELS_HF_CONFIG_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/json.h"
#include "models/transformer.h"

/* Has the object the marks of a config.json: "model_type", or "architectures" from before there was
 * one? */
bool hf_config_fits(struct json_value object);
/* Reads a config.json of a supported model_type. Keys that it does not know are no faults, there
 * are too many; those known to change the computation in a way that is not modelled are reported by
 * name. */
bool hf_config_read(struct json_value object, struct arena *arena, struct transformer *out,
                    struct diag *diag);

#endif

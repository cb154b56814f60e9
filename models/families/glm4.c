/* GLM-4 0414: norms before and behind each half. */
#include "models/hf_shapes.h"

extern const struct hf_family hf_family_glm4;

const struct hf_family hf_family_glm4 = {
    .types = {"glm4"},
    .architectures = {"Glm4ForCausalLM"},
    .shape = {GLM_SHAPE, .form = LAYER_SANDWICH},
    .rules = {hf_rule_qkv_bias},
};

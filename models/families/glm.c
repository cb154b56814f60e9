/* GLM-4 in the library: half of each head rotated, biases on Q, K and V. */
#include "models/hf_shapes.h"

extern const struct hf_family hf_family_glm;

const struct hf_family hf_family_glm = {
    .types = {"glm"},
    .architectures = {"GlmForCausalLM"},
    .shape = {GLM_SHAPE, .qkv_bias = true},
    .rules = {hf_rule_qkv_bias},
};

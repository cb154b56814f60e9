/* Gemma 2: four norms per layer, a window in every second one. */
#include "models/hf_shapes.h"

extern const struct hf_family hf_family_gemma2;

const struct hf_family hf_family_gemma2 = {
    .types = {"gemma2"},
    .architectures = {"Gemma2ForCausalLM"},
    .shape = {GEMMA2_SHAPE, .vocab = 256000},
    .full_layers = 2,
    .rules = {hf_rule_bias, hf_rule_window_pattern},
};

/* Nemotron 4 and Minitron: squared ReLU, two matrices, layer norms. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_nemotron;

const struct hf_family hf_family_nemotron = {
    .types = {"nemotron"},
    .architectures = {"NemotronForCausalLM"},
    .shape = {.activation = "relu2", .norm = NORM_LAYER},
    .rules = {hf_rule_bias},
};

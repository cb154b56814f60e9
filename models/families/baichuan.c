/* Baichuan: LLaMA; the larger one with ALiBi. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_baichuan;

#define WIDTH_WITH_ROPE 4096

/* The code beside the 13B model replaces rotation by ALiBi; the file says nothing of it. */
static bool find_positions(const struct hf_config *config, struct transformer *out)
{
    (void)config;
    out->positions = out->hidden > WIDTH_WITH_ROPE ? POSITION_ALIBI : POSITION_ROPE;
    return true;
}

const struct hf_family hf_family_baichuan = {
    .types = {"baichuan"},
    .architectures = {"BaichuanForCausalLM", "BaiChuanForCausalLM"},
    .shape = {.gated = true,
              .activation = "silu",
              .layers = 32,
              .hidden = 4096,
              .heads = 32,
              .ffn = 11008,
              .vocab = 64000},
    .rules = {find_positions},
};

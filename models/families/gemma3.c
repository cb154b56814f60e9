/* Gemma 3: a window in five layers of six; with a SigLIP tower where the file has one. */
#include "models/hf_shapes.h"

extern const struct hf_family hf_family_gemma3;

/* SigLIP, then the mean of patches, a norm and one matrix. */
static bool see(const struct hf_config *config, struct json_value vision, struct transformer *out)
{
    static const char *const tokens_keys[] = {"mm_tokens_per_image", NULL};
    struct transformer tower = {.layers = 12, .hidden = 768, .heads = 12, .ffn = 3072, VIT_SHAPE};
    struct hf_config whole = *config;
    uint32_t tokens = 0;
    whole.object = config->file;
    out->vision.patch_bias = out->vision.final_norm = out->vision.projector_norm = true;
    out->vision.pools = true;
    if (!hf_vision_read(config, vision, &tower) ||
        !hf_vision_read_patches(config, vision, &out->vision) ||
        !hf_key_read_count_or(&whole, tokens_keys, 256, &tokens)) {
        return false;
    }
    tower.max_positions = out->vision.patches;
    if (tokens == 0 || out->vision.patches % tokens != 0) {
        return hf_key_refuse(&whole, tokens_keys[0], "must divide the patches of an image");
    }
    out->vision.merge = out->vision.patches / tokens;
    return hf_vision_set(config, &tower, out);
}

const struct hf_family hf_family_gemma3 = {
    .types = {"gemma3", "gemma3_text"},
    .architectures = {"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"},
    .shape = {GEMMA2_SHAPE, .vocab = 262208, .qk_norm = true},
    .full_layers = 6,
    .sees = see,
    .rules = {hf_rule_bias, hf_rule_window_pattern},
};

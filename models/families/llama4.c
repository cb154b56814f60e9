/* LLaMA 4: blocked attention but for every fourth layer, a shared expert of expert width. */
#include "models/hf_shapes.h"

extern const struct hf_family hf_family_llama4;

#define FULL_INTERVAL 4 /* no_rope_layer_interval of the configuration class */

/* Layers without rotation see all keys; norms of Q and K have no parameters. */
static bool read_blocks(const struct hf_config *config, struct transformer *out)
{
    static const struct hf_layer_word words[] = {
        {"chunked_attention", 'c'}, {"full_attention", 'a'}, {NULL, 0}};
    const struct json_value size = json_find(config->object, "attention_chunk_size");
    out->window = 0;
    if (!json_is_null(size) && !json_read_u64(config->object, "attention_chunk_size", 1, UINT64_MAX,
                                              &out->window, config->diag)) {
        return false;
    }
    for (uint32_t i = 0; i < out->layers && out->window > 0; i++) {
        config->mixers[i] = (i + 1) % FULL_INTERVAL == 0 ? 'a' : 'c';
    }
    return out->window == 0 || hf_rule_layer_types(config, out, words);
}

/* "intermediate_size" is that of an expert, and of the shared one; dense layers have their own. */
static bool read_experts(const struct hf_config *config, struct transformer *out)
{
    static const char *const dense_keys[] = {"intermediate_size_mlp", NULL};
    uint32_t step = 1;
    bool good = hf_rule_experts(config, out);
    out->moe.shared_ffn = out->moe.ffn;
    good &= hf_key_read_count_or(config, dense_keys, 16384, &out->ffn);
    good &= json_read_u32_or(config->object, "interleave_moe_layer_step", 1, HF_LAYERS_MAX, 1,
                             &step, config->diag);
    for (uint32_t i = 0; i < out->layers && good; i++) {
        config->mlps[i] = (i + 1) % step == 0 ? 'e' : 'd';
    }
    return good;
}

/* A ViT with a class token (a row more, and its position) and norms before and behind; patches are
 * merged by pixel shuffle, then go through the adapter's two matrices and one to the stream. */
#define CLASS_ROWS 2

static bool see(const struct hf_config *config, struct json_value vision, struct transformer *out)
{
    static const char *const widths[] = {"projector_input_dim", NULL};
    struct transformer tower = {
        .layers = 34, .hidden = 768, .heads = 16, .ffn = 5632, .embedding_norm = true, VIT_SHAPE};
    struct hf_config part = *config;
    double ratio = 0.5;
    part.object = vision;
    out->vision.final_norm = true;
    if (!hf_vision_read(config, vision, &tower) ||
        !hf_vision_read_patches(config, vision, &out->vision) ||
        !hf_key_read_count_or(&part, widths, 4096, &out->vision.projector_inner) ||
        !json_read_double_or(vision, "pixel_shuffle_ratio", 0.0, 1.0, ratio, &ratio,
                             config->diag)) {
        return false;
    }
    const double merge = 1.0 / (ratio * ratio);
    if (!(merge >= 1.0 && merge <= 4096.0 && merge == (double)(uint32_t)merge)) {
        return hf_key_refuse(&part, "pixel_shuffle_ratio", "must be one over a whole number");
    }
    out->vision.merge = (uint32_t)merge;
    out->vision.projector_ffn = out->vision.projector_inner;
    tower.max_positions = out->vision.patches + CLASS_ROWS;
    return hf_vision_set(config, &tower, out);
}

const struct hf_family hf_family_llama4 = {
    .types = {"llama4", "llama4_text"},
    .architectures = {"Llama4ForCausalLM", "Llama4ForConditionalGeneration"},
    .shape = {.gated = true,
              .activation = "silu",
              .layers = 48,
              .hidden = 5120,
              .heads = 40,
              .kv_heads = 8,
              .head_dim = 128,
              .ffn = 8192,
              .vocab = 202048,
              .moe = {.experts = 16, .top_k = 1}},
    .sees = see,
    .rules = {read_blocks, read_experts},
};

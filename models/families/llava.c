/* LLaVA, Pixtral and Mistral 3: a tower of one kind or another before a text model of another
 * type. */
#include "models/hf_shapes.h"

extern const struct hf_family hf_family_llava;

static const struct transformer clip = {
    .layers = 24, .hidden = 1024, .heads = 16, .ffn = 4096, .embedding_norm = true, VIT_SHAPE};
static const struct transformer pixtral = {.layers = 24,
                                           .hidden = 1024,
                                           .heads = 16,
                                           .ffn = 4096,
                                           .gated = true,
                                           .activation = "silu",
                                           .embedding_norm = true};

/* CLIP has a class token, which is a row more beside the table of positions: counted as one of it,
 * with the row of its own. */
#define CLASS_ROWS 2

/* Mistral 3 merges patches by a matrix of its own behind a norm. */
static bool read_merger(const struct hf_config *whole, const struct transformer *tower,
                        struct transformer_vision *out)
{
    static const char *const merge_keys[] = {"spatial_merge_size", NULL};
    uint32_t side = 2;
    bool good = hf_key_read_count_or(whole, merge_keys, 2, &side);
    good &= hf_key_read_flag(whole, "multimodal_projector_bias", &out->projector_bias);
    if (side == 0 || side > UINT8_MAX) {
        return hf_key_refuse(whole, merge_keys[0], "must be between 1 and 255");
    }
    out->merge = side * side;
    out->projector_norm = true;
    out->projector_inner = tower->hidden;
    return good;
}

static bool see(const struct hf_config *config, struct json_value vision, struct transformer *out)
{
    const bool clips = hf_key_equals(vision, "model_type", "clip_vision_model");
    const bool merges = hf_key_equals(config->file, "model_type", "mistral3");
    struct transformer tower = clips ? clip : pixtral;
    struct hf_config whole = *config;
    whole.object = config->file;
    if (!clips && !hf_key_equals(vision, "model_type", "pixtral")) {
        return hf_key_refuse(&whole, "vision_config",
                             "towers of \"clip_vision_model\" and \"pixtral\" are modelled");
    }
    out->vision.merge = 1;
    out->vision.final_norm = clips;
    out->vision.projector_bias = !merges;
    out->vision.projector_ffn = out->hidden;
    if (!hf_vision_read(&whole, vision, &tower) ||
        !hf_vision_read_patches(&whole, vision, &out->vision) ||
        (merges && !read_merger(&whole, &tower, &out->vision))) {
        return false;
    }
    tower.max_positions = out->vision.patches + CLASS_ROWS;
    return hf_vision_set(&whole, &tower, out);
}

const struct hf_family hf_family_llava = {
    .types = {"llava", "mistral3"},
    .architectures = {"LlavaForConditionalGeneration", "Mistral3ForConditionalGeneration"},
    .sees = see,
    .text = "llama",
};

/* Vision towers of a config.json: sizes under their usual names. */
#include <string.h>

#include "base/text.h"
#include "models/hf_shapes.h"

#define CHANNELS 3
/* Patches per sequence where the file leaves the size of images open: 32 x 32 of them. */
#define PATCHES_ASSUMED 1024

static bool read_or(const struct hf_config *config, struct json_value vision,
                    const char *const *names, uint32_t fallback, uint32_t *out)
{
    struct hf_config part = *config;
    part.object = vision;
    return hf_key_read_count_or(&part, names, fallback, out);
}

bool hf_vision_read(const struct hf_config *config, struct json_value vision,
                    struct transformer *tower)
{
    static const char *const layers_keys[] = {"num_hidden_layers", "depth", NULL};
    static const char *const hidden_keys[] = {"embed_dim", "hidden_size", NULL};
    static const char *const heads_keys[] = {"num_attention_heads", "num_heads", NULL};
    static const char *const ffn_keys[] = {"intermediate_size", NULL};
    bool good = read_or(config, vision, layers_keys, tower->layers, &tower->layers);
    good &= read_or(config, vision, hidden_keys, tower->hidden, &tower->hidden);
    good &= read_or(config, vision, heads_keys, tower->heads, &tower->heads);
    good &= read_or(config, vision, ffn_keys, tower->ffn, &tower->ffn);
    if (!good) {
        return false;
    }
    if (tower->layers == 0 || tower->heads == 0 || tower->hidden % tower->heads != 0) {
        return hf_key_refuse(config, "vision_config",
                             "layers and heads must be above 0, and the "
                             "heads divide the width");
    }
    tower->kv_heads = tower->heads;
    tower->head_dim = tower->hidden / tower->heads;
    return true;
}

bool hf_vision_read_patches(const struct hf_config *config, struct json_value vision,
                            struct transformer_vision *out)
{
    static const char *const patch_keys[] = {"patch_size", NULL};
    static const char *const channel_keys[] = {"num_channels", "in_channels", "in_chans", NULL};
    static const char *const frame_keys[] = {"temporal_patch_size", NULL};
    static const char *const image_keys[] = {"image_size", NULL};
    uint32_t patch = 0, channels = CHANNELS, frames = 1, image = 0;
    bool good = read_or(config, vision, patch_keys, 14, &patch);
    good &= !hf_key_is_set(vision, hf_key_find(vision, channel_keys)) ||
            read_or(config, vision, channel_keys, CHANNELS, &channels);
    good &=
        !hf_key_is_set(vision, frame_keys[0]) || read_or(config, vision, frame_keys, 1, &frames);
    good &= read_or(config, vision, image_keys, 0, &image);
    if (!good) {
        return false;
    }
    const uint64_t inputs = (uint64_t)patch * patch * channels * frames;
    if (inputs == 0 || inputs > UINT32_MAX || (image > 0 && image / patch > UINT16_MAX)) {
        return hf_key_refuse(config, "vision_config",
                             "patches of no size, or of an impossible one");
    }
    out->patch_inputs = (uint32_t)inputs;
    out->patches = image > 0 ? (image / patch) * (image / patch) : PATCHES_ASSUMED;
    if (image == 0) {
        hf_key_warn(config, "vision_config",
                    text_build(config->diag->arena,
                               "images of any size: counted with %u patches per sequence; a "
                               "native model file states another number",
                               PATCHES_ASSUMED));
    }
    return true;
}

bool hf_vision_set(const struct hf_config *config, const struct transformer *tower,
                   struct transformer *out)
{
    struct transformer *own = ARENA_PUSH(config->arena, struct transformer, 1);
    *own = *tower;
    own->architecture = "native";
    own->vocab = 1;
    own->bidirectional = true;
    own->moe.every = 1;
    if (out->vision.merge == 0 || out->vision.patches < out->vision.merge) {
        return hf_key_refuse(config, "vision_config",
                             "more patches become one token than there are");
    }
    out->vision.tower = own;
    return true;
}

bool hf_vision_see_qwen(const struct hf_config *config, struct json_value vision,
                        const struct transformer *tower, struct transformer *out)
{
    static const char *const merge_keys[] = {"spatial_merge_size", NULL};
    static const char *const ratio_keys[] = {"mlp_ratio", NULL};
    struct transformer own = *tower;
    uint32_t side = 2, ratio = 0;
    if (hf_key_is_set(vision, ratio_keys[0])) {
        own.ffn = 1; /* by the ratio */
    }
    bool good = hf_vision_read(config, vision, &own) &&
                hf_vision_read_patches(config, vision, &out->vision);
    good &= !hf_key_is_set(vision, ratio_keys[0]) || read_or(config, vision, ratio_keys, 0, &ratio);
    good &= !hf_key_is_set(vision, merge_keys[0]) || read_or(config, vision, merge_keys, 2, &side);
    if (!good) {
        return false;
    }
    if (side > UINT8_MAX || (uint64_t)own.hidden * side * side > UINT32_MAX ||
        (uint64_t)own.hidden * ratio > UINT32_MAX) {
        return hf_key_refuse(config, "vision_config", "wider than a width can be");
    }
    own.ffn = ratio > 0 ? own.hidden * ratio : own.ffn;
    out->vision.merge = side * side;
    out->vision.projector_ffn = own.hidden * side * side;
    out->vision.projector_norm = out->vision.projector_bias = true;
    return hf_vision_set(config, &own, out);
}

bool hf_vision_see_qwen3(const struct hf_config *config, struct json_value vision,
                         struct transformer *out)
{
    static const char *const rows_keys[] = {"num_position_embeddings", NULL};
    struct transformer tower = {.layers = 27, .hidden = 1152, .heads = 16, .ffn = 4304, VIT_SHAPE};
    uint32_t rows = 0;
    if (!read_or(config, vision, rows_keys, 2304, &rows)) {
        return false;
    }
    tower.max_positions = rows;
    out->vision.patch_bias = true;
    out->vision.taps = json_count(json_find(vision, "deepstack_visual_indexes"));
    return hf_vision_see_qwen(config, vision, &tower, out);
}

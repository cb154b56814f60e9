/* T5 and mT5: encoder and decoder of equal layers, biases by relative position. */
#include "models/hf_family.h"

#include <string.h>

extern const struct hf_family hf_family_t5;

/* By its type, or in a file without one by its class. */
static bool is_multilingual(const struct hf_config *config)
{
    const char *name = NULL;
    const struct json_value classes = json_find(config->file, "architectures");
    return hf_key_equals(config->object, "model_type", "mt5") ||
           (json_is_array(classes) && json_count(classes) > 0 &&
            json_value_string(json_find_index(classes, 0), &name) && strncmp(name, "MT5", 3) == 0);
}

/* "num_layers" are those of the encoder, and of the decoder where it has no number of its own.
 * "gated-gelu" is two things in a word. mT5 unties its matrices, and its class is gated. */
static bool read_rest(const struct hf_config *config, struct transformer *out)
{
    static const char *const decoder_keys[] = {"num_decoder_layers", NULL};
    static const char *const bucket_keys[] = {"relative_attention_num_buckets", NULL};
    const bool many = is_multilingual(config);
    const char *kind = many ? "gated-gelu" : "relu";
    bool good = json_read_string_or(config->object, "feed_forward_proj", kind, config->arena, &kind,
                                    config->diag);
    out->encoder_layers = out->layers;
    if (good && hf_key_is_set(config->object, decoder_keys[0])) {
        good = hf_key_read_count(config, decoder_keys, HF_LAYERS_MAX, &out->layers);
    }
    good &= !hf_key_is_set(config->object, bucket_keys[0]) ||
            hf_key_read_count(config, bucket_keys, 4096, &out->relative_buckets);
    good &= json_read_double_or(config->object, "dropout_rate", 0.0, 1.0, out->dropout_frac,
                                &out->dropout_frac, config->diag);
    out->gated = strncmp(kind, "gated-", 6) == 0;
    out->activation = out->gated ? kind + 6 : kind;
    if (many && json_is_null(json_find(config->object, "tie_word_embeddings"))) {
        out->tied_embeddings = false;
    }
    return good;
}

const struct hf_family hf_family_t5 = {
    .types = {"t5", "mt5"},
    .architectures = {"T5ForConditionalGeneration", "T5WithLMHeadModel", "T5Model",
                      "MT5ForConditionalGeneration", "MT5Model"},
    .shape = {.activation = "relu",
              .positions = POSITION_RELATIVE,
              .tied_embeddings = true,
              .dropout_frac = 0.1,
              .relative_buckets = 32,
              .encoder_layers = 6,
              .layers = 6,
              .hidden = 512,
              .heads = 8,
              .head_dim = 64,
              .ffn = 2048,
              .vocab = 32128},
    .supported_heads = "ForConditionalGeneration WithLMHeadModel T5Model",
    .rules = {read_rest},
};

/* RoBERTa and XLM-RoBERTa: BERT with one kind of token. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_roberta;

#define TOKEN_TYPES 2

static bool read_rest(const struct hf_config *config, struct transformer *out)
{
    static const char *const type_keys[] = {"type_vocab_size", NULL};
    if (!json_is_null(json_find(config->object, "position_embedding_type")) &&
        !hf_key_equals(config->object, "position_embedding_type", "absolute")) {
        return hf_key_refuse(config, "position_embedding_type", "only \"absolute\" is modelled");
    }
    const bool types = hf_key_read_count_or(config, type_keys, TOKEN_TYPES, &out->token_types);
    return json_read_double_or(config->object, "hidden_dropout_prob", 0.0, 1.0, out->dropout_frac,
                               &out->dropout_frac, config->diag) &&
           types;
}

const struct hf_family hf_family_roberta = {
    .types = {"roberta", "xlm-roberta", "camembert"},
    .architectures = {"RobertaForMaskedLM", "XLMRobertaForMaskedLM", "CamembertForMaskedLM"},
    .shape = {.activation = "gelu",
              .norm = NORM_LAYER,
              .positions = POSITION_LEARNED,
              .max_positions = 512,
              .tied_embeddings = true,
              .form = LAYER_POST_NORM,
              .head = HEAD_MASKED,
              .bidirectional = true,
              .embedding_norm = true,
              .head_bias = true,
              .qkv_bias = true,
              .attention_output_bias = true,
              .mlp_bias = true,
              .dropout_frac = 0.1,
              .layers = 12,
              .hidden = 768,
              .heads = 12,
              .ffn = 3072,
              .vocab = 50265},
    .supported_heads = "ForMaskedLM",
    .rules = {read_rest},
};

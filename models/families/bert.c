/* BERT: an encoder of the first kind, norms behind the sums, a head for masked tokens. */
#include "models/hf_family.h"

#include <string.h>

extern const struct hf_family hf_family_bert;

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

/* The class that also guesses the next sentence pools the first token. */
static bool read_head(const struct hf_config *config, struct transformer *out)
{
    const char *name = NULL;
    const bool pretrains =
        json_value_string(json_find_index(json_find(config->file, "architectures"), 0), &name) &&
        strstr(name, "ForPreTraining") != NULL;
    out->pooler = out->next_sentence = pretrains;
    return true;
}

const struct hf_family hf_family_bert = {
    .types = {"bert"},
    .architectures = {"BertForMaskedLM", "BertForPreTraining"},
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
              .vocab = 30522},
    .supported_heads = "ForMaskedLM ForPreTraining",
    .rules = {read_rest, read_head},
};

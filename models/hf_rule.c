/* Rules that many families share: biases, dropout, latent attention, linear attention. */
#include "base/text.h"
#include "models/hf_family.h"

/* Of GPT-2's configuration class. */
#define GPT2_DROPOUT 0.1
/* Kinds of tokens of BERT's configuration class: the two sentences of a pair. */
#define BERT_TOKEN_TYPES 2
/* Tokens per block of the published kernel of the gated delta rule (flash-linear-attention). */
#define DELTA_CHUNK 64

bool hf_rule_bias(const struct hf_config *config, struct transformer *out)
{
    const bool read = hf_key_read_flag(config, "attention_bias", &out->qkv_bias);
    const bool good = hf_key_read_flag(config, "mlp_bias", &out->mlp_bias) && read;
    out->attention_output_bias = out->qkv_bias;
    return good;
}

bool hf_rule_qkv_bias(const struct hf_config *config, struct transformer *out)
{
    return hf_key_read_flag(config, "attention_bias", &out->qkv_bias);
}

/* One rate stands for all three places; what matters is whether masks are kept. */
bool hf_rule_dropout(const struct hf_config *config, struct transformer *out)
{
    static const char *const keys[] = {"resid_pdrop", "embd_pdrop", "attn_pdrop"};
    double rates[3] = {0.0};
    bool good = true;
    for (uint32_t i = 0; i < 3; i++) {
        good &= json_read_double_or(config->object, keys[i], 0.0, 1.0, GPT2_DROPOUT, &rates[i],
                                    config->diag);
    }
    out->dropout_frac = rates[0];
    for (uint32_t i = 1; i < 3 && good; i++) {
        if ((rates[i] > 0.0) != (rates[0] > 0.0)) {
            good = hf_key_refuse(
                config, json_is_absent(json_find(config->object, keys[i])) ? keys[0] : keys[i],
                "dropout in some places only is not modelled; make all rates 0 or none");
        }
    }
    return good;
}

bool hf_rule_bert(const struct hf_config *config, struct transformer *out)
{
    static const char *const type_keys[] = {"type_vocab_size", NULL};
    if (!json_is_null(json_find(config->object, "position_embedding_type")) &&
        !hf_key_equals(config->object, "position_embedding_type", "absolute")) {
        return hf_key_refuse(config, "position_embedding_type", "only \"absolute\" is modelled");
    }
    const bool types = hf_key_read_count_or(config, type_keys, BERT_TOKEN_TYPES, &out->token_types);
    return json_read_double_or(config->object, "hidden_dropout_prob", 0.0, 1.0, out->dropout_frac,
                               &out->dropout_frac, config->diag) &&
           types;
}

bool hf_rule_latents(const struct hf_config *config, struct transformer *out)
{
    static const char *const sparse[] = {"index_topk", "index_n_heads", NULL};
    static const char *const kv[] = {"kv_lora_rank", NULL}, *const q[] = {"q_lora_rank", NULL},
                             *const nope[] = {"qk_nope_head_dim", NULL},
                             *const rope[] = {"qk_rope_head_dim", NULL},
                             *const value[] = {"v_head_dim", NULL};
    struct transformer_mla *mla = &out->mla;
    if (!hf_key_refuse_set(config, sparse,
                           "attention to the keys that an indexer picks is not "
                           "modelled")) {
        return false;
    }
    bool good = hf_key_read_count(config, kv, UINT32_MAX, &mla->kv_rank);
    good &= hf_key_read_count_or(config, q, 0, &mla->q_rank);
    good &= hf_key_read_count(config, nope, UINT32_MAX, &mla->nope_dim);
    good &= hf_key_read_count(config, rope, UINT32_MAX, &mla->rope_dim);
    good &= hf_key_read_count(config, value, UINT32_MAX, &mla->value_dim);
    out->kv_heads = out->heads; /* the key of that name means nothing here, nor does head_dim */
    out->head_dim = mla->value_dim;
    return good;
}

bool hf_rule_further_tokens(const struct hf_config *config, struct transformer *out)
{
    (void)out;
    if (hf_key_is_set(config->object, "num_nextn_predict_layers")) {
        hf_key_warn(config, "num_nextn_predict_layers",
                    "not counted, as in the library's class; \"mtp_layers\" of a native model file "
                    "adds them");
    }
    return true;
}

bool hf_rule_gate(const struct hf_config *config, struct transformer *out)
{
    if (hf_key_is_set(config->object, "mtp_num_hidden_layers")) {
        hf_key_warn(config, "mtp_num_hidden_layers", "not counted, as in the library's class");
    }
    return hf_key_read_flag(config, "attn_output_gate", &out->attention_gate);
}

bool hf_rule_linear_attention(const struct hf_config *config, struct transformer *out)
{
    static const struct hf_layer_word words[] = {
        {"linear_attention", 's'}, {"full_attention", 'a'}, {NULL, 0}};
    static const char *const interval_keys[] = {"full_attention_interval", NULL};
    const struct {
        const char *keys[2];
        uint32_t *out, fallback;
    } sizes[] = {
        {{"linear_num_value_heads", NULL}, &out->scan.heads, 32},
        {{"linear_value_head_dim", NULL}, &out->scan.head_dim, 128},
        {{"linear_num_key_heads", NULL}, &out->scan.groups, 16},
        {{"linear_key_head_dim", NULL}, &out->scan.state, 128},
        {{"linear_conv_kernel_dim", NULL}, &out->scan.conv, 4},
    };
    bool good = true;
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        good &= hf_key_read_count_or(config, sizes[i].keys, sizes[i].fallback, sizes[i].out);
    }
    out->scan.kind = SCAN_DELTA;
    out->scan.chunk = DELTA_CHUNK;
    if (hf_key_is_set(config->object, "layer_types")) {
        return good && hf_rule_layer_types(config, out, words);
    }
    uint32_t interval = 4;
    good &= hf_key_read_count_or(config, interval_keys, 4, &interval);
    for (uint32_t i = 0; i < out->layers && good && interval > 0; i++) {
        config->mixers[i] = (i + 1) % interval == 0 ? 'a' : 's';
    }
    return good;
}

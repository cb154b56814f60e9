/* What the files that read a config.json share: what its family of models leaves unsaid. */
#ifndef SHARDPLAN_MODELS_HF_INSIDE_H
#define SHARDPLAN_MODELS_HF_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/json.h"
#include "models/transformer.h"

#define HF_LAYERS_MAX 1000000u

enum bias_rule {
    BIAS_STATED, /* "attention_bias" covers all four attention matrices, "mlp_bias" the others */
    BIAS_NONE,
    BIAS_QKV, /* always on Q, K and V, though the file does not say so */
    BIAS_ALL
};

enum window_rule {
    WINDOW_NEVER,   /* the family has none, whatever the file says */
    WINDOW_STATED,  /* "sliding_window" applies to every layer */
    WINDOW_SWITCHED /* ... where "use_sliding_window" is true, from layer "max_window_layers" on */
};

enum moe_rule {
    MOE_NONE,
    MOE_EVERY_LAYER, /* experts of "intermediate_size" in each layer */
    MOE_STEPPED      /* "moe_intermediate_size", "decoder_sparse_step", "mlp_only_layers" */
};

struct hf_family {
    const char *model_type, *architecture; /* class named in "architectures" */
    enum bias_rule bias;
    enum window_rule window;
    enum moe_rule moe;
    bool gpt2_like; /* two matrices, layer norm, learned positions, dropout, tied embeddings */
    bool qk_norm;
    uint32_t kv_heads;       /* where the key is absent; 0: as many as heads */
    uint32_t head_dim;       /* where the key is absent; 0: hidden / heads */
    uint64_t window_default; /* where the key is absent */
    uint32_t full_layers;    /* "max_window_layers" where the key is absent */
};

/* The file being read. */
struct hf_config {
    struct json_value object;
    const struct hf_family *family;
    struct arena *arena;
    struct diag *diag;
};

/* The first of the names that the file has with a value; the usual one if it has none. */
const char *hf_key_find(struct json_value object, const char *const *names);
bool hf_key_read_count(const struct hf_config *config, const char *const *names, uint32_t max,
                       uint32_t *out);
bool hf_key_is_true(struct json_value object, const char *key);

/* Says why a key cannot be followed; false. */
bool hf_key_refuse(const struct hf_config *config, const char *key, const char *why);
void hf_key_warn(const struct hf_config *config, const char *key, const char *what);
void hf_key_warn_default(const struct hf_config *config, const char *key, uint64_t value);

/* Which layers have a sliding window, which have experts: all sizes of `out` are there. */
bool hf_layers_read(const struct hf_config *config, struct transformer *out);

#endif

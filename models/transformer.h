/* A decoder transformer in its usual terms, the shape a config.json describes. */
#ifndef SHARDPLAN_MODELS_TRANSFORMER_H
#define SHARDPLAN_MODELS_TRANSFORMER_H

#include <stdbool.h>
#include <stdint.h>

#include "models/model.h"

enum norm_kind { NORM_RMS, NORM_LAYER, NORM_KIND_COUNT };
enum position_kind { POSITION_ROPE, POSITION_LEARNED, POSITION_NONE, POSITION_KIND_COUNT };

struct transformer_moe {
    uint32_t experts;       /* 0: dense */
    uint32_t top_k;
    uint32_t ffn;           /* width of one expert */
    uint32_t shared_ffn;    /* total width of the shared experts, 0: none */
    uint32_t first_dense;   /* leading dense layers */
    uint32_t every;         /* every n-th layer after those is MoE, >= 1 */
};

struct transformer {
    const char *architecture;   /* Hugging Face model_type, or "native" */
    uint32_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
    bool gated;                 /* three MLP matrices instead of two */
    const char *activation;     /* "silu", "gelu", ... */
    enum norm_kind norm;
    enum position_kind positions;
    uint64_t max_positions;
    bool tied_embeddings;
    bool qkv_bias, attention_output_bias, mlp_bias;   /* norms carry a bias when NORM_LAYER */
    bool qk_norm;               /* RMS norm over head_dim on Q and K */
    double dropout_frac;        /* > 0 saves masks */
    uint64_t window;            /* sliding-window keys per query, 0: all */
    struct transformer_moe moe;
};

/* The object that a transformer was read from, with the keys that messages point at (NULL: at the
 * object). */
struct transformer_origin {
    struct json_value object;
    const char *kv_heads, *positions, *experts;
};

/* Do the sizes fit together? origin NULL: built in memory. */
bool transformer_check(const struct transformer *transformer,
                       const struct transformer_origin *origin, struct diag *diag);

/* Builds parts, ops and tensors. Ranges were checked by the reader; overflowing products are
 * reported. */
bool transformer_build(const struct transformer *transformer, const char *name, struct arena *arena,
                       struct model *out, struct diag *diag);

#endif

/* A transformer in its usual terms, the shape a config.json describes.
 *
 * What kinds of layers there are is data of this one description:
 *
 *   layer   = mixer + mlp, around a residual stream, as `form` places norms and sums
 *   mixer   letters, one per layer, repeated over the layers:
 *             a  attention over all keys before the query (all keys, where bidirectional)
 *             w  attention over the last `window` keys
 *             c  attention over the keys before the query in its block of `window`
 *             s  a scan: state-space or linear-attention recurrence (struct transformer_scan)
 *             n  none
 *           attention projects heads of its own, grouped (kv_heads) or through latents
 *           (struct transformer_mla)
 *   mlp     letters likewise: d dense, e experts (struct transformer_moe), n none
 *   stack   embedding, [encoder layers,] layers, head; a vision tower before the embedding is a
 *           transformer of its own (struct transformer_vision)
 *
 * Equal (mixer, mlp) pairs become one part of the model, however many layers there are. So a family
 * of models is a way to fill in this struct (models/families), not code that builds ops, and a new
 * kind of layer is a letter with a file that pushes its ops (transformer_scan.c, ...).
 *
 * Zero is the plain choice everywhere: a zeroed description with sizes is a decoder of dense layers
 * with rotary positions, norms before each half and no biases. Whoever writes a model for a runtime
 * asks transformer_special first, which names what goes beyond that. */
#ifndef SHARDPLAN_MODELS_TRANSFORMER_H
#define SHARDPLAN_MODELS_TRANSFORMER_H

#include <stdbool.h>
#include <stdint.h>

#include "models/model.h"

enum norm_kind { NORM_RMS, NORM_LAYER, NORM_LAYER_PLAIN, NORM_KIND_COUNT }; /* plain: no bias */
enum position_kind {
    POSITION_ROPE,
    POSITION_LEARNED,   /* a table of max_positions rows, added to the embedding */
    POSITION_NONE,
    POSITION_ALIBI,     /* a slope per head, no parameters */
    POSITION_RELATIVE,  /* a table of `relative_buckets` biases per head, one per stack (T5) */
    POSITION_KIND_COUNT
};

enum layer_form {
    LAYER_PRE_NORM,     /* x + f(norm(x)), twice */
    LAYER_POST_NORM,    /* norm(x + f(x)), twice; no norm before the head (BERT) */
    LAYER_SANDWICH,     /* x + norm(f(norm(x))), twice (Gemma 2) */
    LAYER_BRANCH_NORM,  /* x + norm(f(x)), twice (OLMo 2) */
    LAYER_PARALLEL,     /* x + f(n) + g(n), one n = norm(x) (Falcon 7B, Phi) */
    LAYER_PARALLEL_TWO, /* x + f(norm(x)) + g(norm(x)), a norm each (GPT-NeoX) */
    LAYER_FORM_COUNT
};

enum head_kind {
    HEAD_LOGITS,        /* norm, matrix over the vocabulary, loss */
    HEAD_MASKED,        /* dense, activation, norm, then logits with a bias (masked-token BERT) */
    HEAD_KIND_COUNT
};

struct transformer_moe {
    uint32_t experts;       /* 0: dense */
    uint32_t top_k;
    uint32_t ffn;           /* width of one expert */
    uint32_t shared_ffn;    /* total width of the shared experts, 0: none */
    uint32_t first_dense;   /* leading dense layers */
    uint32_t every;         /* every n-th layer after those is MoE, >= 1; both only where
                             * transformer.mlps is NULL */
    bool router_bias;       /* a number per expert beside the router's matrix (DeepSeek-V3's
                             * correction, gpt-oss's bias) */
    bool shared_gate;       /* the shared expert is scaled per token by one more row (Qwen2-MoE) */
};

/* Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434 section 2.1): K and V are made from a
 * latent of kv_rank beside one rotated key of rope_dim for all heads. What decoding caches per
 * token is kv_rank + rope_dim. */
struct transformer_mla {
    uint32_t kv_rank;       /* 0: no latent attention */
    uint32_t q_rank;        /* 0: queries from the stream itself */
    uint32_t nope_dim, rope_dim, value_dim;
};

enum scan_kind {
    SCAN_MAMBA2,            /* arXiv 2405.21060 */
    SCAN_MAMBA1,            /* arXiv 2312.00752: a head per channel, head_dim 1 */
    SCAN_DELTA,             /* gated delta rule, arXiv 2412.06464 (Qwen3-Next) */
    SCAN_KIND_COUNT
};

struct transformer_scan {
    uint32_t heads;         /* 0: no layer scans */
    uint32_t head_dim;      /* of what goes through the state (V) */
    uint32_t groups;        /* heads of B and C (K and Q), each serving heads / groups */
    uint32_t state;         /* width of B and C */
    uint32_t conv;          /* taps of the causal convolution */
    uint32_t rank;          /* SCAN_MAMBA1: of the time step's projection */
    uint32_t chunk;         /* tokens per block of the kernel: sets its FLOPs */
    enum scan_kind kind;
    bool bias;              /* on the projections in and out */
    bool inner_norms;       /* SCAN_MAMBA1: norms on time step, B and C (Jamba) */
};

struct transformer;

/* Images become patches, patches go through a transformer, its output becomes tokens of the text
 * stream. Sequences are alike: each has `patches` of them. */
struct transformer_vision {
    const struct transformer *tower;    /* NULL: text only. Its vocab is 1 and unused */
    uint32_t patch_inputs;  /* numbers per patch: channels x height x width (x frames) */
    uint32_t patches;       /* per sequence of the step */
    uint32_t merge;         /* patches that become one token, >= 1 */
    uint32_t taps;          /* further layers whose output is merged and added (DeepStack) */
    uint32_t projector_inner, projector_ffn;    /* widths between the matrices from merged
                                                 * patches to the stream, 0: a matrix less */
    bool patch_bias, final_norm, projector_bias, projector_norm;
    bool pools;             /* the mean of merged patches instead of all side by side; its norm is
                             * an RMS norm then */
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
    bool qk_norm;               /* RMS norm on Q and K over head_dim, one gain for all heads */
    bool qk_norm_wide;          /* ... with a gain per head (OLMo 2, MiniMax) */
    double dropout_frac;        /* > 0 saves masks */
    /* Constants of its arithmetic, 0: not stated. They take no time; exporters hand them on. */
    double rope_base, norm_epsilon;
    uint64_t window;            /* keys per query in windowed or blocked layers, 0: none are */
    struct transformer_moe moe;

    const char *mixers, *mlps;  /* letters, the shortest text that repeats to all layers; NULL:
                                 * mixers all 'w' if there is a window, else 'a'; mlps by moe */
    enum layer_form form;
    enum head_kind head;
    bool bidirectional;         /* every query meets every key (encoders) */
    bool embedding_norm;        /* a norm behind the embedding (BLOOM, BERT) */
    bool head_bias;             /* a number per logit */
    bool attention_gate;        /* a sigmoid gate from the stream on the attention output */
    bool sinks;                 /* one learned logit per head (gpt-oss) */
    bool pooler;                /* a dense layer on the first token, beside the head (BERT) */
    bool next_sentence;         /* ... and two logits of it */
    uint32_t token_types;       /* rows of a table of kinds of tokens, 0: none */
    uint32_t relative_buckets;
    uint32_t encoder_layers;    /* > 0: that many bidirectional layers of these sizes go first, and
                                 * each layer attends to their output too (T5) */
    uint32_t mtp_layers;        /* further layers, each with a loss of its own on the token after
                                 * the next (DeepSeek-V3 section 2.2); they sit beside the head */
    struct transformer_mla mla;
    struct transformer_scan scan;
    struct transformer_vision vision;
    bool decodes;               /* the form of latent attention that generates one token; no file
                                 * says so, a task does */
};

/* The object that a transformer was read from, with the keys that messages point at (NULL: at the
 * object). */
struct transformer_origin {
    struct json_value object;
    const char *kv_heads, *positions, *experts;
};

/* Letter of a layer. */
char transformer_mixer(const struct transformer *transformer, uint32_t layer);
char transformer_mlp(const struct transformer *transformer, uint32_t layer);
/* Brings mixers and mlps to the form above, window to 0 where no layer has one. `mixers` and `mlps`
 * have a letter per layer, or are NULL. */
void transformer_set_layers(struct transformer *transformer, const char *mixers, const char *mlps,
                            struct arena *arena);

/* What the model has beyond grouped attention with at most one window for all layers, dense layers
 * and experts by first_dense / every, norms before each half (or post), and rotary, learned or no
 * positions: in a few words, NULL: nothing. Who writes models for a runtime refuses what he does
 * not know by this. */
const char *transformer_special(const struct transformer *transformer);

/* Do the sizes fit together? origin NULL: built in memory. */
bool transformer_check(const struct transformer *transformer,
                       const struct transformer_origin *origin, struct diag *diag);

/* Builds parts, ops and tensors. Ranges were checked by the reader; overflowing products are
 * reported. */
bool transformer_build(const struct transformer *transformer, const char *name, struct arena *arena,
                       struct model *out, struct diag *diag);

#endif

/* A transformer as the model flags of Megatron-LM. */
#include <string.h>

#include "exports/megatron_inside.h"
#include "models/transformer.h"

static const struct diag_place nowhere = {0};

/* --- what has no flag ------------------------------------------------------------------------- */

/* Its gated MLP is SiLU, the plain one GELU or squared ReLU. */
static bool check_activation(const struct transformer *shape, struct diag *diag)
{
    const char *activation = shape->activation;
    if (shape->gated ? strcmp(activation, "silu") == 0
                     : strcmp(activation, "gelu") == 0 || strcmp(activation, "relu2") == 0)
        return true;
    return diag_push(diag, DIAG_X601, nowhere, "silu where gated, else gelu or relu2",
                     "Megatron has no flag for a %s MLP with activation '%s'",
                     shape->gated ? "gated" : "plain", activation);
}

/* One switch holds for all linear layers; the other adds a bias to Q, K, V alone. */
static bool check_bias(const struct transformer *shape, struct diag *diag)
{
    if (shape->attention_output_bias == shape->mlp_bias &&
        (shape->qkv_bias || !shape->attention_output_bias))
        return true;
    return diag_push(diag, DIAG_X601, nowhere, "bias everywhere, on Q, K, V alone, or nowhere",
                     "Megatron cannot build this choice of bias: qkv %s, attention output %s, "
                     "mlp %s",
                     shape->qkv_bias ? "yes" : "no", shape->attention_output_bias ? "yes" : "no",
                     shape->mlp_bias ? "yes" : "no");
}

static bool check_norm(const struct transformer *shape, struct diag *diag)
{
    if (!shape->qk_norm || shape->norm == NORM_RMS)
        return true;
    return diag_push(diag, DIAG_X601, nowhere, "norm 'rmsnorm', or no qk_norm",
                     "Megatron norms Q and K as it norms the layers: layernorm here, where the "
                     "model has an RMS norm");
}

static bool check_positions(const struct problem *problem, const struct transformer *shape,
                            struct diag *diag)
{
    if (shape->mtp_layers > 0 && shape->positions != POSITION_ROPE &&
        shape->positions != POSITION_NONE)
        return diag_push(diag, DIAG_X601, nowhere, "positions 'rope' or none",
                         "Megatron predicts further tokens with rotary positions, or none, alone");
    if (shape->positions != POSITION_LEARNED || shape->max_positions >= problem->setup->seq_length)
        return true;
    return diag_push(diag, DIAG_X601, nowhere, "a shorter sequence, or positions 'rope'",
                     "sequences of %llu tokens have no place in a table of %llu learned positions",
                     (unsigned long long)problem->setup->seq_length,
                     (unsigned long long)shape->max_positions);
}

/* Keys that come round in turn are masked whole: Transformer Engine asserts that with a window the
 * kind is a2a or all_gather (attn_forward_func_with_cp in its context_parallel.py, commit d0067d0d
 * of August 2026). */
static bool check_window(const struct transformer *shape, const struct megatron_sizes *sizes,
                         struct diag *diag)
{
    if (shape->window == 0 || sizes->cp == 1 || sizes->context_kind == NULL ||
        strcmp(sizes->context_kind, "p2p") != 0)
        return true;
    return diag_push(diag, DIAG_X601, nowhere,
                     "a context variant whose ranks hold all keys of a head, or one context rank",
                     "a sliding window of %llu keys does not run with --cp-comm-type p2p over %u "
                     "ranks",
                     (unsigned long long)shape->window, sizes->cp);
}

/* Its expert layers raise in training otherwise (transformer/moe/moe_layer.py). */
static bool check_experts(const struct transformer *shape, const struct megatron_sizes *sizes,
                          struct diag *diag)
{
    if (shape->moe.experts == 0 || sizes->tp == 1 || sizes->sequence_parallel)
        return true;
    return diag_push(diag, DIAG_X601, nowhere, "switch sequence parallelism on",
                     "expert layers do not train over %u tensor ranks without sequence "
                     "parallelism",
                     sizes->tp);
}

/* What goes beyond a plain decoder and has flags: latent attention, the router's correction, the
 * gate of the shared expert, layers that predict further tokens, rows of layers that scan. */
static const char *find_special(const struct transformer *shape)
{
    struct transformer rest = *shape;
    rest.mla.kv_rank = 0;
    rest.moe.router_bias = false;
    rest.moe.shared_gate = false;
    rest.mtp_layers = 0;
    if (megatron_is_hybrid(shape)) {
        rest.scan.heads = 0;
        rest.mixers = rest.mlps = NULL;
    }
    return transformer_special(&rest);
}

bool megatron_check_model(const struct problem *problem, const struct plan *plan, struct diag *diag)
{
    const struct transformer *shape = problem->model->transformer;
    struct megatron_sizes sizes;
    megatron_find_sizes(plan, &sizes);
    if (shape == NULL)
        return diag_push(diag, DIAG_X601, nowhere,
                         "a model described as a transformer, or a config.json",
                         "Megatron builds transformers from their sizes: model '%s' is a graph of "
                         "operators",
                         problem->model->name);
    const char *special = find_special(shape);
    if (special != NULL)
        return diag_push(
            diag, DIAG_X601, nowhere, "a decoder of grouped attention, dense layers and experts",
            "model '%s' has %s, which this exporter cannot express", problem->model->name, special);
    bool good = check_activation(shape, diag);
    good &= check_bias(shape, diag);
    good &= check_norm(shape, diag);
    good &= check_positions(problem, shape, diag);
    good &= check_window(shape, &sizes, diag);
    good &= check_experts(shape, &sizes, diag);
    if (megatron_is_hybrid(shape))
        good &= megatron_check_hybrid(plan, sizes.cp, diag);
    return good;
}

/* --- flags ------------------------------------------------------------------------------------ */

/* Latents are normed as layers are: --qk-layernorm (multi_latent_attention.py). */
static void push_latents(const struct transformer_mla *mla, const struct megatron_arguments *out)
{
    megatron_push_flag(out, "--multi-latent-attention");
    if (mla->q_rank > 0)
        megatron_push(out, "--q-lora-rank", "%u", mla->q_rank);
    megatron_push(out, "--kv-lora-rank", "%u", mla->kv_rank);
    megatron_push(out, "--qk-head-dim", "%u", mla->nope_dim);
    megatron_push(out, "--qk-pos-emb-head-dim", "%u", mla->rope_dim);
    megatron_push(out, "--v-head-dim", "%u", mla->value_dim);
    megatron_push_flag(out, "--qk-layernorm");
}

static void push_attention(const struct transformer *shape, const struct megatron_arguments *out)
{
    megatron_push(out, "--num-attention-heads", "%u", shape->heads);
    if (shape->mla.kv_rank > 0) {
        push_latents(&shape->mla, out);
        return;
    }
    if (shape->kv_heads != shape->heads) {
        megatron_push_flag(out, "--group-query-attention");
        megatron_push(out, "--num-query-groups", "%u", shape->kv_heads);
    }
    megatron_push(out, "--kv-channels", "%u", shape->head_dim);
    if (shape->qk_norm)
        megatron_push_flag(out, "--qk-layernorm");
    /* Keys to the left of the query's own. */
    if (shape->window > 0)
        megatron_push(out, "--window-size", "(%llu,0)", (unsigned long long)(shape->window - 1));
}

static void push_mlp(const struct transformer *shape, const struct megatron_arguments *out)
{
    megatron_push(out, "--ffn-hidden-size", "%u", shape->ffn);
    if (shape->gated)
        megatron_push_flag(out, "--swiglu");
    else if (strcmp(shape->activation, "relu2") == 0)
        megatron_push_flag(out, "--squared-relu");
    if (!shape->mlp_bias)
        megatron_push_flag(out, "--disable-bias-linear");
    if (shape->qkv_bias && !shape->mlp_bias)
        megatron_push_flag(out, "--add-qkv-bias");
}

/* Its base is a whole number. */
static bool has_base(const struct transformer *shape)
{
    return shape->positions == POSITION_ROPE && shape->rope_base >= 1.0 &&
           shape->rope_base <= 9007199254740992.0 &&
           shape->rope_base == (double)(uint64_t)shape->rope_base;
}

static void push_constants(const struct transformer *shape, const struct megatron_arguments *out)
{
    if (has_base(shape))
        megatron_push(out, "--rotary-base", "%llu", (unsigned long long)shape->rope_base);
    if (shape->norm_epsilon > 0.0)
        megatron_push(out, "--norm-epsilon", "%.10g", shape->norm_epsilon);
}

static void push_positions(const struct problem *problem, const struct transformer *shape,
                           const struct megatron_arguments *out)
{
    static const char *const kinds[POSITION_KIND_COUNT] = {
        [POSITION_ROPE] = "rope",
        [POSITION_LEARNED] = "learned_absolute",
        [POSITION_NONE] = "none",
    };
    const uint64_t seq_length = problem->setup->seq_length;
    const uint64_t most = shape->max_positions > seq_length ? shape->max_positions : seq_length;
    megatron_push(out, "--position-embedding-type", "%s", kinds[shape->positions]);
    megatron_push(out, "--max-position-embeddings", "%llu", (unsigned long long)most);
    megatron_push(out, "--seq-length", "%llu", (unsigned long long)seq_length);
}

/* A 1 per layer with experts: dense ones first, then the last of every so many. */
static void push_expert_layers(const struct transformer *shape,
                               const struct megatron_arguments *out)
{
    const struct transformer_moe *moe = &shape->moe;
    const uint32_t after = shape->layers - moe->first_dense, rest = after % moe->every;
    struct text pattern;
    if ((moe->first_dense == 0 && moe->every == 1) || megatron_is_hybrid(shape))
        return;
    text_init(&pattern, out->text->arena);
    text_push(&pattern, "(");
    if (moe->first_dense > 0)
        text_push(&pattern, "[0]*%u+", moe->first_dense);
    if (moe->every > 1)
        text_push(&pattern, "([0]*%u+[1])*%u", moe->every - 1, after / moe->every);
    else
        text_push(&pattern, "[1]*%u", after);
    if (rest > 0)
        text_push(&pattern, "+[0]*%u", rest);
    megatron_push(out, "--moe-layer-freq", "%s)", pattern.bytes);
}

static void push_experts(const struct transformer *shape, const struct megatron_arguments *out)
{
    const struct transformer_moe *moe = &shape->moe;
    if (moe->experts == 0)
        return;
    megatron_push(out, "--num-experts", "%u", moe->experts);
    megatron_push(out, "--moe-router-topk", "%u", moe->top_k);
    megatron_push(out, "--moe-ffn-hidden-size", "%u", moe->ffn);
    if (moe->shared_ffn > 0)
        megatron_push(out, "--moe-shared-expert-intermediate-size", "%u", moe->shared_ffn);
    if (moe->shared_gate)
        megatron_push_flag(out, "--moe-shared-expert-gate");
    if (moe->router_bias) {
        megatron_push(out, "--moe-router-score-function", "%s", "sigmoid");
        megatron_push_flag(out, "--moe-router-enable-expert-bias");
    }
    push_expert_layers(shape, out);
    megatron_push_flag(out, "--moe-grouped-gemm");
    megatron_push(out, "--moe-token-dispatcher-type", "%s", "alltoall");
}

void megatron_push_model(const struct problem *problem, const struct megatron_arguments *out)
{
    const struct transformer *shape = problem->model->transformer;
    const uint32_t multiple = problem->setup->runtime->vocab_multiple;
    megatron_push_note(out, "model %s; not in its description, so not here: %s%sinitialisation%s",
                       problem->model->name, has_base(shape) ? "" : "rotary base, ",
                       shape->norm_epsilon > 0.0 ? "" : "epsilon of the norms, ",
                       shape->moe.experts > 0 ? ", scoring and loss of the router" : "");
    if (megatron_is_hybrid(shape))
        megatron_push_scan(&shape->scan, out);
    else
        megatron_push(out, "--num-layers", "%u", shape->layers);
    megatron_push(out, "--hidden-size", "%u", shape->hidden);
    push_attention(shape, out);
    push_mlp(shape, out);
    push_experts(shape, out);
    megatron_push(out, "--normalization", "%s", shape->norm == NORM_RMS ? "RMSNorm" : "LayerNorm");
    push_positions(problem, shape, out);
    push_constants(shape, out);
    if (shape->mtp_layers > 0)
        megatron_push(out, "--mtp-num-layers", "%u", shape->mtp_layers);
    megatron_push(out, "--vocab-size", "%u", shape->vocab);
    megatron_push(out, "--make-vocab-size-divisible-by", "%u", multiple > 0 ? multiple : 1);
    if (!shape->tied_embeddings)
        megatron_push_flag(out, "--untie-embeddings-and-output-weights");
    megatron_push(out, "--attention-dropout", "%g", shape->dropout_frac);
    megatron_push(out, "--hidden-dropout", "%g", shape->dropout_frac);
}

/* Multi-head latent attention: K and V are made from a latent, as DeepSeek-V2 has it (arXiv
 * 2405.04434 section 2.1; in training the latent is expanded, nothing is absorbed).
 *
 * Axes, and what follows from them:
 *   latents        batch seq q_rank / kv_rank / rope_dim: no dim of heads cuts them, so
 *                  tensor ranks hold them whole, or cut by sequence under sequence parallelism
 *   q, k           batch seq heads qk_dim, qk_dim = nope_dim + rope_dim
 *   v              batch seq heads value_dim
 * Scores contract qk_dim, values value_dim. The rotated part of a key is one for all heads.
 *
 * Where one token is generated (transformer.decodes) the matrices that would expand the latents of
 * all tokens before it are applied to its own query and output instead, as DeepSeek-V2 section
 * 2.1.2 absorbs them: per head the query is brought to the latent's width, meets
 *   latent         batch seq latent_dim, latent_dim = kv_rank + rope_dim: what is cached
 * which holds keys and values of all heads, and what comes out is brought to value_dim. */
#include "models/transformer_graph.h"
#include "models/transformer_traffic.h"

#define QUERY_AXES "batch seq heads qk_dim"

static uint32_t push_down(struct transformer_graph *graph, const char *name, const char *rank,
                          uint32_t input, bool joined)
{
    return transformer_push_linear(graph, &(struct transformer_linear){
                                              .name = name,
                                              .from = "hidden",
                                              .to = rank,
                                              .biased = graph->shape->qkv_bias,
                                              .input = input,
                                              .copies = 1,
                                              .joined = joined,
                                          });
}

/* From a latent, or the stream, to heads. */
static uint32_t push_up(struct transformer_graph *graph, const char *name, const char *from,
                        const char *width, uint32_t input)
{
    return transformer_push_linear(graph, &(struct transformer_linear){
                                              .name = name,
                                              .from = from,
                                              .to = text_build(graph->arena, "heads %s", width),
                                              .input = input,
                                              .copies = 1,
                                          });
}

static void keep_cached(struct transformer_graph *graph, uint32_t tensor)
{
    graph->model->tensors[tensor].cached = true;
}

/* The unrotated part per head beside the rotated one: a tensor as wide as q. */
static uint32_t push_key(struct transformer_graph *graph, uint32_t nope, uint32_t rope)
{
    return transformer_push_stream(graph, &(struct transformer_stream){
                                              .name = "k_rope",
                                              .domain = QUERY_AXES,
                                              .output = QUERY_AXES,
                                              .inputs = {nope, rope},
                                              .input_count = 2,
                                              .copies = 1,
                                              .forward_bytes = ROPE_BYTES,
                                              .backward_bytes = ROPE_BYTES,
                                          });
}

static struct transformer_branch push_branch(struct transformer_graph *graph, uint32_t input)
{
    const uint32_t branch =
        transformer_push_linear(graph, &(struct transformer_linear){
                                           .name = "attention_output",
                                           .from = "heads value_dim",
                                           .to = "hidden",
                                           .biased = graph->shape->attention_output_bias,
                                           .input = input,
                                           .copies = 1,
                                       });
    return (struct transformer_branch){branch, NO_INDEX};
}

/* --- one token -------------------------------------------------------------------------------- */

/* Between two widths of each head. */
static uint32_t push_per_head(struct transformer_graph *graph, const char *name, const char *from,
                              const char *to, uint32_t input)
{
    return transformer_push_linear(graph, &(struct transformer_linear){
                                              .name = name,
                                              .from = text_build(graph->arena, "heads %s", from),
                                              .to = text_build(graph->arena, "heads %s", to),
                                              .input = input,
                                              .copies = 1,
                                          });
}

/* Two parts side by side, one of them rotated. */
static uint32_t push_joined(struct transformer_graph *graph, const char *name, const char *axes,
                            uint32_t part, uint32_t rotated)
{
    return transformer_push_stream(graph, &(struct transformer_stream){
                                              .name = name,
                                              .domain = axes,
                                              .output = axes,
                                              .inputs = {part, rotated},
                                              .input_count = 2,
                                              .copies = 1,
                                              .forward_bytes = ROPE_BYTES,
                                              .backward_bytes = ROPE_BYTES,
                                          });
}

static uint32_t push_absorbed_query(struct transformer_graph *graph, const char *from,
                                    uint32_t input)
{
    const uint32_t nope = push_up(graph, "q_up", from, "nope_dim", input);
    const uint32_t rope = push_up(graph, "q_rope_up", from, "rope_dim", input);
    graph->model->ops[graph->model->op_count - 1].joined = true;
    return push_joined(graph, "q_rope", "batch seq heads latent_dim",
                       push_per_head(graph, "k_up", "nope_dim", "kv_rank", nope), rope);
}

static struct transformer_branch push_absorbed(struct transformer_graph *graph, uint32_t input)
{
    const bool narrow = graph->shape->mla.q_rank > 0;
    uint32_t q = narrow ? push_down(graph, "q_down", "q_rank", input, false) : input;
    const uint32_t latent = push_down(graph, "kv_down", "kv_rank", input, narrow);
    const uint32_t rope = push_down(graph, "k_rope_down", "rope_dim", input, true);
    if (narrow) {
        q = transformer_push_norm_over(graph, "q_latent_norm", "batch seq", "q_rank", q);
    }
    q = push_absorbed_query(graph, narrow ? "q_rank" : "hidden", q);
    const uint32_t normed =
        transformer_push_norm_over(graph, "kv_latent_norm", "batch seq", "kv_rank", latent);
    const uint32_t k = push_joined(graph, "k_rope", "batch seq latent_dim", normed, rope);
    const uint32_t output = transformer_push_core(
        graph, &(struct transformer_core){.name = "attention",
                                          .domain = "batch seq keys heads latent_dim kv_rank",
                                          .output = "batch seq heads kv_rank",
                                          .q = q,
                                          .k = k,
                                          .v = NO_INDEX});
    return push_branch(graph, push_per_head(graph, "v_up", "kv_rank", "value_dim", output));
}

/* --- all tokens ------------------------------------------------------------------------------- */

/* What the ops from `first` on write. */
static void mark_remade(struct transformer_graph *graph, uint32_t first)
{
    for (uint32_t op = first; op < graph->model->op_count; op++) {
        graph->model->tensors[graph->model->ops[op].output].remade = true;
    }
}

struct transformer_branch transformer_push_latent_attention(struct transformer_graph *graph,
                                                            uint32_t input)
{
    if (graph->shape->decodes) {
        return push_absorbed(graph, input);
    }
    const bool narrow = graph->shape->mla.q_rank > 0;
    uint32_t q = narrow ? push_down(graph, "q_down", "q_rank", input, false)
                        : push_up(graph, "q", "hidden", "qk_dim", input);
    const uint32_t latent = push_down(graph, "kv_down", "kv_rank", input, true);
    const uint32_t rope = push_down(graph, "k_rope_down", "rope_dim", input, true);
    keep_cached(graph, latent);
    keep_cached(graph, rope);
    if (narrow) {
        q = transformer_push_norm_over(graph, "q_latent_norm", "batch seq", "q_rank", q);
        const uint32_t up = graph->model->op_count;
        q = push_up(graph, "q_up", "q_rank", "qk_dim", q);
        mark_remade(graph, up);
    }
    const uint32_t normed =
        transformer_push_norm_over(graph, "kv_latent_norm", "batch seq", "kv_rank", latent);
    const uint32_t first = graph->model->op_count;
    const uint32_t nope = push_up(graph, "k_up", "kv_rank", "nope_dim", normed);
    const uint32_t v = push_up(graph, "v_up", "kv_rank", "value_dim", normed);
    graph->model->ops[graph->model->op_count - 1].joined = true;
    transformer_push_map(graph, "q_rope", QUERY_AXES, &q, ROPE_BYTES, ROPE_BYTES);
    const uint32_t k = push_key(graph, nope, rope);
    mark_remade(graph, first);
    const uint32_t output = transformer_push_core(
        graph, &(struct transformer_core){.name = "attention",
                                          .domain = "batch seq keys heads qk_dim value_dim",
                                          .output = "batch seq heads value_dim",
                                          .q = q,
                                          .k = k,
                                          .v = v});
    return push_branch(graph, output);
}

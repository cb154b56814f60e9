/* A layer: a mixer and an mlp around the residual stream, norms and sums where its form has
 * them. */
#include <string.h>

#include "base/text.h"
#include "models/transformer_graph.h"
#include "models/transformer_traffic.h"

typedef struct transformer_branch (*push_branch)(struct transformer_graph *, uint32_t);

/* One half of a layer: what it is called, what it does. */
struct half {
    const char *name;
    push_branch push;
};

static const char *suffixed(const struct transformer_graph *graph, const char *name,
                            const char *suffix)
{
    return text_build(graph->arena, "%s_%s", name, suffix);
}

/* A branch of two addends as one tensor. */
static uint32_t join(struct transformer_graph *graph, const char *name,
                     struct transformer_branch branch)
{
    if (branch.extra == NO_INDEX) {
        return branch.output;
    }
    return transformer_push_stream(graph, &(struct transformer_stream){
                                              .name = suffixed(graph, name, "sum"),
                                              .domain = "batch seq hidden",
                                              .output = "batch seq hidden",
                                              .inputs = {branch.output, branch.extra},
                                              .input_count = 2,
                                              .copies = 1,
                                              .forward_bytes = SUM_BYTES,
                                              .backward_bytes = SUM_BYTES,
                                          });
}

static uint32_t push_half(struct transformer_graph *graph, const struct half *half, uint32_t stream)
{
    const enum layer_form form = graph->shape->form;
    const char *norm = suffixed(graph, half->name, "norm");
    const char *residual = suffixed(graph, half->name, "residual");
    const bool norms_first = form == LAYER_PRE_NORM || form == LAYER_SANDWICH;
    const uint32_t input = norms_first ? transformer_push_norm(graph, norm, stream) : stream;
    struct transformer_branch branch = half->push(graph, input);
    if (form == LAYER_SANDWICH || form == LAYER_BRANCH_NORM) {
        const char *after =
            form == LAYER_SANDWICH ? suffixed(graph, half->name, "post_norm") : norm;
        branch.output = transformer_push_norm(graph, after, join(graph, half->name, branch));
        branch.extra = NO_INDEX;
    }
    const uint32_t sum =
        transformer_push_residual(graph, residual, stream, branch.output, branch.extra);
    return form == LAYER_POST_NORM ? transformer_push_norm(graph, norm, sum) : sum;
}

/* Both halves read the stream as it came in. */
static uint32_t push_parallel(struct transformer_graph *graph, const struct half *first,
                              const struct half *second, uint32_t stream)
{
    const uint32_t normed =
        transformer_push_norm(graph, suffixed(graph, first->name, "norm"), stream);
    const uint32_t mixed = join(graph, first->name, first->push(graph, normed));
    const uint32_t again =
        graph->shape->form == LAYER_PARALLEL_TWO
            ? transformer_push_norm(graph, suffixed(graph, second->name, "norm"), stream)
            : normed;
    const uint32_t fed = join(graph, second->name, second->push(graph, again));
    return transformer_push_residual(graph, "residual", stream, mixed, fed);
}

static bool find_mixer(const struct transformer_graph *graph, struct half *out)
{
    out->name = graph->mixer == 's' ? "scan" : "attention";
    out->push = graph->mixer == 's'             ? transformer_push_scan
                : graph->shape->mla.kv_rank > 0 ? transformer_push_latent_attention
                                                : transformer_push_attention;
    return graph->mixer != 'n';
}

static bool find_mlp(char letter, struct half *out)
{
    out->name = "mlp";
    out->push = letter == 'e' ? transformer_push_experts : transformer_push_mlp;
    return letter != 'n';
}

uint32_t transformer_push_layer(struct transformer_graph *graph, char mlp, uint32_t stream)
{
    static const struct half cross = {"cross_attention", transformer_push_cross_attention};
    const enum layer_form form = graph->shape->form;
    struct half first, second;
    const bool mixes = find_mixer(graph, &first), feeds = find_mlp(mlp, &second);
    if ((form == LAYER_PARALLEL || form == LAYER_PARALLEL_TWO) && mixes && feeds) {
        return push_parallel(graph, &first, &second, stream);
    }
    stream = mixes ? push_half(graph, &first, stream) : stream;
    stream = graph->memory != NO_INDEX ? push_half(graph, &cross, stream) : stream;
    return feeds ? push_half(graph, &second, stream) : stream;
}

/* Placement, schedule, policies as the training flags of Megatron-LM. */
#include <string.h>

#include "exports/megatron_inside.h"
#include "models/transformer.h"

static void push_sizes(const struct problem *problem, const struct plan *plan,
                       const struct megatron_arguments *out)
{
    struct megatron_sizes sizes;
    megatron_find_sizes(plan, &sizes);
    megatron_push_note(out, "placement; data parallel %u is what remains", sizes.dp);
    megatron_push(out, "--tensor-model-parallel-size", "%u", sizes.tp);
    if (sizes.sequence_parallel)
        megatron_push_flag(out, "--sequence-parallel");
    megatron_push(out, "--pipeline-model-parallel-size", "%u", sizes.pp);
    megatron_push(out, "--context-parallel-size", "%u", sizes.cp);
    if (sizes.cp > 1)
        megatron_push(out, "--cp-comm-type", "%s", sizes.context_kind);
    if (problem->model->transformer->moe.experts > 0) {
        megatron_push(out, "--expert-model-parallel-size", "%u", sizes.ep);
        megatron_push(out, "--expert-tensor-parallel-size", "%u", sizes.tp);
    }
    if (sizes.pipeline_inside)
        megatron_push_flag(out, "--use-tp-pp-dp-mapping");
}

/* --- layers of stages ------------------------------------------------------------------------- */

static bool is_even(const struct plan *plan, uint32_t chunks)
{
    for (uint32_t i = 1; i < chunks; i++) {
        if (express_find_layers(plan, i) != express_find_layers(plan, 0))
            return false;
    }
    return true;
}

static void push_layers(uint32_t layers, struct text *out)
{
    if (layers > 1)
        text_push(out, "t*%u", layers);
    else
        text_push(out, "%s", layers == 1 ? "t" : "");
}

/* Chunks between the first and the last, equal ones in a row as (t*4|)*6. */
static void push_middle(const struct plan *plan, uint32_t chunks, struct text *out)
{
    for (uint32_t first = 1, next; first + 1 < chunks; first = next) {
        const uint32_t layers = express_find_layers(plan, first);
        next = first + 1;
        while (next + 1 < chunks && express_find_layers(plan, next) == layers)
            next++;
        text_push(out, next - first > 1 ? "(" : "");
        push_layers(layers, out);
        text_push(out, "|");
        if (next - first > 1)
            text_push(out, ")*%u", next - first);
    }
}

/* E the embedding, t a layer, m one that predicts further tokens, L the loss; | between chunks, in
 * the order of the chain. */
static void push_layout(const struct plan *plan, uint32_t chunks, uint32_t further,
                        const struct megatron_arguments *out)
{
    struct text layout;
    text_init(&layout, out->text->arena);
    text_push(&layout, "E");
    push_layers(express_find_layers(plan, 0), &layout);
    text_push(&layout, "|");
    push_middle(plan, chunks, &layout);
    push_layers(express_find_layers(plan, chunks - 1), &layout);
    for (uint32_t i = 0; i < further; i++)
        text_push(&layout, "m");
    text_push(&layout, "L");
    megatron_push(out, "--pipeline-model-parallel-layout", "%s", layout.bytes);
}

static void push_schedule(const struct problem *problem, const struct plan *plan,
                          const struct megatron_arguments *out)
{
    const struct plan_schedule *schedule = &plan->schedule;
    const uint32_t chunks = plan_count_stages(plan) * schedule->chunks;
    megatron_push_note(out, "schedule: %u micro-batches", plan_count_micro_batches(problem, plan));
    if (megatron_is_hybrid(problem->model->transformer))
        megatron_push_pattern(problem->model->transformer, plan, out);
    else if (!is_even(plan, chunks))
        push_layout(plan, chunks, problem->model->transformer->mtp_layers, out);
    else if (schedule->chunks > 1)
        megatron_push(out, "--num-layers-per-virtual-pipeline-stage", "%u",
                      express_find_layers(plan, 0));
    if (schedule->chunks > 1 && !problem->setup->runtime->overlaps_send)
        megatron_push_flag(out, "--no-overlap-p2p-communication");
    megatron_push(out, "--micro-batch-size", "%u", schedule->micro_batch);
    megatron_push(out, "--global-batch-size", "%llu",
                  (unsigned long long)problem->setup->global_batch);
}

/* --- states ----------------------------------------------------------------------------------- */

static void push_recompute(const struct problem *problem, const struct plan *plan,
                           const struct megatron_arguments *out)
{
    struct express_states states;
    express_find_states(plan, &states);
    if (states.granularity == NULL)
        return;
    const bool latents = strcmp(states.granularity, "latents") == 0;
    megatron_push(out, "--recompute-granularity", "%s", latents ? "selective" : states.granularity);
    if (latents)
        megatron_push(out, "--recompute-modules", "mla_up_proj");
    if (strcmp(states.granularity, "full") != 0)
        return;
    const bool all = states.layers >= express_find_most_layers(problem, plan);
    megatron_push(out, "--recompute-method", "%s", all ? "uniform" : "block");
    megatron_push(out, "--recompute-num-layers", "%llu",
                  all ? 1 : (unsigned long long)states.layers);
}

/* Muon makes each tensor rank's own cut of a matrix orthogonal, as it is costed. */
static void push_rule(const struct optimizer *optimizer, uint32_t tp,
                      const struct megatron_arguments *out)
{
    const bool is_sgd = strncmp(optimizer->name, "sgd", 3) == 0;
    megatron_push(out, "--optimizer", "%s", is_sgd ? "sgd" : optimizer->name);
    if (is_sgd)
        megatron_push(out, "--sgd-momentum", "%s",
                      strcmp(optimizer->name, "sgd") == 0 ? "0" : "0.9");
    if (optimizer->matrix_steps > 0 && tp > 1)
        megatron_push(out, "--muon-tp-mode", "%s", "blockwise");
    if (optimizer->matrix_steps > 0)
        megatron_push(out, "--muon-num-ns-steps", "%u", optimizer->matrix_steps);
}

static void push_optimizer(const struct problem *problem, const struct plan *plan,
                           const struct megatron_arguments *out)
{
    const struct setup *setup = problem->setup;
    struct megatron_sizes sizes;
    struct express_states states;
    megatron_find_sizes(plan, &sizes);
    express_find_states(plan, &states);
    const bool overlaps = setup->runtime->overlaps_gradient_reduce && sizes.dp * sizes.cp > 1;
    push_rule(setup->optimizer, sizes.tp, out);
    const double moved = express_find_moved(plan, "optimizer");
    if (states.zero > 0 || moved > 0.0)
        megatron_push_flag(out, "--use-distributed-optimizer");
    if (moved > 0.0) {
        megatron_push_flag(out, "--use-precision-aware-optimizer");
        megatron_push_flag(out, "--optimizer-cpu-offload");
        megatron_push(out, "--optimizer-offload-fraction", "%.15g", moved);
    }
    if (megatron_count_moved(problem, plan) > 0)
        megatron_push(out, "--cpu-offloading-num-layers", "%u",
                      megatron_count_moved(problem, plan));
    if (overlaps)
        megatron_push_flag(out, "--overlap-grad-reduce");
    if (overlaps && states.zero > 0 && setup->runtime->overlaps_parameter_gather)
        megatron_push_flag(out, "--overlap-param-gather");
}

static void push_formats(const struct setup *setup, const struct megatron_arguments *out)
{
    if (setup->dtype == DTYPE_BF16 || setup->dtype == DTYPE_FP8)
        megatron_push_flag(out, "--bf16");
    if (setup->dtype == DTYPE_FP16)
        megatron_push_flag(out, "--fp16");
    if (setup->dtype == DTYPE_FP8)
        megatron_push(out, "--fp8-format", "%s", "hybrid");
    if (setup->dtype == DTYPE_FP16 && setup->runtime->gradient_bytes == 4)
        megatron_push_flag(out, "--accumulate-allreduce-grads-in-fp32");
    if (setup->dtype != DTYPE_FP32 && setup->dtype != DTYPE_FP16 &&
        setup->runtime->gradient_bytes == 2)
        megatron_push_flag(out, "--grad-reduce-in-bf16");
    megatron_push(out, "--attention-backend", "%s",
                  setup->attention == ATTENTION_PLAIN ? "unfused" : "flash");
}

void megatron_push_plan(const struct problem *problem, const struct plan *plan,
                        const struct megatron_arguments *out)
{
    push_sizes(problem, plan, out);
    push_schedule(problem, plan, out);
    megatron_push_note(out, "states");
    push_recompute(problem, plan, out);
    push_optimizer(problem, plan, out);
    push_formats(problem->setup, out);
}

/* Whether Megatron-LM can train as the setup, the placement, the schedule of a plan say. */
#include <string.h>

#include "exports/express.h"
#include "exports/megatron_inside.h"

static const struct diag_place nowhere = {0};

static bool check_setup(const struct setup *setup, struct diag *diag)
{
    static const char *const dtypes[] = {"bf16", "fp16", "fp8", "fp32", NULL};
    static const char *const optimizers[] = {"adam", "sgd", "sgd-momentum", "lion", "muon", NULL};
    bool good = express_setup(setup, MEGATRON, dtypes, optimizers, diag);
    if (setup->dtype == DTYPE_FP32 && setup->attention == ATTENTION_FLASH)
        good = diag_push(diag, DIAG_X602, nowhere, "bf16 or fp16, or plain attention",
                         "flash attention has no fp32 form in Transformer Engine");
    return good;
}

/* With the pipeline inside, its groups for layers with and without experts must coincide
 * (parallel_state.py), which they do when expert ranks are as many as context ranks. */
static bool check_order(const struct plan *plan, const struct megatron_sizes *sizes,
                        struct diag *diag)
{
    static const char *const order[] = {"tp", "cp", "dp", "pp", NULL};
    if (!sizes->pipeline_inside)
        return express_order(plan, MEGATRON, order, diag);
    if (sizes->ep != sizes->cp)
        return diag_push(diag, DIAG_X603, nowhere, "put the dimensions in the order tp, cp, dp, pp",
                         "with the pipeline inside data parallelism Megatron wants as many expert "
                         "ranks as context ranks: %u are not %u",
                         sizes->ep, sizes->cp);
    return true;
}

static bool check_placement(const struct problem *problem, const struct plan *plan,
                            struct diag *diag)
{
    static const char *const factors[] = {"tp", "cp", "dp", "pp", NULL};
    static const char *const folds[] = {"sp", "ep", NULL};
    struct megatron_sizes sizes;
    megatron_find_sizes(plan, &sizes);
    if (!express_group(plan, MEGATRON, factors, folds, diag))
        return false;
    bool good = check_order(plan, &sizes, diag);
    if (sizes.cp > 1 && sizes.context_kind == NULL)
        good = diag_push(diag, DIAG_X603, nowhere, "ring, ulysses or allgather",
                         "this variant of context parallelism is not exported to Megatron");
    good &= express_nodes(problem, plan, diag);
    return good;
}

static bool check_schedule(const struct problem *problem, const struct plan *plan,
                           struct diag *diag)
{
    static const char *const names[] = {"1f1b", "interleaved", NULL};
    bool good = express_schedule(problem, plan, MEGATRON, names, diag);
    if (plan->schedule.chunks > 1 && plan_count_stages(plan) == 2 &&
        !problem->setup->runtime->overlaps_send)
        good = diag_push(diag, DIAG_X604, nowhere, "one chunk, or 3 stages or more",
                         "Megatron interleaves chunks on 2 stages only where sends overlap");
    return good;
}

/* --optimizer-cpu-offload updates on the host; --cpu-offloading-num-layers, which leaves one layer
 * at least, stands alone (transformer_config.py). */
static const struct express_move moves[] = {
    {{"optimizer"}, 1, true},
    {{"activations"}, 0, true},
    {{NULL}, 0, false},
};

static bool check_moves(const struct problem *problem, const struct plan *plan, struct diag *diag)
{
    struct express_states states;
    const uint32_t layers = plan_count_layers(problem->model);
    const double moved = express_find_moved(plan, "activations") * layers;
    bool good = true;
    express_find_states(plan, &states);
    if (express_find_moved(plan, "optimizer") > 0.0 &&
        strcmp(problem->setup->optimizer->name, "adam") != 0)
        good = diag_push(diag, DIAG_X605, nowhere, "optimizer 'adam'",
                         "Megatron moves the states of Adam to the host, not those of '%s'",
                         problem->setup->optimizer->name);
    if (moved > 0.0 && (states.granularity != NULL || plan_count_stages(plan) > 1))
        good = diag_push(diag, DIAG_X605, nowhere, "one stage, nothing recomputed",
                         "Megatron moves activations to the host without pipeline and "
                         "recomputation alone");
    if (moved > 0.0 && megatron_count_moved(problem, plan) == 0)
        good = diag_push(
            diag, DIAG_X605, nowhere,
            text_build(diag->arena, "a share_frac of 1/%u to %u/%u", layers, layers - 1, layers),
            "Megatron moves the activations of whole layers to the host, of one at "
            "least not: %g of %u layers",
            moved, layers);
    return good;
}

/* 0: there are none, or no whole number of them. */
uint32_t megatron_count_moved(const struct problem *problem, const struct plan *plan)
{
    const uint32_t layers = plan_count_layers(problem->model);
    const double moved = express_find_moved(plan, "activations") * layers;
    const uint32_t whole = (uint32_t)(moved + 0.5);
    const double off = moved - whole;
    return whole < layers && off < 1e-6 && off > -1e-6 ? whole : 0;
}

bool megatron_check_plan(const struct problem *problem, const struct plan *plan, struct diag *diag)
{
    bool good = check_setup(problem->setup, diag);
    good &= check_placement(problem, plan, diag);
    good &= check_schedule(problem, plan, diag);
    good &= express_policies(plan, MEGATRON, 1,
                             "shard the optimizer alone (ZeRO level 1), or export to a runtime "
                             "with fully sharded data parallelism",
                             moves, diag);
    good &= check_moves(problem, plan, diag);
    return good;
}

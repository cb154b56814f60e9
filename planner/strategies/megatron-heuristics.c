/* Megatron-LM's takeaways: tensor ranks inside a server, stages until memory suffices, data ranks
 * with the rest, the micro-batch by its formula. */
#include "planner/layer_profile.h"
#include "planner/strategies/usual.h"

extern const struct strategy strategy_megatron_heuristics;

static struct plan *build(const struct strategy_case *of, struct usual_mesh at,
                          uint32_t micro_batch)
{
    at.micro_batch = micro_batch;
    return usual_build_plan(of, &at);
}

/* (b'/b + p - 1) (t_f(b) + t_b(b)), b' the share of the batch of a replica. */
static double formula_s(const struct strategy_case *of, struct usual_mesh at, uint32_t micro_batch)
{
    const double share = (double)of->problem->setup->global_batch / at.replicas;
    const struct plan *plan = build(of, at, micro_batch);
    struct layer_profile profile;
    double layers_s = 0.0;
    if (!layer_profile_build(of->problem, of->estimator, plan, of->arena, &profile)) {
        return 1e300;
    }
    for (uint32_t i = 0; i < profile.layers; i++) {
        layers_s += profile.forward_s[i] + profile.backward_s[i];
    }
    return (share / micro_batch + at.stages - 1) * layers_s / at.stages;
}

static uint32_t choose_micro_batch(const struct strategy_case *of, struct usual_mesh at)
{
    uint32_t sizes[STRATEGY_MICRO_MAX], best = 0;
    const uint32_t count = strategy_list_micro(of, at.replicas, sizes);
    double best_s = 1e300;
    for (uint32_t i = 0; i < count; i++) {
        const double s = formula_s(of, at, sizes[i]);
        if (s < best_s) {
            best_s = s;
            best = sizes[i];
        }
    }
    return best;
}

/* More chunks, a smaller bubble: all numbers that share the layers evenly. */
static void offer_interleaved(const struct strategy_case *of, struct usual_mesh at,
                              uint32_t micro_batch)
{
    const uint32_t layers = plan_count_layers(of->problem->model);
    for (uint32_t chunks = 2; at.stages > 1 && chunks * at.stages <= layers; chunks++) {
        if (layers % (chunks * at.stages) == 0) {
            struct plan *plan = build(of, at, micro_batch);
            plan->schedule.schedule = schedule_find_usual(true);
            plan->schedule.chunks = chunks;
            usual_offer(of, plan);
        }
    }
}

/* The size by the formula, or the largest below it that fits. */
static bool offer(const struct strategy_case *of, struct usual_mesh at)
{
    uint32_t micro_batch = choose_micro_batch(of, at);
    bool fits = false;
    while (micro_batch > 0 && !fits) {
        fits = usual_offer(of, build(of, at, micro_batch));
        if (fits) {
            offer_interleaved(of, at, micro_batch);
        }
        micro_batch /= 2;
    }
    return fits;
}

/* Model-parallel ranks in ascending number: tensor ranks as long as a server holds them. */
static void propose(const struct strategy_case *of)
{
    const uint32_t devices = strategy_count_devices(of), server = strategy_count_server(of);
    const uint32_t layers = plan_count_layers(of->problem->model);
    bool fits = false;
    for (uint32_t ranks = 1; ranks <= devices && !fits; ranks++) {
        for (uint32_t tensor = ranks < server ? ranks : server;
             tensor > 0 && devices % ranks == 0 && !fits; tensor--) {
            const struct usual_mesh at = {tensor, ranks / tensor, devices / ranks, 0};
            if (ranks % tensor == 0 && server % tensor == 0 && at.stages <= layers) {
                fits = offer(of, at);
            }
        }
    }
}

const struct strategy strategy_megatron_heuristics = {
    .name = "megatron-heuristics",
    .summary =
        "fewest model-parallel ranks that fit: tensor inside a server, then stages, then data",
    .source = "Narayanan et al., SC 2021, arXiv 2104.04473",
    .propose = propose,
};

/* A plan of equal stages as planning methods see it: a chain of layers, a row of devices. */
#include "planner/device_web.h"
#include "planner/layer_profile.h"
#include "planner/strategy.h"

/* Places of a row: more are put together, replicas of one stage side by side. */
#define PLACES_MAX 64u

/* Replicas that make one place. */
static uint32_t count_together(uint32_t stages, uint32_t replicas)
{
    uint32_t together = 1;
    while (replicas % together != 0 ||
           (stages * (replicas / together) > PLACES_MAX && together < replicas)) {
        together++;
    }
    return together;
}

static double layer_s(const struct layer_profile *profile, uint32_t kind, uint32_t layer)
{
    const size_t place = (size_t)(profile->kinds == 1 ? 0 : kind) * profile->layers + layer;
    return profile->forward_s[place] + profile->backward_s[place];
}

/* Of all layers, against the first kind. */
static double speed_of(const struct layer_profile *profile, uint32_t kind)
{
    double first_s = 0.0, own_s = 0.0;
    for (uint32_t layer = 0; layer < profile->layers; layer++) {
        first_s += layer_s(profile, 0, layer);
        own_s += layer_s(profile, kind, layer);
    }
    return first_s / own_s;
}

static void fill_chain(const struct strategy_case *of, const struct layer_profile *profile,
                       uint32_t micro_batches, struct strategy_line *out)
{
    const double replicas = out->replicas;
    double *forward_s = ARENA_PUSH(of->arena, double, profile->layers);
    double *backward_s = ARENA_PUSH(of->arena, double, profile->layers);
    double *bytes = ARENA_PUSH(of->arena, double, profile->layers);
    for (uint32_t layer = 0; layer < profile->layers; layer++) {
        forward_s[layer] = replicas * profile->forward_s[layer];
        backward_s[layer] = replicas * profile->backward_s[layer];
        bytes[layer] = replicas * replicas * profile->cut_bytes; /* a replica sends to its like */
    }
    out->chain = (struct replica_chain){.layers = profile->layers,
                                        .micro_batches = micro_batches,
                                        .forward_s = forward_s,
                                        .backward_s = backward_s,
                                        .weight_bytes = profile->weight_bytes,
                                        .forward_bytes = bytes,
                                        .backward_bytes = bytes};
}

static void fill_row(const struct strategy_case *of, const struct layer_profile *profile,
                     const uint32_t *devices, struct strategy_line *out)
{
    const uint32_t count = out->stages * out->replicas;
    struct device_web web;
    double *speeds = ARENA_PUSH(of->arena, double, count);
    device_web_build(of->problem->cluster, devices, count * out->unit, out->unit, of->arena, &web);
    for (uint32_t place = 0; place < count; place++) {
        speeds[place] = 1e300;
        for (uint32_t i = 0; i < out->unit; i++) {
            const uint32_t device = devices[place * out->unit + i];
            const double speed = speed_of(profile, layer_profile_find_kind(of->problem, device));
            speeds[place] = speed < speeds[place] ? speed : speeds[place];
        }
    }
    out->row = (struct replica_row){count, web.bandwidth_Bps, speeds};
}

double strategy_find_stage_speed(const struct strategy_line *line, uint32_t stage)
{
    double least = 1e300;
    for (uint32_t i = 0; i < line->replicas; i++) {
        const double speed = line->row.speeds[stage * line->replicas + i];
        least = speed < least ? speed : least;
    }
    return least;
}

bool strategy_build_line(const struct strategy_case *of, const struct plan *plan,
                         const uint32_t *devices, struct strategy_line *out)
{
    struct layer_profile profile;
    if (!layer_profile_build(of->problem, of->estimator, plan, of->arena, &profile)) {
        return false;
    }
    const uint32_t stages = plan_count_stages(plan);
    const uint32_t replicas = (uint32_t)plan_count_replicas(of->problem, plan);
    const uint32_t together = count_together(stages, replicas);
    out->stages = stages;
    out->replicas = replicas / together;
    out->unit = strategy_count_devices(of) / (stages * out->replicas);
    fill_chain(of, &profile, plan_count_micro_batches(of->problem, plan), out);
    fill_row(of, &profile, devices, out);
    return true;
}

void strategy_set_layers(const struct strategy_case *of, struct plan *plan,
                         const struct replica_stage *stages, uint32_t count)
{
    plan->schedule.stages = count;
    plan->schedule.layers = ARENA_PUSH(of->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        plan->schedule.layers[i] = stages[i].layers;
    }
}

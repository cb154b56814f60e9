/* Searches the same question on fewer domains of the cluster, or with less of its memory. */
#include "tools/sized_plan.h"

#include "tools/plan_flags.h"

bool sized_plan_has_parts(const struct cluster *cluster)
{
    return cluster->level_count > 0 && cluster->device_kind == NULL;
}

uint32_t sized_plan_list(const struct cluster *cluster, uint32_t spares, struct sized_plan *out)
{
    const uint32_t last = cluster->levels[cluster->level_count - 1].degree;
    const uint32_t inner = cluster->device_count / last;
    uint32_t count = 0;
    for (uint32_t divisor = 1; divisor <= last && count < SIZED_PLAN_MAX; divisor++) {
        const uint32_t devices = inner * (last / divisor);
        if (last % divisor == 0 && cluster->device_count - devices <= spares) {
            out[count++] = (struct sized_plan){.domains = last / divisor, .devices = devices};
        }
    }
    return count;
}

static double power_w(const struct cluster *cluster)
{
    double sum_w = 0.0;
    for (uint32_t device = 0; device < cluster->device_count; device++) {
        sum_w += cluster_find_accelerator(cluster, device)->tdp_w;
    }
    return sum_w;
}

/* On out->domains of the cluster; the whole of it needs no levels. */
static bool scale(struct command *command, const struct question *from, uint32_t domains,
                  struct question *out)
{
    const struct cluster *cluster = &from->cluster;
    if (!sized_plan_has_parts(cluster) ||
        cluster->levels[cluster->level_count - 1].degree == domains) {
        return problem_flags_move(command, from, cluster, out);
    }
    const bool good = problem_flags_scale(command, from, domains, out);
    out->setup.spare_devices = 0;
    return good;
}

/* Memory above most_bytes is kept free. */
static void keep_below(double most_bytes, struct question *out)
{
    const double usable_bytes = out->estimator.capacity_bytes(out->estimator.state);
    const double all_bytes = usable_bytes / (1.0 - out->setup.memory_headroom_frac);
    if (most_bytes > 0.0 && most_bytes < usable_bytes) {
        out->setup.memory_headroom_frac = 1.0 - most_bytes / all_bytes;
    }
}

void sized_plan_find(struct command *command, const struct question *question,
                     const struct planner_options *options, double most_bytes,
                     struct sized_plan *out)
{
    struct question *moved = ARENA_PUSH(command->arena, struct question, 1);
    struct planner_options first = *options;
    struct planner_result result;
    struct text flags;
    struct diag diag;
    out->fits = false;
    diag_init(&diag, command->arena);
    text_init(&flags, command->arena);
    first.top = 1;
    first.pins.slice_count = 0; /* devices of another size of cluster */
    if (!scale(command, question, out->domains, moved)) {
        return;
    }
    keep_below(most_bytes, moved);
    if (!planner_search(&moved->problem, &moved->estimator, &first, command->arena, &result,
                        &diag) ||
        result.count == 0) {
        return;
    }
    plan_flags_dump(result.plans[0].plan, &moved->runtime, command->arena, &flags);
    out->fits = true;
    out->step_s = result.plans[0].estimate.step_s;
    out->device_s = out->step_s * out->devices;
    out->energy_j = power_w(&moved->cluster) * out->step_s;
    out->peak_bytes = result.plans[0].estimate.peak_bytes;
    out->flags = flags.bytes;
}

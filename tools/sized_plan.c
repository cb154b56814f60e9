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
    const bool all = spares / inner < SIZED_PLAN_ALL || last <= SIZED_PLAN_ALL;
    uint32_t count = 0;
    for (uint32_t domains = last; domains > 0 && count < SIZED_PLAN_MAX; domains--) {
        const uint32_t devices = inner * domains;
        if ((all || last % domains == 0) && cluster->device_count - devices <= spares) {
            out[count++] = (struct sized_plan){.domains = domains, .devices = devices};
        }
    }
    return count;
}

static const char *unrated(const struct cluster *cluster)
{
    uint32_t kind = 0;
    while (kind + 1 < cluster->accelerator_count && cluster->accelerators[kind].tdp_w > 0.0) {
        kind++;
    }
    return cluster->accelerators[kind].name;
}

bool sized_plan_check(struct command *command, const struct cluster *cluster, bool energy,
                      const char *what)
{
    const struct diag_place nowhere = {0};
    if (!sized_plan_has_parts(cluster)) {
        return diag_push(command->diag, DIAG_C709, nowhere, NULL,
                         "cluster '%s' has no levels of one kind of device, so no part of it can "
                         "be tried for %s",
                         cluster->name, what);
    }
    if (command_has(command, PLAN_FLAGS_PLACES)) {
        return diag_push(command->diag, DIAG_C709, nowhere, NULL,
                         PLAN_FLAGS_PLACES " fixes the devices, so no part of them can be tried "
                                           "for %s",
                         what);
    }
    return !energy || report_power_w(cluster) > 0.0 ||
           diag_push(command->diag, DIAG_C709, nowhere, "ask for cost instead",
                     "the rated power of %s is not known, so %s cannot be told", unrated(cluster),
                     what);
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
    out->energy_j = report_power_w(&moved->cluster) * out->step_s;
    out->proven = result.certificate.complete;
    out->peak_bytes = result.plans[0].estimate.peak_bytes;
    out->flags = flags.bytes;
}

void sized_plan_push_energy(const struct sized_plan *plan, struct json_writer *out)
{
    json_push_key(out, "energy_j");
    if (plan->energy_j > 0.0) {
        json_push_double(out, plan->energy_j);
    } else {
        json_push_null(out);
    }
}

const char *sized_plan_kwh(struct command *command, const struct sized_plan *plan)
{
    return plan->energy_j > 0.0 ? text_build(command->arena, "%.4g", plan->energy_j / 3.6e6) : "-";
}

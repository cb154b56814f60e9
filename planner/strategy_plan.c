/* Proposals put together: degrees by name, policies by their own choices, devices in an order. */
#include <string.h>

#include "planner/strategy.h"

/* --- devices ---------------------------------------------------------------------------------- */

uint32_t strategy_count_devices(const struct strategy_case *of)
{
    uint32_t devices = 0;
    for (uint32_t i = 0; i < of->pins->slice_count; i++) {
        devices += of->pins->slices[i].device_count;
    }
    return of->pins->slice_count == 0 ? of->problem->cluster->device_count : devices;
}

static uint32_t largest_divisor(uint32_t value, uint32_t most)
{
    uint32_t divisor = most < value ? most : value;
    while (value % divisor != 0) {
        divisor--;
    }
    return divisor;
}

/* Servers of 8 are the usual ones; where a file does not tell, that stands for them. */
#define SERVER_USUAL 8u

uint32_t strategy_count_server(const struct strategy_case *of)
{
    const struct cluster *cluster = of->problem->cluster;
    const uint32_t devices = strategy_count_devices(of);
    for (uint32_t level = 0; level < cluster->level_count; level++) {
        const uint64_t domain = cluster_count_domain(cluster, level);
        if (domain > 1) {
            return largest_divisor(devices, domain < devices ? (uint32_t)domain : devices);
        }
    }
    return largest_divisor(devices, SERVER_USUAL);
}

uint32_t strategy_count_island(const struct strategy_case *of)
{
    const struct cluster *cluster = of->problem->cluster;
    const uint32_t devices = strategy_count_devices(of);
    for (uint32_t level = cluster->level_count; level-- > 0;) {
        const uint64_t domain = cluster_count_domain(cluster, level);
        if (domain < devices) {
            return largest_divisor(devices, (uint32_t)domain);
        }
    }
    return strategy_count_server(of);
}

/* The i-th device that plans use. */
static uint32_t find_device(const struct strategy_case *of, uint32_t i)
{
    const struct planner_pins *pins = of->pins;
    for (uint32_t s = 0; s < pins->slice_count; s++) {
        if (i < pins->slices[s].device_count) {
            return pins->slices[s].first_device + i;
        }
        i -= pins->slices[s].device_count;
    }
    return i;
}

static double speed_of(const struct problem *problem, uint32_t device)
{
    return cluster_find_accelerator(problem->cluster, device)
        ->peak_flops_per_s[problem->setup->dtype];
}

/* Kinds have few speeds, so one pass per speed. */
uint32_t *strategy_sort_kinds(const struct strategy_case *of, bool fastest_first)
{
    const uint32_t devices = strategy_count_devices(of);
    uint32_t *sorted = ARENA_PUSH(of->arena, uint32_t, devices), count = 0;
    double bar = fastest_first ? 1e300 : -1.0;
    while (count < devices) {
        double next = fastest_first ? -1.0 : 1e300;
        for (uint32_t i = 0; i < devices; i++) {
            const double speed = speed_of(of->problem, find_device(of, i));
            if (fastest_first ? speed < bar && speed > next : speed > bar && speed < next) {
                next = speed;
            }
        }
        for (uint32_t i = 0; i < devices; i++) {
            const uint32_t device = find_device(of, i);
            if (speed_of(of->problem, device) == next) {
                sorted[count++] = device;
            }
        }
        bar = next;
    }
    return sorted;
}

void strategy_place(const struct strategy_case *of, struct plan *plan, const uint32_t *devices,
                    uint32_t count)
{
    struct group *group = &plan->groups[0];
    struct slice_range *slices = ARENA_PUSH(of->arena, struct slice_range, count);
    uint32_t runs = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && devices[i] == devices[i - 1] + 1) {
            slices[runs - 1].device_count++;
        } else {
            slices[runs++] = (struct slice_range){
                .first_device = devices[i], .device_count = 1, .compute_frac = 1.0};
        }
    }
    const bool as_they_are =
        runs == 1 && slices[0].first_device == 0 && count == of->problem->cluster->device_count;
    group->slices = as_they_are ? NULL : slices;
    group->slice_count = as_they_are ? 0 : runs;
}

/* --- plans ------------------------------------------------------------------------------------ */

struct plan *strategy_build_plan(const struct strategy_case *of,
                                 const struct strategy_degree *degrees, uint32_t count,
                                 uint32_t micro_batch)
{
    struct plan *plan = ARENA_PUSH(of->arena, struct plan, 1);
    struct group *group = ARENA_PUSH(of->arena, struct group, 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct dim *dim = dim_find(degrees[i].dim);
        if (degrees[i].degree <= 1) {
            continue;
        }
        if (dim->kind == DIM_FACTOR) {
            group->mesh[group->mesh_count++] =
                (struct mesh_dim){.dim = dim, .degree = degrees[i].degree};
        } else {
            group->folds[group->fold_count++] = (struct mesh_fold){dim, degrees[i].degree};
        }
    }
    group->slices = of->pins->slices;
    group->slice_count = of->pins->slice_count;
    plan->groups = group;
    plan->group_count = 1;
    plan->schedule.schedule = schedule_find_usual(false);
    plan->schedule.micro_batch = micro_batch;
    plan->schedule.chunks = 1;
    return plan;
}

bool strategy_push_use(const struct strategy_case *of, struct plan *plan, const char *policy,
                       uint32_t index)
{
    const struct policy *kind = policy_find(policy);
    struct policy_use use;
    if (kind->choose == NULL || !kind->choose(of->problem, plan, index, of->arena, &use)) {
        return false;
    }
    struct policy_use *uses = ARENA_PUSH(of->arena, struct policy_use, plan->policy_count + 1);
    if (plan->policy_count > 0) {
        memcpy(uses, plan->policies, plan->policy_count * sizeof *uses);
    }
    uses[plan->policy_count++] = use;
    plan->policies = uses;
    return true;
}

uint32_t strategy_list_micro(const struct strategy_case *of, uint32_t replicas,
                             uint32_t out[STRATEGY_MICRO_MAX])
{
    const uint64_t batch = of->problem->setup->global_batch;
    uint32_t count = 0;
    for (uint32_t i = 0; i < STRATEGY_MICRO_MAX; i++) {
        if (batch % ((uint64_t)replicas << i) == 0) {
            out[count++] = 1u << i;
        }
    }
    return count;
}

bool strategy_push_last_use(const struct strategy_case *of, struct plan *plan, const char *policy)
{
    const struct policy *kind = policy_find(policy);
    struct policy_use use;
    uint32_t count = 0;
    while (kind->choose(of->problem, plan, count, of->arena, &use)) {
        count++;
    }
    return count > 0 && strategy_push_use(of, plan, policy, count - 1);
}

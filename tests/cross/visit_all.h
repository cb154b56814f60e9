/* Every plan of the question's space, one by one, judged as a plan that somebody gave. */
#ifndef SHARDPLAN_TESTS_CROSS_VISIT_ALL_H
#define SHARDPLAN_TESTS_CROSS_VISIT_ALL_H

#include <string.h>

#include "plan/plan_rule.h"
#include "tests/cross/thrown_question.h"

/* Rank orders, meshes, batches, shapes, policies tried one after another; every legal plan is
 * kept, up to `most` of them: then it is known that there are more. */
struct visit {
    struct plan *plans;
    uint32_t count, most;
    bool more;
    double top_s[TOP];
    uint32_t top_count;
    double least_over_bytes; /* of plans that do not fit */
    bool canonical;          /* orders by the dims' default places only */
    struct group group;
    struct plan plan;
    struct policy_use uses[PLANNER_POLICY_MAX];
};

static inline void push_time(struct visit *visit, double step_s)
{
    uint32_t place = visit->top_count < TOP ? visit->top_count++ : TOP;
    for (; place > 0 && step_s < visit->top_s[place - 1]; place--) {
        if (place < TOP) {
            visit->top_s[place] = visit->top_s[place - 1];
        }
    }
    if (place < TOP) {
        visit->top_s[place] = step_s;
    }
}

/* The plan that stands, with all that it points to. */
static inline void keep(struct visit *visit)
{
    if (visit->count == visit->most) {
        visit->more = true;
        return;
    }
    struct plan *plan = &visit->plans[visit->count++];
    *plan = visit->plan;
    plan->groups = ARENA_PUSH(&arena, struct group, 1);
    plan->groups[0] = visit->group;
    plan->policies = ARENA_PUSH(&arena, struct policy_use, plan->policy_count);
    for (uint32_t i = 0; i < plan->policy_count; i++) {
        plan->policies[i] = visit->uses[i];
    }
}

static inline void judge(struct visit *visit, const struct plan *kept)
{
    const struct arena_mark mark = arena_find_mark(&arena);
    struct plan plan = *kept;
    struct estimate estimate;
    planner_complete(&question.problem, &question.estimator, &plan, &arena, &estimate);
    double over = 0.0;
    for (uint32_t i = 0; i < estimate.stage_count; i++) {
        const double here = -estimator_room_bytes(&estimate.stages[i]);
        over = here > over ? here : over;
    }
    if (estimate.fits) {
        push_time(visit, estimate.step_s);
    } else if (over < visit->least_over_bytes) {
        visit->least_over_bytes = over;
    }
    arena_pop(&arena, mark);
}

/* Legal, in a rank order that some runtime has. */
static inline bool plan_is_searched(const struct plan *plan)
{
    return plan_is_legal(&question.problem, plan) &&
           plan_rule_order_is_searched(&question.problem, plan);
}

/* A slice per device, kind by kind. */
static inline void sort_devices(uint32_t first_kind, struct group *group)
{
    const struct cluster *cluster = &question.cluster;
    group->slices = ARENA_PUSH(&arena, struct slice_range, cluster->device_count);
    group->slice_count = 0;
    for (uint32_t i = 0; i < 2 * cluster->device_count; i++) {
        const uint32_t device = i % cluster->device_count;
        if ((cluster->device_kind[device] == first_kind) == (i < cluster->device_count)) {
            group->slices[group->slice_count++] =
                (struct slice_range){.first_device = device, .device_count = 1, .compute_frac = 1};
        }
    }
}

/* None, or one of its own; a pinned one as it is pinned. */
static inline void each_use(struct visit *visit, uint32_t policy)
{
    if (policy == policy_table_count) {
        if (plan_is_searched(&visit->plan)) {
            keep(visit);
        }
        return;
    }
    const struct planner_pins *pins = &question.options.pins;
    const struct policy *kind = policy_table[policy];
    const uint32_t choice = pins->policy_choices[policy];
    struct policy_use *next = &visit->uses[visit->plan.policy_count];
    const bool pinned = choice > 0 && !pins->policy_pinned[policy];
    if (!pinned || kind->choose == NULL ||
        !kind->choose(&question.problem, &visit->plan, choice - 1, &arena, next)) {
        each_use(visit, policy + 1);
    }
    const bool silent = kind->on_demand && !pinned && !pins->policy_asked[policy];
    if (pins->policy_pinned[policy] || kind->choose == NULL || silent) {
        return;
    }
    for (uint32_t i = 0;
         !visit->more && kind->choose(&question.problem, &visit->plan, i, &arena, next); i++) {
        if (!pinned || i == choice - 1) {
            visit->plan.policy_count++;
            each_use(visit, policy + 1);
            visit->plan.policy_count--;
        }
    }
}

/* Rare schedules only where the runtime lists them or the question pins them. */
static inline bool is_searched(const struct schedule *schedule)
{
    const struct planner_pins *pins = &question.options.pins;
    const bool listed = runtime_lists_schedule(&question.runtime, schedule->name);
    return pins->schedule == NULL ? listed || !schedule->on_demand : pins->schedule == schedule;
}

static inline void each_schedule(struct visit *visit)
{
    const struct planner_pins *pins = &question.options.pins;
    const uint32_t layers = plan_count_layers(question.problem.model);
    for (uint32_t i = 0; i < schedule_table_count; i++) {
        for (uint32_t chunks = 1; chunks <= layers; chunks++) {
            visit->plan.schedule.schedule = schedule_table[i];
            visit->plan.schedule.chunks = chunks;
            const bool wanted =
                is_searched(schedule_table[i]) && (pins->chunks == 0 || pins->chunks == chunks);
            if (wanted && !visit->more && plan_is_searched(&visit->plan)) {
                each_use(visit, 0);
            }
        }
    }
}

static inline void each_batch(struct visit *visit)
{
    if (!plan_rule_order_is_searched(&question.problem, &visit->plan)) {
        return;
    }
    const uint32_t pin = question.options.pins.micro_batch;
    for (uint32_t size = 1; size <= question.setup.global_batch; size++) {
        visit->plan.schedule.micro_batch = size;
        if ((pin == 0 || pin == size) &&
            plan_count_micro_batches(&question.problem, &visit->plan) > 0) {
            each_schedule(visit);
        }
    }
}

/* Every way to put the dims from `place` on, those that keep to their default places first;
 * canonical: the first under which any plan is legal. */
static inline void each_order(struct visit *visit, uint32_t place, uint32_t before)
{
    struct group *group = &visit->group;
    if (place == group->mesh_count) {
        each_batch(visit);
        const bool mixed = question.cluster.accelerator_count > 1 && !visit->canonical;
        for (uint32_t kind = 0; mixed && plan_count_stages(&visit->plan) > 1 && kind < 2; kind++) {
            sort_devices(kind, group);
            each_batch(visit);
            group->slice_count = 0;
        }
        return;
    }
    const struct group kept = *group;
    for (uint32_t i = place;
         i < kept.mesh_count && !visit->more && !(visit->canonical && visit->count > before); i++) {
        *group = kept;
        memmove(&group->mesh[place + 1], &kept.mesh[place], (i - place) * sizeof kept.mesh[0]);
        group->mesh[place] = kept.mesh[i];
        each_order(visit, place + 1, before);
    }
    *group = kept;
}

static inline void sort_and_order(struct visit *visit)
{
    struct group *group = &visit->group;
    const struct group kept = *group;
    for (uint32_t i = 1; i < group->mesh_count; i++) {
        for (uint32_t k = i; k > 0 && group->mesh[k].dim->order < group->mesh[k - 1].dim->order;
             k--) {
            const struct mesh_dim swapped = group->mesh[k];
            group->mesh[k] = group->mesh[k - 1];
            group->mesh[k - 1] = swapped;
        }
    }
    each_order(visit, 0, visit->count);
    *group = kept;
}

static inline void each_fold(struct visit *visit, uint32_t dim)
{
    if (dim == dim_table_count) {
        sort_and_order(visit);
        return;
    }
    const uint32_t pin = question.options.pins.degrees[dim];
    if (dim_table[dim]->kind == DIM_FACTOR || pin == PIN_SEARCH || pin == 1) {
        each_fold(visit, dim + 1);
    }
    for (uint32_t degree = 2;
         dim_table[dim]->kind != DIM_FACTOR && degree <= question.cluster.device_count; degree++) {
        if (pin == PIN_SEARCH || pin == degree) {
            visit->group.folds[visit->group.fold_count++] =
                (struct mesh_fold){.dim = dim_table[dim], .degree = degree};
            each_fold(visit, dim + 1);
            visit->group.fold_count--;
        }
    }
}

static inline void each_factor(struct visit *visit, uint32_t dim, uint32_t left)
{
    if (dim == dim_table_count) {
        if (left == 1) {
            each_fold(visit, 0);
        }
        return;
    }
    const uint32_t pin = question.options.pins.degrees[dim];
    if (dim_table[dim]->kind != DIM_FACTOR || pin == PIN_SEARCH || pin == 1) {
        each_factor(visit, dim + 1, left);
    }
    for (uint32_t degree = 2; dim_table[dim]->kind == DIM_FACTOR && degree <= left; degree++) {
        for (uint32_t variant = 0; variant < dim_table[dim]->variant_count; variant++) {
            if (left % degree == 0 && (pin == PIN_SEARCH || pin == degree)) {
                visit->group.mesh[visit->group.mesh_count++] =
                    (struct mesh_dim){.dim = dim_table[dim], .degree = degree, .variant = variant};
                each_factor(visit, dim + 1, left / degree);
                visit->group.mesh_count--;
            }
        }
    }
}

/* All plans of the question, if they are at most so many; not judged yet. */
static inline struct visit *visit_all(bool canonical, uint32_t most)
{
    static struct visit visit;
    visit = (struct visit){.plans = ARENA_PUSH(&arena, struct plan, most),
                           .most = most,
                           .canonical = canonical,
                           .least_over_bytes = 1e300};
    visit.plan = (struct plan){.groups = &visit.group, .group_count = 1, .policies = visit.uses};
    each_factor(&visit, 0, question.cluster.device_count);
    return &visit;
}

static inline void visit_judge(struct visit *visit)
{
    for (uint32_t i = 0; i < visit->count; i++) {
        judge(visit, &visit->plans[i]);
    }
}

#endif

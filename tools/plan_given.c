/* One plan from flags: what is not said has its default. */
#include <string.h>

#include "tools/plan_flags.h"

static const struct diag_place nowhere = {0};

static uint32_t place_of(const struct runtime *runtime, uint32_t dim)
{
    return runtime_find_place(runtime, dim_table[dim]->name, dim_table[dim]->order);
}

/* Indices of dim_table by default place in the runtime's rank order. */
static void sort_by_place(const struct runtime *runtime, uint32_t *order)
{
    for (uint32_t i = 0; i < dim_table_count; i++) {
        uint32_t k = i;
        for (; k > 0 && place_of(runtime, order[k - 1]) > place_of(runtime, i); k--) {
            order[k] = order[k - 1];
        }
        order[k] = i;
    }
}

/* Of the dims that are hosts; of all factors when there are none. */
static uint64_t product_of(const uint32_t *degrees, const char *const *hosts)
{
    uint64_t product = 1;
    for (uint32_t i = 0; i < dim_table_count; i++) {
        bool counts = hosts == NULL && dim_table[i]->kind == DIM_FACTOR;
        for (uint32_t h = 0; hosts != NULL && h < 3 && hosts[h] != NULL; h++) {
            counts = counts || strcmp(hosts[h], dim_table[i]->name) == 0;
        }
        product *= counts && degrees[i] != PIN_SEARCH ? degrees[i] : 1;
    }
    return product;
}

static uint64_t count_devices(const struct problem *problem, const struct planner_pins *pins)
{
    uint64_t devices = 0;
    for (uint32_t i = 0; i < pins->slice_count; i++) {
        devices += pins->slices[i].device_count;
    }
    return pins->slice_count == 0 ? problem->cluster->device_count : devices;
}

/* The data-parallel degree takes the devices left, the others are 1. */
static void settle_degrees(uint64_t devices, uint32_t *degrees)
{
    const uint64_t product = product_of(degrees, NULL);
    for (uint32_t i = 0; i < dim_table_count; i++) {
        if (degrees[i] == PIN_SEARCH) {
            const bool takes_rest = strcmp(dim_table[i]->name, "dp") == 0 && devices % product == 0;
            degrees[i] = takes_rest ? (uint32_t)(devices / product) : 1;
        }
    }
}

/* Dims named come first, in that order; the others by their default places. */
static bool read_order(struct command *command, const struct runtime *runtime, uint32_t *out)
{
    const char *text = PLAN_FLAGS_USUAL;
    sort_by_place(runtime, out);
    if (command_has(command, PLAN_FLAGS_ORDER) && !command_text(command, PLAN_FLAGS_ORDER, &text)) {
        return false;
    }
    uint32_t placed = 0;
    for (const char *at = strcmp(text, PLAN_FLAGS_USUAL) == 0 ? NULL : text; at != NULL;) {
        const size_t length = strcspn(at, ",");
        const char *name = text_build_copy(command->arena, at, length);
        uint32_t from = placed;
        while (from < dim_table_count && strcmp(dim_table[out[from]]->name, name) != 0) {
            from++;
        }
        if (from == dim_table_count) {
            return diag_push(command->diag, DIAG_C704, nowhere, "`shardplan list dims` names them",
                             "%s is '%s': '%s' is no dimension, or named twice", PLAN_FLAGS_ORDER,
                             text, name);
        }
        const uint32_t chosen = out[from];
        memmove(&out[placed + 1], &out[placed], (from - placed) * sizeof *out);
        out[placed++] = chosen;
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return true;
}

static void fill_group(const struct planner_pins *pins, const uint32_t *order, struct group *out)
{
    const uint32_t *degrees = pins->degrees;
    for (uint32_t i = 0; i < dim_table_count; i++) {
        const struct dim *dim = dim_table[order[i]];
        const uint32_t degree = degrees[order[i]];
        if (dim->kind == DIM_FACTOR && degree > 1) {
            out->mesh[out->mesh_count++] = (struct mesh_dim){
                .dim = dim, .degree = degree, .variant = pins->variants[order[i]]};
        } else if (dim->kind != DIM_FACTOR && degree > 1) {
            const uint32_t on = (uint32_t)product_of(degrees, dim->hosts);
            const struct mesh_fold fold = {.dim = dim, .degree = dim->on_or_off ? on : degree};
            if (fold.degree > 1) {
                out->folds[out->fold_count++] = fold;
            }
        }
    }
}

/* Requests are decoded together: all of a replica, as many parts as there are stages where they
 * divide. In training one sequence. */
static uint32_t usual_micro_batch(const struct problem *problem, const struct plan *plan)
{
    const uint64_t replicas = plan_count_replicas(problem, plan), stages = plan_count_stages(plan);
    const uint64_t batch = problem->setup->global_batch;
    if (problem->setup->task.kind != TASK_DECODE || batch % replicas != 0) {
        return 1;
    }
    const uint64_t own = batch / replicas;
    const uint64_t part = own % stages == 0 ? own / stages : own;
    return part > UINT32_MAX ? 1 : (uint32_t)part;
}

static void fill_schedule(const struct problem *problem, const struct planner_pins *pins,
                          const struct plan *plan, struct plan_schedule *out)
{
    out->micro_batch =
        pins->micro_batch == 0 ? usual_micro_batch(problem, plan) : pins->micro_batch;
    out->chunks = pins->chunks == 0 ? 1 : pins->chunks;
    out->schedule = pins->schedule != NULL ? pins->schedule : schedule_find_usual(out->chunks > 1);
}

/* Uses that are pinned, and a policy's own choices where the plan has them. */
static void fill_uses(const struct problem *problem, const struct planner_pins *pins,
                      struct arena *arena, struct plan *out)
{
    struct policy_use *uses =
        ARENA_PUSH(arena, struct policy_use, policy_table_count + pins->use_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < policy_table_count; i++) {
        const uint32_t choice = pins->policy_choices[i];
        if (choice > 0 && policy_table[i]->choose(problem, out, choice - 1, arena, &uses[count])) {
            count++;
        }
    }
    for (uint32_t i = 0; i < pins->use_count; i++) {
        uses[count++] = pins->uses[i];
    }
    out->policies = uses;
    out->policy_count = count;
}

static void build(const struct problem *problem, const struct planner_pins *given,
                  const uint32_t *order, struct arena *arena, struct plan *out)
{
    struct planner_pins pins = *given;
    memset(out, 0, sizeof *out);
    out->groups = ARENA_PUSH(arena, struct group, 1);
    out->group_count = 1;
    out->groups->slices = pins.slices;
    out->groups->slice_count = pins.slice_count;
    settle_degrees(count_devices(problem, &pins), pins.degrees);
    for (uint32_t i = 0; i < dim_table_count; i++) {
        pins.variants[i] = pins.variants[i] == PIN_ANY ? 0 : pins.variants[i];
    }
    fill_group(&pins, order, out->groups);
    fill_schedule(problem, &pins, out, &out->schedule);
    fill_uses(problem, &pins, arena, out);
}

void plan_flags_build(const struct problem *problem, const struct planner_pins *pins,
                      struct arena *arena, struct plan *out)
{
    uint32_t order[DIM_MAX];
    sort_by_place(problem->setup->runtime, order);
    build(problem, pins, order, arena, out);
}

/* A policy that is asked for where it has nothing to do. */
static void warn_of_idle_choices(struct command *command, const struct planner_pins *pins,
                                 const struct plan *plan)
{
    for (uint32_t i = 0; i < policy_table_count; i++) {
        bool used = pins->policy_choices[i] == 0;
        for (uint32_t k = 0; k < plan->policy_count; k++) {
            used = used || plan->policies[k].kind == policy_table[i];
        }
        if (!used) {
            diag_push_warning(command->diag, DIAG_C709, nowhere, NULL,
                              "%s %u changes nothing here: the plan has no ranks, or the task no "
                              "states, that '%s' could spread",
                              PLAN_FLAGS_ZERO, pins->policy_choices[i], policy_table[i]->name);
        }
    }
}

bool plan_flags_read(struct command *command, const struct problem *problem, struct plan *out)
{
    struct planner_pins pins;
    uint32_t order[DIM_MAX];
    if (!plan_flags_read_values(command, &pins) ||
        !read_order(command, problem->setup->runtime, order)) {
        return false;
    }
    build(problem, &pins, order, command->arena, out);
    warn_of_idle_choices(command, &pins, out);
    return plan_flags_read_uses(command, out);
}

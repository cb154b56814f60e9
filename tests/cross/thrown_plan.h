/* Random legal plans with policies, priced by the analytic judge and ready for the simulator. */
#ifndef SHARDPLAN_TESTS_CROSS_THROWN_PLAN_H
#define SHARDPLAN_TESTS_CROSS_THROWN_PLAN_H

#include "costmodel/costmodel.h"
#include "sim/sim.h"
#include "tests/law/random_plan.h"
#include "tests/samples.h"

struct judged {
    struct plan plan;
    struct group group;
    struct policy_use uses[3];
    struct prices prices;
    struct work *work;
    struct stream stream;
    uint32_t *layers;
    struct load load;         /* priced by the analytic judge */
    struct estimate estimate; /* its answer */
};

static inline struct policy_value *value_of(struct policy_use *use, const char *key)
{
    for (uint32_t i = 0; i < use->kind->field_count; i++) {
        if (strcmp(use->kind->fields[i].key, key) == 0) {
            use->values[i].present = true;
            return &use->values[i];
        }
    }
    ck_abort_msg("policy %s has no field %s", use->kind->name, key);
}

/* What a search would try, now and then; rare and stale sums besides. */
static inline void push_policies(struct random *random, struct judged *judged)
{
    judged->plan.policies = judged->uses;
    for (uint32_t i = 0; i < policy_table_count && judged->plan.policy_count < 2; i++) {
        struct policy_use *use = &judged->uses[judged->plan.policy_count];
        if (policy_table[i]->choose != NULL && random_pop_below(random, 2) == 0 &&
            policy_table[i]->choose(&problem, &judged->plan, random_pop_below(random, 4), &arena,
                                    use)) {
            judged->plan.policy_count++;
        }
    }
    if (random_pop_below(random, 4) == 0) {
        struct policy_use *use = &judged->uses[judged->plan.policy_count++];
        *use = (struct policy_use){.kind = policy_find("sync")};
        value_of(use, "every")->count = 1 + random_pop_below(random, 3);
        value_of(use, "stale")->count = random_pop_below(random, 2);
    }
}

static inline bool split_layers(struct random *random, struct judged *judged)
{
    const uint32_t chunks = judged->work->shape.stages * judged->work->shape.chunks;
    uint32_t left = plan_count_layers(&model);
    judged->layers = ARENA_PUSH(&arena, uint32_t, chunks);
    for (uint32_t i = 0; i + 1 < chunks; i++) {
        const uint32_t most = 2 * left / (chunks - i) + 1;
        const uint32_t take = random_pop_below(random, most + 1);
        judged->layers[i] = take < left ? take : left;
        left -= judged->layers[i];
    }
    judged->layers[chunks - 1] = left;
    return true;
}

/* The program of the judged plan; false when it is none that can be judged. */
static inline bool build_work(struct judged *judged)
{
    diag_init(&diag, &arena);
    if (!plan_is_legal(&problem, &judged->plan) ||
        !plan_check_costed(&problem, &judged->plan, &diag) ||
        plan_count_micro_batches(&problem, &judged->plan) > 48) {
        return false;
    }
    judged->work = ARENA_PUSH(&arena, struct work, 1);
    work_build(&problem, &judged->plan, &arena, judged->work);
    ck_assert(stream_build(judged->plan.schedule.schedule, &judged->work->shape, &arena,
                           &judged->stream, &diag));
    return true;
}

/* A random plan that is legal and costable, judged; false when this throw is none. */
static inline bool throw_plan(struct random *random, struct judged *judged)
{
    memset(judged, 0, sizeof *judged);
    fill(random, &judged->group, &judged->plan);
    judged->plan.schedule.micro_batch = 1;
    judged->plan.schedule.chunks = 1 + random_pop_below(random, 3);
    setup.spare_devices = 31;
    diag_init(&diag, &arena);
    push_policies(random, judged);
    return build_work(judged) && split_layers(random, judged);
}

static inline void price(struct judged *judged, struct costmodel *costmodel)
{
    const struct work *work = judged->work;
    const uint32_t chunks = work->shape.stages * work->shape.chunks;
    uint32_t *counts = ARENA_PUSH(&arena, uint32_t, (size_t)chunks * WORK_BLOCK_MAX);
    struct estimator estimator;
    ck_assert(prices_read(&cluster, &runtime, &arena, &judged->prices, &diag));
    costmodel_init(costmodel, &problem, &judged->prices, &arena);
    costmodel_estimator(costmodel, &estimator);
    work_count_blocks(work, judged->layers, counts);
    judged->load = (struct load){.work = work,
                                 .stream = &judged->stream,
                                 .pieces = estimator_price_blocks(&estimator, work, &arena),
                                 .counts = counts};
    estimator_price_messages(&estimator, work, &arena, &judged->load);
    costmodel_combine(costmodel, &judged->load, true, &arena, &judged->estimate);
}

static inline void simulate(struct judged *judged, const struct sim_options *options,
                            bool own_prices, struct sim_result *out)
{
    struct sim sim;
    struct load load = judged->load;
    sim_init(&sim, &problem, &judged->prices, options, &arena);
    if (own_prices) {
        sim_build_load(&sim, judged->work, &judged->stream, judged->layers, &arena, &load);
    }
    ck_assert(sim_run(&sim, &load, &arena, out, &diag));
}

/* The plan in one line. */
static const char *describe(const struct judged *judged)
{
    struct text text;
    text_init(&text, &arena);
    text_push(&text, "%s, %s, runtime %s,", model.name, judged->plan.schedule.schedule->name,
              runtime.name);
    for (uint32_t i = 0; i < judged->group.mesh_count; i++) {
        const struct mesh_dim *dim = &judged->group.mesh[i];
        text_push(&text, " %s %u.%u", dim->dim->name, dim->degree, dim->variant);
    }
    for (uint32_t i = 0; i < judged->group.fold_count; i++) {
        text_push(&text, " %s %u", judged->group.folds[i].dim->name, judged->group.folds[i].degree);
    }
    text_push(&text, ", %u micro-batches, layers", judged->work->shape.micro_batches);
    for (uint32_t i = 0; i < judged->work->shape.stages * judged->work->shape.chunks; i++) {
        text_push(&text, " %u", judged->layers[i]);
    }
    for (uint32_t i = 0; i < judged->plan.policy_count; i++) {
        text_push(&text, ", %s", judged->uses[i].kind->name);
    }
    return text.bytes;
}

#endif

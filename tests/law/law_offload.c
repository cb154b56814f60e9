/* The hosts' memory: what moves there is missing here to the byte, takes its time on the way, and
 * never makes a step faster. */
#include <string.h>

#include "sim/sim.h"
#include "tests/law/judged_plan.h"

#define ROUNDS 12 /* legal plans per model */

/* Tensors of one use, in the words of the policy. */
static struct policy_use move(const char *const *tensors, uint32_t count, double share)
{
    struct policy_use use = {.kind = policy_find("offload")};
    for (uint32_t i = 0; i < use.kind->field_count; i++) {
        if (strcmp(use.kind->fields[i].key, "tensors") == 0) {
            use.values[i] =
                (struct policy_value){.present = true, .words = tensors, .word_count = count};
        } else if (strcmp(use.kind->fields[i].key, "share_frac") == 0) {
            use.values[i] = (struct policy_value){.present = true, .number = share};
        }
    }
    return use;
}

static const struct work *build(const struct plan *plan)
{
    struct work *work = ARENA_PUSH(&arena, struct work, 1);
    work_build(&problem, plan, &arena, work);
    ck_assert(work_check(work));
    return work;
}

static bool moves(const struct policy_use *use, const char *tensors)
{
    const struct policy_value *moved = policy_find_value(use, "tensors");
    for (uint32_t i = 0; i < moved->word_count; i++) {
        if (strcmp(moved->words[i], tensors) == 0) {
            return true;
        }
    }
    return false;
}

/* A row of the runtime's, at random, with a random share. */
static struct policy_use draw(struct random *random)
{
    const struct runtime_offload *row =
        &runtime.offloads[random_pop_below(random, runtime.offload_count)];
    uint32_t count = 0;
    while (row->tensors[count] != NULL) {
        count++;
    }
    return move(row->tensors, count, 0.25 * (1 + random_pop_below(random, 4)));
}

typedef void law(const struct plan *plan, const struct policy_use *use);

static void hold(law *holds)
{
    struct random random;
    random_init(&random, 29);
    for (uint32_t m = 0; m < MODEL_COUNT; m++) {
        begin_judged(models[m]);
        for (uint32_t i = 0; i < ROUNDS; i++) {
            const struct arena_mark mark = arena_find_mark(&arena);
            struct group group;
            struct plan plan;
            fill_plain(&random, &group, &plan);
            struct policy_use use = draw(&random);
            holds(&plan, &use);
            costmodel_release(&judge);
            arena_pop(&arena, mark);
            costmodel_init(&judge, &problem, &prices, &arena);
        }
        end_judged();
    }
}

static struct plan with(const struct plan *plan, struct policy_use *use)
{
    struct plan moved = *plan;
    moved.policies = use;
    moved.policy_count = 1;
    return moved;
}

/* --- memory ----------------------------------------------------------------------------------- */

static double states_of(const struct work_block *block)
{
    return block->parameters_bytes + block->gradients_bytes + block->optimizer_bytes;
}

static void conserve(const struct plan *plan, const struct policy_use *use)
{
    struct policy_use copy = *use;
    const struct plan moved = with(plan, &copy);
    const struct work *before = build(plan), *after = build(&moved);
    const double share = policy_find_value(use, "share_frac")->number;
    ck_assert_uint_eq(before->block_count, after->block_count);
    for (uint32_t b = 0; b < before->block_count; b++) {
        const struct work_block *old = &before->blocks[b], *new = &after->blocks[b];
        ck_assert_msg(same(states_of(old), states_of(new) + new->host_bytes),
                      "%s: %g bytes of states, then %g and %g on the host", model.name,
                      states_of(old), states_of(new), new->host_bytes);
        ck_assert(same(old->saved_bytes, new->saved_bytes + new->host_saved_bytes));
        ck_assert(same(new->parameters_bytes,
                       old->parameters_bytes * (moves(use, "parameters") ? 1.0 - share : 1.0)));
        ck_assert(same(new->gradients_bytes,
                       old->gradients_bytes * (moves(use, "gradients") ? 1.0 - share : 1.0)));
    }
}

START_TEST(what_is_not_here_is_there)
{
    hold(conserve);
}
END_TEST

/* --- time ------------------------------------------------------------------------------------- */

static double simulate_s(const struct judged *judged)
{
    const struct sim_options nothing = {.granularity = SIM_SLOTS, .seed = 1};
    struct sim sim;
    struct estimator estimator;
    struct estimate estimate;
    sim_init(&sim, &problem, &prices, &nothing, &arena);
    sim_estimator(&sim, &estimator);
    estimator.combine(&sim, &judged->load, false, &arena, &estimate);
    return estimate.step_s;
}

static void cost(const struct plan *plan, const struct policy_use *use)
{
    struct policy_use copy = *use;
    const struct plan moved = with(plan, &copy);
    const struct judged *before = judge_plan(plan), *after = judge_plan(&moved);
    const double least = 1.0 - 1e-9;
    for (uint32_t b = 0; b < before->work.block_count; b++) {
        const struct piece *old = &before->pieces[b], *new = &after->pieces[b];
        ck_assert_double_ge(new->forward_total_s, old->forward_total_s * least);
        ck_assert_double_ge(new->backward_total_s, old->backward_total_s * least);
        ck_assert_double_ge(new->update_s, old->update_s * least);
    }
    ck_assert_double_ge(after->estimate.step_s, before->estimate.step_s * least);
    ck_assert_double_ge(simulate_s(after), simulate_s(before) * least);
    ck_assert(same(simulate_s(after), after->estimate.step_s));
    for (uint32_t stage = 0; stage < after->work.shape.stages; stage++) {
        const struct stage_estimate *row = &after->estimate.stages[stage];
        ck_assert_double_gt(row->host_bytes, 0.0);
        ck_assert_double_gt(row->host_copy_s, 0.0);
        ck_assert_double_le(row->cost_s[COST_HOST], row->host_copy_s / least);
    }
}

START_TEST(moving_never_pays_in_time)
{
    hold(cost);
}
END_TEST

/* --- closed forms ----------------------------------------------------------------------------- */

/* One device with all of a host to itself. */
static void begin_alone(const char *name, struct single *single)
{
    begin_judged(name);
    init(single, 1);
    struct accelerator *kind = ARENA_PUSH(&arena, struct accelerator, 1);
    *kind = cluster.accelerators[0];
    kind->host = (struct host){.memory_bytes = (uint64_t)1 << 50,
                               .devices = 1,
                               .link_Bps = 25e9,
                               .latency_s = 3e-6,
                               .memory_Bps = 200e9,
                               .memory_efficiency_frac = 0.5};
    cluster.accelerators = kind;
    setup.spare_devices = cluster.device_count - 1;
    ck_assert(prices_read(&cluster, &runtime, &arena, &prices, &diag));
}

static double elements_of(const struct work_block *block)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < block->weights_count; i++) {
        sum += (double)block->weights[i].elements;
    }
    return sum;
}

/* Gradients of 4 bytes go, parameters of 2 come, between them Adam reads and writes 30 bytes of
 * each parameter at half of 200 GB/s: written out for a layer whose weights are of one kind. */
START_TEST(an_update_there_takes_what_its_bytes_take)
{
    struct single single;
    static const char *const optimizer[] = {"optimizer"};
    begin_alone("toy-4l", &single);
    struct policy_use use = move(optimizer, 1, 1.0);
    const struct plan plan = with(&single.plan, &use);
    const struct judged *judged = judge_plan(&plan);
    const struct work_block *layer = middle_block(&judged->work, KEEP_ALL);
    const struct piece *piece = &judged->pieces[layer - judged->work.blocks];
    const double n = elements_of(layer), kinds = layer->weights_count;
    const double copies_s = n * (runtime.gradient_bytes + 2.0) / 25e9 + 2.0 * kinds * 3e-6;
    ck_assert(same(piece->update_copy_s, copies_s));
    ck_assert(same(piece->update_s, copies_s + n * setup.optimizer->update_bytes / (0.5 * 200e9)));
    ck_assert(same(layer->host_bytes, 12.0 * n));
    end_judged();
}
END_TEST

/* A layer whose parameters come from the host lasts as long as its work or the way, the longer of
 * both: forward and backward apart. */
START_TEST(copies_hide_under_work)
{
    static const double links_Bps[] = {1e9, 25e9, 1e15};
    static const char *const parameters[] = {"parameters"};
    for (size_t i = 0; i < sizeof links_Bps / sizeof links_Bps[0]; i++) {
        struct single single;
        begin_alone("toy-4l", &single);
        cluster.accelerators[0].host.link_Bps = links_Bps[i];
        cluster.accelerators[0].host.memory_Bps = 1e16;
        ck_assert(prices_read(&cluster, &runtime, &arena, &prices, &diag));
        prices.runtime = NULL; /* no loss by running at once */
        struct policy_use use = move(parameters, 1, 1.0);
        const struct plan plan = with(&single.plan, &use);
        const struct judged *before = judge_plan(&single.plan), *after = judge_plan(&plan);
        const struct work_block *layer = middle_block(&after->work, KEEP_ALL);
        const size_t at = (size_t)(layer - after->work.blocks);
        const double copy_s = 2.0 * elements_of(layer) / links_Bps[i] + layer->weights_count * 3e-6;
        const struct piece *old = &before->pieces[at], *new = &after->pieces[at];
        ck_assert(same(new->forward_total_s,
                       copy_s > old->forward_total_s ? copy_s : old->forward_total_s));
        ck_assert(same(new->backward_total_s,
                       copy_s > old->backward_total_s ? copy_s : old->backward_total_s));
        ck_assert(same(new->copy_s, 2.0 * copy_s));
        end_judged();
    }
}
END_TEST

TAP_MAIN("offload", what_is_not_here_is_there, moving_never_pays_in_time,
         an_update_there_takes_what_its_bytes_take, copies_hide_under_work)

/* What policies do to memory, traffic, time: the published bytes, and nothing where they say
 * nothing. */
#include <string.h>

#include "tests/law/judged_plan.h"

#define ROUNDS 20 /* legal plans per model */

static struct policy_use read_use(const char *text)
{
    struct json *document;
    struct policy_use use = {0};
    ck_assert(json_open_text("t.json", text, strlen(text), false, &arena, &document, &diag));
    ck_assert_msg(policy_read_json(json_root(document), &arena, &use, &diag), "%s: %s", text,
                  diag.entries[0].message);
    json_close(document);
    return use;
}

static struct work *build(const struct plan *plan)
{
    struct work *work = ARENA_PUSH(&arena, struct work, 1);
    work_build(&problem, plan, &arena, work);
    ck_assert(work_check(work));
    return work;
}

/* `text` NULL: no policy. */
static struct work *build_with(struct single *single, const char *text)
{
    struct policy_use *use = ARENA_PUSH(&arena, struct policy_use, 1);
    single->plan.policies = use;
    single->plan.policy_count = text == NULL ? 0 : 1;
    if (text != NULL) {
        *use = read_use(text);
    }
    return build(&single->plan);
}

static struct piece price(const struct work *work, const struct work_block *block)
{
    struct piece piece;
    costmodel_piece(&judge, work, (uint32_t)(block - work->blocks), 0, NULL, &piece);
    return piece;
}

static double elements_of(const struct work_block *block)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < block->weights_count; i++) {
        sum += (double)block->weights[i].elements;
    }
    return sum;
}

/* --- sharded states --------------------------------------------------------------------------- */

static const char *const levels[] = {
    NULL,
    "{\"kind\": \"shard\", \"tensors\": [\"optimizer\"], \"over\": [\"dp\", \"cp\"]}",
    "{\"kind\": \"shard\", \"tensors\": [\"optimizer\", \"gradients\"], \"over\": [\"dp\", "
    "\"cp\"]}",
    "{\"kind\": \"shard\", \"tensors\": [\"optimizer\", \"gradients\", \"parameters\"], "
    "\"over\": [\"dp\", \"cp\"]}",
};

/* bf16 weights 2, fp32 main gradients 4, fp32 master with Adam's moments 12. */
static double bytes_per_parameter(uint32_t level, double d)
{
    return (level >= 3 ? 2.0 / d : 2.0) + (level >= 2 ? 4.0 / d : 4.0) +
           (level >= 1 ? 12.0 / d : 12.0);
}

/* Elements that pass a rank once: an all-reduce is a reduce-scatter with an all-gather. */
static double passes(const struct work_items *items)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < items->count; i++) {
        const struct work_message *message = &items->items[i].message;
        if (!items->items[i].is_message ||
            (message->cause != CAUSE_GRADIENT && message->cause != CAUSE_PARAMETER)) {
            continue;
        }
        const double element = message->cause == CAUSE_GRADIENT ? runtime.gradient_bytes : 2.0;
        sum += message->bytes / element * (message->kind == COLLECTIVE_ALL_REDUCE ? 2.0 : 1.0);
    }
    return sum;
}

static void expect_level(struct single *single, uint32_t level, uint32_t d)
{
    static const double per_step[] = {2.0, 2.0, 1.0, 0.0}, per_micro_batch[] = {0.0, 0.0, 1.0, 3.0};
    const struct work *work = build_with(single, levels[level]);
    const struct work_block *layer = middle_block(work, KEEP_ALL);
    const double parameters = elements_of(layer);
    const double held = layer->parameters_bytes + layer->gradients_bytes + layer->optimizer_bytes;
    ck_assert_msg(same(held, parameters * bytes_per_parameter(level, d)),
                  "level %u over %u ranks: %g bytes per parameter, should be %g", level, d,
                  held / parameters, bytes_per_parameter(level, d));
    ck_assert(same(layer->moments_bytes, parameters * 8.0 / (level >= 1 ? d : 1)));
    const double step = passes(&layer->sync) + passes(&layer->gather);
    const double micro_batch = passes(&layer->forward) + passes(&layer->backward);
    ck_assert_msg(same(step, per_step[level] * parameters) &&
                      same(micro_batch, per_micro_batch[level] * parameters),
                  "level %u: %g and %g passes, should be %g per step and %g per micro-batch", level,
                  step / parameters, micro_batch / parameters, per_step[level],
                  per_micro_batch[level]);
}

/* 18, 6 + 12/d, 2 + 16/d, 18/d bytes per parameter; 2P of traffic, 2P, P with P per micro-batch, 3P
 * per micro-batch (ZeRO, 2020, with re-gathers). */
START_TEST(sharded_states_take_the_published_bytes)
{
    static const uint32_t degrees[][2] = {{2, 1}, {8, 1}, {8, 2}, {16, 2}};
    for (uint32_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++) {
        for (uint32_t level = 0; level < 4; level++) {
            begin("llama-3.1-8b");
            struct single single;
            init(&single, 1);
            add_factor(&single, "dp", degrees[i][0], NULL);
            add_factor(&single, "cp", degrees[i][1], "ring");
            expect_level(&single, level, degrees[i][0] * degrees[i][1]);
            arena_release(&arena);
        }
    }
}
END_TEST

/* Experts are copied less often than the rest: their states are spread over fewer ranks. */
START_TEST(experts_share_their_states_among_their_copies)
{
    begin("mixtral-8x7b");
    const struct transformer_moe *moe = &model.transformer->moe;
    struct single single;
    init(&single, 1);
    add_factor(&single, "dp", 16, NULL);
    add_fold(&single, "ep", 4);
    const struct work *work = build_with(&single, levels[1]);
    const struct work_block *layer = middle_block(work, KEEP_ALL);
    const double experts = 3.0 * model.transformer->hidden * moe->ffn * (double)moe->experts / 4.0;
    const double rest = elements_of(layer) - experts;
    const double held = layer->parameters_bytes + layer->gradients_bytes + layer->optimizer_bytes;
    ck_assert(rest > 0.0);
    ck_assert(same(held, experts * (6.0 + 12.0 / 4.0) + rest * (6.0 + 12.0 / 16.0)));
    arena_release(&arena);
}
END_TEST

START_TEST(sharing_with_nobody_is_refused)
{
    begin("toy-4l");
    struct single single;
    init(&single, 3);
    add_factor(&single, "tp", 4, NULL);
    add_factor(&single, "dp", 8, NULL);
    single.plan.policy_count = 1;
    struct policy_use use =
        read_use("{\"kind\": \"shard\", \"tensors\": [\"optimizer\"], \"over\": [\"dp\"]}");
    single.plan.policies = &use;
    ck_assert_msg(plan_check(&problem, &single.plan, &diag), "%s", diag.entries[0].message);
    single.group.mesh[0].degree = 32;
    single.group.mesh[1].degree = 1;
    ck_assert(!use.kind->fits(&problem, &single.plan, &use, NULL));
    arena_release(&arena);
}
END_TEST

/* --- agreement every so often ----------------------------------------------------------------- */

START_TEST(rarer_sums_cost_their_share)
{
    begin_judged("llama-3.1-8b");
    struct single single;
    init(&single, 1);
    add_factor(&single, "dp", 32, NULL);
    const struct work *plain = build_with(&single, NULL);
    const struct piece always = price(plain, middle_block(plain, KEEP_ALL));
    ck_assert(always.sync_s > 0.0 && always.stale_s == 0.0);
    for (uint32_t every = 1; every <= 500; every = every * 5) {
        const struct work *work =
            build_with(&single, text_build(&arena, "{\"kind\": \"sync\", \"every\": %u}", every));
        const struct work_block *layer = middle_block(work, KEEP_ALL);
        const struct piece rare = price(work, layer);
        ck_assert(same(rare.sync_s * every, always.sync_s));
        ck_assert(rare.stale_s == 0.0 && rare.forward_total_s == always.forward_total_s);
        ck_assert(layer->optimizer_bytes == middle_block(plain, KEEP_ALL)->optimizer_bytes);
    }
    const struct work *work = build_with(
        &single, "{\"kind\": \"sync\", \"every\": 10, \"stale\": 1, \"extra_state\": \"8 B\"}");
    const struct work_block *layer = middle_block(work, KEEP_ALL);
    const struct piece late = price(work, layer);
    ck_assert(late.sync_s == 0.0 && same(late.stale_s * 10.0, always.sync_s));
    ck_assert(same(layer->optimizer_bytes - middle_block(plain, KEEP_ALL)->optimizer_bytes,
                   8.0 * elements_of(layer)));
    end_judged();
}
END_TEST

/* --- activations made again ------------------------------------------------------------------- */

static double flops_of(const struct work_items *items)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < items->count; i++) {
        sum += items->items[i].is_message ? 0.0 : items->items[i].compute.flops;
    }
    return sum;
}

/* Full recomputation: one more forward, 2 s b h bytes kept per layer, cut as the stream is. */
START_TEST(recomputation_trades_a_forward_for_the_boundary)
{
    static const char *const names[] = {"llama-3.1-8b", "gpt3-175b", "mixtral-8x7b"};
    for (uint32_t m = 0; m < sizeof names / sizeof names[0]; m++) {
        for (uint32_t sequence = 0; sequence < 2; sequence++) {
            begin_judged(names[m]);
            struct single single;
            init(&single, 3);
            add_factor(&single, "tp", 4, NULL);
            add_factor(&single, "cp", 2, "ring");
            if (sequence == 1) {
                add_fold(&single, "sp", 4);
            }
            const struct work *work = build_with(&single, NULL);
            const struct work_block *all = middle_block(work, KEEP_ALL);
            const struct work_block *none = middle_block(work, KEEP_BOUNDARY);
            ck_assert(same(flops_of(&none->backward),
                           flops_of(&all->backward) + flops_of(&all->forward)));
            ck_assert(same(flops_of(&none->forward), flops_of(&all->forward)));
            const double boundary = 2.0 * 3.0 * (double)setup.seq_length / 2.0 *
                                    model.transformer->hidden / (sequence == 1 ? 4.0 : 1.0);
            ck_assert_msg(same(none->saved_bytes, boundary), "%s: %g bytes kept, should be %g",
                          model.name, none->saved_bytes, boundary);
            const struct piece kept = price(work, all), again = price(work, none);
            ck_assert(same(again.backward_total_s, kept.backward_total_s + kept.forward_total_s));
            end_judged();
        }
    }
}
END_TEST

/* Selective recomputation drops the 5 a s^2 b of plain attention, and runs its core once more. */
START_TEST(selective_recomputation_drops_the_scores)
{
    begin("gpt3-175b");
    setup.attention = ATTENTION_PLAIN;
    struct single single;
    init(&single, 1);
    add_factor(&single, "tp", 8, NULL);
    add_fold(&single, "sp", 8);
    const struct work *work = build_with(&single, NULL);
    const struct work_block *all = middle_block(work, KEEP_ALL);
    const struct work_block *some = middle_block(work, KEEP_SELECTIVE);
    const double s = (double)setup.seq_length, a = model.transformer->heads;
    ck_assert(same(all->saved_bytes - some->saved_bytes, 5.0 * a * s * s / 8.0));
    const double core = 4.0 * s * s * model.transformer->hidden / 8.0 * (s + 1.0) / (2.0 * s);
    ck_assert(same(flops_of(&some->backward) - flops_of(&all->backward), core));
    arena_release(&arena);
}
END_TEST

/* --- what a search relies on ------------------------------------------------------------------ */

static bool is_shorter(double with, double without)
{
    return with < without * (1.0 - 1e-12);
}

static void expect_no_gain(const struct work *plain, const struct work *work, uint32_t block)
{
    const uint32_t part = work->blocks[block].part;
    const uint32_t before = work_find_block(plain, part, KEEP_ALL);
    const struct piece with = price(work, &work->blocks[block]);
    const struct piece without = price(plain, &plain->blocks[before]);
    ck_assert_msg(!is_shorter(with.forward_total_s, without.forward_total_s) &&
                      !is_shorter(with.backward_total_s, without.backward_total_s),
                  "%s: a chosen policy shortens part '%s'", model.name, model.parts[part].name);
}

static void expect_no_gain_of(const struct policy *policy, struct plan *plan)
{
    struct policy_use use;
    const struct work *plain = build(plan);
    for (uint32_t i = 0; i < 4 && policy->choose(&problem, plan, i, &arena, &use); i++) {
        struct plan with = *plan;
        with.policies = &use;
        with.policy_count = 1;
        const struct work *work = build(&with);
        for (uint32_t block = 0; block < work->block_count; block++) {
            expect_no_gain(plain, work, block);
        }
    }
}

static void judge_choices(struct random *random)
{
    struct group group;
    struct plan plan;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        fill_plain(random, &group, &plan);
        const struct arena_mark mark = arena_find_mark(&arena);
        for (uint32_t p = 0; p < policy_table_count; p++) {
            if (policy_table[p]->choose != NULL) {
                expect_no_gain_of(policy_table[p], &plan);
            }
        }
        costmodel_release(&judge);
        arena_pop(&arena, mark);
        costmodel_init(&judge, &problem, &prices, &arena);
    }
}

START_TEST(chosen_policies_never_shorten_a_layer)
{
    struct random random;
    random_init(&random, 11);
    for (uint32_t m = 0; m < MODEL_COUNT; m++) {
        begin_judged(models[m]);
        judge_choices(&random);
        end_judged();
    }
}
END_TEST

/* --- policies that only keep ------------------------------------------------------------------ */

static const char *dumped(const struct work *work)
{
    struct text text;
    struct json_writer writer;
    text_init(&text, &arena);
    json_writer_init(&writer, &text, false);
    work_dump(work, &writer);
    return text.bytes;
}

/* Finished without the keeping and then told to keep, it is the program finished with both. */
static void expect_rekept(struct plan *plan, struct policy_use *uses, uint32_t count)
{
    struct work *started = ARENA_PUSH(&arena, struct work, 1);
    struct work *both = ARENA_PUSH(&arena, struct work, 1);
    struct work *kept = ARENA_PUSH(&arena, struct work, 1);
    struct plan with = *plan, without = *plan;
    with.policies = without.policies = uses;
    with.policy_count = count;
    without.policy_count = count - 1;
    work_start(&problem, plan, &arena, started);
    work_finish(started, &with, &arena, both);
    work_finish(started, &without, &arena, kept);
    work_rekeep(kept, &with);
    ck_assert_uint_eq(kept->keep, both->keep);
    ck_assert_uint_eq(kept->recompute_layers, both->recompute_layers);
    ck_assert_msg(strcmp(dumped(kept), dumped(both)) == 0, "policy '%s' does not only keep",
                  uses[count - 1].kind->name);
}

static uint32_t rekeep_with(struct plan *plan, const struct policy *keeping)
{
    struct policy_use uses[2];
    uint32_t tried = 0;
    for (uint32_t k = 0; k < 3 && keeping->choose(&problem, plan, k, &arena, &uses[0]); k++) {
        expect_rekept(plan, uses, 1);
        uses[1] = uses[0];
        for (uint32_t p = 0; p < policy_table_count; p++) {
            if (policy_table[p]->choose == NULL || policy_table[p]->only_keeps) {
                continue;
            }
            for (uint32_t i = 0;
                 i < 4 && policy_table[p]->choose(&problem, plan, i, &arena, &uses[0]); i++) {
                expect_rekept(plan, uses, 2);
                tried++;
            }
        }
        uses[0] = uses[1];
    }
    return tried;
}

START_TEST(policies_that_only_keep_change_nothing_else)
{
    struct random random;
    struct group group;
    struct plan plan;
    random_init(&random, 13);
    uint32_t tried = 0;
    for (uint32_t m = 0; m < MODEL_COUNT; m++) {
        begin_judged(models[m]);
        for (uint32_t i = 0; i < ROUNDS; i++) {
            const struct arena_mark mark = arena_find_mark(&arena);
            fill_plain(&random, &group, &plan);
            for (uint32_t p = 0; p < policy_table_count; p++) {
                tried += policy_table[p]->only_keeps && policy_table[p]->choose != NULL
                             ? rekeep_with(&plan, policy_table[p])
                             : 0;
            }
            arena_pop(&arena, mark);
        }
        end_judged();
    }
    ck_assert_uint_gt(tried, ROUNDS);
}
END_TEST

TAP_MAIN("law of policies at work", sharded_states_take_the_published_bytes,
         experts_share_their_states_among_their_copies, sharing_with_nobody_is_refused,
         rarer_sums_cost_their_share, recomputation_trades_a_forward_for_the_boundary,
         selective_recomputation_drops_the_scores, chosen_policies_never_shorten_a_layer,
         policies_that_only_keep_change_nothing_else)

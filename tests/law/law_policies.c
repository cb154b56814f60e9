/* What holds for every policy: what a search chooses is legal, costed, lowered. */
#include <string.h>

#include "plan/work.h"
#include "tests/law/random_plan.h"

#define ROUNDS 25 /* legal plans per model */

static struct work *lower(const struct plan *plan)
{
    struct work *work = ARENA_PUSH(&arena, struct work, 1);
    diag_init(&diag, &arena);
    ck_assert_msg(plan_check_costed(&problem, plan, &diag), "a plan cannot be costed: %s",
                  diag.entries[0].message);
    work_build(&problem, plan, &arena, work);
    ck_assert_msg(work_check(work), "an unsound program");
    return work;
}

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

/* --- what a search chooses -------------------------------------------------------------------- */

static void expect_chosen(struct plan *plan, const struct policy *policy)
{
    struct policy_use use;
    for (uint32_t index = 0; policy->choose(&problem, plan, index, &arena, &use); index++) {
        const struct arena_mark mark = arena_find_mark(&arena);
        struct text text;
        struct json_writer writer;
        ck_assert_ptr_eq(use.kind, policy);
        ck_assert_msg(index < 1000, "policy '%s' never ends its choices", policy->name);
        plan->policies = &use;
        plan->policy_count = 1;
        diag_init(&diag, &arena);
        if (plan_check(&problem, plan, &diag))
            (void)lower(plan);
        text_init(&text, &arena);
        json_writer_init(&writer, &text, true);
        policy_dump(&use, &writer);
        const struct policy_use twin = read_use(text.bytes);
        struct plan same = *plan;
        same.policies = (struct policy_use *)&twin;
        ck_assert_msg(plan_digest(&same) == plan_digest(plan), "%s reads back otherwise",
                      text.bytes);
        plan->policy_count = 0;
        arena_pop(&arena, mark);
    }
}

/* Members that a search may try, on one plan; their number. */
static uint32_t try_all(struct plan *plan)
{
    uint32_t tried = 0;
    for (uint32_t i = 0; i < policy_table_count; i++) {
        if (policy_table[i]->choose != NULL) {
            expect_chosen(plan, policy_table[i]);
            tried++;
        }
    }
    return tried;
}

START_TEST(choices_are_costed_and_lowered)
{
    uint32_t tried = 0;
    for (size_t m = 0; m < MODEL_COUNT; m++) {
        struct random random;
        random_init(&random, 21 + m);
        begin(models[m]);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            const struct arena_mark mark = arena_find_mark(&arena);
            struct group group;
            struct plan plan;
            fill_legal(&random, &group, &plan);
            tried += try_all(&plan);
            arena_pop(&arena, mark);
        }
        arena_release(&arena);
    }
    ck_assert_uint_gt(tried, 50);
}
END_TEST

/* --- conservation ----------------------------------------------------------------------------- */

/* Sharding spreads states, it loses none: shares times sharers are what one rank held before,
 * and what is computed stays. */
static void expect_conserved(const struct work *before, const struct work *after)
{
    ck_assert_uint_eq(before->block_count, after->block_count);
    for (uint32_t b = 0; b < before->block_count; b++) {
        const struct work_block *old = &before->blocks[b], *new = &after->blocks[b];
        ck_assert_uint_eq(old->weights_count, new->weights_count);
        ck_assert(new->parameters_bytes <= old->parameters_bytes &&new->optimizer_bytes <=
                  old->optimizer_bytes);
        for (uint32_t i = 0; i < old->weights_count; i++) {
            const uint32_t ranks =
                old->weights[i].group == NO_INDEX ? 1 : before->groups[old->weights[i].group].ranks;
            ck_assert(new->weights[i].elements == old->weights[i].elements);
            ck_assert_uint_eq(new->weights[i].parameter_shards, ranks);
            ck_assert_uint_eq(new->weights[i].gradient_shards, ranks);
            ck_assert_uint_eq(new->weights[i].optimizer_shards, ranks);
        }
    }
}

START_TEST(sharding_loses_nothing)
{
    for (size_t m = 0; m < MODEL_COUNT; m++) {
        struct random random;
        random_init(&random, 41 + m);
        begin(models[m]);
        uint32_t compared = 0;
        for (uint32_t round = 0; !is_enough(round, compared, 10); round++) {
            const struct arena_mark mark = arena_find_mark(&arena);
            struct group group;
            struct plan plan;
            struct policy_use use;
            fill_legal(&random, &group, &plan);
            if (policy_find("shard")->choose(&problem, &plan, 2, &arena, &use)) {
                const struct work *before = lower(&plan);
                plan.policies = &use;
                plan.policy_count = 1;
                expect_conserved(before, lower(&plan));
                compared++;
            }
            arena_pop(&arena, mark);
        }
        arena_release(&arena);
    }
}
END_TEST

/* What `over` leaves out or has too much is refused, never costed as something else. */
START_TEST(sharding_over_part_of_the_copies_is_refused)
{
    static const struct {
        const char *over;
        bool costed;
    } cases[] = {{"[\"dp\", \"cp\"]", true},
                 {"\"dp\"", false},
                 {"\"cp\"", false},
                 {"[\"dp\", \"cp\", \"tp\"]", false}};
    begin("toy-gqa-8l");
    struct group group = {.mesh_count = 3,
                          .mesh = {{.dim = dim_find("tp"), .degree = 4},
                                   {.dim = dim_find("cp"), .degree = 2},
                                   {.dim = dim_find("dp"), .degree = 4}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct policy_use use = read_use(
            text_build(&arena, "{\"kind\": \"shard\", \"tensors\": \"optimizer\", \"over\": %s}",
                       cases[i].over));
        struct plan plan = {
            .groups = &group, .group_count = 1, .policies = &use, .policy_count = 1};
        plan.schedule = (struct plan_schedule){
            .schedule = schedule_find("1f1b"), .micro_batch = 1, .chunks = 1};
        diag_init(&diag, &arena);
        ck_assert_msg(plan_check(&problem, &plan, &diag), "%s: %s", cases[i].over,
                      diag.entries[0].message);
        ck_assert_msg(plan_check_costed(&problem, &plan, &diag) == cases[i].costed, "%s",
                      cases[i].over);
    }
    arena_release(&arena);
}
END_TEST

TAP_MAIN("policies", choices_are_costed_and_lowered, sharding_loses_nothing,
         sharding_over_part_of_the_copies_is_refused)

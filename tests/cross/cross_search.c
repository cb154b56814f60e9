/* The search against visiting everything: random small problems, each plan judged one by one. */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "costmodel/costmodel.h"
#include "plan/plan_rule.h"
#include "planner/planner.h"
#include "tests/tap_main.h"

#define PROBLEMS 1000

/* Slow builds (sanitizers) say how many instead: $SEARCH_PROBLEMS. */
static uint32_t count_problems(void)
{
    const char *text = getenv("SEARCH_PROBLEMS");
    const unsigned long asked = text == NULL ? PROBLEMS : strtoul(text, NULL, 10);
    return asked >= 20 && asked < PROBLEMS ? (uint32_t)asked : PROBLEMS;
}
#define TOP 4
#define PLANS_MAX 400 /* larger spaces are left out: they are no stronger a proof */

static const char *const model_names[] = {"toy-4l", "toy-gpt-4l", "toy-gqa-8l", "toy-moe-4l",
                                          "toy-mixed-6l"};
#define MODEL_COUNT (sizeof model_names / sizeof model_names[0])
static const char *const runtime_names[] = {"any", "megatron"};

static struct arena fixed, judged,
    arena; /* of all problems, of one problem's judge, of one problem */
static struct diag diag;
static struct random dice;
static struct model models[MODEL_COUNT];
static struct runtime runtimes[2];
static struct cluster zoo_cluster;

/* One random question with all that it hangs on. */
static struct question {
    struct accelerator accelerator;
    struct cluster cluster;
    struct runtime runtime;
    struct setup setup;
    struct problem problem;
    struct prices prices;
    struct costmodel costmodel;
    struct estimator estimator;
    struct planner_options options;
} question;

static void begin(void)
{
    arena_init(&fixed);
    diag_init(&diag, &fixed);
    for (size_t i = 0; i < MODEL_COUNT; i++) {
        ck_assert(model_read(model_names[i], &fixed, &models[i], &diag));
    }
    for (size_t i = 0; i < 2; i++) {
        ck_assert(
            runtime_read(runtime_names[i], (struct diag_place){0}, &fixed, &runtimes[i], &diag));
    }
    ck_assert(cluster_read("dgx-h100:1", &fixed, &zoo_cluster, &diag));
}

static uint32_t pick(const uint32_t *from, uint32_t count)
{
    return from[random_pop_below(&dice, count)];
}
#define PICK(...) \
    pick((const uint32_t[]){__VA_ARGS__}, \
         (uint32_t)(sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)))

/* --- random questions ------------------------------------------------------------------------- */

static uint32_t pick_divisor(uint32_t value, uint32_t least)
{
    uint32_t divisor;
    do {
        divisor = 1 + random_pop_below(&dice, value);
    } while (value % divisor != 0 || divisor < least);
    return divisor;
}

/* Levels of any kind whose degrees multiply to the devices, each slower than the one inside. */
static void throw_cluster(uint32_t devices)
{
    struct cluster *cluster = &question.cluster;
    static const char *const names[] = {"inner", "middle", "outer", "outermost"};
    *cluster = (struct cluster){.name = "thrown",
                                .source = "test",
                                .device_count = devices,
                                .accelerators = &question.accelerator,
                                .accelerator_count = 1};
    question.accelerator = zoo_cluster.accelerators[0];
    double bandwidth_Bps = 1e9 * (50.0 + 800.0 * random_pop_unit(&dice));
    for (uint32_t left = devices; left > 1 || cluster->level_count == 0;) {
        const uint32_t degree = left == 1 ? 1 : pick_divisor(left, 2);
        const uint32_t kind = random_pop_below(&dice, 3);
        struct level *level = &cluster->levels[cluster->level_count];
        *level = (struct level){.name = names[cluster->level_count],
                                .degree = degree,
                                .kind = kind == 0   ? LEVEL_RING
                                        : kind == 1 ? LEVEL_FULLMESH
                                                    : LEVEL_SWITCH,
                                .bandwidth_Bps = bandwidth_Bps,
                                .link = LINK_RAW,
                                .latency_s = 1e-6 * (1.0 + 9.0 * random_pop_unit(&dice))};
        cluster->level_count++;
        left /= degree;
        bandwidth_Bps *= 0.02 + 0.9 * random_pop_unit(&dice);
    }
    ck_assert_msg(cluster_build(cluster, &arena, &diag), "%s", diag.entries[0].message);
}

static void throw_pins(uint32_t devices)
{
    struct planner_options *options = &question.options;
    *options = (struct planner_options){.top = TOP};
    struct planner_pins *pins = &options->pins;
    pins->order_pinned = random_pop_below(&dice, 2) == 0;
    uint32_t left = devices;
    for (uint32_t i = 0; i < dim_table_count; i++) {
        pins->variants[i] = PIN_ANY;
        if (dim_table[i]->kind == DIM_FACTOR && random_pop_below(&dice, 16) < devices / 2) {
            pins->degrees[i] = pick_divisor(left, 1);
            left /= pins->degrees[i];
        }
    }
    for (uint32_t i = 0; i < policy_table_count; i++) {
        const uint32_t way = random_pop_below(&dice, 6);
        pins->policy_pinned[i] = way == 0;
        pins->policy_choices[i] = way == 1 ? random_pop_below(&dice, 4) : 0;
    }
    pins->schedule = random_pop_below(&dice, 3) > 0
                         ? NULL
                         : schedule_table[random_pop_below(&dice, schedule_table_count)];
    pins->micro_batch = random_pop_below(&dice, 4) > 0 ? 0 : PICK(1, 2, 4);
    pins->chunks = random_pop_below(&dice, 8) > 0 ? 0 : 1 + random_pop_below(&dice, 2);
}

static void throw_question(void)
{
    const struct model *model = &models[random_pop_below(&dice, MODEL_COUNT)];
    const uint32_t devices = PICK(1, 2, 2, 3, 4, 4, 4, 6, 8, 8, 12, 16);
    throw_cluster(devices);
    question.runtime = runtimes[random_pop_below(&dice, 2)];
    if (question.runtime.schedules[0] == NULL && random_pop_below(&dice, 2) == 0) {
        for (uint32_t i = 0; i < schedule_table_count; i++) {
            question.runtime.schedules[i] = schedule_table[i]->name; /* rare ones too */
        }
    }
    if (question.runtime.other_orders && random_pop_below(&dice, 2) == 0) {
        question.runtime.order_count = 0; /* all rank orders, not only those that it lists */
    }
    question.runtime.context_bytes = 0; /* toys would drown in them */
    question.runtime.communicator_bytes = random_pop_below(&dice, 2) == 0 ? 0 : 1000000;
    question.runtime.step_overhead_s = 0.0;
    question.runtime.op_overhead_s *= random_pop_below(&dice, 2);
    question.runtime.overlaps_send = random_pop_below(&dice, 2) == 0;
    question.runtime.overlaps_gradient_reduce = random_pop_below(&dice, 2) == 0;
    question.setup = (struct setup){.global_batch = PICK(1, 2, 4, 6, 8, 8, 16),
                                    .seq_length = PICK(256, 384, 1024, 4096),
                                    .dtype = DTYPE_BF16,
                                    .optimizer = optimizer_find("adam"),
                                    .runtime = &question.runtime,
                                    .attention = random_pop_below(&dice, 2) == 0 ? ATTENTION_FLASH
                                                                                 : ATTENTION_PLAIN,
                                    .task = {.text = "pretrain"}};
    question.problem = (struct problem){model, &question.cluster, &question.setup};
    ck_assert(prices_read(&question.cluster, &question.runtime, &arena, &question.prices, &diag));
    throw_pins(devices);
}

/* --- everything, one by one ------------------------------------------------------------------- */

struct visit {
    uint64_t plans;
    bool counting; /* no judging */
    double top_s[TOP];
    uint32_t top_count;
    double least_over_bytes; /* of plans that do not fit */
    bool canonical;          /* orders by the dims' default places only */
    uint32_t degrees[DIM_MAX], variants[DIM_MAX];
    struct group group;
    struct plan plan;
    struct policy_use uses[PLANNER_POLICY_MAX];
};

static void push_time(struct visit *visit, double step_s)
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

static void judge(struct visit *visit)
{
    visit->plans++;
    if (visit->counting) {
        return;
    }
    const struct arena_mark mark = arena_find_mark(&arena);
    struct plan plan = visit->plan;
    struct estimate estimate;
    planner_complete(&question.problem, &question.estimator, &plan, &arena, &estimate);
    double over = 0.0;
    for (uint32_t i = 0; i < estimate.stage_count; i++) {
        const double here = estimate.stages[i].peak_bytes - estimate.stages[i].capacity_bytes;
        over = here > over ? here : over;
    }
    if (estimate.fits) {
        push_time(visit, estimate.step_s);
    } else if (over < visit->least_over_bytes) {
        visit->least_over_bytes = over;
    }
    arena_pop(&arena, mark);
}

/* None, or one of its own; a pinned one as it is pinned. */
/* Legal, in a rank order that some runtime has. */
static bool plan_is_searched(const struct plan *plan)
{
    return plan_is_legal(&question.problem, plan) &&
           plan_rule_order_is_searched(&question.problem, plan);
}

static void each_use(struct visit *visit, uint32_t policy)
{
    if (policy == policy_table_count) {
        if (plan_is_searched(&visit->plan)) {
            judge(visit);
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
    if (pins->policy_pinned[policy] || kind->choose == NULL) {
        return;
    }
    for (uint32_t i = 0; kind->choose(&question.problem, &visit->plan, i, &arena, next); i++) {
        if (!pinned || i == choice - 1) {
            visit->plan.policy_count++;
            each_use(visit, policy + 1);
            visit->plan.policy_count--;
        }
    }
}

/* Rare schedules only where the runtime lists them or the question pins them. */
static bool is_searched(const struct schedule *schedule)
{
    const struct planner_pins *pins = &question.options.pins;
    const bool listed = question.runtime.schedules[0] != NULL &&
                        runtime_accepts_schedule(&question.runtime, schedule->name);
    return pins->schedule == NULL ? listed || !schedule->on_demand : pins->schedule == schedule;
}

static void each_schedule(struct visit *visit)
{
    const struct planner_pins *pins = &question.options.pins;
    const uint32_t layers = plan_count_layers(question.problem.model);
    for (uint32_t i = 0; i < schedule_table_count; i++) {
        for (uint32_t chunks = 1; chunks <= layers; chunks++) {
            visit->plan.schedule.schedule = schedule_table[i];
            visit->plan.schedule.chunks = chunks;
            const bool wanted =
                is_searched(schedule_table[i]) && (pins->chunks == 0 || pins->chunks == chunks);
            if (wanted && plan_is_searched(&visit->plan)) {
                const struct arena_mark mark = arena_find_mark(&arena);
                each_use(visit, 0);
                arena_pop(&arena, mark);
            }
        }
    }
}

static void each_batch(struct visit *visit)
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
static void each_order(struct visit *visit, uint32_t place, uint64_t before)
{
    struct group *group = &visit->group;
    if (place == group->mesh_count) {
        each_batch(visit);
        return;
    }
    const struct group kept = *group;
    for (uint32_t i = place; i < kept.mesh_count && !(visit->canonical && visit->plans > before);
         i++) {
        *group = kept;
        memmove(&group->mesh[place + 1], &kept.mesh[place], (i - place) * sizeof kept.mesh[0]);
        group->mesh[place] = kept.mesh[i];
        each_order(visit, place + 1, before);
    }
    *group = kept;
}

static void sort_and_order(struct visit *visit)
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
    each_order(visit, 0, visit->plans);
    *group = kept;
}

static void each_fold(struct visit *visit, uint32_t dim)
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

static void each_factor(struct visit *visit, uint32_t dim, uint32_t left)
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

static struct visit visit_all(bool counting, bool canonical)
{
    static struct visit visit;
    visit = (struct visit){.counting = counting, .canonical = canonical, .least_over_bytes = 1e300};
    visit.plan = (struct plan){.groups = &visit.group, .group_count = 1, .policies = visit.uses};
    each_factor(&visit, 0, question.cluster.device_count);
    return visit;
}

/* --- the laws --------------------------------------------------------------------------------- */

static bool search_with(bool no_prune, uint64_t budget, struct planner_result *out)
{
    struct planner_options options = question.options;
    options.no_prune = no_prune;
    options.budget = budget;
    diag_init(&diag, &arena);
    return planner_search(&question.problem, &question.estimator, &options, &arena, out, &diag);
}

static void expect_whole(const struct certificate *certificate)
{
    uint64_t sum = certificate->evaluated;
    for (uint32_t i = 0; i < BOUND_COUNT; i++) {
        sum += certificate->pruned[i];
    }
    ck_assert_msg(sum == certificate->space_size, "evaluated and pruned are %llu of %llu plans",
                  (unsigned long long)sum, (unsigned long long)certificate->space_size);
    ck_assert(certificate->complete);
    ck_assert_double_eq(certificate->gap_frac, 0.0);
}

static const char *describe(uint32_t index)
{
    return text_build(
        &arena,
        "problem %u: model %s, %u devices, batch %llu, sequence %llu, runtime %s, orders %s", index,
        question.problem.model->name, question.cluster.device_count,
        (unsigned long long)question.setup.global_batch,
        (unsigned long long)question.setup.seq_length, question.runtime.name,
        question.options.pins.order_pinned ? "pinned" : "searched");
}

static bool near(double a, double b)
{
    const double apart = a > b ? a - b : b - a;
    return apart <= 1e-11 * (a > b ? a : b);
}

static void expect_same(const struct planner_result *a, const struct planner_result *b,
                        uint32_t index)
{
    ck_assert_msg(a->count == b->count, "%s: %u plans, unpruned %u", describe(index), a->count,
                  b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        ck_assert_msg(a->plans[i].estimate.step_s == b->plans[i].estimate.step_s,
                      "%s: place %u takes %.17g s, unpruned %.17g s", describe(index), i,
                      a->plans[i].estimate.step_s, b->plans[i].estimate.step_s);
        ck_assert_msg(plan_digest(a->plans[i].plan) == plan_digest(b->plans[i].plan),
                      "%s: place %u is another plan", describe(index), i);
    }
    ck_assert_uint_eq(a->certificate.space_size, b->certificate.space_size);
}

/* Against the plans visited one by one; with pinned orders place by place. */
static void expect_visited(const struct planner_result *found, const struct visit *all, bool pruned,
                           uint32_t index)
{
    const bool pinned = question.options.pins.order_pinned;
    const struct visit visit = *all;
    if (pinned) {
        ck_assert_msg(found->certificate.space_size == visit.plans,
                      "%s: space of %llu, visited %llu", describe(index),
                      (unsigned long long)found->certificate.space_size,
                      (unsigned long long)visit.plans);
        ck_assert_uint_eq(found->count, visit.top_count);
    }
    ck_assert_msg((found->count > 0) == (visit.top_count > 0), "%s: %u plans, visited %u",
                  describe(index), found->count, visit.top_count);
    for (uint32_t i = 0; i < found->count && (pinned || i == 0); i++) {
        ck_assert_msg(near(found->plans[i].estimate.step_s, visit.top_s[i]),
                      "%s: place %u takes %.17g s, visited %.17g s", describe(index), i,
                      found->plans[i].estimate.step_s, visit.top_s[i]);
    }
    if (found->count == 0) {
        const struct estimate *estimate = &found->least_over.estimate;
        const double over = estimate->peak_bytes - estimate->capacity_bytes;
        ck_assert_ptr_nonnull(found->least_over.plan);
        ck_assert(near(over, found->least_over_bytes));
        ck_assert_msg(near(over, visit.least_over_bytes) ||
                          (pruned && over > visit.least_over_bytes),
                      "%s: least over by %.17g bytes, visited %.17g", describe(index), over,
                      visit.least_over_bytes);
    }
}

/* A search that must stop says so, and its bound holds. */
static void expect_truthful(const struct planner_result *whole, uint32_t index)
{
    const uint64_t budget = 1 + random_pop_below(&dice, 1 + (uint32_t)whole->certificate.evaluated);
    struct planner_result cut;
    ck_assert(search_with(random_pop_below(&dice, 2) == 0, budget, &cut));
    ck_assert(cut.certificate.evaluated <= budget);
    if (cut.certificate.complete) {
        return;
    }
    ck_assert_msg(cut.certificate.evaluated == budget, "%s: stopped at %llu of %llu",
                  describe(index), (unsigned long long)cut.certificate.evaluated,
                  (unsigned long long)budget);
    if (whole->count > 0) {
        ck_assert_msg(cut.certificate.lower_bound_s <=
                          whole->plans[0].estimate.step_s * (1.0 + 1e-9),
                      "%s: bound %.17g s, best %.17g s", describe(index),
                      cut.certificate.lower_bound_s, whole->plans[0].estimate.step_s);
    }
    if (cut.count > 0) {
        const double best = cut.plans[0].estimate.step_s;
        ck_assert(best >= whole->plans[0].estimate.step_s);
        ck_assert(near(cut.certificate.gap_frac * best, best - cut.certificate.lower_bound_s) ||
                  cut.certificate.gap_frac == 0.0);
    }
}

/* Memory so that some plans fit, or none: about what the fastest needs. */
static void throw_memory(void)
{
    struct planner_result free;
    question.accelerator.memory_bytes = (uint64_t)1 << 50;
    costmodel_init(&question.costmodel, &question.problem, &question.prices, &judged);
    costmodel_estimator(&question.costmodel, &question.estimator);
    question.options.top = 1;
    const bool any = search_with(false, 0, &free);
    question.options.top = TOP;
    if (any) {
        const double peak = free.plans[0].estimate.peak_bytes;
        question.accelerator.memory_bytes =
            (uint64_t)(peak * (0.45 + 0.9 * random_pop_unit(&dice)));
    }
}

static struct tallies {
    uint32_t asked, empty, unfit, found;
} tallies;

static bool try_problem(uint32_t index)
{
    random_init(&dice, 7000 + index);
    throw_question();
    const struct visit space = visit_all(true, question.options.pins.order_pinned);
    if (space.plans > PLANS_MAX) {
        return false;
    }
    throw_memory();
    struct planner_result pruned, whole;
    const bool any = search_with(false, 0, &pruned);
    ck_assert_msg(any == (space.plans > 0), "%s: %llu plans visited", describe(index),
                  (unsigned long long)space.plans);
    if (!any) {
        tallies.empty++;
        return true;
    }
    tallies.asked++;
    ck_assert(search_with(true, 0, &whole));
    expect_whole(&pruned.certificate);
    expect_whole(&whole.certificate);
    expect_same(&pruned, &whole, index);
    const struct visit visit = visit_all(false, question.options.pins.order_pinned);
    expect_visited(&pruned, &visit, true, index);
    expect_visited(&whole, &visit, false, index);
    expect_truthful(&whole, index);
    tallies.unfit += pruned.count == 0;
    tallies.found += pruned.count > 0;
    return true;
}

START_TEST(search_finds_what_visiting_everything_finds)
{
    begin();
    const uint32_t problems = count_problems();
    for (uint32_t index = 0; tallies.asked < problems; index++) {
        arena_init(&arena);
        arena_init(&judged);
        diag_init(&diag, &arena);
        if (try_problem(index)) {
            costmodel_release(&question.costmodel);
        }
        arena_release(&judged);
        arena_release(&arena);
    }
    fprintf(stderr,
            "%u problems: nothing fits in %u, plans found in %u; %u more spaces are empty\n",
            tallies.asked, tallies.unfit, tallies.found, tallies.empty);
    ck_assert_uint_gt(tallies.found, problems / 3);
    ck_assert_uint_gt(tallies.unfit, problems / 20);
    arena_release(&fixed);
}
END_TEST

TAP_MAIN("search", search_finds_what_visiting_everything_finds)

/* One rank for its stage and every rank a device: the same step to the picosecond where all ranks
 * are alike; where they are not, the fold says so. $UNFOLD_ALL draws every shape. */
#include "tests/cross/thrown_plan.h"

#define RANKS_MAX 64u
/* Of all shapes this share in a plain run; the rest with $UNFOLD_ALL. */
#define SHARE_PERCENT 4u
#define MESSAGES_LANES 8u
#define LARGE_COUNT 300u
#define LARGE_DRAWN 1u
#define LARGE_RANKS_MAX 512u

/* Of one kind all the way, nodes on a network, nodes of two kinds. */
static const char *const clusters[] = {
    "{\"format\": \"shardplan/cluster/1\", \"name\": \"star\", \"device\": \"H100-SXM5\","
    " \"levels\": [{\"name\": \"node\", \"kind\": \"switch\", \"degree\": 512,"
    " \"bandwidth\": \"100 GB/s\", \"latency\": \"2 us\"}]}",
    "dgx-h100:64", "a100-v100-mixed"};

struct tally {
    uint32_t seen, unlike;
};

static void read_cluster(const char *text)
{
    struct json *document;
    if (text[0] != '{') {
        ck_assert(cluster_read(text, &arena, &cluster, &diag));
        return;
    }
    ck_assert(json_open_text("star", text, strlen(text), false, &arena, &document, &diag));
    ck_assert_msg(cluster_read_json(json_root(document), "star", &arena, &cluster, &diag), "%s",
                  diag.entries[0].message);
    json_close(document);
}

static void begin_on(const char *name, const char *text)
{
    begin(name);
    read_cluster(text);
}

static bool is_full(void)
{
    return getenv("UNFOLD_ALL") != NULL;
}

/* Two layers on each stage, at most twice as many micro-batches as stages; rare and stale sums,
 * sharded states and folds now and then. False: no plan. */
static bool shape_plan(struct random *random, struct judged *judged)
{
    const uint32_t stages = plan_count_stages(&judged->plan);
    uint32_t middle = 0;
    for (uint32_t run = 0; run < model.run_count; run++) {
        middle = model.parts[model.chain[run].part].op_count >
                         model.parts[model.chain[middle].part].op_count
                     ? run
                     : middle;
    }
    judged->plan.schedule =
        (struct plan_schedule){.schedule = random_pop_below(random, 2) == 0 ? schedule_find("1f1b")
                                                                            : draw_schedule(random),
                               .micro_batch = 1,
                               .chunks = 1 + random_pop_below(random, 2)};
    const uint32_t chunks = stages * judged->plan.schedule.chunks;
    model.chain[middle].count = 2 * chunks;
    setup.global_batch = 1; /* then what makes one micro-batch, times their number */
    while (plan_count_micro_batches(&problem, &judged->plan) != 1) {
        setup.global_batch++;
    }
    setup.global_batch *= 1 + random_pop_below(random, 2 * stages);
    setup.spare_devices = cluster.device_count;
    push_policies(random, judged);
    if (!build_work(judged)) {
        return false;
    }
    judged->layers = ARENA_PUSH(&arena, uint32_t, chunks);
    for (uint32_t i = 0; i < chunks; i++) {
        judged->layers[i] = 2;
    }
    return true;
}

static void same_rows(struct judged *judged, const struct sim_result *folded,
                      const struct sim_result *ranks)
{
    ck_assert_msg(folded->estimate.step_s == ranks->estimate.step_s, "%s: %.15g, unfolded %.15g",
                  describe(judged), folded->estimate.step_s, ranks->estimate.step_s);
    for (uint32_t stage = 0; stage < folded->estimate.stage_count; stage++) {
        ck_assert_double_eq(folded->stages[stage].start_s, ranks->stages[stage].start_s);
        ck_assert_double_eq(folded->stages[stage].end_s, ranks->stages[stage].end_s);
        ck_assert_double_eq(folded->stages[stage].busy_s, ranks->stages[stage].busy_s);
        for (uint32_t cost = 0; cost < COST_COUNT; cost++) {
            ck_assert_double_eq(folded->estimate.stages[stage].cost_s[cost],
                                ranks->estimate.stages[stage].cost_s[cost]);
        }
    }
}

/* Message by message, on the links that each takes: rounds of a collective that share a port with
 * other work do not slow down all alike, so that is near, not the same. */
static void by_message_law(struct judged *judged)
{
    struct sim_options options = sim_full_options();
    struct sim_result folded, messages;
    simulate(judged, &options, false, &folded);
    options.fold = SIM_MESSAGES;
    simulate(judged, &options, false, &messages);
    ck_assert_msg(messages.estimate.step_s < 1.02 * folded.estimate.step_s &&
                      messages.estimate.step_s > 0.98 * folded.estimate.step_s,
                  "%s: %.15g, message by message %.15g", describe(judged), folded.estimate.step_s,
                  messages.estimate.step_s);
}

/* Contended and not. Where ranks are not alike the fold must not claim more than that. */
static void fold_law(struct judged *judged, struct tally *tally)
{
    struct sim sim;
    struct sim_unlike unlike;
    struct costmodel costmodel;
    struct sim_options options = sim_full_options();
    price(judged, &costmodel);
    sim_init(&sim, &problem, &judged->prices, &options, &arena);
    tally->seen++;
    if (sim_compare_ranks(&sim, judged->work, &unlike)) {
        for (uint32_t contended = 0; contended < 2; contended++) {
            struct sim_result folded, ranks;
            options.contention = contended == 1;
            options.fold = SIM_FOLDED;
            simulate(judged, &options, false, &folded);
            options.fold = SIM_RANKS;
            simulate(judged, &options, false, &ranks);
            same_rows(judged, &folded, &ranks);
        }
        if (work_count_lanes(judged->work) <= MESSAGES_LANES) {
            by_message_law(judged);
        }
    } else {
        tally->unlike++;
    }
    costmodel_release(&costmodel);
}

/* --- all shapes ------------------------------------------------------------------------------- */

static bool next_shape(struct group *group)
{
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        uint32_t ranks = 1;
        group->mesh[i].degree++;
        for (uint32_t k = 0; k < group->mesh_count; k++) {
            ranks *= group->mesh[k].degree;
        }
        if (ranks <= RANKS_MAX) {
            return true;
        }
        group->mesh[i].degree = 1;
    }
    return false;
}

static void first_shape(struct group *group)
{
    *group = (struct group){.mesh_count = 0};
    for (uint32_t i = 0; i < dim_table_count; i++) {
        if (dim_table[i]->kind == DIM_FACTOR) {
            group->mesh[group->mesh_count++] = (struct mesh_dim){.dim = dim_table[i], .degree = 1};
        }
    }
}

/* A shape under a few draws of what else a plan says: the first that is a plan. */
static void hold_shape(struct random *random, const struct group *shape, struct tally *tally)
{
    const struct arena_mark mark = arena_find_mark(&arena);
    bool held = false;
    for (uint32_t tries = 0; tries < 8 && !held; tries++) {
        struct judged judged;
        memset(&judged, 0, sizeof judged);
        judged.group = *shape;
        judged.plan = (struct plan){.groups = &judged.group, .group_count = 1};
        for (uint32_t i = 0; i < shape->mesh_count; i++) {
            struct mesh_dim *const own = &judged.group.mesh[i];
            const struct mesh_dim other = *own;
            struct mesh_dim *const place = &judged.group.mesh[random_pop_below(random, i + 1)];
            *own = *place; /* any order of ranks */
            *place = other;
            place->variant = random_pop_below(random, place->dim->variant_count);
        }
        held = shape_plan(random, &judged);
        if (held) {
            fold_law(&judged, tally);
        }
        arena_pop(&arena, mark);
    }
}

static void hold_all(const char *model_name, const char *text)
{
    struct random random;
    struct group shape;
    struct tally tally = {0};
    random_init(&random, 11);
    begin_on(model_name, text);
    first_shape(&shape);
    do {
        if (random_pop_below(&random, 100) < (is_full() ? 100 : count_samples(SHARE_PERCENT))) {
            hold_shape(&random, &shape, &tally);
        }
    } while (next_shape(&shape));
    if (is_full()) {
        fprintf(stderr, "%s: %u shapes, %u of ranks that are not alike\n", model_name, tally.seen,
                tally.unlike);
    }
    ck_assert_uint_gt(tally.seen, 0);
    ck_assert(tally.unlike < tally.seen || tally.seen < 5); /* a small share may be all unlike */
    arena_release(&arena);
}

START_TEST(every_shape_on_a_star)
{
    hold_all("toy-4l", clusters[0]);
    hold_all("toy-moe-4l", clusters[0]);
}
END_TEST

START_TEST(every_shape_on_nodes)
{
    hold_all("toy-gqa-8l", clusters[1]);
}
END_TEST

START_TEST(every_shape_on_two_kinds)
{
    hold_all("toy-4l", clusters[2]);
}
END_TEST

/* Powers of two, and a three now and then. */
static void draw_large(struct random *random, struct group *shape)
{
    uint32_t ranks;
    do {
        first_shape(shape);
        ranks = 1;
        for (uint32_t i = 0; i < 9; i++) {
            const uint32_t times = random_pop_below(random, 8) == 0 ? 3 : 2;
            ranks *= times;
            shape->mesh[random_pop_below(random, shape->mesh_count)].degree *= times;
        }
    } while (ranks > LARGE_RANKS_MAX);
}

START_TEST(large_ones_too)
{
    struct random random;
    struct tally tally = {0};
    random_init(&random, 12);
    begin_on("toy-gqa-8l", clusters[1]);
    for (uint32_t tries = 0; tally.seen < (is_full() ? LARGE_COUNT : LARGE_DRAWN); tries++) {
        struct group shape;
        draw_large(&random, &shape);
        hold_shape(&random, &shape, &tally);
        ck_assert_uint_lt(tries, DRAW_MAX);
    }
    arena_release(&arena);
}
END_TEST

TAP_MAIN("sim_unfold", every_shape_on_a_star, every_shape_on_nodes, every_shape_on_two_kinds,
         large_ones_too)

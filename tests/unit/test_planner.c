/* The search with a judge of ten lines: counts by hand, rankings, what happens when nothing fits
 * or nothing is legal. */
#include <string.h>

#include "planner/planner_inside.h"
#include "tests/tap_main.h"

static struct arena arena;
static struct diag diag;
static struct model model;
static struct cluster cluster;
static struct runtime runtime;
static struct setup setup;
static struct problem problem;
static struct planner_options options;

/* --- the judge: a layer takes a second per micro-batch on one device, a message takes what it is
 * told --- */

static double capacity = 1e18, layer_bytes = 1.0, first_bytes = 0.0; /* first: of stage 0 besides */

static void fake_piece(void *state, const struct work *work, uint32_t block, uint32_t site,
                       const struct piece *like, struct piece *out)
{
    (void)state;
    (void)site;
    (void)like;
    const struct work_block *which = &work->blocks[block];
    const struct part *part = &model.parts[which->part];
    const bool end =
        which->part == model.chain[0].part || which->part == model.chain[model.run_count - 1].part;
    *out = (struct piece){.block = which};
    for (uint32_t i = 0; i < which->forward.count && !end; i++) {
        const struct work_item *item = &which->forward.items[i];
        const bool first =
            !item->is_message && strcmp(item->compute.name, model.ops[part->first_op].name) == 0;
        out->forward_total_s += first ? 1.0 : 0.0;
    }
    out->forward_s[COST_COMPUTE] = out->forward_total_s;
}

static double fake_message_s(void *state, const struct work *work,
                             const struct work_message *message, uint32_t base)
{
    (void)state;
    (void)work;
    (void)base;
    return message->bytes > 0.0 ? 0.25 : 0.0;
}

static uint32_t stage_layers(const struct load *load, uint32_t stage)
{
    const struct work *work = load->work;
    uint32_t layers = 0;
    for (uint32_t local = 0; local < work->shape.chunks; local++) {
        const uint32_t chunk = load->stream->model_chunk[stage * work->shape.chunks + local];
        for (uint32_t b = 0; b < work->block_count; b++) {
            layers += b == work->first_block || b == work->last_block
                          ? 0
                          : load->counts[chunk * WORK_BLOCK_MAX + b];
        }
    }
    return layers;
}

static double fake_room(void *state, const struct load *load, uint32_t stage)
{
    (void)state;
    return capacity - layer_bytes * stage_layers(load, stage) - (stage == 0 ? first_bytes : 0.0);
}

/* Micro-batches of the busiest stage, one pass through the others, a quarter of a second per
 * boundary. */
static void fake_combine(void *state, const struct load *load, bool detail, struct arena *scratch,
                         struct estimate *out)
{
    double most = 0.0, sum = 0.0;
    *out = (struct estimate){
        .fits = true, .stage_count = load->work->shape.stages, .capacity_bytes = capacity};
    for (uint32_t stage = 0; stage < out->stage_count; stage++) {
        const double layers = stage_layers(load, stage);
        sum += layers;
        most = layers > most ? layers : most;
        out->fits = out->fits && fake_room(state, load, stage) >= 0.0;
    }
    out->peak_bytes = layer_bytes * most;
    out->step_s =
        sum + (load->work->shape.micro_batches - 1.0) * most + load->send_s * out->stage_count;
    out->stages = detail ? ARENA_PUSH(scratch, struct stage_estimate, out->stage_count) : NULL;
}

static double fake_bound(void *state, const struct load *load)
{
    (void)state;
    (void)load;
    return 0.0;
}

static double fake_capacity(void *state)
{
    (void)state;
    return capacity;
}

static const struct estimator fake = {.name = "fake",
                                      .piece = fake_piece,
                                      .message_s = fake_message_s,
                                      .combine = fake_combine,
                                      .capacity_bytes = fake_capacity,
                                      .room_bytes = fake_room,
                                      .bound = fake_bound};

/* --- questions -------------------------------------------------------------------------------- */

static void begin(const char *name, const char *machine, uint64_t batch)
{
    arena_init(&arena);
    diag_init(&diag, &arena);
    capacity = 1e18;
    layer_bytes = 1.0;
    first_bytes = 0.0;
    ck_assert(model_read(name, &arena, &model, &diag));
    ck_assert(cluster_read(machine, &arena, &cluster, &diag));
    ck_assert(runtime_read(RUNTIME_DEFAULT, (struct diag_place){0}, &arena, &runtime, &diag));
    setup = (struct setup){.global_batch = batch,
                           .seq_length = 256,
                           .dtype = DTYPE_BF16,
                           .optimizer = optimizer_find("adam"),
                           .runtime = &runtime,
                           .attention = ATTENTION_FLASH,
                           .task = {.text = "pretrain"}};
    problem = (struct problem){&model, &cluster, &setup};
    options = (struct planner_options){.top = 1};
    for (uint32_t i = 0; i < dim_table_count; i++) {
        options.pins.variants[i] = PIN_ANY;
    }
}

/* No policy, one dim of two free to use the two devices, the others off. */
static void pin_all_but(const char *free_dim)
{
    for (uint32_t i = 0; i < dim_table_count; i++) {
        options.pins.degrees[i] = strcmp(dim_table[i]->name, free_dim) == 0 ? PIN_SEARCH : 1;
    }
    for (uint32_t i = 0; i < policy_table_count; i++) {
        options.pins.policy_pinned[i] = true;
    }
}

static struct planner_result search(void)
{
    struct planner_result result;
    ck_assert_msg(planner_search(&problem, &fake, &options, &arena, &result, &diag), "%s",
                  diag.count > 0 ? diag.entries[0].message : "");
    return result;
}

static uint64_t count_space(const char *free_dim, const char *schedule)
{
    begin("toy-4l", "dgx-h100:1", 4);
    cluster.device_count = 2;
    cluster.levels[0].degree = 2;
    pin_all_but(free_dim);
    options.pins.schedule = schedule == NULL ? NULL : schedule_find(schedule);
    const struct planner_result result = search();
    arena_release(&arena);
    return result.certificate.space_size;
}

START_TEST(spaces_are_counted_by_hand)
{
    /* dp 2: each replica has 2 of 4 sequences, in micro-batches of 1 or 2. */
    ck_assert_uint_eq(count_space("dp", "1f1b"), 2);
    /* tp 2: micro-batches of 1, 2, 4. */
    ck_assert_uint_eq(count_space("tp", "1f1b"), 3);
    /* pp 2: 4 layers on two stages, micro-batches of 1, 2, 4 sequences. */
    ck_assert_uint_eq(count_space("pp", "gpipe"), 3);
    /* Interleaved, 4 layers on 2 stages: 2 chunks, and micro-batches in groups of 2: 4 or 2 of
     * them. */
    ck_assert_uint_eq(count_space("pp", "interleaved"), 2);
}
END_TEST

START_TEST(the_fastest_is_found)
{
    begin("toy-4l", "dgx-h100:1", 4);
    cluster.device_count = 2;
    cluster.levels[0].degree = 2;
    pin_all_but("dp");
    options.pins.schedule = schedule_find("1f1b");
    options.top = 2;
    const struct planner_result result = search();
    /* One micro-batch of two sequences: 4 layers, 4 s; two of one: 8 s. */
    ck_assert_uint_eq(result.count, 2);
    ck_assert_double_eq(result.plans[0].estimate.step_s, 4.0);
    ck_assert_uint_eq(result.plans[0].plan->schedule.micro_batch, 2);
    ck_assert_double_eq(result.plans[1].estimate.step_s, 8.0);
    ck_assert(result.certificate.complete);
    ck_assert_double_eq(result.certificate.lower_bound_s, 4.0);
    ck_assert_double_eq(result.certificate.gap_frac, 0.0);
    arena_release(&arena);
}
END_TEST

START_TEST(what_lacks_least_is_told)
{
    begin("toy-4l", "dgx-h100:1", 4);
    cluster.device_count = 2;
    cluster.levels[0].degree = 2;
    pin_all_but("pp");
    capacity = 1.5;
    const struct planner_result result = search();
    ck_assert_uint_eq(result.count, 0);
    ck_assert_ptr_nonnull(result.least_over.plan);
    ck_assert_double_eq(result.least_over_bytes,
                        0.5); /* two layers on each stage, room for one and a half */
    ck_assert(!result.least_over.estimate.fits);
    ck_assert(result.certificate.complete);
    ck_assert_uint_eq(result.certificate.pruned[BOUND_MEMORY] + result.certificate.evaluated,
                      result.certificate.space_size);
    arena_release(&arena);
}
END_TEST

/* Four layers on two stages with room for one and three: enough in all, not for two on each. */
static struct planner_result search_one_and_three(bool even, bool no_prune)
{
    begin("toy-4l", "dgx-h100:1", 4);
    cluster.device_count = 2;
    cluster.levels[0].degree = 2;
    pin_all_but("pp");
    options.pins.schedule = schedule_find("1f1b");
    options.no_prune = no_prune;
    runtime.even_layers = even;
    layer_bytes = 1e12; /* far above what the layers really hold, which bounds look at */
    capacity = 3.5 * layer_bytes;
    first_bytes = 2.0 * layer_bytes;
    return search();
}

START_TEST(even_layers_need_room_on_every_stage)
{
    for (uint32_t no_prune = 0; no_prune < 2; no_prune++) {
        struct planner_result result = search_one_and_three(false, no_prune == 1);
        ck_assert_uint_eq(result.count, 1);
        ck_assert_uint_eq(result.plans[0].plan->schedule.layers[0], 1);
        ck_assert_uint_eq(result.plans[0].plan->schedule.layers[1], 3);
        arena_release(&arena);
        result = search_one_and_three(true, no_prune == 1);
        ck_assert_uint_eq(result.count, 0);
        ck_assert_ptr_nonnull(result.least_over.plan);
        ck_assert_uint_eq(result.least_over.plan->schedule.layers[0], 2);
        ck_assert_double_eq(result.least_over_bytes, 0.5 * layer_bytes);
        ck_assert(result.certificate.complete);
        ck_assert_uint_eq(result.certificate.pruned[BOUND_MEMORY] + result.certificate.evaluated,
                          result.certificate.space_size);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(an_empty_space_says_why)
{
    struct planner_result result;
    begin("toy-4l", "dgx-h100:1", 1);
    pin_all_but("dp");
    ck_assert(!planner_search(&problem, &fake, &options, &arena, &result, &diag));
    ck_assert_uint_eq(diag.count, 1);
    ck_assert_ptr_nonnull(strstr(diag.entries[0].message, "of 1 meshes 0 break a rule"));
    ck_assert_ptr_nonnull(strstr(diag.entries[0].message, "1 do not divide the batch"));
    arena_release(&arena);
}
END_TEST

START_TEST(a_budget_stops_the_search)
{
    begin("toy-4l", "dgx-h100:1", 8);
    options.budget = 3;
    const struct planner_result result = search();
    ck_assert_uint_eq(result.certificate.evaluated, 3);
    ck_assert(!result.certificate.complete);
    ck_assert_uint_gt(result.count, 0);
    const double best = result.plans[0].estimate.step_s;
    ck_assert_double_le(result.certificate.lower_bound_s, best);
    ck_assert_double_eq(result.certificate.gap_frac,
                        (best - result.certificate.lower_bound_s) / best);
    options.budget = 0;
    const struct planner_result whole = search();
    ck_assert(whole.certificate.complete);
    ck_assert_double_le(result.certificate.lower_bound_s, whole.plans[0].estimate.step_s);
    arena_release(&arena);
}
END_TEST

/* --- ranking ---------------------------------------------------------------------------------- */

START_TEST(rankings_keep_the_fastest)
{
    static struct search ranks;
    struct leaf best[4], probes[4];
    const struct planner_options three = {.top = 3};
    memset(&ranks, 0, sizeof ranks);
    ranks.options = &three;
    ranks.best = best;
    ranks.probes = probes;
    ck_assert_double_eq(ranking_threshold_s(&ranks), 1e300);
    static const struct {
        double step_s;
        uint32_t node, order;
        uint64_t index;
    } leaves[] = {{5.0, 0, 0, 0}, {3.0, 2, 0, 0}, {4.0, 1, 0, 0},
                  {3.0, 1, 1, 7}, {3.0, 1, 1, 6}, {9.0, 0, 0, 1}};
    for (size_t i = 0; i < sizeof leaves / sizeof leaves[0]; i++) {
        const struct leaf leaf = {.step_s = leaves[i].step_s,
                                  .node = leaves[i].node,
                                  .order = leaves[i].order,
                                  .index = leaves[i].index};
        ranking_push(&ranks, &leaf);
    }
    /* Equal times stand in the order of the enumeration. */
    ck_assert_uint_eq(ranks.best_count, 3);
    ck_assert_uint_eq(best[0].index, 6);
    ck_assert_uint_eq(best[1].index, 7);
    ck_assert_uint_eq(best[2].node, 2);
    ck_assert_double_eq(ranking_threshold_s(&ranks), 3.0);
    const struct leaf quick = {.step_s = 2.0, .node = 8},
                      known = {.step_s = 3.0, .node = 1, .order = 1, .index = 6};
    ck_assert(ranking_wants_probe(&ranks, 100.0));
    ranking_push_probe(&ranks, &quick);
    ranking_push_probe(&ranks, &known);
    ck_assert_double_eq(ranking_threshold_s(&ranks), 3.0);
    ranking_add_probes(&ranks);
    ck_assert_uint_eq(best[0].node, 8);
    ck_assert_uint_eq(best[1].index, 6);
    ck_assert_uint_eq(best[2].index, 7);
}
END_TEST

/* Meshes are told in ascending order, those that were cut off before are settled. */
static void follow(void *state, const struct planner_progress *at)
{
    uint32_t *told = state;
    ck_assert_uint_lt(at->done, at->total);
    ck_assert(at->doing[0] != '\0' && at->best_s >= 0.0);
    if (strcmp(at->doing, "searched") == 0) {
        ck_assert(told[0] == 0 || at->done > told[1]);
        told[0]++;
        told[1] = at->done;
    }
}

START_TEST(a_search_tells_how_far_it_is)
{
    uint32_t told[2] = {0, 0};
    begin("toy-4l", "dgx-h100:1", 8);
    const double alone_s = search().plans[0].estimate.step_s;
    options.progress = follow;
    options.progress_state = told;
    ck_assert_double_eq(search().plans[0].estimate.step_s, alone_s);
    ck_assert_uint_gt(told[0], 1);
    arena_release(&arena);
}
END_TEST

TAP_MAIN("planner", a_search_tells_how_far_it_is, spaces_are_counted_by_hand, the_fastest_is_found,
         what_lacks_least_is_told, even_layers_need_room_on_every_stage, an_empty_space_says_why,
         a_budget_stops_the_search, rankings_keep_the_fastest)

/* Random small questions for the search: model, cluster, runtime, pins. */
#ifndef SHARDPLAN_TESTS_CROSS_THROWN_QUESTION_H
#define SHARDPLAN_TESTS_CROSS_THROWN_QUESTION_H

#include "base/random.h"
#include "costmodel/costmodel.h"
#include "planner/planner.h"
#include "tests/tap_main.h"

#define TOP 4

static const char *const model_names[] = {"toy-4l", "toy-gpt-4l", "toy-gqa-8l", "toy-moe-4l",
                                          "toy-mixed-6l", "toy-hybrid-8l", "toy-latent-4l",
                                          "toy-vision-4l"};
#define MODEL_COUNT (sizeof model_names / sizeof model_names[0])
static const char *const runtime_names[] = {"any", "megatron"};

static struct arena fixed, judged,
    arena; /* of all problems, of one problem's judge, of one problem */
static struct diag diag;
static struct random dice;
static struct model models[MODEL_COUNT];
static struct runtime runtimes[2];
static struct cluster zoo_cluster;
static struct accelerator slower; /* than its devices, in most kernels */

/* One random question with all that it hangs on. */
static struct question {
    struct accelerator accelerators[2];
    struct cluster cluster;
    struct runtime runtime;
    struct setup setup;
    struct problem problem;
    struct prices prices;
    struct costmodel costmodel;
    struct estimator estimator;
    struct planner_options options;
} question;

static inline void begin(void)
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
    ck_assert(
        accelerator_read("A100-SXM4-40GB", (struct diag_place){0}, &fixed, &slower, &diag));
    slower.host = zoo_cluster.accelerators[0].host;
}

static inline uint32_t pick(const uint32_t *from, uint32_t count)
{
    return from[random_pop_below(&dice, count)];
}
#define PICK(...) \
    pick((const uint32_t[]){__VA_ARGS__}, \
         (uint32_t)(sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)))

static inline uint32_t pick_divisor(uint32_t value, uint32_t least)
{
    uint32_t divisor;
    do {
        divisor = 1 + random_pop_below(&dice, value);
    } while (value % divisor != 0 || divisor < least);
    return divisor;
}

/* The first or the last devices are of a slower kind, or any. */
static inline void mix_kinds(struct cluster *cluster)
{
    const uint32_t pattern = random_pop_below(&dice, 3);
    const uint32_t border = 1 + random_pop_below(&dice, cluster->device_count - 1);
    question.accelerators[1] = slower;
    cluster->accelerator_count = 2;
    cluster->device_kind = ARENA_PUSH(&arena, uint32_t, cluster->device_count);
    for (uint32_t i = 0; i < cluster->device_count; i++) {
        cluster->device_kind[i] =
            pattern == 2 ? random_pop_below(&dice, 2) : (i >= border) == (pattern == 0);
    }
}

/* Devices on a switch by links of unlike width, some of them joined to the next one too. */
static inline void throw_graph(struct cluster *cluster)
{
    const uint32_t devices = cluster->device_count;
    cluster->level_count = 0;
    cluster->nodes = ARENA_PUSH(&arena, struct node, devices + 1);
    cluster->links = ARENA_PUSH(&arena, struct link, 2 * (size_t)devices);
    cluster->node_count = devices + 1;
    for (uint32_t i = 0; i < devices; i++) {
        cluster->nodes[i] = (struct node){
            .id = text_build(&arena, "d%u", i), .kind = NODE_DEVICE, .device = i};
        const double bandwidth_Bps = 1e9 * PICK(25, 50, 50, 100);
        const struct link link = {.from = i,
                                  .to = devices,
                                  .bandwidth_Bps = bandwidth_Bps,
                                  .latency_s = 2e-6,
                                  .link = LINK_RAW};
        cluster->links[cluster->link_count++] = link;
        if (i + 1 < devices && random_pop_below(&dice, 3) == 0) {
            cluster->links[cluster->link_count] = link;
            cluster->links[cluster->link_count].bandwidth_Bps = 4.0 * bandwidth_Bps;
            cluster->links[cluster->link_count++].to = i + 1;
        }
    }
    cluster->nodes[devices] = (struct node){.id = "switch", .kind = NODE_SWITCH};
}

/* One or two axes. */
static inline void throw_axes(struct level *level)
{
    level->axis_count = 1 + random_pop_below(&dice, 2);
    level->shape[0] = level->axis_count == 1 ? level->degree : pick_divisor(level->degree, 1);
    level->shape[1] = level->degree / level->shape[0];
    level->wraps_at = 1;
}

/* Levels of any kind whose degrees multiply to the devices, each slower than the one inside. */
static inline void throw_cluster(uint32_t devices)
{
    struct cluster *cluster = &question.cluster;
    static const char *const names[] = {"inner", "middle", "outer", "outermost"};
    *cluster = (struct cluster){.name = "thrown",
                                .source = "test",
                                .device_count = devices,
                                .accelerators = question.accelerators,
                                .accelerator_count = 1};
    question.accelerators[0] = zoo_cluster.accelerators[0];
    const bool is_graph = devices > 1 && random_pop_below(&dice, 5) == 0;
    double bandwidth_Bps = 1e9 * (50.0 + 800.0 * random_pop_unit(&dice));
    for (uint32_t left = devices; left > 1 || cluster->level_count == 0;) {
        const uint32_t degree = left == 1 ? 1 : pick_divisor(left, 2);
        const enum level_kind kind =
            (enum level_kind)random_pop_below(&dice, LEVEL_KIND_COUNT + 1) % LEVEL_KIND_COUNT;
        struct level *level = &cluster->levels[cluster->level_count];
        *level = (struct level){.name = names[cluster->level_count],
                                .degree = degree,
                                .kind = kind,
                                .bandwidth_Bps = bandwidth_Bps,
                                .link = LINK_RAW,
                                .latency_s = 1e-6 * (1.0 + 9.0 * random_pop_unit(&dice))};
        if (kind == LEVEL_MESH || kind == LEVEL_TORUS) {
            throw_axes(level);
        }
        cluster->level_count++;
        left /= degree;
        bandwidth_Bps *= 0.02 + 0.9 * random_pop_unit(&dice);
    }
    if (is_graph) {
        throw_graph(cluster);
    }
    if (devices > 1 && random_pop_below(&dice, 3) == 0) {
        mix_kinds(cluster);
    }
    ck_assert_msg(cluster_build(cluster, &arena, &diag), "%s", diag.entries[0].message);
}

static inline void throw_pins(uint32_t devices)
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
        pins->policy_asked[i] = policy_table[i]->on_demand && random_pop_below(&dice, 3) == 0;
    }
    pins->schedule = random_pop_below(&dice, 3) > 0
                         ? NULL
                         : schedule_table[random_pop_below(&dice, schedule_table_count)];
    pins->micro_batch = random_pop_below(&dice, 4) > 0 ? 0 : PICK(1, 2, 4);
    pins->chunks = random_pop_below(&dice, 8) > 0 ? 0 : 1 + random_pop_below(&dice, 2);
}

static inline void throw_question(void)
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

#endif

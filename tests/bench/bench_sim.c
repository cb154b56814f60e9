/* How fast the simulator is: events per second of collectives, transfers and whole steps. */
#include <stdio.h>
#include <sys/resource.h>

#include "base/random.h"
#include "plan/plan.h"
#include "sim/collective_run.h"
#include "sim/flows.h"
#include "sim/sim.h"

static struct arena arena;
static struct diag diag;

/* Of this program: others on the machine do not count. */
static double user_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
}

static void say(const char *what, uint32_t size, uint64_t events, double took_s)
{
    printf("%-28s %8u %10llu events %8.3f s %8.2f M events/s\n", what, size,
           (unsigned long long)events, took_s, (double)events / took_s / 1e6);
}

static struct cluster star(uint32_t devices)
{
    static struct accelerator accelerator = {.name = "device"};
    struct cluster cluster = {.name = "star",
                              .accelerators = &accelerator,
                              .accelerator_count = 1,
                              .device_count = devices,
                              .level_count = 1};
    cluster.levels[0] = (struct level){.name = "l",
                                       .kind = LEVEL_SWITCH,
                                       .degree = devices,
                                       .bandwidth_Bps = 50e9,
                                       .latency_s = 1e-6,
                                       .link = LINK_RAW};
    return cluster;
}

static void bench_collective(const char *member, uint32_t ranks, bool skewed)
{
    const struct arena_mark mark = arena_find_mark(&arena);
    const struct cluster cluster = star(ranks);
    const struct rank_group group = {.ranks = ranks, .step_count = 1, .steps = {{1, ranks, 1}}};
    struct prices prices;
    struct random random;
    double *arrival_s = ARENA_PUSH(&arena, double, ranks);
    random_init(&random, 1);
    for (uint32_t rank = 0; skewed && rank < ranks; rank++) {
        arrival_s[rank] = 1e-3 * random_pop_unit(&random);
    }
    struct collective_run_result result;
    if (!prices_read(&cluster, NULL, &arena, &prices, &diag)) {
        return;
    }
    const struct collective_run_request request = {.cluster = &cluster,
                                                   .prices = &prices,
                                                   .kind = COLLECTIVE_ALL_REDUCE,
                                                   .group = &group,
                                                   .bytes = 1e9,
                                                   .member = collective_find(member),
                                                   .pipeline = 1,
                                                   .arrival_s = arrival_s};
    const double start_s = user_s();
    if (collective_run(&request, &arena, &result, &diag)) {
        say(skewed ? text_build(&arena, "%s, ranks at odds", member) : member, ranks, result.events,
            user_s() - start_s);
    }
    arena_pop(&arena, mark);
}

static void bench_flows(uint32_t count)
{
    const struct arena_mark mark = arena_find_mark(&arena);
    const struct cluster cluster = star(1024);
    struct flows_transfer *transfers = ARENA_PUSH(&arena, struct flows_transfer, count);
    struct random random;
    struct flows_result result;
    random_init(&random, 1);
    for (uint32_t i = 0; i < count; i++) {
        transfers[i] =
            (struct flows_transfer){.source = random_pop_below(&random, 1024),
                                    .destination = random_pop_below(&random, 1024),
                                    .bytes = 1e9 * random_pop_unit(&random),
                                    .start_s = (double)count / 5000 * random_pop_unit(&random)};
    }
    const double start_s = user_s();
    if (flows_run(&cluster, transfers, count, &arena, &result, &diag)) {
        say("random transfers", count, result.events, user_s() - start_s);
    }
    arena_pop(&arena, mark);
}

struct step_case {
    struct model model;
    struct cluster cluster;
    struct runtime runtime;
    struct setup setup;
    struct problem problem;
    struct group group;
    struct plan plan;
    struct prices prices;
    struct work work;
    struct stream stream;
    struct load load;
};

/* Replicas of 8 devices for each stage. */
struct step_size {
    const char *model, *cluster;
    uint32_t replicas, stages, chunks, micro_batches;
};

static bool build_step(const struct step_size *size, struct step_case *built, struct sim *sim)
{
    if (!model_read(size->model, &arena, &built->model, &diag) ||
        !cluster_read(size->cluster, &arena, &built->cluster, &diag) ||
        !runtime_read(RUNTIME_DEFAULT, (struct diag_place){0}, &arena, &built->runtime, &diag)) {
        return false;
    }
    built->setup = (struct setup){.global_batch = size->micro_batches * size->replicas,
                                  .seq_length = 8192,
                                  .dtype = DTYPE_BF16,
                                  .optimizer = optimizer_find("adam"),
                                  .runtime = &built->runtime,
                                  .attention = ATTENTION_FLASH,
                                  .task = {.text = "pretrain"}};
    built->problem = (struct problem){&built->model, &built->cluster, &built->setup};
    built->group = (struct group){.mesh_count = 3, .fold_count = 1};
    built->group.mesh[0] = (struct mesh_dim){.dim = dim_find("tp"), .degree = 8};
    built->group.mesh[1] = (struct mesh_dim){.dim = dim_find("dp"), .degree = size->replicas};
    built->group.mesh[2] = (struct mesh_dim){.dim = dim_find("pp"), .degree = size->stages};
    built->group.folds[0] = (struct mesh_fold){.dim = dim_find("sp"), .degree = 8};
    built->plan = (struct plan){.groups = &built->group, .group_count = 1};
    built->plan.schedule =
        (struct plan_schedule){.schedule = schedule_find(size->chunks > 1 ? "interleaved" : "1f1b"),
                               .micro_batch = 1,
                               .chunks = size->chunks};
    work_build(&built->problem, &built->plan, &arena, &built->work);
    const struct sim_options options = sim_full_options();
    sim_init(sim, &built->problem, &built->prices, &options, &arena);
    return prices_read(&built->cluster, &built->runtime, &arena, &built->prices, &diag) &&
           stream_build(built->plan.schedule.schedule, &built->work.shape, &arena, &built->stream,
                        &diag);
}

static const uint32_t *split_layers(const struct step_case *built, uint32_t chunks)
{
    const uint32_t layers = plan_count_layers(&built->model);
    uint32_t *split = ARENA_PUSH(&arena, uint32_t, chunks);
    for (uint32_t i = 0; i < chunks; i++) {
        split[i] = layers / chunks + (i < layers % chunks ? 1 : 0);
    }
    return split;
}

static void bench_step(const struct step_size *size)
{
    struct step_case *built = ARENA_PUSH(&arena, struct step_case, 1);
    struct sim sim;
    struct sim_result result;
    if (!build_step(size, built, &sim)) {
        return;
    }
    const uint32_t chunks = built->work.shape.stages * built->work.shape.chunks;
    const uint32_t *split = split_layers(built, chunks);
    double start_s = user_s();
    sim_build_load(&sim, &built->work, &built->stream, split, &arena, &built->load);
    printf("%-28s %8u %26.3f s\n", "prices of a 405B step", chunks, user_s() - start_s);
    start_s = user_s();
    if (sim_run(&sim, &built->load, &arena, &result, &diag)) {
        say("405B step, op by op", chunks, result.events, user_s() - start_s);
    }
    sim.options.granularity = SIM_SLOTS;
    start_s = user_s();
    if (sim_run(&sim, &built->load, &arena, &result, &diag)) {
        say("405B step, slot by slot", chunks, result.events, user_s() - start_s);
    }
}

/* Plans of one load, slot by slot, as a search that judges by simulation meets them. */
static void bench_plans(const struct step_size *size, uint32_t count)
{
    struct step_case *built = ARENA_PUSH(&arena, struct step_case, 1);
    struct sim sim;
    struct sim_result result;
    if (!build_step(size, built, &sim)) {
        return;
    }
    const uint32_t *split = split_layers(built, size->stages * size->chunks);
    sim_build_load(&sim, &built->work, &built->stream, split, &arena, &built->load);
    sim.options.granularity = SIM_SLOTS;
    const double start_s = user_s();
    for (uint32_t i = 0; i < count; i++) {
        const struct arena_mark mark = arena_find_mark(&arena);
        sim_run(&sim, &built->load, &arena, &result, &diag);
        arena_pop(&arena, mark);
    }
    printf("%-28s %8u %10.0f plans/s\n", "70B step, slot by slot", count,
           (double)count / (user_s() - start_s));
}

int main(void)
{
    arena_init(&arena);
    diag_init(&diag, &arena);
    for (uint32_t ranks = 64; ranks <= 1024; ranks *= 4) {
        bench_collective("ring", ranks, false);
        bench_collective("ring", ranks, true);
        bench_collective("halving-doubling", ranks, false);
    }
    bench_collective("direct", 256, false);
    for (uint32_t count = 1000; count <= 100000; count *= 10) {
        bench_flows(count);
    }
    /* 16,384 and 1,048,576 devices: a stage's replicas go in step, so one device stands for them */
    bench_step(&(struct step_size){"llama-3.1-405b", "dgx-h100:2048", 128, 16, 7, 16});
    bench_step(&(struct step_size){"llama-3.1-405b", "dgx-h100:131072", 8192, 16, 1, 16});
    bench_plans(&(struct step_size){"llama-3.1-70b", "dgx-h100:64", 8, 8, 1, 64}, 200);
    struct text text;
    text_init(&text, &arena);
    diag_dump(&diag, &text);
    fputs(text.bytes, stderr);
    const bool failed = diag.count > 0;
    arena_release(&arena);
    return failed ? 1 : 0;
}

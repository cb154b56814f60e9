/* User time of the simulator on the cases that other simulators were measured on.
 *
 * Beside each: a bare loop of the same number of heap operations, as a measure of the machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/heap.h"
#include "base/random.h"
#include "sim/world.h"
#include "tests/published/peers_cases.h"

#define TRIES 5

static struct arena arena;
static struct diag diag;

static double user_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
}

/* A million pops and pushes of a thousand entries: the unit that other times are given in. */
static double bare_loop_s(void)
{
    double best_s = 1e9;
    for (uint32_t try = 0; try < TRIES; try++) {
        struct heap heap;
        struct heap_entry entry;
        struct random random;
        arena_init(&arena);
        random_init(&random, 1);
        heap_init(&heap, &arena, 1024);
        for (uint32_t i = 0; i < 1000; i++) {
            heap_push(&heap, (struct heap_entry){random_pop_below(&random, 1u << 20), i, i});
        }
        const double begin_s = user_s();
        for (uint32_t i = 0; i < 1000000 && heap_pop(&heap, &entry); i++) {
            entry.key += random_pop_below(&random, 1u << 20);
            heap_push(&heap, entry);
        }
        const double took_s = user_s() - begin_s;
        best_s = took_s < best_s ? took_s : best_s;
        arena_release(&arena);
    }
    return best_s;
}

static double ring(uint32_t ranks, uint64_t *events)
{
    const struct peers_collective asked = {LEVEL_RING, COLLECTIVE_ALL_REDUCE, "ring", ranks, MIB};
    struct collective_run_result result = {0};
    const double begin_s = user_s();
    peers_collective(&asked, &arena, &result, &diag);
    *events = result.events;
    return user_s() - begin_s;
}

static double all_pairs(uint32_t ranks, uint64_t *events)
{
    const struct peers_collective asked = {LEVEL_SWITCH, COLLECTIVE_ALL_TO_ALL, "direct", ranks,
                                           MIB};
    struct collective_run_result result = {0};
    const double begin_s = user_s();
    peers_collective(&asked, &arena, &result, &diag);
    *events = result.events;
    return user_s() - begin_s;
}

static double unequal(uint32_t count, uint64_t *events)
{
    const uint32_t devices = count > 20000 ? 256 : 64;
    const struct cluster cluster = peers_cluster(LEVEL_SWITCH, devices);
    const struct flows_transfer *transfers = peers_transfers(devices, count, &arena);
    struct flows_result result = {0};
    const double begin_s = user_s();
    flows_run(&cluster, transfers, count, &arena, &result, &diag);
    *events = result.events;
    return user_s() - begin_s;
}

/* stages; 64 micro-batches. */
static double pipeline(uint32_t stages, uint64_t *events)
{
    struct schedule_run_result result = {0};
    const double begin_s = user_s();
    peers_pipeline(stages, stages == 64 ? 256 : 64, &arena, &result, &diag);
    *events = result.events;
    return user_s() - begin_s;
}

/* --- chained ops, no network ------------------------------------------------------------------ */

#define OPS 200u

struct chains {
    struct world world;
    double *op_s; /* [rank * OPS + op] */
    uint32_t *at; /* [rank] */
};

static void next_op(void *state, uint32_t rank)
{
    struct chains *chains = state;
    if (chains->at[rank] < OPS) {
        world_push_timer(&chains->world, chains->op_s[rank * OPS + chains->at[rank]++], rank);
    }
}

static double skewed(uint32_t ranks, uint64_t *events)
{
    struct chains chains;
    struct random random;
    random_init(&random, 1);
    const double begin_s = user_s();
    world_init(&chains.world, WORLD_PS_PER_S, &chains, next_op, &arena);
    chains.op_s = ARENA_PUSH(&arena, double, (size_t)ranks *OPS);
    chains.at = ARENA_PUSH(&arena, uint32_t, ranks);
    for (uint32_t i = 0; i < ranks * OPS; i++) {
        chains.op_s[i] = 1e-6 * (double)(1 + random_pop_below(&random, 99999));
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        next_op(&chains, rank);
    }
    world_run(&chains.world);
    *events = chains.world.events;
    return user_s() - begin_s;
}

/* --- pending events --------------------------------------------------------------------------- */

struct held {
    struct world world;
    struct random random;
    uint64_t left;
};

static void hold(void *state, uint32_t id)
{
    struct held *held = state;
    if (held->left > 0) {
        held->left--;
        world_push_timer(&held->world, 1e-6 * (double)(1 + random_pop_below(&held->random, 99999)),
                         id);
    }
}

/* As the chained ops, but drawn when due: the events alone, without a table to miss the caches. */
static double pending(uint32_t count, uint64_t *events)
{
    struct held held = {.left = (uint64_t)count * OPS};
    random_init(&held.random, 1);
    const double begin_s = user_s();
    world_init(&held.world, WORLD_PS_PER_S, &held, hold, &arena);
    for (uint32_t id = 0; id < count; id++) {
        hold(&held, id);
    }
    world_run(&held.world);
    *events = held.world.events;
    return user_s() - begin_s;
}

static const struct {
    const char *name;
    double (*run)(uint32_t size, uint64_t *events);
    uint32_t size, tries;
    const char *peers;
} cases[] = {
    {"C1 ring all-reduce, 1 MiB", ring, 64, TRIES, "ASTRA-sim 0.02, SimGrid 0.03"},
    {"C1 ring all-reduce, 1 MiB", ring, 512, TRIES, "ASTRA-sim 1.24, SimGrid 2.0, LogGOPSim 0.52"},
    {"C1 ring all-reduce, 1 MiB", ring, 1024, TRIES,
     "ASTRA-sim 5.62, SimGrid 12.4, LogGOPSim 1.73"},
    {"C3 all pairs over a switch", all_pairs, 256, TRIES, "SimGrid 106"},
    {"C3 all pairs over a switch", all_pairs, 1024, 1, "ASTRA-sim 17.8"},
    {"C4 unequal flows", unequal, 1000, TRIES, "SimGrid 0.13"},
    {"C4 unequal flows", unequal, 3000, TRIES, "SimGrid 1.6"},
    {"C4 unequal flows", unequal, 10000, 2, "SimGrid 39.4"},
    {"C4 unequal flows", unequal, 100000, 1, ""},
    {"C5 gpipe, 256 micro-batches", pipeline, 64, TRIES, "ASTRA-sim 2.0, SimGrid 1.1"},
    {"C5 gpipe, 64 micro-batches", pipeline, 512, TRIES, "ASTRA-sim 6.7, SimGrid 0.96"},
    {"C6 chained ops", skewed, 1024, TRIES, "ASTRA-sim 8.1, SimGrid 1.5, LogGOPSim 0.11"},
    {"C6 chained ops", skewed, 4096, TRIES, "ASTRA-sim 117, SimGrid 6.9, LogGOPSim 0.44"},
    {"C8 pending events", pending, 50, TRIES, ""},
    {"C8 pending events", pending, 500, TRIES, ""},
    {"C8 pending events", pending, 5000, TRIES, ""},
    {"C8 pending events", pending, 50000, TRIES, ""},
    {"C8 pending events", pending, 500000, 1, ""},
};

/* Arguments: only cases whose names begin with the first, only of the size of the second. */
static bool is_asked(int argc, char **argv, const char *name, uint32_t size)
{
    return (argc < 2 || strncmp(name, argv[1], strlen(argv[1])) == 0) &&
           (argc < 3 || strtoul(argv[2], NULL, 10) == size);
}

int main(int argc, char **argv)
{
    const double unit_s = bare_loop_s();
    printf("a million pops and pushes of a heap of a thousand: %.3f s\n", unit_s);
    printf("%-28s %6s %10s %9s %9s %9s  %s\n", "user time, best", "size", "events", "s", "ns/event",
           "x bare", "peers, s");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double best_s = 1e9;
        uint64_t events = 0;
        if (!is_asked(argc, argv, cases[i].name, cases[i].size)) {
            continue;
        }
        for (uint32_t try = 0; try < cases[i].tries; try++) {
            arena_init(&arena);
            diag_init(&diag, &arena);
            const double took_s = cases[i].run(cases[i].size, &events);
            best_s = took_s < best_s ? took_s : best_s;
            arena_release(&arena);
        }
        printf("%-28s %6u %10llu %9.4f %9.1f %9.2f  %s\n", cases[i].name, cases[i].size,
               (unsigned long long)events, best_s, best_s / (double)events * 1e9, best_s / unit_s,
               cases[i].peers);
        fflush(stdout);
    }
    return 0;
}

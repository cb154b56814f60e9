/* The cases on which other simulators were measured, for the test of the answers and the benchmark
 * of the speeds: links of 50 * 2^30 B/s each way with 500 ns. */
#ifndef SHARDPLAN_TESTS_PUBLISHED_PEERS_CASES_H
#define SHARDPLAN_TESTS_PUBLISHED_PEERS_CASES_H

#include "sim/collective_run.h"
#include "sim/flows.h"
#include "sim/schedule_run.h"

#define LINK_BPS (50.0 * 1073741824.0)
#define LINK_S 500e-9
#define MIB 1048576.0
#define GIB 1073741824.0

static inline struct cluster peers_cluster(enum level_kind kind, uint32_t devices)
{
    static struct accelerator accelerator = {.name = "device"};
    struct cluster cluster = {.name = "peers",
                              .accelerators = &accelerator,
                              .accelerator_count = 1,
                              .device_count = devices,
                              .level_count = 1};
    /* of a ring each device has a link to both sides; a switch is two links away */
    cluster.levels[0] = (struct level){.name = "l",
                                       .kind = kind,
                                       .degree = devices,
                                       .bandwidth_Bps =
                                           kind == LEVEL_RING ? 2.0 * LINK_BPS : LINK_BPS,
                                       .latency_s = kind == LEVEL_RING ? LINK_S : 2.0 * LINK_S,
                                       .link = LINK_RAW};
    return cluster;
}

struct peers_collective {
    enum level_kind level;
    enum collective_kind kind;
    const char *member;
    uint32_t ranks;
    double bytes;
};

/* In one piece. */
static inline bool peers_collective(const struct peers_collective *asked, struct arena *arena,
                                    struct collective_run_result *out, struct diag *diag)
{
    const struct cluster cluster = peers_cluster(asked->level, asked->ranks);
    const struct rank_group group = {
        .ranks = asked->ranks, .step_count = 1, .steps = {{1, asked->ranks, 1}}};
    struct prices prices;
    const struct collective_run_request request = {.cluster = &cluster,
                                                   .prices = &prices,
                                                   .kind = asked->kind,
                                                   .group = &group,
                                                   .bytes = asked->bytes,
                                                   .member = collective_find(asked->member),
                                                   .pipeline = 1};
    return prices_read(&cluster, NULL, arena, &prices, diag) &&
           collective_run(&request, arena, out, diag);
}

/* The 32-bit Mersenne twister (Matsumoto and Nishimura 1998): the case states its draws. */
struct twister {
    uint32_t state[624];
    uint32_t at;
};

static inline void twister_init(struct twister *twister, uint32_t seed)
{
    twister->state[0] = seed;
    for (uint32_t i = 1; i < 624; i++) {
        const uint32_t before = twister->state[i - 1];
        twister->state[i] = 1812433253u * (before ^ (before >> 30)) + i;
    }
    twister->at = 624;
}

static inline uint32_t twister_pop(struct twister *twister)
{
    if (twister->at == 624) {
        for (uint32_t i = 0; i < 624; i++) {
            const uint32_t y = (twister->state[i] & 0x80000000u) |
                               (twister->state[(i + 1) % 624] & 0x7fffffffu);
            twister->state[i] =
                twister->state[(i + 397) % 624] ^ (y >> 1) ^ ((y & 1) != 0 ? 0x9908b0dfu : 0);
        }
        twister->at = 0;
    }
    uint32_t y = twister->state[twister->at++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

/* Flows at time 0 through a switch, ends and sizes drawn with seed 1. */
static inline struct flows_transfer *peers_transfers(uint32_t devices, uint32_t count,
                                                     struct arena *arena)
{
    struct flows_transfer *transfers = ARENA_PUSH(arena, struct flows_transfer, count);
    struct twister twister;
    twister_init(&twister, 1);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t from = twister_pop(&twister) % devices, to = twister_pop(&twister) % devices;
        transfers[i] = (struct flows_transfer){
            .source = from,
            .destination = from == to ? (to + 1) % devices : to,
            .bytes = MIB * (1.0 + (double)(twister_pop(&twister) % 1000) / 1000.0)};
    }
    return transfers;
}

/* All forwards, then all backwards; 16 MiB over each hop. */
static inline bool peers_pipeline(uint32_t stages, uint32_t micro_batches, struct arena *arena,
                                  struct schedule_run_result *out, struct diag *diag)
{
    const struct schedule_shape shape = {stages, 1, micro_batches};
    double *forward_s = ARENA_PUSH(arena, double, stages);
    double *backward_s = ARENA_PUSH(arena, double, stages);
    double *send_s = ARENA_PUSH(arena, double, stages);
    struct stream stream;
    for (uint32_t i = 0; i < stages; i++) {
        forward_s[i] = 1e-3;
        backward_s[i] = 2e-3;
        send_s[i] = 16.0 * MIB / LINK_BPS + LINK_S;
    }
    const struct schedule_run_times times = {.forward_s = forward_s,
                                             .backward_s = backward_s,
                                             .send_s = send_s,
                                             .send_back_s = send_s};
    return stream_build(schedule_find("gpipe"), &shape, arena, &stream, diag) &&
           schedule_run(&stream, &times, arena, out, diag);
}

#endif

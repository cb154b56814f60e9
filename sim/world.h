/* The clock of a simulation, with what it waits for: timers and flows over shared links.
 *
 * Time is in ticks from 0. A duration of s seconds is s * ticks_per_s ticks, rounded half up; that
 * is the only rounding: with the usual tick of a picosecond a flow ends within half a picosecond of
 * where its bytes, its rates and the instants at which they changed say. All that happens at one
 * instant is handled before rates are solved. */
#ifndef SHARDPLAN_SIM_WORLD_H
#define SHARDPLAN_SIM_WORLD_H

#include "sim/agenda.h"
#include "sim/share.h"

#define WORLD_PS_PER_S 1e12
/* For exact comparisons: rounding is a thousand times finer; no step may last more than five
 * hours. */
#define WORLD_FS_PER_S 1e15

/* Bytes over resources: they arrive latency_s + bytes / rate after the start. */
struct world_flow {
    const uint32_t *resources; /* of share_push_resource, different ones; must outlive the flow */
    uint32_t resource_count;
    double weight, cap_Bps;    /* as in struct share_flow */
    double latency_s, bytes;
};

struct world {
    struct arena *arena;
    double ticks_per_s;
    uint64_t now_ticks;
    struct agenda agenda;
    struct share share;
    struct world_wait *waits; /* flows whose latency has not passed */
    uint32_t wait_count, wait_capacity, free_wait;
    uint64_t events;
    uint64_t limit_ticks; /* nothing after it happens */
    bool is_late; /* something lies beyond the end of time: UINT64_MAX / 2 ticks */
    void *state;
    void (*handle)(void *state, uint32_t id); /* a timer or flow that was pushed with this id is
                                               * over */
};

void world_init(struct world *world, double ticks_per_s, void *state,
                void (*handle)(void *, uint32_t), struct arena *arena);
uint32_t world_push_resource(struct world *world, double capacity_Bps);
/* handle(id) after so long, or so long after the start (now, if that has passed). */
void world_push_timer(struct world *world, double seconds, uint32_t id);
void world_push_alarm(struct world *world, double when_s, uint32_t id);
void world_push_flow(struct world *world, const struct world_flow *flow, uint32_t id);
/* Runs until nothing is left to happen up to the limit; false when time ran out (is_late). */
bool world_run(struct world *world);
double world_find_s(const struct world *world, uint64_t ticks);

#endif

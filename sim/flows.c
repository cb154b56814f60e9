/* Each transfer a flow over the hops of its way. */
#include "sim/flows.h"

#include <assert.h>

#include "sim/engine.h"
#include "sim/ways.h"

struct run {
    struct world world;
    struct world_flow *flows;
    bool *has_started;
    uint64_t *finish_ticks;
};

static void handle(void *state, uint32_t transfer)
{
    struct run *run = state;
    if (run->has_started[transfer]) {
        run->finish_ticks[transfer] = run->world.now_ticks;
        return;
    }
    run->has_started[transfer] = true;
    world_push_flow(&run->world, &run->flows[transfer], transfer);
}

static void push_transfer(struct run *run, struct ways *ways, const struct flows_transfer *transfer,
                          uint32_t index)
{
    struct world_flow *flow = &run->flows[index];
    *flow = (struct world_flow){.weight = 1.0, .cap_Bps = 1.0};
    if (transfer->source != transfer->destination) {
        struct path path;
        ways_find_path(ways, transfer->source, transfer->destination, &path);
        flow->resources = ways_push_hops(ways, &path, &run->world.share);
        flow->resource_count = path.hop_count;
        flow->cap_Bps = path.bandwidth_Bps;
        flow->latency_s = path.latency_s;
        flow->bytes = transfer->bytes;
    }
    world_push_alarm(&run->world, transfer->start_s, index);
}

bool flows_run(const struct cluster *cluster, const struct flows_transfer *transfers,
               uint32_t count, struct arena *arena, struct flows_result *out, struct diag *diag)
{
    struct run run = {.flows = ARENA_PUSH(arena, struct world_flow, count),
                      .has_started = ARENA_PUSH(arena, bool, count),
                      .finish_ticks = ARENA_PUSH(arena, uint64_t, count)};
    struct ways ways;
    world_init(&run.world, WORLD_PS_PER_S, &run, handle, arena);
    ways_init(&ways, cluster, arena);
    for (uint32_t i = 0; i < count; i++) {
        assert(transfers[i].source < cluster->device_count &&
               transfers[i].destination < cluster->device_count);
        push_transfer(&run, &ways, &transfers[i], i);
    }
    if (!world_run(&run.world)) {
        return diag_push(diag, DIAG_S802, (struct diag_place){0},
                         "give fewer bytes, earlier starts or faster links",
                         "transfers: the last does not end within %.3g s, the longest time that "
                         "can be simulated",
                         world_find_s(&run.world, UINT64_MAX / 2));
    }
    out->finish_s = ARENA_PUSH(arena, double, count);
    out->events = run.world.events;
    for (uint32_t i = 0; i < count; i++) {
        out->finish_s[i] = world_find_s(&run.world, run.finish_ticks[i]);
    }
    return true;
}

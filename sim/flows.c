/* Each transfer a flow over the hops of its way. */
#include "sim/flows.h"

#include <assert.h>
#include <string.h>

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

/* A way that transfers between the same two devices share, so that they are alike. */
struct way {
    uint32_t source, destination, next; /* next: of the same hash */
    const uint32_t *resources;
    uint32_t resource_count;
    double bandwidth_Bps, latency_s;
};

struct book {
    struct ways ways;
    struct way *items; /* room for as many as there are transfers */
    uint32_t count;
    uint32_t *table; /* chains */
    uint32_t table_size;
};

static void book_init(struct book *book, const struct cluster *cluster, uint32_t transfers,
                      struct arena *arena)
{
    ways_init(&book->ways, cluster, arena);
    book->count = 0;
    book->items = ARENA_PUSH(arena, struct way, transfers);
    for (book->table_size = 64; book->table_size < transfers; book->table_size *= 2) {
    }
    book->table = ARENA_PUSH(arena, uint32_t, book->table_size);
    memset(book->table, 0xff, book->table_size * sizeof *book->table);
}

static const struct way *find_way(struct book *book, const struct flows_transfer *transfer,
                                  struct share *share)
{
    const uint64_t pair = (uint64_t)transfer->source << 32 | transfer->destination;
    const uint64_t mixed = pair * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio (Knuth 6.4) */
    uint32_t *chain = &book->table[(uint32_t)(mixed >> 32) & (book->table_size - 1)];
    for (uint32_t i = *chain; i != UINT32_MAX; i = book->items[i].next) {
        if (book->items[i].source == transfer->source &&
            book->items[i].destination == transfer->destination) {
            return &book->items[i];
        }
    }
    struct path path;
    ways_find_path(&book->ways, transfer->source, transfer->destination, &path);
    book->items[book->count] = (struct way){.source = transfer->source,
                                            .destination = transfer->destination,
                                            .next = *chain,
                                            .resources = ways_push_hops(&book->ways, &path, share),
                                            .resource_count = path.hop_count,
                                            .bandwidth_Bps = path.bandwidth_Bps,
                                            .latency_s = path.latency_s};
    *chain = book->count;
    return &book->items[book->count++];
}

static void push_transfer(struct run *run, struct book *book, const struct flows_transfer *transfer,
                          uint32_t index)
{
    struct world_flow *flow = &run->flows[index];
    *flow = (struct world_flow){.weight = 1.0, .cap_Bps = 1.0};
    if (transfer->source != transfer->destination) {
        const struct way *way = find_way(book, transfer, &run->world.share);
        flow->resources = way->resources;
        flow->resource_count = way->resource_count;
        flow->cap_Bps = way->bandwidth_Bps;
        flow->latency_s = way->latency_s;
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
    struct book book;
    world_init(&run.world, WORLD_PS_PER_S, &run, handle, arena);
    book_init(&book, cluster, count, arena);
    for (uint32_t i = 0; i < count; i++) {
        assert(transfers[i].source < cluster->device_count &&
               transfers[i].destination < cluster->device_count);
        push_transfer(&run, &book, &transfers[i], i);
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

/* Pops events in order; solves rates once per instant. */
#include "sim/world.h"

#include <assert.h>
#include <string.h>

#define NONE UINT32_MAX
#define END_OF_TIME (UINT64_MAX / 2)

enum event_kind { EVENT_TIMER, EVENT_LATENCY };

struct world_wait {
    struct world_flow flow;
    uint32_t id, next_free;
};

void world_init(struct world *world, double ticks_per_s, void *state,
                void (*handle)(void *, uint32_t), struct arena *arena)
{
    memset(world, 0, sizeof *world);
    world->arena = arena;
    world->ticks_per_s = ticks_per_s;
    world->limit_ticks = UINT64_MAX;
    world->state = state;
    world->handle = handle;
    world->wait_capacity = 64;
    world->waits = ARENA_PUSH(arena, struct world_wait, world->wait_capacity);
    world->free_wait = NONE;
    agenda_init(&world->agenda, arena);
    share_init(&world->share, ticks_per_s, arena);
}

uint32_t world_push_resource(struct world *world, double capacity_Bps)
{
    return share_push_resource(&world->share, capacity_Bps);
}

/* The instant that lies so many ticks (half a tick already added) behind another. */
static uint64_t behind(struct world *world, uint64_t from_ticks, double ticks)
{
    assert(ticks >= 0.0);
    if (!(ticks < (double)(END_OF_TIME - from_ticks))) {
        world->is_late = true;
        return world->now_ticks;
    }
    return from_ticks + (uint64_t)ticks;
}

static uint64_t ahead(struct world *world, double ticks)
{
    return behind(world, world->now_ticks, ticks);
}

void world_push_alarm(struct world *world, double when_s, uint32_t id)
{
    const uint64_t said = behind(world, 0, when_s * world->ticks_per_s + 0.5);
    const uint64_t when = said > world->now_ticks ? said : world->now_ticks;
    agenda_push(&world->agenda, when, (struct agenda_event){.kind = EVENT_TIMER, .id = id});
}

void world_push_timer(struct world *world, double seconds, uint32_t id)
{
    const uint64_t when = ahead(world, seconds * world->ticks_per_s + 0.5);
    agenda_push(&world->agenda, when, (struct agenda_event){.kind = EVENT_TIMER, .id = id});
}

static uint32_t new_wait(struct world *world)
{
    if (world->free_wait != NONE) {
        const uint32_t wait = world->free_wait;
        world->free_wait = world->waits[wait].next_free;
        return wait;
    }
    if (world->wait_count == world->wait_capacity) {
        struct world_wait *grown =
            ARENA_PUSH(world->arena, struct world_wait, (size_t)2 * world->wait_capacity);
        memcpy(grown, world->waits, world->wait_count * sizeof *grown);
        world->waits = grown;
        world->wait_capacity *= 2;
    }
    return world->wait_count++;
}

static void start_flow(struct world *world, const struct world_flow *flow, uint32_t id)
{
    const struct share_flow pushed = {.resources = flow->resources,
                                      .resource_count = flow->resource_count,
                                      .weight = flow->weight,
                                      .cap_Bps = flow->cap_Bps,
                                      .bytes = flow->bytes,
                                      .owner = id};
    share_push_flow(&world->share, &pushed, world->now_ticks);
}

void world_push_flow(struct world *world, const struct world_flow *flow, uint32_t id)
{
    const uint64_t when = ahead(world, flow->latency_s * world->ticks_per_s + 0.5);
    if (flow->bytes <= 0.0) {
        agenda_push(&world->agenda, when, (struct agenda_event){.kind = EVENT_TIMER, .id = id});
        return;
    }
    if (when == world->now_ticks) {
        start_flow(world, flow, id);
        return;
    }
    const uint32_t wait = new_wait(world);
    world->waits[wait].flow = *flow;
    world->waits[wait].id = id;
    agenda_push(&world->agenda, when, (struct agenda_event){.kind = EVENT_LATENCY, .id = wait});
}

static void end_flows(struct world *world)
{
    const uint32_t *owners;
    const uint32_t count = share_pop_ended(&world->share, world->now_ticks, &owners);
    world->events += count;
    for (uint32_t i = 0; i < count; i++) {
        world->handle(world->state, owners[i]);
    }
}

static void happen(struct world *world, const struct agenda_event *event)
{
    switch ((enum event_kind)event->kind) {
    case EVENT_TIMER: world->handle(world->state, event->id); return;
    case EVENT_LATENCY: {
        struct world_wait *wait = &world->waits[event->id];
        start_flow(world, &wait->flow, wait->id);
        wait->next_free = world->free_wait;
        world->free_wait = event->id;
        return;
    }
    }
}

/* Timers first; what they and the ends of flows set off at once is part of the instant. */
static void pass_instant(struct world *world)
{
    struct agenda_event event;
    uint64_t when_ticks;
    while (!world->is_late && agenda_find_next(&world->agenda) == world->now_ticks) {
        agenda_pop(&world->agenda, &when_ticks, &event);
        world->events++;
        happen(world, &event);
    }
    if (!world->is_late && share_find_end(&world->share) <= world->now_ticks) {
        end_flows(world);
    }
}

bool world_run(struct world *world)
{
    while (!world->is_late) {
        const uint64_t timer_ticks = agenda_find_next(&world->agenda);
        const uint64_t flow_ticks = share_find_end(&world->share);
        const uint64_t next_ticks = timer_ticks < flow_ticks ? timer_ticks : flow_ticks;
        if (next_ticks != world->now_ticks && share_is_dirty(&world->share)) {
            share_solve(&world->share, world->now_ticks);
            continue;
        }
        if (next_ticks == UINT64_MAX || next_ticks > world->limit_ticks) {
            break;
        }
        world->is_late = next_ticks > END_OF_TIME;
        world->now_ticks = world->is_late ? world->now_ticks : next_ticks;
        if (!world->is_late) {
            pass_instant(world);
        }
    }
    return !world->is_late;
}

double world_find_s(const struct world *world, uint64_t ticks)
{
    return (double)ticks / world->ticks_per_s;
}

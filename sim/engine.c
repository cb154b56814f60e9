/* A task graph on the clock: counts what each task still waits for. */
#include "sim/engine.h"

#include <assert.h>
#include <string.h>

#define NONE UINT32_MAX

struct engine_task {
    struct engine_label label;
    const struct world_flow *flow; /* NULL: a delay */
    double seconds;
    double release_s;
    uint32_t waits; /* tasks before it that have not ended */
    uint32_t first_edge;
    uint64_t start_ticks, end_ticks;
    bool is_held, is_done; /* held: until its release */
};

struct engine_edge {
    uint32_t to, next;
};

static void start(struct engine *engine, uint32_t task)
{
    struct engine_task *which = &engine->tasks[task];
    struct world *world = &engine->world;
    if (!which->is_held && which->release_s > 0.0) {
        which->is_held = true;
        world_push_alarm(world, which->release_s, task);
        return;
    }
    which->is_held = false;
    which->start_ticks = world->now_ticks;
    if (which->flow == NULL) {
        world_push_timer(world, which->seconds, task);
    } else {
        world_push_flow(world, which->flow, task);
    }
}

/* The task's time is over, or that before its release. */
static void handle(void *state, uint32_t task)
{
    struct engine *engine = state;
    struct engine_task *which = &engine->tasks[task];
    if (which->is_held) {
        start(engine, task);
        return;
    }
    which->is_done = true;
    which->end_ticks = engine->world.now_ticks;
    engine->done_count++;
    for (uint32_t edge = which->first_edge; edge != NONE; edge = engine->edges[edge].next) {
        const uint32_t to = engine->edges[edge].to;
        assert(engine->tasks[to].waits > 0);
        if (--engine->tasks[to].waits == 0) {
            start(engine, to);
        }
    }
}

void engine_init(struct engine *engine, double ticks_per_s, struct arena *arena)
{
    memset(engine, 0, sizeof *engine);
    engine->arena = arena;
    engine->task_capacity = engine->edge_capacity = 256;
    engine->tasks = ARENA_PUSH(arena, struct engine_task, engine->task_capacity);
    engine->edges = ARENA_PUSH(arena, struct engine_edge, engine->edge_capacity);
    world_init(&engine->world, ticks_per_s, engine, handle, arena);
}

uint32_t engine_push_resource(struct engine *engine, double capacity_Bps)
{
    return world_push_resource(&engine->world, capacity_Bps);
}

static void *grow(struct engine *engine, void *items, uint32_t *capacity, size_t size_bytes)
{
    void *grown = arena_push(engine->arena, (size_t)2 * *capacity, size_bytes);
    memcpy(grown, items, *capacity * size_bytes);
    *capacity *= 2;
    return grown;
}

static uint32_t push_task(struct engine *engine, struct engine_task task)
{
    if (engine->task_count == engine->task_capacity) {
        engine->tasks = grow(engine, engine->tasks, &engine->task_capacity, sizeof *engine->tasks);
    }
    task.first_edge = NONE;
    engine->tasks[engine->task_count] = task;
    return engine->task_count++;
}

uint32_t engine_push_delay(struct engine *engine, struct engine_label label, double seconds)
{
    assert(seconds >= 0.0);
    return push_task(engine, (struct engine_task){.label = label, .seconds = seconds});
}

uint32_t engine_push_flow(struct engine *engine, struct engine_label label,
                          const struct world_flow *flow)
{
    struct world_flow *kept = ARENA_PUSH(engine->arena, struct world_flow, 1);
    *kept = *flow;
    return push_task(engine, (struct engine_task){.label = label, .flow = kept});
}

void engine_push_edge(struct engine *engine, uint32_t before, uint32_t after)
{
    if (before == ENGINE_NO_TASK) {
        return;
    }
    assert(before < engine->task_count && after < engine->task_count);
    if (engine->edge_count == engine->edge_capacity) {
        engine->edges = grow(engine, engine->edges, &engine->edge_capacity, sizeof *engine->edges);
    }
    engine->edges[engine->edge_count] =
        (struct engine_edge){after, engine->tasks[before].first_edge};
    engine->tasks[before].first_edge = engine->edge_count++;
    engine->tasks[after].waits++;
}

void engine_push_release(struct engine *engine, uint32_t task, double seconds)
{
    assert(seconds >= 0.0);
    engine->tasks[task].release_s = seconds;
}

void engine_place(struct engine *engine, uint32_t *stream_last, uint32_t task)
{
    engine_push_edge(engine, *stream_last, task);
    *stream_last = task;
}

/* --- deadlock --------------------------------------------------------------------------------- */

/* A task that this one still waits for; tasks that never start wait for such only. */
static uint32_t find_waited(const struct engine *engine, uint32_t task)
{
    for (uint32_t from = 0; from < engine->task_count; from++) {
        if (engine->tasks[from].is_done) {
            continue;
        }
        uint32_t edge = engine->tasks[from].first_edge;
        for (; edge != NONE; edge = engine->edges[edge].next) {
            if (engine->edges[edge].to == task) {
                return from;
            }
        }
    }
    return NONE;
}

static void push_name(const struct engine *engine, uint32_t task, struct text *out)
{
    const char *name = engine->tasks[task].label.name;
    text_push(out, "'%s'", name == NULL ? "?" : name);
}

void engine_dump_cycle(const struct engine *engine, struct text *out)
{
    bool *is_passed = ARENA_PUSH(engine->arena, bool, engine->task_count);
    uint32_t at = 0;
    while (engine->tasks[at].is_done) {
        at++;
    }
    for (; !is_passed[at]; at = find_waited(engine, at)) {
        is_passed[at] = true;
    }
    push_name(engine, at, out);
    uint32_t shown = 0;
    for (uint32_t next = find_waited(engine, at); next != at && shown < 16; shown++) {
        text_push(out, " waits for ");
        push_name(engine, next, out);
        next = find_waited(engine, next);
    }
    text_push(out, shown == 16 ? " and so on" : " waits for ");
    push_name(engine, at, out);
}

enum engine_end engine_try(struct engine *engine)
{
    const uint32_t count = engine->task_count;
    bool *starts = ARENA_PUSH(engine->arena, bool, count);
    for (uint32_t i = 0; i < count; i++) {
        starts[i] = engine->tasks[i].waits == 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (starts[i]) {
            start(engine, i);
        }
    }
    if (!world_run(&engine->world)) {
        return ENGINE_LATE;
    }
    return engine->done_count == count ? ENGINE_DONE : ENGINE_STUCK;
}

bool engine_run(struct engine *engine, struct diag *diag)
{
    struct text cycle;
    switch (engine_try(engine)) {
    case ENGINE_DONE: return true;
    case ENGINE_STUCK:
        text_init(&cycle, engine->arena);
        engine_dump_cycle(engine, &cycle);
        BUG("%u of %u tasks can never start: %s", engine->task_count - engine->done_count,
            engine->task_count, cycle.bytes);
    case ENGINE_LATE: break;
    }
    return diag_push(diag, DIAG_S802, (struct diag_place){0},
                     "give fewer bytes, shorter times or faster links",
                     "simulation: does not end within %.3g s, the longest that can be counted",
                     world_find_s(&engine->world, UINT64_MAX / 2));
}

uint64_t engine_find_start(const struct engine *engine, uint32_t task)
{
    return engine->tasks[task].start_ticks;
}

uint64_t engine_find_end(const struct engine *engine, uint32_t task)
{
    return engine->tasks[task].end_ticks;
}

double engine_find_end_s(const struct engine *engine, uint32_t task)
{
    return world_find_s(&engine->world, engine->tasks[task].end_ticks);
}

double engine_find_alone_s(const struct engine *engine, uint32_t task)
{
    const struct engine_task *which = &engine->tasks[task];
    return which->flow == NULL ? which->seconds
                               : which->flow->latency_s + which->flow->bytes / which->flow->cap_Bps;
}

void engine_find_befores(const struct engine *engine, uint32_t *out)
{
    for (uint32_t task = 0; task < engine->task_count; task++) {
        out[task] = ENGINE_NO_TASK;
    }
    for (uint32_t from = 0; from < engine->task_count; from++) {
        const uint64_t end = engine->tasks[from].end_ticks;
        uint32_t edge = engine->tasks[from].first_edge;
        for (; edge != NONE; edge = engine->edges[edge].next) {
            uint32_t *before = &out[engine->edges[edge].to];
            if (*before == ENGINE_NO_TASK || end > engine->tasks[*before].end_ticks) {
                *before = from;
            }
        }
    }
}

const struct world_flow *engine_find_flow(const struct engine *engine, uint32_t task)
{
    return engine->tasks[task].flow;
}

struct engine_label engine_find_label(const struct engine *engine, uint32_t task)
{
    return engine->tasks[task].label;
}

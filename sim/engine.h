/* Tasks that wait for each other, run in simulated time.
 *
 * A task lasts a given time or moves bytes over shared links. It starts when all tasks before it
 * have ended, not before its release. Streams are queues: a task placed on one waits for the task
 * placed there before. */
#ifndef SHARDPLAN_SIM_ENGINE_H
#define SHARDPLAN_SIM_ENGINE_H

#include "base/diag.h"
#include "sim/world.h"

struct engine_task;
struct engine_edge;

#define ENGINE_NO_TASK UINT32_MAX

struct engine {
    struct arena *arena;
    struct world world;
    struct engine_task *tasks;
    struct engine_edge *edges;
    uint32_t task_count, task_capacity, edge_count, edge_capacity;
    uint32_t done_count;
};

enum engine_end {
    ENGINE_DONE,
    ENGINE_STUCK, /* tasks are left that wait for each other */
    ENGINE_LATE   /* time ran out */
};

/* What a task is in messages and traces. */
struct engine_label {
    const char *name;   /* must outlive the engine */
    uint32_t tag;       /* the caller's */
};

/* All memory from the arena. */
void engine_init(struct engine *engine, double ticks_per_s, struct arena *arena);
uint32_t engine_push_resource(struct engine *engine, double capacity_Bps);
/* Tasks are numbered 0, 1, ... in the order they are pushed. */
uint32_t engine_push_delay(struct engine *engine, struct engine_label label, double seconds);
uint32_t engine_push_flow(struct engine *engine, struct engine_label label,
                          const struct world_flow *flow);
/* before == ENGINE_NO_TASK: nothing. */
void engine_push_edge(struct engine *engine, uint32_t before, uint32_t after);
/* The task does not start before so many seconds; at most one release per task, the last said. */
void engine_push_release(struct engine *engine, uint32_t task, double seconds);
/* Behind the last task of the stream, which is ENGINE_NO_TASK at first. */
void engine_place(struct engine *engine, uint32_t *stream_last, uint32_t task);
/* Runs all that can run. */
enum engine_end engine_try(struct engine *engine);
/* After ENGINE_STUCK: "'a' waits for 'b' waits for 'a'", some cycle of tasks. */
void engine_dump_cycle(const struct engine *engine, struct text *out);
/* Runs all tasks. False when time runs out, S802; tasks that wait for each other are a BUG: what
 * is read is checked for that before. */
bool engine_run(struct engine *engine, struct diag *diag);
uint64_t engine_find_start(const struct engine *engine, uint32_t task);
uint64_t engine_find_end(const struct engine *engine, uint32_t task);
double engine_find_end_s(const struct engine *engine, uint32_t task);
/* What the task lasts when nothing shares its links. */
double engine_find_alone_s(const struct engine *engine, uint32_t task);
/* After a run, for each task: of those that it waited for the last to end (of equal ones that of
 * the smallest number), ENGINE_NO_TASK if there was none. */
void engine_find_befores(const struct engine *engine, uint32_t *out);
/* What the task moves; NULL: a delay. */
const struct world_flow *engine_find_flow(const struct engine *engine, uint32_t task);
struct engine_label engine_find_label(const struct engine *engine, uint32_t task);

#endif

/* A cell is pushed as the first of its ranks comes; the others add what they wait for. */
#include "sim/meet.h"

#include <assert.h>
#include <string.h>

#include "sim/program.h"

void meet_init(struct meet *meet, const struct work *work, const struct prices *prices,
               struct lump_book *book, struct engine *engine)
{
    *meet = (struct meet){.engine = engine,
                          .arena = engine->arena,
                          .work = work,
                          .book = book,
                          .prices = prices,
                          .lanes = work_count_lanes(work)};
    ways_init(&meet->ways, work->problem->cluster, engine->arena);
}

void meet_open(struct meet *meet)
{
    for (uint32_t i = 0; i < meet->row_count; i++) {
        memset(meet->rows[i], 0, meet->lanes * sizeof *meet->rows[i]);
    }
}

void meet_enter(struct meet *meet, uint32_t place)
{
    meet->place = place;
    meet->exchange = 0;
}

/* --- message by message ----------------------------------------------------------------------- */

/* The program of one exchange while it is turned into tasks. */
struct unroll {
    struct meet *meet;
    const struct program *program;
    const struct work_message *message;
    uint32_t protocol;
    struct engine_label label;
    double share;
    uint32_t *at;   /* [rank] with which it enters the round at hand */
    uint32_t *next; /* [rank] the round after it, or ENGINE_NO_TASK */
};

static void push_next(struct unroll *unroll, uint32_t rank, uint32_t flow)
{
    if (unroll->next[rank] == ENGINE_NO_TASK) {
        unroll->next[rank] = engine_push_delay(unroll->meet->engine,
                                               (struct engine_label){NULL, unroll->label.tag}, 0.0);
    }
    engine_push_edge(unroll->meet->engine, flow, unroll->next[rank]);
}

/* The sender's. */
static struct engine_label label_of(const struct unroll *unroll, uint32_t rank)
{
    const struct work *work = unroll->meet->work;
    const uint32_t streams = unroll->meet->streams;
    struct rank_group places = *unroll->program->request->group;
    places.map = NULL;
    const uint32_t place = rank_group_find_device(&places, unroll->program->request->base, rank);
    const uint32_t device = work_find_lane(work, place) * work->shape.stages +
                            place / work->sites.stride % work->shape.stages;
    return (struct engine_label){unroll->label.name,
                                 device * streams + unroll->label.tag % streams};
}

static void push_step(struct unroll *unroll, const struct program_step *step, uint32_t at_switch)
{
    struct engine *engine = unroll->meet->engine;
    struct world_flow flow =
        program_find_flow(unroll->program, step, unroll->protocol, unroll->message->bytes);
    flow.bytes *= unroll->share;
    flow.latency_s *= unroll->share;
    const uint32_t task = engine_push_flow(engine, label_of(unroll, step->from), &flow);
    const bool to_switch = step->to == COLLECTIVE_SWITCH;
    engine_push_edge(engine, to_switch ? at_switch : unroll->at[step->from], task);
    push_next(unroll, step->from, task);
    if (!to_switch) {
        engine_push_edge(engine, unroll->at[step->to], task);
        push_next(unroll, step->to, task);
    }
}

/* A switch has what it needs when all that send to it are in the round. */
static uint32_t push_at_switch(struct unroll *unroll, const struct program_phase *phase)
{
    if (phase->switch_count == 0) {
        return ENGINE_NO_TASK;
    }
    struct engine *engine = unroll->meet->engine;
    const uint32_t task =
        engine_push_delay(engine, (struct engine_label){NULL, unroll->label.tag}, 0.0);
    for (uint32_t i = phase->first_step; i < phase->first_step + phase->step_count; i++) {
        const struct program_step *step = &unroll->program->steps[i];
        if (step->to == COLLECTIVE_SWITCH) {
            engine_push_edge(engine, unroll->at[step->from], task);
        }
    }
    return task;
}

static void push_round(struct unroll *unroll, const struct program_phase *phase)
{
    const uint32_t ranks = unroll->program->shape.ranks;
    const uint32_t at_switch = push_at_switch(unroll, phase);
    memset(unroll->next, 0xff, ranks * sizeof *unroll->next);
    for (uint32_t i = phase->first_step; i < phase->first_step + phase->step_count; i++) {
        push_step(unroll, &unroll->program->steps[i], at_switch);
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        unroll->at[rank] =
            unroll->next[rank] == ENGINE_NO_TASK ? unroll->at[rank] : unroll->next[rank];
    }
}

static void unroll_cell(struct meet *meet, const struct work_message *message, uint32_t base,
                        struct engine_label label, double share, struct meet_cell *cell)
{
    const struct rank_group *group = &meet->work->groups[message->group];
    struct program_request *request = ARENA_PUSH(meet->arena, struct program_request, 1);
    struct program *program = ARENA_PUSH(meet->arena, struct program, 1);
    struct collective_group shape;
    *request = (struct program_request){
        meet->work->problem->cluster, meet->prices, message->kind, group, base,
        cell->lumps->member};
    collective_group_find(request->cluster, group, base, &shape);
    shape.pipeline = cell->lumps->pipeline;
    program_build(request, &shape, &meet->ways, &meet->engine->world.share, program);
    struct unroll unroll = {meet,
                            program,
                            message,
                            cell->lumps->protocol,
                            label,
                            share,
                            ARENA_PUSH(meet->arena, uint32_t, group->ranks),
                            ARENA_PUSH(meet->arena, uint32_t, group->ranks)};
    cell->enters = ARENA_PUSH(meet->arena, uint32_t, group->ranks);
    for (uint32_t rank = 0; rank < group->ranks; rank++) {
        cell->enters[rank] = unroll.at[rank] = engine_push_delay(
            meet->engine, (struct engine_label){NULL, label.tag}, program->base_s * share);
    }
    for (uint32_t i = 0; i < program->phase_count; i++) {
        for (uint32_t k = 0; k < program->phases[i].repeat; k++) {
            push_round(&unroll, &program->phases[i]);
        }
    }
    cell->leaves = unroll.at;
}

/* --- cells ------------------------------------------------------------------------------------ */

static struct meet_cell *find_row(struct meet *meet)
{
    ARENA_MAKE_ROOM(meet->arena, meet->rows, meet->row_count, meet->row_capacity);
    if (meet->exchange == meet->row_count) {
        meet->rows[meet->row_count++] = ARENA_PUSH(meet->arena, struct meet_cell, meet->lanes);
    }
    assert(meet->exchange < meet->row_count);
    return meet->rows[meet->exchange++];
}

struct meet_cell *meet_find(struct meet *meet, const struct work_message *message,
                            struct engine_label label, double share)
{
    if (message->group == NO_INDEX) {
        return NULL;
    }
    const struct rank_group *group = &meet->work->groups[message->group];
    if (group->ranks < 2 || message->bytes == 0.0) {
        return NULL;
    }
    const uint32_t base = rank_group_find_base(group, meet->place);
    struct meet_cell *cell = &find_row(meet)[work_find_lane(meet->work, base)];
    if (cell->lumps != NULL) {
        return cell;
    }
    const struct lump_request request = {message->kind, group, base, message->bytes,
                                         work_find_crowd(meet->work, message)};
    const struct engine_label silent = {NULL, label.tag};
    cell->lumps = lump_find(meet->book, &request);
    cell->gate = cell->leave = ENGINE_NO_TASK;
    if (meet->by_message) {
        unroll_cell(meet, message, base, label, share, cell);
    } else if (meet->waits) {
        cell->gate = engine_push_delay(meet->engine, silent, 0.0);
        cell->leave = engine_push_delay(meet->engine, silent, 0.0);
    }
    return cell;
}

static uint32_t pass(struct meet *meet, uint32_t task, uint32_t after)
{
    if (task == ENGINE_NO_TASK) {
        return after;
    }
    engine_push_edge(meet->engine, after, task);
    return task;
}

uint32_t meet_push_gate(struct meet *meet, const struct meet_cell *cell, uint32_t after)
{
    return pass(meet, cell->gate, after);
}

uint32_t meet_push_leave(struct meet *meet, const struct meet_cell *cell, uint32_t after)
{
    return pass(meet, cell->leave, after);
}

uint32_t meet_push_whole(struct meet *meet, const struct work_message *message,
                         const struct meet_cell *cell, uint32_t after)
{
    uint32_t base, rank;
    if (!rank_group_find(&meet->work->groups[message->group], meet->place, &base, &rank)) {
        BUG("place %u takes part in no %s", meet->place, collective_kind_name(message->kind));
    }
    engine_push_edge(meet->engine, after, cell->enters[rank]);
    return cell->leaves[rank];
}

/* A rank goes to its next round when its own messages of the present one are through; a message
 * starts when both its ends are in its round. */
#include "sim/collective_run.h"

#include <assert.h>
#include <string.h>

#include "sim/program.h"

#define NOT_THERE UINT32_MAX

struct run {
    const struct collective_run_request *request;
    const struct program *program;
    uint32_t protocol;
    struct world *world;
    uint32_t *rounds;       /* [rank] the round it is in, or NOT_THERE */
    uint32_t *phases;       /* [rank] phase of that round */
    uint32_t *pending;      /* [rank] messages of the round that are not through */
    uint64_t *finish_ticks; /* [rank] */
    uint32_t done_count, at_switch_count;
    struct world_flow *prices; /* [way] what a whole buffer over it would be */
};

static void start_step(struct run *run, uint32_t index)
{
    assert(index < run->program->step_count);
    const struct program_step *step = &run->program->steps[index];
    struct world_flow flow = run->prices[step->way];
    flow.bytes = run->request->bytes * step->bytes_frac;
    world_push_flow(run->world, &flow, index);
}

/* The switch has what it needs when all that send to it in this round are there. */
static void arrive_at_switch(struct run *run, const struct program_phase *phase)
{
    if (++run->at_switch_count < phase->switch_count) {
        return;
    }
    run->at_switch_count = 0;
    for (uint32_t i = phase->first_step; i < phase->first_step + phase->step_count; i++) {
        if (run->program->steps[i].to == COLLECTIVE_SWITCH) {
            start_step(run, i);
        }
    }
}

static void meet_peers(struct run *run, uint32_t rank, const struct program_phase *phase)
{
    const struct program *program = run->program;
    const uint32_t *sends = &program->rows[phase->sends_row + rank];
    const uint32_t *receives = &program->rows[phase->receives_row + rank];
    for (uint32_t i = sends[0]; i < sends[1]; i++) {
        if (program->steps[i].to == COLLECTIVE_SWITCH) {
            arrive_at_switch(run, phase);
        } else if (run->rounds[program->steps[i].to] == run->rounds[rank]) {
            start_step(run, i);
        }
    }
    for (uint32_t i = receives[0]; i < receives[1]; i++) {
        if (run->rounds[program->steps[program->receives[i]].from] == run->rounds[rank]) {
            start_step(run, program->receives[i]);
        }
    }
}

/* Into the next round in which it has something to do, or to the end. */
static void advance(struct run *run, uint32_t rank)
{
    const struct program *program = run->program;
    for (;;) {
        run->rounds[rank]++;
        const uint32_t round = run->rounds[rank];
        if (round == program->round_count) {
            run->finish_ticks[rank] = run->world->now_ticks;
            run->done_count++;
            return;
        }
        const struct program_phase *phase = &program->phases[run->phases[rank]];
        if (round == phase->first_round + phase->repeat) {
            phase = &program->phases[++run->phases[rank]];
        }
        const uint32_t *sends = &program->rows[phase->sends_row + rank];
        const uint32_t *receives = &program->rows[phase->receives_row + rank];
        run->pending[rank] = sends[1] - sends[0] + receives[1] - receives[0];
        if (run->pending[rank] > 0) {
            meet_peers(run, rank, phase);
            return;
        }
    }
}

static void drop_pending(struct run *run, uint32_t rank)
{
    assert(run->pending[rank] > 0);
    if (--run->pending[rank] == 0) {
        advance(run, rank);
    }
}

/* Ids below step_count are messages, those above arrivals of ranks. */
static void handle(void *state, uint32_t id)
{
    struct run *run = state;
    if (id >= run->program->step_count) {
        advance(run, id - run->program->step_count);
        return;
    }
    const struct program_step *step = &run->program->steps[id];
    drop_pending(run, step->from);
    if (step->to != COLLECTIVE_SWITCH) {
        drop_pending(run, step->to);
    }
}

/* Of messages between pairs the size decides on their protocol; those of one way are alike. */
static void price_ways(struct run *run, struct arena *arena)
{
    const struct program *program = run->program;
    run->prices = ARENA_PUSH(arena, struct world_flow, program->way_count);
    for (uint32_t i = 0; i < program->step_count; i++) {
        const struct program_step *step = &program->steps[i];
        struct world_flow *price = &run->prices[step->way];
        if (price->cap_Bps == 0.0) {
            *price = program_find_flow(program, step, run->protocol, run->request->bytes);
            price->bytes = 0.0;
        }
    }
}

/* One run under one protocol; false when it was given up at the limit or at the end of time. */
static bool run_once(struct run *run, uint64_t limit_ticks, struct arena *arena)
{
    const struct program *program = run->program;
    const uint32_t ranks = program->shape.ranks;
    run->rounds = ARENA_PUSH(arena, uint32_t, ranks);
    run->phases = ARENA_PUSH(arena, uint32_t, ranks);
    run->pending = ARENA_PUSH(arena, uint32_t, ranks);
    run->finish_ticks = ARENA_PUSH(arena, uint64_t, ranks);
    price_ways(run, arena);
    const double start_s = program_find_start_s(program, run->protocol, run->request->bytes);
    run->world->state = run;
    run->world->limit_ticks = limit_ticks;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const double arrival_s =
            run->request->arrival_s == NULL ? 0.0 : run->request->arrival_s[rank];
        run->rounds[rank] = NOT_THERE;
        world_push_alarm(run->world, arrival_s + start_s, program->step_count + rank);
    }
    if (!world_run(run->world) || run->done_count < ranks) {
        return false;
    }
    return true;
}

struct best {
    struct collective_run_result result;
    uint64_t *finish_ticks, last_ticks;
    bool is_late;
};

static void keep_if_best(const struct run *run, uint32_t pipeline, struct best *best)
{
    const uint32_t ranks = run->program->shape.ranks;
    uint64_t last_ticks = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        last_ticks = run->finish_ticks[rank] > last_ticks ? run->finish_ticks[rank] : last_ticks;
    }
    if (best->result.member != NULL && last_ticks >= best->last_ticks) {
        return;
    }
    best->last_ticks = last_ticks;
    memcpy(best->finish_ticks, run->finish_ticks, ranks * sizeof *best->finish_ticks);
    best->result.member = run->program->request->member;
    best->result.protocol = run->protocol;
    best->result.pipeline = pipeline;
    best->result.events = run->world->events;
}

/* All protocols of a member in one pipelining; memory is given back. */
static void try_shape(const struct collective_run_request *request, const struct collective *member,
                      const struct collective_group *shape, struct arena *arena, struct best *best)
{
    const struct program_request placed = {request->cluster, request->prices, request->kind,
                                           request->group,   request->base,   member};
    uint32_t protocols = 1;
    for (uint32_t protocol = 0; protocol < protocols; protocol++) {
        const struct arena_mark mark = arena_find_mark(arena);
        struct world world;
        struct ways ways;
        struct program program;
        struct run run = {.request = request, .program = &program, .world = &world};
        world_init(&world, WORLD_PS_PER_S, &run, handle, arena);
        ways_init(&ways, request->cluster, arena);
        program_build(&placed, shape, &ways, &world.share, &program);
        protocols = request->protocol == COLLECTIVE_RUN_ANY ? program.protocol_count : 1;
        run.protocol = request->protocol == COLLECTIVE_RUN_ANY ? protocol : request->protocol;
        if (run_once(&run, best->result.member == NULL ? UINT64_MAX : best->last_ticks, arena)) {
            keep_if_best(&run, shape->pipeline, best);
        }
        best->is_late = best->is_late || world.is_late;
        arena_pop(arena, mark);
    }
}

static void try_member(const struct collective_run_request *request,
                       const struct collective *member, struct collective_group shape,
                       struct arena *arena, struct best *best)
{
    if (request->pipeline != COLLECTIVE_RUN_ANY) {
        shape.pipeline = request->pipeline;
        if (collective_accepts(member, request->kind, &shape)) {
            try_shape(request, member, &shape, arena, best);
        }
        return;
    }
    for (uint32_t pipeline = 1; pipeline <= member->pipeline_max; pipeline *= 2) {
        shape.pipeline = pipeline;
        if (collective_accepts(member, request->kind, &shape)) {
            try_shape(request, member, &shape, arena, best);
        }
    }
}

static void finish(const struct collective_run_request *request, const struct best *best,
                   struct arena *arena, struct collective_run_result *out)
{
    double *finish_s = ARENA_PUSH(arena, double, request->group->ranks);
    *out = best->result;
    out->seconds = (double)best->last_ticks / WORLD_PS_PER_S;
    for (uint32_t rank = 0; rank < request->group->ranks; rank++) {
        finish_s[rank] = (double)best->finish_ticks[rank] / WORLD_PS_PER_S;
    }
    out->finish_s = finish_s;
}

bool collective_run(const struct collective_run_request *request, struct arena *arena,
                    struct collective_run_result *out, struct diag *diag)
{
    struct best best = {.finish_ticks = ARENA_PUSH(arena, uint64_t, request->group->ranks)};
    struct collective_group shape;
    collective_group_find(request->cluster, request->group, request->base, &shape);
    best.result.pipeline = 1;
    for (uint32_t i = 0; i < collective_table_count && shape.ranks > 1; i++) {
        const struct collective *member = collective_table[i];
        const bool is_asked = request->member == member;
        if ((is_asked ||
             (request->member == NULL && prices_offers(request->prices, request->kind, member))) &&
            collective_accepts(member, request->kind, &shape) &&
            (is_asked || !program_is_dense(member, request->kind, &shape))) {
            try_member(request, member, shape, arena, &best);
        }
    }
    if (best.result.member == NULL && best.is_late) {
        return diag_push(diag, DIAG_S802, (struct diag_place){0},
                         "give fewer bytes or a faster cluster",
                         "%s over %u ranks: %.3g bytes take longer than can be simulated",
                         collective_kind_name(request->kind), shape.ranks, request->bytes);
    }
    finish(request, &best, arena, out);
    return true;
}

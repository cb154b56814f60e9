/* Reads a member's steps once per phase and looks up each pair's way once. */
#include "sim/program.h"

#include <assert.h>
#include <string.h>

#include "base/diag.h"

#define NONE UINT32_MAX
#define DENSE_RANKS 128u

/* --- ways ------------------------------------------------------------------------------------- */

static uint32_t device_of(const struct program *program, uint32_t rank)
{
    return rank_group_find_device(program->request->group, program->request->base, rank);
}

static uint32_t find_cell(const struct program *program, uint64_t key)
{
    uint64_t cell = (key * 0x9e3779b97f4a7c15u) >> 32;
    for (cell &= program->table_size - 1; program->table[cell] != NONE;
         cell = (cell + 1) & (program->table_size - 1)) {
        if (program->ways[program->table[cell]].key == key) {
            break;
        }
    }
    return (uint32_t)cell;
}

static void grow_table(struct program *program)
{
    program->table_size = program->table_size == 0 ? 128 : 2 * program->table_size;
    program->table = ARENA_PUSH(program->arena, uint32_t, program->table_size);
    memset(program->table, 0xff, program->table_size * sizeof *program->table);
    for (uint32_t i = 0; i < program->way_count; i++) {
        program->table[find_cell(program, program->ways[i].key)] = i;
    }
}

/* Through a reducing switch a rank sends up over its own first port and receives over its own last
 * one. */
static void find_switch_way(struct program *program, uint32_t rank, struct program_way *out)
{
    const uint32_t peer = rank == 0 ? 1 : 0;
    struct path up, down;
    ways_find_path(program->places, device_of(program, rank), device_of(program, peer), &up);
    ways_find_path(program->places, device_of(program, peer), device_of(program, rank), &down);
    const uint32_t first = ways_find_hop(program->places, &up.hops[0], program->share);
    const uint32_t last =
        ways_find_hop(program->places, &down.hops[down.hop_count - 1], program->share);
    uint32_t *resources = ARENA_PUSH(program->arena, uint32_t, 2);
    resources[0] = first;
    resources[1] = last;
    out->resources = resources;
    out->resource_count = first == last ? 1 : 2;
    out->bandwidth_Bps = up.bandwidth_Bps;
    out->latency_s = 2.0 * up.latency_s;
    out->link = prices_find_link(program->request->prices, up.link);
    out->level = up.level;
    out->in_network = true;
}

static void find_pair_way(struct program *program, uint32_t from, uint32_t to,
                          struct program_way *out)
{
    struct path path;
    ways_find_path(program->places, device_of(program, from), device_of(program, to), &path);
    out->resources = ways_push_hops(program->places, &path, program->share);
    out->resource_count = path.hop_count;
    out->bandwidth_Bps = path.bandwidth_Bps;
    out->latency_s = path.latency_s;
    out->link = prices_find_link(program->request->prices, path.link);
    out->level = path.level;
}

static uint32_t find_way(struct program *program, uint32_t from, uint32_t to)
{
    const uint64_t key = (uint64_t)from << 32 | to;
    if (2 * program->way_count >= program->table_size) {
        grow_table(program);
    }
    const uint32_t cell = find_cell(program, key);
    if (program->table[cell] != NONE) {
        return program->table[cell];
    }
    ARENA_MAKE_ROOM(program->arena, program->ways, program->way_count, program->way_capacity);
    struct program_way *way = &program->ways[program->way_count];
    *way = (struct program_way){.key = key};
    if (to == COLLECTIVE_SWITCH) {
        find_switch_way(program, from, way);
    } else {
        find_pair_way(program, from, to, way);
    }
    const struct link_kind *link = way->link;
    program->base_s = link->base_s > program->base_s ? link->base_s : program->base_s;
    program->protocol_count = link->protocol_count > program->protocol_count
                                  ? link->protocol_count
                                  : program->protocol_count;
    program->table[cell] = program->way_count;
    return program->way_count++;
}

/* --- steps ------------------------------------------------------------------------------------ */

static double find_frac(const struct program *program, const struct collective_step *step)
{
    const struct program_request *request = program->request;
    const uint32_t ranks = program->shape.ranks;
    const uint32_t parts = request->kind == COLLECTIVE_ALL_TO_ALL ? ranks : program->chunk_count;
    const double frac = (double)step->chunk_count / (double)parts;
    /* down from a switch comes what all others sent, or one sum */
    return step->to == COLLECTIVE_SWITCH && !step->reduce ? frac * (double)(ranks - 1) : frac;
}

static void push_step(struct program *program, uint32_t from, const struct collective_step *step)
{
    ARENA_MAKE_ROOM(program->arena, program->steps, program->step_count, program->step_capacity);
    program->steps[program->step_count++] = (struct program_step){
        from, step->to, find_way(program, from, step->to), find_frac(program, step)};
}

static uint32_t push_rows(struct program *program)
{
    const uint32_t row = program->row_count;
    const uint32_t wanted = row + program->shape.ranks + 1;
    if (wanted > program->row_capacity) {
        program->row_capacity = 2 * wanted;
        program->rows =
            arena_grow(program->arena, program->rows, row, 2 * wanted, sizeof *program->rows);
    }
    program->row_count = wanted;
    memset(&program->rows[row], 0, (program->shape.ranks + 1) * sizeof *program->rows);
    return row;
}

/* Receives of each rank by counting: bounds first, then each step into its receiver's stretch. */
static void index_receives(struct program *program, struct program_phase *phase)
{
    const uint32_t ranks = program->shape.ranks;
    uint32_t *bounds = &program->rows[phase->receives_row];
    if (program->receive_capacity < program->step_count) {
        program->receives = arena_grow(program->arena, program->receives, program->receive_capacity,
                                       program->step_capacity, sizeof *program->receives);
        program->receive_capacity = program->step_capacity;
    }
    for (uint32_t i = phase->first_step; i < program->step_count; i++) {
        if (program->steps[i].to != COLLECTIVE_SWITCH) {
            bounds[program->steps[i].to + 1]++;
        }
    }
    bounds[0] = phase->first_step;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        bounds[rank + 1] += bounds[rank];
    }
    for (uint32_t i = program->step_count; i-- > phase->first_step;) {
        if (program->steps[i].to != COLLECTIVE_SWITCH) {
            program->receives[--bounds[program->steps[i].to + 1]] = i;
        }
    }
    /* every bound has moved down to the start of its own stretch: put the last one back */
    memmove(bounds, bounds + 1, ranks * sizeof *bounds);
    bounds[ranks] = program->step_count - phase->switch_count;
}

static void push_phase(struct program *program, uint32_t round)
{
    const struct program_request *request = program->request;
    const struct collective *member = request->member;
    ARENA_MAKE_ROOM(program->arena, program->phases, program->phase_count, program->phase_capacity);
    struct program_phase *phase = &program->phases[program->phase_count++];
    *phase = (struct program_phase){
        .first_round = round, .repeat = 1, .first_step = program->step_count};
    if (member->alike != NULL) {
        phase->repeat = member->alike(request->kind, &program->shape, round);
    }
    phase->sends_row = push_rows(program);
    phase->receives_row = push_rows(program);
    struct collective_step step;
    for (uint32_t rank = 0; rank < program->shape.ranks; rank++) {
        program->rows[phase->sends_row + rank] = program->step_count;
        for (uint32_t i = 0; member->step(request->kind, &program->shape, round, rank, i, &step);
             i++) {
            push_step(program, rank, &step);
            phase->switch_count += step.to == COLLECTIVE_SWITCH ? 1 : 0;
        }
    }
    program->rows[phase->sends_row + program->shape.ranks] = program->step_count;
    phase->step_count = program->step_count - phase->first_step;
    index_receives(program, phase);
}

bool program_is_dense(const struct collective *member, enum collective_kind kind,
                      const struct collective_group *shape)
{
    struct collective_step step;
    return shape->ranks > DENSE_RANKS && member->step(kind, shape, 0, 0, DENSE_RANKS - 2, &step);
}

struct world_flow program_find_flow(const struct program *program, const struct program_step *step,
                                    uint32_t protocol, double bytes)
{
    const struct program_way *way = &program->ways[step->way];
    const uint32_t own =
        prices_find_protocol(way->link, protocol, program->request->kind, bytes * step->bytes_frac);
    const struct path path = {.latency_s = way->latency_s,
                              .bandwidth_Bps = way->bandwidth_Bps,
                              .link = way->link->name,
                              .level = way->level};
    const struct message_price price =
        prices_message(program->request->prices, &path, own, way->in_network);
    const bool has_own_terms = way->in_network && way->link->in_network_rate_frac > 0.0;
    const double reached_frac =
        has_own_terms ? way->link->in_network_rate_frac : way->link->protocols[own].rate_frac;
    return (struct world_flow){.resources = way->resources,
                               .resource_count = way->resource_count,
                               .weight = 1.0 / reached_frac,
                               .cap_Bps = price.rate_Bps,
                               .latency_s = price.latency_s,
                               .bytes = bytes * step->bytes_frac};
}

double program_find_start_s(const struct program *program, uint32_t protocol, double bytes)
{
    double most_s = 0.0;
    for (uint32_t i = 0; i < program->step_count; i++) {
        const struct program_way *way = &program->ways[program->steps[i].way];
        const double own_bytes = bytes * program->steps[i].bytes_frac;
        const uint32_t own =
            prices_find_protocol(way->link, protocol, program->request->kind, own_bytes);
        const double own_s =
            prices_fill_s(way->link, own, way->in_network, way->bandwidth_Bps, own_bytes);
        most_s = own_s > most_s ? own_s : most_s;
    }
    return program->base_s + most_s;
}

void program_build(const struct program_request *request, const struct collective_group *shape,
                   struct ways *places, struct share *share, struct program *out)
{
    assert(collective_accepts(request->member, request->kind, shape));
    memset(out, 0, sizeof *out);
    out->request = request;
    out->shape = *shape;
    out->arena = places->arena;
    out->places = places;
    out->share = share;
    out->protocol_count = 1;
    out->round_count = request->member->round_count(request->kind, shape);
    out->chunk_count = request->member->chunk_count(request->kind, shape);
    for (uint32_t round = 0; round < out->round_count;) {
        push_phase(out, round);
        round += out->phases[out->phase_count - 1].repeat;
    }
}

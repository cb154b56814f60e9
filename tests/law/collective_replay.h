/* Replays a collective's program on symbols: who holds whose data, round by round.
 *
 * Each rank's data is a weight. As long as ranks fit the bits of a word the weights are single
 * bits, so a sum that counts someone twice is seen where it happens; beyond, weights are random
 * words and a wrong sum is seen at the end. */
#ifndef SHARDPLAN_TESTS_LAW_COLLECTIVE_REPLAY_H
#define SHARDPLAN_TESTS_LAW_COLLECTIVE_REPLAY_H

#include <string.h>

#include "base/arena.h"
#include "base/random.h"
#include "base/text.h"
#include "plan/collective.h"

enum touch { UNTOUCHED, ADDED, REPLACED };

/* What one rank moved, in messages and in chunks. */
struct load {
    uint32_t sends, receives;
    uint64_t sent_chunks, received_chunks;
};

struct replay {
    struct arena *arena;
    const struct collective *collective;
    enum collective_kind kind;
    struct collective_group group;
    uint32_t chunks;          /* chunk numbers in use */
    bool exact;               /* weights are single bits */
    uint64_t *weights, all;   /* per rank, and their sum */
    uint32_t *owners;         /* per chunk: whose share it is, all-gather and reduce-scatter */
    uint64_t *now, *next;     /* [rank * chunks + chunk]: at the start of the round, and after it */
    enum touch *touched;      /* same index: what happened to it in this round */
    struct load *round_loads; /* [round * ranks + rank] */
    struct load *loads;       /* per rank, all rounds */
    uint32_t rounds, round;
    const char *fault; /* first rule broken, or NULL */
};

static inline void replay_fill_owners(struct replay *replay)
{
    const uint32_t size = replay->chunks / replay->group.ranks;
    replay->owners = ARENA_PUSH(replay->arena, uint32_t, replay->chunks);
    for (uint32_t rank = 0; rank < replay->group.ranks; rank++) {
        const uint32_t first =
            collective_find_share(replay->collective, replay->kind, &replay->group, rank);
        for (uint32_t i = 0; i < size && first + i < replay->chunks; i++) {
            replay->owners[first + i] = rank;
        }
    }
}

static inline bool replay_is_sum(enum collective_kind kind)
{
    return kind == COLLECTIVE_ALL_REDUCE || kind == COLLECTIVE_REDUCE_SCATTER;
}

/* Weight of the data that chunk carries unsummed: its source's. */
static inline uint64_t replay_source(const struct replay *replay, uint32_t chunk)
{
    if (replay->kind == COLLECTIVE_SEND) {
        return replay->weights[0];
    }
    return replay->weights[replay->kind == COLLECTIVE_ALL_TO_ALL ? chunk / replay->group.ranks
                                                                 : replay->owners[chunk]];
}

static inline void replay_fill(struct replay *replay)
{
    for (uint32_t chunk = 0; chunk < replay->chunks; chunk++) {
        const uint64_t source = replay_is_sum(replay->kind) ? 0 : replay_source(replay, chunk);
        for (uint32_t rank = 0; rank < replay->group.ranks; rank++) {
            const uint64_t own = replay->weights[rank];
            const bool holds = replay_is_sum(replay->kind) || own == source;
            replay->now[(size_t)rank * replay->chunks + chunk] = holds ? own : 0;
        }
    }
}

static inline struct replay replay_init(const struct collective *collective,
                                        enum collective_kind kind,
                                        const struct collective_group *group, struct arena *arena)
{
    struct replay replay = {
        .arena = arena, .collective = collective, .kind = kind, .group = *group};
    struct random random;
    random_init(&random, 1);
    replay.chunks = collective->chunk_count(kind, group);
    replay.chunks *= kind == COLLECTIVE_ALL_TO_ALL ? group->ranks : 1;
    replay.rounds = collective->round_count(kind, group);
    replay.exact = group->ranks <= 64;
    replay.weights = ARENA_PUSH(arena, uint64_t, group->ranks);
    for (uint32_t rank = 0; rank < group->ranks; rank++) {
        const uint64_t drawn = random_pop_u64(&random) | 1;
        replay.weights[rank] = replay.exact ? (uint64_t)1 << rank : drawn;
        replay.all += replay.weights[rank];
    }
    const size_t cells = (size_t)group->ranks * replay.chunks;
    replay.now = ARENA_PUSH(arena, uint64_t, cells);
    replay.next = ARENA_PUSH(arena, uint64_t, cells);
    replay.touched = ARENA_PUSH(arena, enum touch, cells);
    replay.loads = ARENA_PUSH(arena, struct load, group->ranks);
    replay.round_loads = ARENA_PUSH(arena, struct load, (size_t)replay.rounds * group->ranks);
    if (kind == COLLECTIVE_ALL_GATHER || kind == COLLECTIVE_REDUCE_SCATTER) {
        replay_fill_owners(&replay);
    }
    replay_fill(&replay);
    return replay;
}

static inline void replay_blame(struct replay *replay, uint32_t rank, const char *what)
{
    if (replay->fault == NULL) {
        replay->fault =
            text_build(replay->arena, "round %u, rank %u %s", replay->round, rank, what);
    }
}

static inline void replay_add(struct replay *replay, uint32_t to, size_t cell, uint64_t value)
{
    if (replay->now[cell] == 0) {
        replay_blame(replay, to, "adds to a chunk that it does not hold");
    } else if (replay->touched[cell] == REPLACED) {
        replay_blame(replay, to, "adds to a chunk that is replaced in the same round");
    } else if (replay->exact && (replay->next[cell] & value) != 0) {
        replay_blame(replay, to, "counts someone's data twice");
    }
    replay->next[cell] += value;
    replay->touched[cell] = ADDED;
}

static inline void replay_replace(struct replay *replay, uint32_t to, size_t cell, uint64_t value)
{
    if (replay->touched[cell] != UNTOUCHED) {
        replay_blame(replay, to, "gets a chunk twice in one round");
    }
    replay->next[cell] = value;
    replay->touched[cell] = REPLACED;
}

/* The index-th chunk that the step carries. */
static inline uint32_t replay_chunk(const struct replay *replay, uint32_t from,
                                    const struct collective_step *step, uint32_t index)
{
    return replay->collective->chunk == NULL
               ? step->first_chunk + index
               : replay->collective->chunk(replay->kind, &replay->group, replay->round, from, step,
                                           index);
}

static inline void replay_receive(struct replay *replay, uint32_t from, uint32_t to,
                                  const struct collective_step *step)
{
    struct load *load = &replay->round_loads[(size_t)replay->round * replay->group.ranks + to];
    load->receives++;
    load->received_chunks += step->chunk_count;
    for (uint32_t i = 0; i < step->chunk_count; i++) {
        const uint32_t chunk = replay_chunk(replay, from, step, i);
        const uint64_t value = replay->now[(size_t)from * replay->chunks + chunk];
        const size_t cell = (size_t)to * replay->chunks + chunk;
        if (value == 0) {
            replay_blame(replay, from, "sends a chunk that it does not hold");
        }
        if (step->reduce) {
            replay_add(replay, to, cell, value);
        } else {
            replay_replace(replay, to, cell, value);
        }
    }
}

static inline bool replay_is_same(const struct replay *replay, uint32_t a,
                                  const struct collective_step *a_step, uint32_t b,
                                  const struct collective_step *b_step)
{
    uint32_t i = 0;
    while (i < a_step->chunk_count &&
           replay_chunk(replay, a, a_step, i) == replay_chunk(replay, b, b_step, i)) {
        i++;
    }
    return i == a_step->chunk_count;
}

/* What the switch does: sums the same chunks of all ranks, or hands everybody's to everybody
 * else. */
static inline void replay_switch(struct replay *replay, uint32_t rank,
                                 const struct collective_step *step)
{
    const uint32_t ranks = replay->group.ranks;
    for (uint32_t to = 0; to < ranks; to++) {
        struct collective_step other = {0};
        const bool sends =
            replay->collective->step(replay->kind, &replay->group, replay->round, to, 0, &other);
        if (!sends || other.to != COLLECTIVE_SWITCH || other.reduce != step->reduce ||
            other.chunk_count != step->chunk_count ||
            (step->reduce && !replay_is_same(replay, to, &other, rank, step))) {
            replay_blame(replay, to, "does not send the switch what the others do");
        } else if (to != rank) {
            replay_receive(replay, rank, to, step);
        }
    }
    if (step->reduce) {
        /* The switch hands each rank one sum, its own part included, not the parts. */
        struct load *load = &replay->round_loads[(size_t)replay->round * ranks + rank];
        load->receives = 1;
        load->received_chunks = step->chunk_count;
    }
}

static inline bool replay_is_in_buffer(const struct replay *replay, uint32_t from,
                                       const struct collective_step *step)
{
    bool good = step->chunk_count > 0 && step->chunk_count <= replay->chunks;
    for (uint32_t i = 0; good && i < step->chunk_count; i++) {
        good = replay_chunk(replay, from, step, i) < replay->chunks;
    }
    return good;
}

static inline void replay_send(struct replay *replay, uint32_t rank,
                               const struct collective_step *step)
{
    struct load *load = &replay->round_loads[(size_t)replay->round * replay->group.ranks + rank];
    if (!replay_is_in_buffer(replay, rank, step)) {
        replay_blame(replay, rank, "sends chunks that do not exist");
        return;
    }
    load->sends++;
    load->sent_chunks += step->chunk_count;
    if (step->to == COLLECTIVE_SWITCH) {
        if (!replay->group.reduces || load->sends > 1) {
            replay_blame(replay, rank, "has no switch for this");
        } else {
            replay_switch(replay, rank, step);
        }
    } else if (step->to >= replay->group.ranks || step->to == rank) {
        replay_blame(replay, rank, "sends to nobody");
    } else {
        replay_receive(replay, rank, step->to, step);
    }
}

static inline void replay_round(struct replay *replay)
{
    const uint32_t ranks = replay->group.ranks;
    const size_t cells = (size_t)ranks * replay->chunks;
    struct collective_step step;
    memcpy(replay->next, replay->now, cells * sizeof *replay->now);
    memset(replay->touched, 0, cells * sizeof *replay->touched);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (uint32_t index = 0;
             replay->fault == NULL && replay->collective->step(replay->kind, &replay->group,
                                                               replay->round, rank, index, &step);
             index++) {
            replay_send(replay, rank, &step);
        }
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const struct load *load = &replay->round_loads[(size_t)replay->round * ranks + rank];
        replay->loads[rank].sends += load->sends;
        replay->loads[rank].receives += load->receives;
        replay->loads[rank].sent_chunks += load->sent_chunks;
        replay->loads[rank].received_chunks += load->received_chunks;
    }
    uint64_t *const before = replay->now;
    replay->now = replay->next;
    replay->next = before;
}

/* Must the rank hold the chunk at the end? */
static inline bool replay_wants(const struct replay *replay, uint32_t rank, uint32_t chunk)
{
    switch (replay->kind) {
    case COLLECTIVE_ALL_REDUCE:
    case COLLECTIVE_ALL_GATHER: return true;
    case COLLECTIVE_REDUCE_SCATTER: return replay->owners[chunk] == rank;
    case COLLECTIVE_ALL_TO_ALL: return chunk % replay->group.ranks == rank;
    case COLLECTIVE_SEND: return rank == 1;
    case COLLECTIVE_KIND_COUNT: break;
    }
    return false;
}

static inline void replay_check_end(struct replay *replay)
{
    for (uint32_t rank = 0; rank < replay->group.ranks; rank++) {
        for (uint32_t chunk = 0; chunk < replay->chunks; chunk++) {
            const uint64_t held = replay->now[(size_t)rank * replay->chunks + chunk];
            if (replay_wants(replay, rank, chunk) &&
                held !=
                    (replay_is_sum(replay->kind) ? replay->all : replay_source(replay, chunk))) {
                replay_blame(replay, rank, "ends with the wrong data");
            }
        }
    }
}

/* Plays all rounds; `fault` tells the first rule that was broken. */
static inline struct replay replay_run(const struct collective *collective,
                                       enum collective_kind kind,
                                       const struct collective_group *group, struct arena *arena)
{
    struct replay replay = replay_init(collective, kind, group, arena);
    for (replay.round = 0; replay.round < replay.rounds && replay.fault == NULL; replay.round++) {
        replay_round(&replay);
    }
    if (replay.fault == NULL) {
        replay_check_end(&replay);
    }
    return replay;
}

#endif

/* Every collective takes the rounds that it says, nobody overloaded in any. */
#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "plan/collective.h"
#include "tests/law/collective_groups.h"
#include "tests/law/collective_replay.h"
#include "tests/tap_main.h"

/* --- rounds ----------------------------------------------------------------------------------- */

static uint32_t log2_floor(uint32_t n)
{
    uint32_t bits = 0;
    while (n >> (bits + 1) != 0) {
        bits++;
    }
    return bits;
}

/* Textbook round counts; 0 for members that this table does not know. */
static uint32_t find_rounds(const char *name, enum collective_kind kind,
                            const struct collective_group *group)
{
    const uint32_t p = group->ranks;
    const uint32_t both = kind == COLLECTIVE_ALL_REDUCE ? 2 : 1;
    const uint32_t bits = log2_floor(p);
    if (strcmp(name, "ring") == 0) {
        return both * (p - 1);
    }
    if (strcmp(name, "hierarchical") == 0) {
        return both * (group->inner - 1 + p / group->inner - 1);
    }
    if (strcmp(name, "halving-doubling") == 0) {
        return both * (bits + (p == 1u << bits ? 0 : 1));
    }
    if (strcmp(name, "bruck") == 0) {
        return both * (bits + (p == 1u << bits ? 0 : 1));
    }
    if (strcmp(name, "direct") == 0) {
        return both;
    }
    if (strcmp(name, "pairwise") == 0) {
        return p - 1;
    }
    if (strcmp(name, "double-tree") == 0) {
        const uint32_t last = p < 4 ? 1 : 2 * log2_floor(p - 2) + 1;
        return 2 * (last + 1 + 2 * (group->pipeline - 1));
    }
    return strcmp(name, "switch") == 0 || strcmp(name, "point-to-point") == 0 ? 1 : 0;
}

static void takes_rounds(const struct collective *member, enum collective_kind kind,
                         const struct collective_group *group, const char *where,
                         struct arena *arena)
{
    (void)arena;
    const uint32_t known = find_rounds(member->name, kind, group);
    const uint32_t rounds = member->round_count(kind, group);
    ck_assert_msg(known == 0 || rounds == known, "%s: %u rounds, expected %u", where, rounds,
                  known);
}

START_TEST(test_rounds_are_as_the_textbook_counts)
{
    hold_on_small(takes_rounds);
    hold_on_large(takes_rounds);
}
END_TEST

/* In every round somebody sends, so no round is there for nothing. */
static void wastes_no_round(const struct collective *member, enum collective_kind kind,
                            const struct collective_group *group, const char *where,
                            struct arena *arena)
{
    const struct replay replay = replay_run(member, kind, group, arena);
    for (uint32_t round = 0; round < replay.rounds; round++) {
        uint32_t sends = 0;
        for (uint32_t rank = 0; rank < group->ranks; rank++) {
            sends += replay.round_loads[(size_t)round * group->ranks + rank].sends;
        }
        ck_assert_msg(sends > 0, "%s: nobody sends in round %u", where, round);
    }
}

START_TEST(test_no_round_is_empty)
{
    hold_on_small(wastes_no_round);
    hold_on_large(wastes_no_round);
}
END_TEST

static bool same_sends(const struct collective *member, enum collective_kind kind,
                       const struct collective_group *group, const uint32_t rounds[2],
                       uint32_t rank)
{
    struct collective_step a = {0}, b = {0};
    for (uint32_t index = 0;; index++) {
        const bool a_sends = member->step(kind, group, rounds[0], rank, index, &a);
        const bool b_sends = member->step(kind, group, rounds[1], rank, index, &b);
        if (a_sends != b_sends) {
            return false;
        }
        if (!a_sends) {
            return true;
        }
        if (a.to != b.to || a.chunk_count != b.chunk_count || a.reduce != b.reduce) {
            return false;
        }
    }
}

/* The first rank whose sends of two rounds differ; ranks if none do. */
static uint32_t find_unlike(const struct collective *member, enum collective_kind kind,
                            const struct collective_group *group, const uint32_t rounds[2])
{
    uint32_t rank = 0;
    while (rank < group->ranks && same_sends(member, kind, group, rounds, rank)) {
        rank++;
    }
    return rank;
}

static void is_alike(const struct collective *member, enum collective_kind kind,
                     const struct collective_group *group, const char *where, struct arena *arena)
{
    (void)arena;
    const uint32_t rounds = member->round_count(kind, group);
    for (uint32_t round = 0; round < rounds && member->alike != NULL; round++) {
        const uint32_t alike = member->alike(kind, group, round);
        ck_assert_msg(alike >= 1 && alike <= rounds - round, "%s: %u rounds alike from %u", where,
                      alike, round);
        for (uint32_t i = 1; i < alike; i++) {
            const uint32_t rank = find_unlike(member, kind, group, (uint32_t[]){round, round + i});
            ck_assert_msg(rank == group->ranks, "%s: rank %u sends otherwise in rounds %u and %u",
                          where, rank, round, round + i);
        }
    }
}

START_TEST(test_rounds_called_alike_are)
{
    hold_on_small(is_alike);
}
END_TEST

/* What the rank sends in the round, `shift` ranks further on. */
static bool is_shifted(const struct collective *member, enum collective_kind kind,
                       const struct collective_group *group, uint32_t round,
                       const uint32_t ranks[2])
{
    struct collective_step a = {0}, b = {0};
    const uint32_t shift = ranks[1] - ranks[0];
    for (uint32_t index = 0;; index++) {
        const bool a_sends = member->step(kind, group, round, ranks[0], index, &a);
        if (a_sends != member->step(kind, group, round, ranks[1], index, &b)) {
            return false;
        }
        if (!a_sends) {
            return true;
        }
        if (b.to != a.to + shift || a.chunk_count != b.chunk_count || a.reduce != b.reduce) {
            return false;
        }
    }
}

static void is_in_blocks(const struct collective *member, enum collective_kind kind,
                         const struct collective_group *group, const char *where,
                         struct arena *arena)
{
    (void)arena;
    const uint32_t rounds = member->round_count(kind, group);
    for (uint32_t round = 0; round < rounds && member->block != NULL; round++) {
        const uint32_t block = member->block(kind, group, round);
        ck_assert_msg(block >= 1 && group->ranks % block == 0, "%s: blocks of %u in round %u",
                      where, block, round);
        for (uint32_t rank = 0; rank < group->ranks; rank++) {
            struct collective_step step;
            for (uint32_t i = 0; member->step(kind, group, round, rank, i, &step); i++) {
                ck_assert_msg(block == group->ranks || step.to / block == rank / block,
                              "%s: rank %u sends to %u, out of its block of %u, in round %u", where,
                              rank, step.to, block, round);
            }
            ck_assert_msg(rank < block || is_shifted(member, kind, group, round,
                                                     (uint32_t[]){rank % block, rank}),
                          "%s: rank %u does otherwise than rank %u in round %u", where, rank,
                          rank % block, round);
        }
    }
}

START_TEST(test_blocks_do_alike)
{
    hold_on_small(is_in_blocks);
    hold_on_large(is_in_blocks);
}
END_TEST

/* --- loads ------------------------------------------------------------------------------------ */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void rank_0_leads(const struct collective *member, enum collective_kind kind,
                         const struct collective_group *group, const char *where,
                         struct arena *arena)
{
    const struct replay replay = replay_run(member, kind, group, arena);
    for (size_t i = 0; i < (size_t)replay.rounds * group->ranks && !member->staggered; i++) {
        const struct load *first = &replay.round_loads[i / group->ranks * group->ranks];
        const struct load *load = &replay.round_loads[i];
        ck_assert_msg(larger(load->sent_chunks, load->received_chunks) <=
                          larger(first->sent_chunks, first->received_chunks),
                      "%s: in round %zu rank %zu moves more than rank 0", where, i / group->ranks,
                      i % group->ranks);
    }
}

START_TEST(test_no_rank_is_busier_than_rank_0_unless_staggered)
{
    hold_on_small(rank_0_leads);
}
END_TEST

static void has_single_port(const struct collective *member, enum collective_kind kind,
                            const struct collective_group *group, const char *where,
                            struct arena *arena)
{
    const struct replay replay = replay_run(member, kind, group, arena);
    ck_assert_msg(member->one_port || !member->staggered, "%s: staggered, yet not of one port",
                  where);
    for (size_t i = 0; i < (size_t)replay.rounds * group->ranks && member->one_port; i++) {
        const struct load *load = &replay.round_loads[i];
        ck_assert_msg(load->sends <= 1 && load->receives <= 1,
                      "%s: in round %zu rank %zu sends %u and receives %u messages", where,
                      i / group->ranks, i % group->ranks, load->sends, load->receives);
    }
}

START_TEST(test_one_message_each_way_where_declared)
{
    hold_on_small(has_single_port);
    hold_on_large(has_single_port);
}
END_TEST

/* Which halves of the buffer the rank hands down, as bits. */
static uint32_t find_halves(const struct collective_group *group, uint32_t rank)
{
    const struct collective *trees = collective_find("double-tree");
    const uint32_t rounds = trees->round_count(COLLECTIVE_ALL_REDUCE, group);
    uint32_t halves = 0;
    struct collective_step step;
    for (uint32_t round = rounds / 2; round < rounds; round++) {
        if (trees->step(COLLECTIVE_ALL_REDUCE, group, round, rank, 0, &step)) {
            halves |= step.first_chunk < group->pipeline ? 1 : 2;
        }
    }
    return halves;
}

START_TEST(test_no_rank_has_children_in_both_trees)
{
    for (uint32_t ranks = 2; ranks <= 300; ranks++) {
        const struct collective_group group = {.ranks = ranks, .inner = 1, .pipeline = 2};
        uint32_t roots = 0;
        for (uint32_t rank = 0; rank < ranks; rank++) {
            const uint32_t halves = find_halves(&group, rank);
            ck_assert_msg(halves != 3, "%u ranks: rank %u hands down both halves", ranks, rank);
            roots |= halves;
        }
        ck_assert_uint_eq(roots, 3);
    }
}
END_TEST

/* Up one tree and down the other: never more than twice the buffer. */
START_TEST(test_no_rank_sends_the_buffer_more_than_twice)
{
    const struct collective *trees = collective_find("double-tree");
    for (uint32_t ranks = 2; ranks <= SMALL_MAX; ranks++) {
        struct arena arena;
        arena_init(&arena);
        const struct collective_group group = {.ranks = ranks, .inner = 1, .pipeline = 2};
        const struct replay replay = replay_run(trees, COLLECTIVE_ALL_REDUCE, &group, &arena);
        for (uint32_t rank = 0; rank < ranks; rank++) {
            ck_assert_uint_le(replay.loads[rank].sent_chunks, 2 * (uint64_t)replay.chunks);
        }
        arena_release(&arena);
    }
}
END_TEST

/* --- chains ----------------------------------------------------------------------------------- */

/* Each rank's clock, a message taking one tick per chunk, a rank going on as soon as its own
 * round is done. */
static void pass_round(const struct replay *replay, uint32_t round, const uint64_t *entered,
                       uint64_t *left)
{
    const uint32_t ranks = replay->group.ranks;
    struct collective_step step;
    memcpy(left, entered, ranks * sizeof *left);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (uint32_t index = 0;
             replay->collective->step(replay->kind, &replay->group, round, rank, index, &step);
             index++) {
            const bool peer = step.to != COLLECTIVE_SWITCH;
            const uint64_t other = peer ? entered[step.to] : entered[rank];
            const uint64_t end = larger(entered[rank], other) + step.chunk_count;
            left[rank] = larger(left[rank], end);
            if (peer) {
                left[step.to] = larger(left[step.to], end);
            }
        }
    }
}

/* The longest message of each round, summed: what ranks that wait for each other after each
 * round need. */
static uint64_t sum_longest(const struct replay *replay)
{
    uint64_t sum = 0;
    struct collective_step step;
    for (uint32_t round = 0; round < replay->rounds; round++) {
        uint64_t longest = 0;
        for (uint32_t rank = 0; rank < replay->group.ranks; rank++) {
            for (uint32_t i = 0;
                 replay->collective->step(replay->kind, &replay->group, round, rank, i, &step);
                 i++) {
                longest = larger(longest, step.chunk_count);
            }
        }
        sum += longest;
    }
    return sum;
}

static void chains_have_every_round(const struct collective *member, enum collective_kind kind,
                                    const struct collective_group *group, const char *where,
                                    struct arena *arena)
{
    const struct replay replay = {.collective = member,
                                  .kind = kind,
                                  .group = *group,
                                  .rounds = member->round_count(kind, group)};
    uint64_t *entered = ARENA_PUSH(arena, uint64_t, group->ranks);
    uint64_t *left = ARENA_PUSH(arena, uint64_t, group->ranks);
    for (uint32_t round = 0; round < replay.rounds; round++) {
        pass_round(&replay, round, entered, left);
        uint64_t *const before = entered;
        entered = left;
        left = before;
    }
    uint64_t last = 0;
    for (uint32_t rank = 0; rank < group->ranks; rank++) {
        last = larger(last, entered[rank]);
    }
    ck_assert_msg(last == sum_longest(&replay),
                  "%s: the longest chain has %" PRIu64 " ticks of %" PRIu64, where, last,
                  sum_longest(&replay));
}

/* On paths that are all alike a judge may add up rounds instead of following each rank. */
START_TEST(test_the_longest_chain_has_every_round)
{
    hold_on_small(chains_have_every_round);
    hold_on_large(chains_have_every_round);
}
END_TEST

TAP_MAIN("collective rounds", test_rounds_are_as_the_textbook_counts, test_no_round_is_empty,
         test_rounds_called_alike_are, test_blocks_do_alike,
         test_no_rank_is_busier_than_rank_0_unless_staggered,
         test_one_message_each_way_where_declared, test_no_rank_has_children_in_both_trees,
         test_no_rank_sends_the_buffer_more_than_twice, test_the_longest_chain_has_every_round)

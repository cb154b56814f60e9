/* Every collective moves the right data, no less than it must. */
#include <inttypes.h>

#include "base/arena.h"
#include "plan/collective.h"
#include "tests/law/collective_groups.h"
#include "tests/law/collective_replay.h"
#include "tests/tap_main.h"

/* --- data and bytes --------------------------------------------------------------------------- */

static void ends_right(const struct collective *member, enum collective_kind kind,
                       const struct collective_group *group, const char *where, struct arena *arena)
{
    const struct replay replay = replay_run(member, kind, group, arena);
    ck_assert_msg(replay.fault == NULL, "%s: %s", where, replay.fault);
}

START_TEST(test_data_ends_right)
{
    hold_on_small(ends_right);
}
END_TEST

START_TEST(test_data_ends_right_in_large_groups)
{
    hold_on_large(ends_right);
}
END_TEST

/* Chunks, of `chunks` in the buffer, that information theory makes a rank send and receive. A
 * sum needs what the others hold (at least summed), and the others need what the rank holds; a
 * share is 1/ranks of the buffer. */
static struct load find_least(enum collective_kind kind, uint32_t rank, uint64_t chunks,
                              uint64_t ranks)
{
    const uint64_t share = chunks / ranks;
    switch (kind) {
    case COLLECTIVE_ALL_REDUCE:
        return (struct load){.sent_chunks = chunks, .received_chunks = chunks};
    case COLLECTIVE_ALL_GATHER:
        return (struct load){.sent_chunks = share, .received_chunks = chunks - share};
    case COLLECTIVE_REDUCE_SCATTER:
        return (struct load){.sent_chunks = chunks - share, .received_chunks = share};
    case COLLECTIVE_ALL_TO_ALL:
        return (struct load){.sent_chunks = chunks - share, .received_chunks = chunks - share};
    case COLLECTIVE_SEND:
        return rank == 0 ? (struct load){.sent_chunks = chunks}
                         : (struct load){.received_chunks = chunks};
    case COLLECTIVE_KIND_COUNT: break;
    }
    return (struct load){0};
}

static bool uses_switch(const struct collective *member, enum collective_kind kind,
                        const struct collective_group *group)
{
    struct collective_step step;
    return member->step(kind, group, 0, 0, 0, &step) && step.to == COLLECTIVE_SWITCH;
}

/* In all: every chunk's sum takes ranks - 1 sends, its spread as many. A switch that sums takes
 * every rank's part and spreads the result by itself, one that multicasts takes each chunk once. */
static uint64_t find_least_sent(enum collective_kind kind, uint64_t chunks, uint64_t ranks,
                                bool in_network)
{
    switch (kind) {
    case COLLECTIVE_ALL_REDUCE: return (in_network ? ranks : 2 * (ranks - 1)) * chunks;
    case COLLECTIVE_ALL_GATHER: return (in_network ? 1 : ranks - 1) * chunks;
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_ALL_TO_ALL: return (ranks - 1) * chunks;
    case COLLECTIVE_SEND: return chunks;
    case COLLECTIVE_KIND_COUNT: break;
    }
    return 0;
}

static void moves_enough(const struct collective *member, enum collective_kind kind,
                         const struct collective_group *group, const char *where,
                         struct arena *arena)
{
    const struct replay replay = replay_run(member, kind, group, arena);
    const uint64_t chunks = member->chunk_count(kind, group);
    const bool in_network = uses_switch(member, kind, group);
    const uint64_t due = find_least_sent(kind, chunks, group->ranks, in_network);
    uint64_t sent = 0, received = 0;
    for (uint32_t rank = 0; rank < group->ranks; rank++) {
        const struct load least = find_least(kind, rank, chunks, group->ranks);
        const struct load *load = &replay.loads[rank];
        ck_assert_msg(load->sent_chunks >= least.sent_chunks &&
                          load->received_chunks >= least.received_chunks,
                      "%s: rank %u sends %" PRIu64 " and receives %" PRIu64
                      " chunks, at least %" PRIu64 " and %" PRIu64 " are due",
                      where, rank, load->sent_chunks, load->received_chunks, least.sent_chunks,
                      least.received_chunks);
        sent += load->sent_chunks;
        received += load->received_chunks;
    }
    ck_assert_msg(in_network || sent == received, "%s: sent %" PRIu64 ", received %" PRIu64, where,
                  sent, received);
    ck_assert_msg(sent >= due, "%s: %" PRIu64 " chunks are sent, at least %" PRIu64 " are due",
                  where, sent, due);
    ck_assert_msg(!member->minimal || sent == due,
                  "%s: %" PRIu64 " chunks are sent where %" PRIu64
                  " are due, though the member calls itself minimal",
                  where, sent, due);
}

START_TEST(test_bytes_are_no_less_than_due_and_no_more_where_minimal)
{
    hold_on_small(moves_enough);
}
END_TEST

/* --- the set ---------------------------------------------------------------------------------- */

static uint32_t count_accepted(const struct collective *member, enum collective_kind kind)
{
    uint32_t count = 0;
    for (uint32_t ranks = 2; ranks <= SMALL_MAX; ranks++) {
        bool accepted = false;
        for (uint32_t inner = 1; inner <= ranks; inner++) {
            const struct collective_group group = {.ranks = ranks,
                                                   .inner = inner,
                                                   .reduces = true,
                                                   .pipeline = 1,
                                                   .axis_count = 1,
                                                   .axes = {ranks},
                                                   .closes = {true}};
            struct collective_group grid = group;
            grid.axis_count = 2; /* inner by the rest */
            grid.axes[0] = inner;
            grid.axes[1] = ranks / inner;
            accepted |= ranks % inner == 0 &&
                        (collective_accepts(member, kind, &group) ||
                         (inner > 1 && inner < ranks && collective_accepts(member, kind, &grid)));
        }
        count += accepted;
    }
    return count;
}

START_TEST(test_members_are_whole)
{
    for (uint32_t i = 0; i < collective_table_count; i++) {
        const struct collective *member = collective_table[i];
        ck_assert_str_eq(collective_names()[i], member->name);
        ck_assert_ptr_eq(collective_find(member->name), member);
        ck_assert(member->summary != NULL && member->summary[0] != '\0');
        ck_assert(member->kind_count >= 1 && member->kind_count <= COLLECTIVE_KIND_COUNT);
        ck_assert_uint_ge(member->pipeline_max, 1);
        for (uint32_t k = 0; k < member->kind_count; k++) {
            const enum collective_kind kind = member->kinds[k];
            ck_assert_msg(count_accepted(member, kind) >= (kind == COLLECTIVE_SEND ? 1u : 3u),
                          "%s takes too few groups for %s", member->name,
                          collective_kind_name(kind));
        }
    }
    ck_assert_ptr_null(collective_names()[collective_table_count]);
}
END_TEST

static bool lists(const struct collective *member, enum collective_kind kind)
{
    for (uint32_t k = 0; k < member->kind_count; k++) {
        if (member->kinds[k] == kind) {
            return true;
        }
    }
    return false;
}

/* Shares are a permutation: every chunk is in one. */
static void shares_all(const struct collective *member, enum collective_kind kind,
                       const struct collective_group *group, const char *where, struct arena *arena)
{
    if (kind != COLLECTIVE_ALL_GATHER && kind != COLLECTIVE_REDUCE_SCATTER) {
        return;
    }
    const uint32_t chunks = member->chunk_count(kind, group);
    bool *seen = ARENA_PUSH(arena, bool, chunks);
    ck_assert_msg(chunks % group->ranks == 0, "%s: %u chunks", where, chunks);
    for (uint32_t rank = 0; rank < group->ranks; rank++) {
        const uint32_t first = collective_find_share(member, kind, group, rank);
        ck_assert_msg(first % (chunks / group->ranks) == 0 && first < chunks && !seen[first],
                      "%s: the share of rank %u starts at chunk %u", where, rank, first);
        seen[first] = true;
    }
}

START_TEST(test_shares_make_the_buffer)
{
    hold_on_small(shares_all);
    hold_on_large(shares_all);
}
END_TEST

/* What is not listed is refused; of what is listed nobody takes a single rank. */
START_TEST(test_members_refuse_what_they_do_not_do)
{
    for (uint32_t i = 0; i < collective_table_count * COLLECTIVE_KIND_COUNT; i++) {
        const struct collective *member = collective_table[i / COLLECTIVE_KIND_COUNT];
        const enum collective_kind kind = i % COLLECTIVE_KIND_COUNT;
        const struct collective_group one = {
            .ranks = 1, .inner = 1, .reduces = true, .pipeline = 1};
        ck_assert_msg(!collective_accepts(member, kind, &one), "%s takes one rank", member->name);
        for (uint32_t ranks = 2; ranks <= SMALL_MAX && !lists(member, kind); ranks++) {
            const struct collective_group group = {
                .ranks = ranks, .inner = ranks, .reduces = true, .pipeline = 1};
            ck_assert(!collective_accepts(member, kind, &group));
            ck_assert(!member->accepts(kind, &group));
        }
    }
}
END_TEST

/* Every kind has a member for every group, so nobody is left without an answer. */
START_TEST(test_every_group_has_a_member)
{
    for (uint32_t i = 0; i < COLLECTIVE_KIND_COUNT * (SMALL_MAX - 1); i++) {
        const enum collective_kind kind = i % COLLECTIVE_KIND_COUNT;
        const uint32_t ranks = 2 + i / COLLECTIVE_KIND_COUNT;
        const struct collective_group group = {.ranks = ranks, .inner = 1, .pipeline = 1};
        uint32_t takers = 0;
        for (uint32_t m = 0; m < collective_table_count; m++) {
            takers += collective_accepts(collective_table[m], kind, &group);
        }
        ck_assert_msg(takers > 0 || (kind == COLLECTIVE_SEND && ranks != 2), "no %s of %u ranks",
                      collective_kind_name(kind), ranks);
    }
}
END_TEST

/* --- the law itself --------------------------------------------------------------------------- */

enum damage {
    DAMAGE_CHUNK,   /* the next chunk instead */
    DAMAGE_DROPPED, /* the send is missing */
    DAMAGE_REDUCE,  /* adds where it should replace, or the other way round */
    DAMAGE_PEER,    /* to the rank after the right one */
    DAMAGE_DOUBLED, /* sent twice */
    DAMAGE_RANGE,   /* more chunks than there are */
    DAMAGE_COUNT
};

/* One send of a sound member is damaged: the first one of its last round. */
static const struct collective *sound;
static enum damage damage;
static uint32_t damaged_round, damaged_rank;

static bool damaged_step(enum collective_kind kind, const struct collective_group *group,
                         uint32_t round, uint32_t rank, uint32_t index, struct collective_step *out)
{
    const bool here = round == damaged_round && rank == damaged_rank;
    const bool doubled = here && damage == DAMAGE_DOUBLED && index == 1;
    const bool sends = sound->step(kind, group, round, rank, doubled ? 0 : index, out);
    if (!here || index > 0 || !sends) {
        return sends;
    }
    out->first_chunk += damage == DAMAGE_CHUNK && sound->chunk == NULL ? 1 : 0;
    out->reduce = damage == DAMAGE_REDUCE ? !out->reduce : out->reduce;
    out->to = damage == DAMAGE_PEER ? (out->to + 1) % group->ranks : out->to;
    out->chunk_count += damage == DAMAGE_RANGE ? UINT32_MAX / 2 : 0;
    return damage != DAMAGE_DROPPED;
}

static uint32_t damaged_chunk(enum collective_kind kind, const struct collective_group *group,
                              uint32_t round, uint32_t rank, const struct collective_step *step,
                              uint32_t index)
{
    const bool here = round == damaged_round && rank == damaged_rank && damage == DAMAGE_CHUNK;
    return sound->chunk(kind, group, round, rank, step, index) + (here ? 1 : 0);
}

/* A program that sends more than it must may well survive without some of it. */
static void damage_is_seen(const struct collective *member, enum collective_kind kind,
                           const struct collective_group *group, const char *where,
                           struct arena *arena)
{
    struct collective broken = *member;
    struct collective_step step;
    if (!member->minimal) {
        return;
    }
    broken.step = damaged_step;
    broken.chunk = member->chunk == NULL ? NULL : damaged_chunk;
    sound = member;
    damaged_round = member->round_count(kind, group) - 1;
    damaged_rank = 0;
    while (!member->step(kind, group, damaged_round, damaged_rank, 0, &step)) {
        damaged_rank++;
    }
    for (uint32_t i = 0; i < DAMAGE_COUNT; i++) {
        damage = (enum damage)i;
        const struct replay replay = replay_run(&broken, kind, group, arena);
        ck_assert_msg(replay.fault != NULL, "%s: damage %u is not seen", where, i);
    }
}

START_TEST(test_replay_sees_damage)
{
    hold_on_small(damage_is_seen);
}
END_TEST

TAP_MAIN("collectives", test_data_ends_right, test_data_ends_right_in_large_groups,
         test_bytes_are_no_less_than_due_and_no_more_where_minimal, test_members_are_whole,
         test_shares_make_the_buffer, test_members_refuse_what_they_do_not_do,
         test_every_group_has_a_member, test_replay_sees_damage)

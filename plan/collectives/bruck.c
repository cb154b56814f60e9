/* Bruck: what a rank holds doubles with every round, whatever the number of ranks.
 *
 * All-gather: after k rounds rank r holds blocks r .. r + 2^k - 1, and asks rank r + 2^k for as
 * many more as it lacks. All-to-all: a block that has to go d ranks on goes 2^k on in each round k
 * whose bit is set in d (Bruck, Ho, Kipnis, Upfal, Weathersby 1997). The gather run backwards, sums
 * going where blocks came from, scatters a sum; both one behind the other sum for all. */
#include "plan/collective.h"

extern const struct collective collective_bruck;

#define RANKS_MAX 65536u /* chunk numbers of an all-to-all, ranks squared, are 32 bits wide */

static bool accepts(enum collective_kind kind, const struct collective_group *group)
{
    return kind != COLLECTIVE_SEND && group->ranks >= 2 &&
           (kind != COLLECTIVE_ALL_TO_ALL || group->ranks <= RANKS_MAX);
}

static uint32_t chunk_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    return group->ranks;
}

/* Rounds until a rank holds all blocks. */
static uint32_t doublings(const struct collective_group *group)
{
    uint32_t rounds = 0;
    while ((uint64_t)1 << rounds < group->ranks) {
        rounds++;
    }
    return rounds;
}

static uint32_t round_count(enum collective_kind kind, const struct collective_group *group)
{
    return (kind == COLLECTIVE_ALL_REDUCE ? 2 : 1) * doublings(group);
}

/* A round as one of the gather: its distance is 2^bit; backwards: sums go the other way. */
struct turn {
    uint32_t bit;
    bool backwards;
};

static struct turn find_turn(enum collective_kind kind, const struct collective_group *group,
                             uint32_t round)
{
    const uint32_t rounds = doublings(group);
    const bool backwards =
        kind == COLLECTIVE_REDUCE_SCATTER || (kind == COLLECTIVE_ALL_REDUCE && round < rounds);
    return (struct turn){backwards ? rounds - 1 - round : round % rounds, backwards};
}

/* Of an all-to-all: numbers below ranks with the bit set. */
static uint32_t count_with_bit(uint32_t ranks, uint32_t bit)
{
    const uint32_t half = 1u << bit, rest = ranks % (2 * half);
    return ranks / (2 * half) * half + (rest > half ? rest - half : 0);
}

static bool step(enum collective_kind kind, const struct collective_group *group, uint32_t round,
                 uint32_t rank, uint32_t index, struct collective_step *out)
{
    const uint32_t ranks = group->ranks;
    const struct turn turn = find_turn(kind, group, round);
    const uint32_t distance = 1u << turn.bit;
    const bool onwards = turn.backwards || kind == COLLECTIVE_ALL_TO_ALL;
    if (index > 0) {
        return false;
    }
    *out = (struct collective_step){.to = (rank + (onwards ? distance : ranks - distance)) % ranks,
                                    .chunk_count = kind == COLLECTIVE_ALL_TO_ALL
                                                       ? count_with_bit(ranks, turn.bit)
                                                   : distance < ranks - distance ? distance
                                                                                 : ranks - distance,
                                    .reduce = turn.backwards};
    return true;
}

static uint32_t chunk(enum collective_kind kind, const struct collective_group *group,
                      uint32_t round, uint32_t rank, const struct collective_step *step,
                      uint32_t index)
{
    const uint32_t ranks = group->ranks;
    if (kind != COLLECTIVE_ALL_TO_ALL) {
        return ((find_turn(kind, group, round).backwards ? step->to : rank) + index) % ranks;
    }
    const uint32_t half = 1u << round, come = index % half;
    const uint32_t way = index / half * 2 * half + half + come; /* from source to destination */
    const uint32_t source = (rank + ranks - come) % ranks;
    return source * ranks + (source + way) % ranks;
}

const struct collective collective_bruck = {
    .name = "bruck",
    .summary = "what is held doubles each round, for any number of ranks; few rounds",
    .kinds = {COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_GATHER, COLLECTIVE_REDUCE_SCATTER,
              COLLECTIVE_ALL_TO_ALL},
    .kind_count = 4,
    .pipeline_max = 1,
    .one_port = true,
    .accepts = accepts,
    .chunk_count = chunk_count,
    .round_count = round_count,
    .step = step,
    .chunk = chunk,
};

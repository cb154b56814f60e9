/* Multi-ring: a ring for each stride that has nothing in common with the number of ranks, so that
 * no two use the same pair. */
#include "plan/collectives/rings.h"

extern const struct collective collective_multi_ring;

/* Each rank sends to almost as many at once. */
#define RANKS_MAX 32u

static bool accepts(enum collective_kind kind, const struct collective_group *group)
{
    return kind != COLLECTIVE_SEND && kind != COLLECTIVE_ALL_TO_ALL && group->ranks >= 2 &&
           group->ranks <= RANKS_MAX;
}

static bool are_coprime(uint32_t a, uint32_t b)
{
    while (b > 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a == 1;
}

static uint32_t ring_count(const struct collective_group *group)
{
    uint32_t count = 0;
    for (uint32_t stride = 1; stride < group->ranks; stride++) {
        count += are_coprime(stride, group->ranks);
    }
    return count;
}

static uint32_t find_stride(const struct collective_group *group, uint32_t ring)
{
    uint32_t stride = 1;
    for (uint32_t passed = 0; passed < ring || !are_coprime(stride, group->ranks); stride++) {
        passed += are_coprime(stride, group->ranks);
    }
    return stride;
}

static uint32_t move(const struct collective_group *group, uint32_t ring, uint32_t rank,
                     uint32_t steps, bool behind)
{
    const uint32_t away = find_stride(group, ring) * steps % group->ranks;
    return (rank + (behind ? group->ranks - away : away)) % group->ranks;
}

static uint32_t chunk_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    return group->ranks * ring_count(group);
}

static bool step(enum collective_kind kind, const struct collective_group *group, uint32_t round,
                 uint32_t rank, uint32_t index, struct collective_step *out)
{
    const struct rings rings = {ring_count(group), move};
    return rings_find_step(&rings, kind, group, &(struct rings_send){round, rank, index}, out);
}

const struct collective collective_multi_ring = {
    .name = "multi-ring",
    .summary = "rings of all strides at once, each over pairs of its own; least bytes",
    .kinds = {COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_GATHER, COLLECTIVE_REDUCE_SCATTER},
    .kind_count = 3,
    .pipeline_max = 1,
    .minimal = true,
    .accepts = accepts,
    .chunk_count = chunk_count,
    .round_count = rings_count_rounds,
    .step = step,
    .alike = rings_count_alike,
};

/* Ranks of a group as devices, digit by digit. */
#include "plan/rank_group.h"

#include <assert.h>

#include "base/diag.h"
#include "base/text.h"

/* The step with the next larger stride than `above`, among those that move at all; step_count if
 * none. */
static uint32_t find_wider(const struct rank_group *group, uint32_t above)
{
    uint32_t best = group->step_count;
    for (uint32_t s = 0; s < group->step_count; s++) {
        const bool wider = group->steps[s].size > 1 && group->steps[s].stride > above;
        if (wider &&
            (best == group->step_count || group->steps[s].stride < group->steps[best].stride)) {
            best = s;
        }
    }
    return best;
}

/* Every stride steps over all that the smaller ones reach: enough for ranks to differ, and what
 * a mesh gives. */
static bool are_apart(const struct rank_group *group)
{
    uint64_t reach = 0;
    uint32_t moving = 0, seen = 0;
    for (uint32_t s = 0; s < group->step_count; s++) {
        moving += group->steps[s].size > 1;
    }
    uint32_t s = find_wider(group, 0);
    while (s < group->step_count && group->steps[s].stride > reach) {
        reach += (uint64_t)group->steps[s].stride * (group->steps[s].size - 1);
        seen++;
        s = find_wider(group, group->steps[s].stride);
    }
    return seen == moving;
}

bool rank_group_check(const struct rank_group *group)
{
    uint64_t ranks = 1;
    if (group->step_count > RANK_STEP_MAX) {
        return false;
    }
    for (uint32_t s = 0; s < group->step_count; s++) {
        ranks *= group->steps[s].size;
        if (ranks == 0 || ranks > UINT32_MAX) {
            return false;
        }
    }
    return ranks == group->ranks && are_apart(group);
}

unsigned long long rank_group_digest(unsigned long long seed, const struct rank_group *group)
{
    seed = text_digest(seed, group->steps, group->step_count * sizeof group->steps[0]);
    return group->map == NULL ? seed
                              : text_digest(seed, &group->map->digest, sizeof group->map->digest);
}

bool rank_group_find(const struct rank_group *group, uint32_t place, uint32_t *base, uint32_t *rank)
{
    uint32_t below = 1;
    *base = place;
    *rank = 0;
    for (uint32_t s = 0; s < group->step_count; s++) {
        const uint32_t stride = group->steps[s].stride, size = group->steps[s].size;
        const uint32_t skip = group->steps[s].skip == 0 ? 1 : group->steps[s].skip;
        const uint32_t digit = place / (stride / skip) % ((size - 1) * skip + 1);
        if (digit % skip != 0) {
            return false;
        }
        *base -= digit / skip * stride;
        *rank += digit / skip * below;
        below *= size;
    }
    return true;
}

bool rank_group_begins(const struct rank_group *group, uint32_t place)
{
    uint32_t base, rank;
    return rank_group_find(group, place, &base, &rank) && rank == 0;
}

bool rank_crowd_is_like(const struct rank_crowd *crowd, uint32_t base, uint32_t other)
{
    return base / crowd->stride % crowd->stages == other / crowd->stride % crowd->stages;
}

uint32_t rank_group_find_base(const struct rank_group *group, uint32_t place)
{
    uint32_t base, rank;
    if (!rank_group_find(group, place, &base, &rank)) {
        BUG("no group of the nest holds place %u", place);
    }
    return base;
}

uint32_t rank_group_find_device(const struct rank_group *group, uint32_t base, uint32_t rank)
{
    assert(rank < group->ranks);
    uint32_t place = base;
    for (uint32_t s = 0; s < group->step_count; s++) {
        place += rank % group->steps[s].size * group->steps[s].stride;
        rank /= group->steps[s].size;
    }
    assert(group->map == NULL || place < group->map->count);
    return group->map == NULL ? place : group->map->devices[place];
}

uint32_t rank_group_count_domains(const struct rank_group *group, uint32_t domain_devices)
{
    uint32_t count = 1;
    for (uint32_t s = 0; s < group->step_count; s++) {
        const uint32_t stride = group->steps[s].stride, size = group->steps[s].size;
        const uint64_t reach = (uint64_t)stride * size;
        count *= stride >= domain_devices ? size
                 : reach > domain_devices ? (uint32_t)(reach / domain_devices)
                                          : 1;
    }
    return count;
}

/* Strides of a group cut at the borders of the levels' domains. */
#include "plan/rank_nest.h"

#include <string.h>

#include "base/text.h"

/* Adds one step's ranks to those crossed at each level. False where a domain's border does not
 * fall between digits. */
static bool cut_step(const struct cluster *cluster, uint64_t stride, uint64_t size,
                     uint64_t *crossed)
{
    const uint64_t reach = stride * size;
    uint64_t below = 1, domain = 1;
    for (uint32_t level = 0; level < cluster->level_count; level++, below = domain) {
        domain *= cluster->levels[level].degree;
        const uint64_t low = stride > below ? stride : below,
                       high = reach < domain ? reach : domain;
        if (domain <= stride ? stride % domain != 0 : domain < reach && domain % stride != 0) {
            return false;
        }
        if (low >= high) {
            continue;
        }
        if (high % low != 0 || (domain < reach && reach % domain != 0)) {
            return false;
        }
        crossed[level] *= high / low;
    }
    return true;
}

/* Steps go outward, none into the reach of the one before. */
static bool find_crossed(const struct cluster *cluster, const struct rank_group *group,
                         uint64_t *crossed)
{
    uint64_t reach = 1;
    for (uint32_t i = 0; i < group->step_count; i++) {
        const uint64_t stride = group->steps[i].stride, size = group->steps[i].size;
        if (size == 1) {
            continue;
        }
        if (stride < reach || !cut_step(cluster, stride, size, crossed)) {
            return false;
        }
        reach = stride * size;
    }
    return true;
}

bool rank_nest_find(const struct cluster *cluster, const struct rank_group *group,
                    uint64_t crossed[LEVEL_MAX])
{
    for (uint32_t level = 0; level < LEVEL_MAX; level++) {
        crossed[level] = 1;
    }
    return group->map == NULL && cluster_has_own_ports(cluster) &&
           find_crossed(cluster, group, crossed);
}

unsigned long long rank_nest_digest(const struct cluster *cluster, const struct rank_group *group,
                                    uint32_t base)
{
    uint64_t crossed[LEVEL_MAX];
    if (base == 0 && rank_nest_find(cluster, group, crossed)) {
        return text_digest(TEXT_DIGEST_SEED, crossed, cluster->level_count * sizeof crossed[0]);
    }
    unsigned long long digest = text_digest(TEXT_DIGEST_SEED, &base, sizeof base);
    digest = text_digest(digest, &group->step_count, sizeof group->step_count);
    return rank_group_digest(digest, group);
}

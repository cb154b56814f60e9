/* Pieces on several sites made one: of each block the fastest, with how much slower each stage is
 * than that at least.
 *
 * What a stage runs takes it no less than its lag times what the same takes in the fastest pieces,
 * so a bound on a pipeline of the fastest pieces becomes one on this pipeline when each stage gets
 * its time divided by its lag. */
#include "base/number.h"
#include "planner/planner_inside.h"

static struct piece fastest(const struct piece *pieces, uint32_t sites, uint32_t blocks)
{
    struct piece least = pieces[0];
    for (uint32_t site = 1; site < sites; site++) {
        const struct piece *other = &pieces[(size_t)site * blocks];
        for (uint32_t cost = 0; cost < COST_COUNT; cost++) {
            least.forward_s[cost] = number_smaller(least.forward_s[cost], other->forward_s[cost]);
            least.backward_s[cost] =
                number_smaller(least.backward_s[cost], other->backward_s[cost]);
        }
        least.forward_total_s = number_smaller(least.forward_total_s, other->forward_total_s);
        least.backward_total_s = number_smaller(least.backward_total_s, other->backward_total_s);
        /* what of a backward has to be waited for is the rest */
        least.weight_s = number_larger(least.weight_s, other->weight_s);
    }
    return least;
}

static double lag_of(double own_s, double least_s)
{
    return least_s > 0.0 ? own_s / least_s : 1e300;
}

/* Least over the blocks, forward and backward apart. */
static double site_lag(const struct piece *pieces, const struct piece *least, uint32_t blocks,
                       bool compute_only)
{
    double lag = 1e300;
    for (uint32_t b = 0; b < blocks; b++) {
        const struct piece *own = &pieces[b], *than = &least[b];
        const double forward =
            compute_only ? lag_of(own->forward_s[COST_COMPUTE], than->forward_s[COST_COMPUTE])
                         : lag_of(own->forward_total_s, than->forward_total_s);
        const double backward =
            compute_only ? lag_of(own->backward_s[COST_COMPUTE], than->backward_s[COST_COMPUTE])
                         : lag_of(own->backward_total_s, than->backward_total_s);
        lag = number_smaller(lag, number_smaller(forward, backward));
    }
    return lag < 1e300 ? lag : 1.0;
}

const struct piece *pipeline_fastest(const struct work *work, const struct piece *pieces,
                                     struct arena *arena)
{
    const uint32_t sites = work_count_sites(work);
    if (sites == 1) {
        return pieces;
    }
    struct piece *least = ARENA_PUSH(arena, struct piece, work->block_count);
    for (uint32_t b = 0; b < work->block_count; b++) {
        least[b] = fastest(&pieces[b], sites, work->block_count);
    }
    return least;
}

static double *find_lags(const struct work *work, const struct piece *pieces,
                         const struct piece *least, bool compute_only, struct arena *arena)
{
    const uint32_t sites = work_count_sites(work);
    double *lags = ARENA_PUSH(arena, double, sites);
    for (uint32_t site = 0; site < sites; site++) {
        lags[site] = site_lag(&pieces[(size_t)site * work->block_count], least, work->block_count,
                              compute_only);
    }
    return lags;
}

struct pipeline_terms pipeline_terms_of_sites(const struct work *work, const struct piece *pieces,
                                              const struct piece *least, struct arena *arena)
{
    struct pipeline_terms terms = pipeline_terms_find(work, least, false);
    if (work_count_sites(work) == 1) {
        return terms;
    }
    const double *lags = find_lags(work, pieces, least, false, arena);
    double *stage_lags = ARENA_PUSH(arena, double, work->shape.stages);
    for (uint32_t stage = 0; stage < work->shape.stages; stage++) {
        stage_lags[stage] = lags[work_find_site(work, stage)];
    }
    terms.stage_lags = stage_lags;
    return terms;
}

/* A stage is no faster than the mean of its devices, so the stages together no faster than the mean
 * of all. */
struct pipeline_terms pipeline_terms_of_kinds(const struct work *work, const struct piece *pieces,
                                              struct arena *arena, const double **lags)
{
    const struct rank_map *map = work->sites.map;
    const uint32_t *kinds = work->problem->cluster->device_kind;
    const uint32_t devices = (uint32_t)plan_count_devices(work->plan);
    const struct piece *least = pipeline_fastest(work, pieces, arena);
    struct pipeline_terms terms = pipeline_terms_find(work, least, true);
    *lags = NULL;
    if (work_count_sites(work) == 1) {
        return terms;
    }
    *lags = find_lags(work, pieces, least, true, arena);
    double speed = 0.0;
    for (uint32_t place = 0; place < devices; place++) {
        speed += 1.0 / (*lags)[kinds[map == NULL ? place : map->devices[place]]];
    }
    terms.lost_frac = 1.0 - speed / devices;
    return terms;
}

const double *pipeline_find_lags(const struct work_sites *sites, const double *kind_lags,
                                 uint32_t stages, struct arena *arena)
{
    double *lags = ARENA_PUSH(arena, double, stages);
    for (uint32_t stage = 0; stage < stages; stage++) {
        const struct work_site *site = &sites->items[sites->of_stage[stage]];
        for (uint32_t i = 0; i < site->kind_count; i++) {
            lags[stage] = number_larger(lags[stage], kind_lags[site->kinds[i]]);
        }
    }
    return lags;
}

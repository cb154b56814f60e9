/* Pieces on several sites made one: of each block the fastest, with how much slower each stage is
 * than that at least.
 *
 * What a stage runs takes it no less than its lag times what the same takes in the fastest pieces,
 * so a bound on a pipeline of the fastest pieces becomes one on this pipeline when each stage gets
 * its time divided by its lag. */
#include "base/number.h"
#include "planner/planner_inside.h"

#define NO_LAG 1e300

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
    return least_s > 0.0 ? own_s / least_s : NO_LAG;
}

static struct part_times times_of(const struct piece *piece)
{
    return (struct part_times){piece->forward_total_s, piece->backward_total_s, piece->weight_s};
}

/* The least lag so far or that of these, forward and backward apart. */
static double smaller_lag(double lag, struct part_times own, struct part_times least)
{
    const double forward = lag_of(own.forward_s, least.forward_s);
    const double backward = lag_of(own.backward_s, least.backward_s);
    return number_smaller(lag, number_smaller(forward, backward));
}

/* Of all blocks, in whatever form. */
static double site_lag(const struct piece *pieces, const struct piece *least, uint32_t blocks)
{
    double lag = NO_LAG;
    for (uint32_t b = 0; b < blocks; b++) {
        lag = smaller_lag(lag, times_of(&pieces[b]), times_of(&least[b]));
    }
    return lag < NO_LAG ? lag : 1.0;
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

/* Each part in the form that takes less: where what is kept goes to a host, that need not be the
 * plain one. */
static struct pipeline_terms terms_of_pieces(const struct work *work, const struct piece *pieces)
{
    struct part_times times[WORK_BLOCK_MAX];
    for (uint32_t b = 0; b < work->block_count; b++) {
        if (work->blocks[b].keep == KEEP_ALL) {
            times[work->blocks[b].part] = times_of(&pieces[b]);
        }
    }
    for (uint32_t b = 0; b < work->block_count; b++) {
        struct part_times *least = &times[work->blocks[b].part];
        least->forward_s = number_smaller(least->forward_s, pieces[b].forward_total_s);
        least->backward_s = number_smaller(least->backward_s, pieces[b].backward_total_s);
        least->weight_s = number_larger(least->weight_s, pieces[b].weight_s);
    }
    struct pipeline_terms terms = pipeline_terms_find(work->problem->model, times);
    terms.stages = work->shape.stages;
    terms.micro_batches = work->shape.micro_batches;
    return terms;
}

struct pipeline_terms pipeline_terms_of_sites(const struct work *work, const struct piece *pieces,
                                              const struct piece *least, struct arena *arena)
{
    struct pipeline_terms terms = terms_of_pieces(work, least);
    if (work_count_sites(work) == 1) {
        return terms;
    }
    double *stage_lags = ARENA_PUSH(arena, double, work->shape.stages);
    for (uint32_t stage = 0; stage < work->shape.stages; stage++) {
        const size_t site = work_find_site(work, stage);
        stage_lags[stage] = site_lag(&pieces[site * work->block_count], least, work->block_count);
    }
    terms.stage_lags = stage_lags;
    return terms;
}

/* --- stages whatever their place -------------------------------------------------------------- */

static void find_least(const struct problem *problem, const struct part_times *times,
                       struct part_times *out)
{
    for (uint32_t part = 0; part < problem->model->part_count; part++) {
        out[part] = times[part];
        for (uint32_t kind = 1; kind < problem->cluster->accelerator_count; kind++) {
            const struct part_times *other = &times[(size_t)kind * WORK_BLOCK_MAX + part];
            out[part].forward_s = number_smaller(out[part].forward_s, other->forward_s);
            out[part].backward_s = number_smaller(out[part].backward_s, other->backward_s);
            out[part].weight_s = number_larger(out[part].weight_s, other->weight_s);
        }
    }
}

static double kind_lag(const struct part_times *times, const struct part_times *least,
                       uint32_t parts)
{
    double lag = NO_LAG;
    for (uint32_t part = 0; part < parts; part++) {
        lag = smaller_lag(lag, times[part], least[part]);
    }
    return lag < NO_LAG ? lag : 1.0;
}

struct pipeline_terms pipeline_terms_of_kinds(const struct problem *problem,
                                              const struct part_times *times, double *kind_lags)
{
    struct part_times least[WORK_BLOCK_MAX];
    find_least(problem, times, least);
    for (uint32_t kind = 0; kind < problem->cluster->accelerator_count; kind++) {
        kind_lags[kind] =
            kind_lag(&times[(size_t)kind * WORK_BLOCK_MAX], least, problem->model->part_count);
    }
    return pipeline_terms_find(problem->model, least);
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

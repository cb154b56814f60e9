/* A lower bound on a pipeline's step over all partitions of its layers.
 *
 * Stage d works m t_d. Before its first slot a micro-batch went forward through the first chunks
 * of the stages before it; after its last slot one goes back through them, unless that may be a
 * weight gradient, which nothing waits for. So T >= sum over e < d of c_e + m t_d, with c_e the
 * passing of the first chunk of stage e: forward and backward, or forward alone where the
 * schedule splits. Given T, stage 0 takes all it can, then stage 1, ...; one more layer early
 * costs the later stages less than one layer together when m chunks >= stages (each loses at
 * most 1 / (m chunks)), so T is feasible exactly when that holds all layers. Layers may be
 * fractions here and a chunk may be smaller than even by one layer: both only lower the bound.
 *
 * Layers of several kinds count by their seconds: the unit is their mean, so that all layers
 * together are as many units, and a unit passes in the smallest share of its time in which any
 * kind passes. What is computed again is left out then, and a chunk of several has one layer at
 * least, of the kind that passes soonest.
 *
 * Stages that lag behind hold fewer layers in their time; what they pass on is counted as if they
 * did not, which lowers the bound and keeps the argument.
 *
 * Whatever the schedule, one micro-batch goes forward through the whole chain and its gradient
 * comes back: with few micro-batches that is longer than the work of any one stage. */
#include "base/number.h"
#include "planner/planner_inside.h"

/* A bound is looked for in steps that begin with that share of it, to that share of it. */
#define BOUND_STEP 0.02
#define BOUND_PRECISION 1e-5

static double both_s(const struct part_times *times)
{
    return times->forward_s + times->backward_s;
}

static double pass_s(const struct part_times *times, bool splits)
{
    return splits ? times->forward_s : both_s(times);
}

/* From a micro-batch's arrival at a layer to the gradient that the layer before waits for. */
static double round_s(const struct part_times *times, bool splits)
{
    const double seconds = splits ? both_s(times) - times->weight_s : both_s(times);
    return seconds > 0.0 ? seconds : 0.0;
}

/* The layers between the ends of the chain: their mean, the smallest shares that pass. Gives the
 * number of kinds. */
static uint32_t add_layers(const struct model *model, const struct part_times *times,
                           struct pipeline_terms *terms)
{
    double pass_frac[2] = {1.0, 1.0};
    double layers = 0.0;
    uint32_t kinds = 0, last = NO_INDEX;
    for (uint32_t run = 1; run + 1 < model->run_count; run++) {
        const uint32_t part = model->chain[run].part;
        const double count = model->chain[run].count;
        const double own_s = both_s(&times[part]);
        layers += count;
        terms->layer_s += count * own_s;
        kinds += part != last ? 1 : 0;
        last = part;
        for (uint32_t splits = 0; splits < 2; splits++) {
            const double frac = own_s > 0.0 ? pass_s(&times[part], splits == 1) / own_s : 1.0;
            const double own_pass_s = pass_s(&times[part], splits == 1);
            pass_frac[splits] = frac < pass_frac[splits] ? frac : pass_frac[splits];
            terms->least_pass_s[splits] =
                kinds == 1 ? own_pass_s : number_smaller(terms->least_pass_s[splits], own_pass_s);
            terms->layer_round_s[splits] += count * round_s(&times[part], splits == 1);
        }
    }
    terms->layer_s /= layers > 0.0 ? layers : 1.0;
    for (uint32_t splits = 0; splits < 2; splits++) {
        terms->layer_pass_s[splits] = terms->layer_s * pass_frac[splits];
        terms->layer_round_s[splits] /= layers > 0.0 ? layers : 1.0;
    }
    return kinds;
}

struct pipeline_terms pipeline_terms_find(const struct model *model, const struct part_times *times)
{
    const struct part_times *const first = &times[model->chain[0].part];
    const struct part_times *const last = &times[model->chain[model->run_count - 1].part];
    struct pipeline_terms terms = {.first_s = both_s(first),
                                   .last_s = both_s(last),
                                   .stages = 1,
                                   .micro_batches = 1,
                                   .chunks = 1};
    terms.uneven = add_layers(model, times, &terms) > 1;
    for (uint32_t splits = 0; splits < 2; splits++) {
        terms.first_pass_s[splits] = pass_s(first, splits == 1);
        terms.ends_round_s[splits] = round_s(first, splits == 1) + round_s(last, splits == 1);
    }
    return terms;
}

double pipeline_find_send_s(const struct work *work, double send_s)
{
    return work->forward_only ? 0.5 * send_s : send_s;
}

/* Layers of a stage that take that long. Chunks of a stage differ by one layer at most, so n
 * layers have min(chunks x again_layers, n) in their recomputed form. */
static double layers_in(const struct pipeline_terms *terms, double seconds)
{
    const double again = terms->uneven ? 0.0 : (double)terms->chunks * terms->again_layers;
    const double both_s = again * (terms->layer_s + terms->again_s);
    return seconds <= 0.0      ? 0.0
           : seconds <= both_s ? seconds / (terms->layer_s + terms->again_s)
                               : again + (seconds - both_s) / terms->layer_s;
}

/* Do all layers fit when every stage must be done by T? */
static bool holds(const struct pipeline_terms *terms, double step_s)
{
    const double m = terms->micro_batches, chunks = terms->chunks;
    double before = 0.0, total = 0.0;
    for (uint32_t stage = 0; stage < terms->stages && total < terms->layers; stage++) {
        const double extra = (stage == 0 ? terms->first_s : 0.0) +
                             (stage + 1 == terms->stages ? terms->last_s : 0.0);
        double own_s = (step_s - before) / m;
        own_s = terms->stage_lags == NULL ? own_s : own_s / terms->stage_lags[stage];
        const double layers = layers_in(terms, own_s - extra);
        total += layers;
        const double least = layers - (chunks - 1.0);
        const double chunk = number_larger(chunks == 1.0 ? least : least / chunks, 0.0);
        before +=
            (terms->uneven && terms->chunks > 1 ? terms->least_pass_s[terms->splits]
                                                : chunk * terms->layer_pass_s[terms->splits]) +
            (stage == 0 ? terms->first_pass_s[terms->splits] : 0.0) +
            (terms->splits ? 1.0 : 2.0) * terms->send_s;
    }
    return total >= terms->layers;
}

/* Of all stages together; that of a stage without lag is 1. */
static double stage_speeds(const struct pipeline_terms *terms)
{
    double sum = 0.0;
    for (uint32_t stage = 0; stage < terms->stages && terms->stage_lags != NULL; stage++) {
        sum += 1.0 / terms->stage_lags[stage];
    }
    return terms->stage_lags == NULL ? terms->stages * (1.0 - terms->lost_frac) : sum;
}

/* The busiest stage has at least the mean; a micro-batch goes round the chain. */
static double plain_bound_s(const struct pipeline_terms *terms)
{
    const double work = terms->layer_s * terms->layers + terms->first_s + terms->last_s;
    const double mean_s = terms->micro_batches * work / stage_speeds(terms);
    const double round_s = terms->layer_round_s[terms->splits] * terms->layers +
                           terms->ends_round_s[terms->splits] +
                           2.0 * (terms->stages - 1.0) * terms->send_s;
    return mean_s > round_s ? mean_s : round_s;
}

/* Does filling stage after stage hold for this shape? */
static bool fills(const struct pipeline_terms *terms)
{
    const double m = terms->micro_batches;
    return terms->stages > 1 && m * terms->chunks >= terms->stages && terms->layer_s > 0.0;
}

bool pipeline_exceeds(const struct pipeline_terms *terms, double step_s)
{
    return plain_bound_s(terms) > step_s || (fills(terms) && !holds(terms, step_s));
}

/* The step grows from what is too short until it is not, then halves what is not known. */
double pipeline_bound_s(const struct pipeline_terms *terms)
{
    double low = plain_bound_s(terms), more = BOUND_STEP * low;
    if (!fills(terms) || holds(terms, low)) {
        return low;
    }
    while (!holds(terms, low + more)) {
        low += more;
        more *= 2.0;
    }
    while (more > BOUND_PRECISION * low) {
        more *= 0.5;
        low += holds(terms, low + more) ? 0.0 : more;
    }
    return low;
}

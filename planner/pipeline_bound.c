/* A lower bound on a pipeline's step over all partitions of its layers.
 *
 * Stage d works m t_d; before its first slot a micro-batch went through the first chunks of the stages before it, after its
 * last slot one goes back through them: T >= sum over e < d of c_e + m t_d, with c_e the first chunk of stage e. Given T,
 * stage 0 takes all it can, then stage 1, ...; one more layer early costs the later stages less than one layer together
 * when m chunks >= stages (each loses at most 1 / (m chunks)), so T is feasible exactly when that holds all layers.
 * Layers may be fractions here and a chunk may be smaller than even by one layer: both only lower the bound. */
#include "planner/planner_inside.h"

/* Layers of a stage that take that long. Chunks of a stage differ by one layer at most, so n layers have
 * min(chunks x again_layers, n) in their recomputed form. */
static double layers_in(const struct pipeline_terms *terms, double seconds)
{
    const double again = (double)terms->chunks * terms->again_layers;
    const double both_s = again * (terms->layer_s + terms->again_s);
    return seconds <= 0.0      ? 0.0
           : seconds <= both_s ? seconds / (terms->layer_s + terms->again_s)
                               : again + (seconds - both_s) / terms->layer_s;
}

/* Layers that fit when every stage must be done by T. */
static double capacity(const struct pipeline_terms *terms, double step_s)
{
    const double m = terms->micro_batches, chunks = terms->chunks;
    double before = 0.0, total = 0.0;
    for (uint32_t stage = 0; stage < terms->stages; stage++) {
        const double extra = (stage == 0 ? terms->first_s : 0.0) +
                             (stage + 1 == terms->stages ? terms->last_s : 0.0);
        const double layers = layers_in(terms, (step_s - before) / m - extra);
        total += layers;
        double chunk = (layers - (chunks - 1.0)) / chunks;      /* chunks of a stage differ by one layer at most */
        chunk = chunk < 0.0 ? 0.0 : chunk;
        before += chunk * terms->layer_s + (stage == 0 ? terms->first_s : 0.0);
    }
    return total;
}

bool pipeline_exceeds(const struct pipeline_terms *terms, double step_s)
{
    const double m = terms->micro_batches;
    const double mean_s = (terms->layer_s * terms->layers + terms->first_s + terms->last_s) / terms->stages;
    if (m * mean_s > step_s) {
        return true;
    }
    return terms->stages > 1 && m * terms->chunks >= terms->stages && terms->layer_s > 0.0 &&
           capacity(terms, step_s) < terms->layers;
}

double pipeline_bound_s(const struct pipeline_terms *terms)
{
    const double work = terms->layer_s * terms->layers + terms->first_s + terms->last_s;
    const double most = work + terms->again_s * terms->layers;
    const double m = terms->micro_batches;
    double low = m * work / terms->stages;      /* the busiest stage has at least the mean */
    if (terms->stages == 1 || m * terms->chunks < terms->stages || terms->layer_s <= 0.0) {
        return low;
    }
    double high = m * most + most;
    for (uint32_t i = 0; i < 24; i++) {
        const double middle = 0.5 * (low + high);
        if (capacity(terms, middle) < terms->layers) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* What unlike layers that are computed again add to a pipeline's bound.
 *
 * The first layers of each chunk are. A step within a time limits how many layers a chunk has, so
 * there is a least number of layers that are computed again: where chunks have all they can or
 * one. The cheapest count. They lengthen the mean layer; what a layer passes stays, so it is the
 * smaller share of its time. */
#include "base/number.h"
#include "planner/planner_inside.h"

/* Middle layers of one kind, what each takes in the form that takes less, how much more in the
 * other one than in the plain one. */
struct kind {
    double layers, least_s, more_s;
};

static double block_s(const struct work *work, const struct piece *pieces, uint32_t part,
                      enum work_keep keep)
{
    const struct piece *piece = &pieces[work_find_block(work, part, keep)];
    return piece->forward_total_s + piece->backward_total_s;
}

static uint32_t list_kinds(const struct work *work, const struct piece *pieces,
                           struct kind out[WORK_BLOCK_MAX])
{
    const struct model *model = work->problem->model;
    uint32_t layers[WORK_BLOCK_MAX] = {0}, count = 0;
    for (uint32_t run = 1; run + 1 < model->run_count; run++) {
        layers[model->chain[run].part] += model->chain[run].count;
    }
    for (uint32_t part = 0; part < model->part_count; part++) {
        if (layers[part] > 0) {
            const double plain_s = block_s(work, pieces, part, KEEP_ALL);
            const double other_s = block_s(work, pieces, part, work->keep);
            out[count++] = (struct kind){layers[part], number_smaller(plain_s, other_s),
                                         number_larger(other_s - plain_s, 0.0)};
        }
    }
    return count;
}

/* Of chunks with one layer at least and `most` at most, so that `again` of each are computed
 * again. */
static double count_again(double layers, double chunks, double most, double again)
{
    const double spare = layers - chunks;
    const double wide =
        spare <= 0.0 || most <= 1.0 ? 0.0 : (double)(uint32_t)(spare / (most - 1.0));
    if (wide >= chunks || most <= 1.0) {
        return number_smaller(layers, chunks * number_smaller(most, again));
    }
    const double rest = 1.0 + spare - wide * (most - 1.0);
    return wide * number_smaller(most, again) + number_smaller(rest, again) +
           (chunks - wide - 1.0) * number_smaller(1.0, again);
}

/* The cheapest of so many layers; takes them away. */
static double take_cheapest_s(struct kind *kinds, uint32_t count, double left)
{
    double sum_s = 0.0;
    while (left > 0.0) {
        struct kind *least = NULL;
        for (uint32_t i = 0; i < count; i++) {
            const bool is_less = least == NULL || kinds[i].more_s < least->more_s;
            least = kinds[i].layers > 0.0 && is_less ? &kinds[i] : least;
        }
        if (least == NULL) {
            break;
        }
        const double taken = number_smaller(least->layers, left);
        sum_s += taken * least->more_s;
        least->layers -= taken;
        left -= taken;
    }
    return sum_s;
}

void pipeline_add_again(struct pipeline_terms *terms, const struct work *work,
                        const struct piece *least, uint32_t chunks, double step_s)
{
    struct kind kinds[WORK_BLOCK_MAX];
    const uint32_t count = list_kinds(work, least, kinds);
    double layers = 0.0, least_s = 1e300, frac = 1.0;
    for (uint32_t i = 0; i < count; i++) {
        layers += kinds[i].layers;
        least_s = number_smaller(least_s, kinds[i].least_s);
        if (kinds[i].more_s > 0.0) {
            frac = number_smaller(frac, kinds[i].least_s / (kinds[i].least_s + kinds[i].more_s));
        }
    }
    if (frac == 1.0 || least_s <= 0.0) {
        return;
    }
    const double all = (double)terms->stages * chunks;
    const double in_time = step_s / ROUNDING / terms->micro_batches / least_s - (chunks - 1.0);
    const double most = number_smaller(layers, number_larger(in_time, 1.0));
    const double again = count_again(layers, all, (double)(uint32_t)most,
                                     number_smaller(work->recompute_layers, layers));
    const double before_s = terms->layer_s;
    terms->layer_s += take_cheapest_s(kinds, count, again) / layers;
    for (uint32_t splits = 0; splits < 2; splits++) {
        terms->layer_pass_s[splits] *= frac * terms->layer_s / before_s;
    }
}

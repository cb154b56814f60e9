/* The fastest leaves so far. */
#include <string.h>

#include "base/number.h"
#include "planner/planner_inside.h"

#define NOTHING_YET_S 1e300
/* A plan that may lack less is looked at when it may lack that much less. */
#define SHORTAGE_WORTH 0.98

double ranking_threshold_s(const struct search *search)
{
    const uint32_t top = search->options->top;
    const double judged_s = search->best_count < top ? NOTHING_YET_S : search->best[top - 1].step_s;
    const double probed_s =
        search->probe_count < top ? NOTHING_YET_S : search->probes[top - 1].step_s;
    return number_smaller(number_smaller(judged_s, probed_s), seed_threshold_s(search->options));
}

bool ranking_cuts(const struct search *search, double bound_s)
{
    return !search->options->no_prune && bound_s * ROUNDING > ranking_threshold_s(search);
}

/* Into `list` of `count` leaves, at most options->top. */
static void insert(const struct search *search, const struct leaf *leaf, struct leaf *list,
                   uint32_t *count)
{
    const uint32_t top = search->options->top;
    uint32_t place = *count;
    while (place > 0 && leaf_is_before(leaf, &list[place - 1])) {
        place--;
    }
    if (place >= top) {
        return;
    }
    const uint32_t kept = *count < top ? *count : top - 1;
    memmove(&list[place + 1], &list[place], (kept - place) * sizeof *leaf);
    list[place] = *leaf;
    *count = kept + 1;
}

bool ranking_wants_probe(const struct search *search, double step_s)
{
    const uint32_t top = search->options->top;
    return search->probe_count < top || step_s < search->probes[top - 1].step_s;
}

void ranking_push_probe(struct search *search, const struct leaf *leaf)
{
    insert(search, leaf, search->probes, &search->probe_count);
}

static bool is_same(const struct leaf *a, const struct leaf *b)
{
    return a->node == b->node && a->order == b->order && a->index == b->index;
}

static bool is_ranked(const struct search *search, const struct leaf *leaf)
{
    for (uint32_t i = 0; i < search->best_count; i++) {
        if (is_same(&search->best[i], leaf)) {
            return true;
        }
    }
    return false;
}

void ranking_add_probes(struct search *search)
{
    for (uint32_t i = 0; i < search->probe_count; i++) {
        if (!is_ranked(search, &search->probes[i])) {
            ranking_push(search, &search->probes[i]);
        }
    }
}

void ranking_push(struct search *search, const struct leaf *leaf)
{
    insert(search, leaf, search->best, &search->best_count);
}

void ranking_improve(struct search *search, const struct leaf *leaf)
{
    for (uint32_t i = 0; i < search->best_count; i++) {
        if (!is_same(&search->best[i], leaf)) {
            continue;
        }
        if (search->best[i].step_s <= leaf->step_s) {
            return;
        }
        search->best_count--;
        memmove(&search->best[i], &search->best[i + 1],
                (search->best_count - i) * sizeof *search->best);
    }
    ranking_push(search, leaf);
}

bool ranking_wants_shortage(const struct search *search, double floor_bytes)
{
    const double over = floor_bytes - search->estimator->capacity_bytes(search->estimator->state);
    const double worth = search->options->no_prune ? 1.0 : SHORTAGE_WORTH;
    return !search->fits_only && search->best_count == 0 && search->probe_count == 0 &&
           (search->least_over.layers == NULL || over < worth * search->least_over_bytes);
}

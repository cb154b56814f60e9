/* The fastest leaves so far. */
#include <string.h>

#include "planner/planner_inside.h"

#define NOTHING_YET_S 1e300

double ranking_threshold_s(const struct search *search)
{
    const uint32_t top = search->options->top;
    const double judged_s = search->best_count < top ? NOTHING_YET_S : search->best[top - 1].step_s;
    const double probed_s = search->probe_count < top ? NOTHING_YET_S : search->probes[top - 1];
    return judged_s < probed_s ? judged_s : probed_s;
}

void ranking_push_probe(struct search *search, double step_s)
{
    const uint32_t top = search->options->top;
    uint32_t place = search->probe_count;
    while (place > 0 && step_s < search->probes[place - 1]) {
        place--;
    }
    if (place >= top) {
        return;
    }
    const uint32_t kept = search->probe_count < top ? search->probe_count : top - 1;
    memmove(&search->probes[place + 1], &search->probes[place], (kept - place) * sizeof *search->probes);
    search->probes[place] = step_s;
    search->probe_count = kept + 1;
}

/* Equal times: the one that the enumeration names first, so that the order of visits does not matter. */
static bool is_better(const struct leaf *a, const struct leaf *b)
{
    if (a->step_s != b->step_s) {
        return a->step_s < b->step_s;
    }
    if (a->node != b->node) {
        return a->node < b->node;
    }
    return a->order != b->order ? a->order < b->order : a->index < b->index;
}

void ranking_push(struct search *search, const struct leaf *leaf)
{
    uint32_t place = search->best_count;
    while (place > 0 && is_better(leaf, &search->best[place - 1])) {
        place--;
    }
    if (place >= search->options->top) {
        return;
    }
    const uint32_t kept =
        search->best_count < search->options->top ? search->best_count : search->options->top - 1;
    memmove(&search->best[place + 1], &search->best[place], (kept - place) * sizeof *leaf);
    search->best[place] = *leaf;
    search->best_count = kept + 1;
}

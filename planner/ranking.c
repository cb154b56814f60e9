/* The fastest leaves so far. */
#include <string.h>

#include "planner/planner_inside.h"

#define NOTHING_YET_S 1e300

double ranking_threshold_s(const struct search *search)
{
    return search->best_count < search->options->top ? NOTHING_YET_S
                                                     : search->best[search->best_count - 1].step_s;
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

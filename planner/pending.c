/* Leaves whose layers may stand faster otherwise: walked in the end, when the best step is known
 * and most of them cannot reach it. */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "planner/planner_inside.h"

/* After so many leaves with more placements than can be walked the others are left as they are. */
#define UNSETTLED_MAX 64u

static void leave_open(struct search *search, double bound_s)
{
    search->open_s = search->open_s > 0.0 ? number_smaller(search->open_s, bound_s) : bound_s;
}

void pending_push(struct search *search, const struct leaf *leaf, uint32_t stages, double bound_s)
{
    struct pending_leaves *pending = &search->pending;
    if (bound_s * ROUNDING > ranking_threshold_s(search)) {
        return;
    }
    if (!placement_is_walked(search->problem->model, stages, leaf->form.chunks)) {
        leave_open(search, bound_s);
        return;
    }
    ARENA_MAKE_ROOM(search->arena, pending->items, pending->count, pending->capacity);
    pending->items[pending->count++] = (struct pending_leaf){*leaf, bound_s};
}

static int compare_pending(const void *a, const void *b)
{
    const struct pending_leaf *one = a, *other = b;
    if (one->bound_s != other->bound_s) {
        return one->bound_s < other->bound_s ? -1 : 1;
    }
    return leaf_is_before(&one->leaf, &other->leaf) ? -1 : 1;
}

/* The leaf's plan priced, as a load without layers. */
static void build_load(struct search *search, const struct leaf *leaf, struct load *out)
{
    struct arena *arena = &search->scratch;
    const struct estimator *estimator = search->estimator;
    struct plan *plan = leaf_plan(search, leaf, arena);
    struct work *work = ARENA_PUSH(arena, struct work, 1);
    work_build(search->problem, plan, arena, work);
    *out = (struct load){.work = work,
                         .stream = stream_cache_find(search, &leaf->form, &work->shape),
                         .pieces = estimator_price_blocks(estimator, work, arena)};
    estimator_price_messages(estimator, work, arena, out);
}

static bool find_room(struct search *search, struct load *load, uint32_t *counts,
                      struct layout_room *out)
{
    *out = (struct layout_room){.limited = true};
    if (!layout_is_alike(search->problem->model)) {
        return true;
    }
    uint32_t *caps = ARENA_PUSH(&search->scratch, uint32_t, load->work->shape.stages);
    out->caps = caps;
    return layout_caps(search, load, counts, caps);
}

/* False: some placement may be faster than the threshold still. */
static bool walk(struct search *search, const struct leaf *leaf)
{
    struct arena *arena = &search->scratch;
    struct load load;
    struct layout_room room;
    struct placing placing;
    build_load(search, leaf, &load);
    const size_t chunks = (size_t)load.work->shape.stages * load.work->shape.chunks;
    uint32_t *layers = ARENA_PUSH(arena, uint32_t, chunks);
    uint32_t *counts = ARENA_PUSH(arena, uint32_t, chunks * WORK_BLOCK_MAX);
    load.counts = counts;
    if (!find_room(search, &load, counts, &room)) {
        return true;
    }
    placement_init(search, &load, layers, ranking_threshold_s(search), arena, &placing);
    placing.splits = leaf->form.schedule->splits;
    placement_walk(&placing, room);
    if (placing.best_s < 1e300) {
        struct leaf best = *leaf;
        best.step_s = placing.best_s;
        best.layers = ARENA_PUSH(search->arena, uint32_t, chunks);
        memcpy(best.layers, placing.best_layers, chunks * sizeof *best.layers);
        ranking_improve(search, &best);
    }
    return !placing.open;
}

void pending_leave(struct search *search)
{
    for (uint32_t i = 0; i < search->pending.count; i++) {
        leave_open(search, search->pending.items[i].bound_s);
    }
}

void pending_judge(struct search *search)
{
    const struct pending_leaves *pending = &search->pending;
    if (pending->count == 0) {
        return;
    }
    qsort(pending->items, pending->count, sizeof *pending->items, compare_pending);
    uint32_t unsettled = 0;
    for (uint32_t i = 0; i < pending->count && unsettled < UNSETTLED_MAX; i++) {
        const struct pending_leaf *item = &pending->items[i];
        if (item->bound_s * ROUNDING > ranking_threshold_s(search)) {
            return; /* nor is any behind it */
        }
        const struct arena_mark mark = arena_find_mark(&search->scratch);
        if (!walk(search, &item->leaf)) {
            leave_open(search, item->bound_s); /* the others have no smaller bound */
            unsettled++;
        }
        arena_pop(&search->scratch, mark);
        stream_cache_trim(search);
    }
}

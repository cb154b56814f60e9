/* One leaf: an alternative on a priced variant, its layers placed, bounded, judged. */
#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "planner/planner_inside.h"

/* An alternative of a variant under a schedule shape. */
struct trial {
    struct search *search;
    struct variant *variant;
    uint32_t *layers, *counts;
    struct load load;
};

bool leaf_is_before(const struct leaf *a, const struct leaf *b)
{
    if (a->step_s != b->step_s) {
        return a->step_s < b->step_s;
    }
    if (a->node != b->node) {
        return a->node < b->node;
    }
    return a->order != b->order ? a->order < b->order : a->index < b->index;
}

struct plan *leaf_plan(struct search *search, const struct leaf *leaf, struct arena *arena)
{
    struct plan *plan = space_plan(search, space_find_node(search, leaf->node), leaf->order, arena);
    plan->schedule.schedule = leaf->form.schedule;
    plan->schedule.chunks = leaf->form.chunks;
    plan->policy_count = space_uses(leaf->alternatives, leaf->alternative, arena, &plan->policies);
    return plan;
}

/* Of a priced variant that is kept as the leaf says; one trial at a time. */
static void open_trial(struct search *search, struct variant *variant, const struct leaf *leaf,
                       struct trial *trial)
{
    struct arena *arena = &search->scratch;
    const struct work *work = variant->work;
    trial->search = search;
    trial->variant = variant;
    const uint32_t chunks = work->shape.stages * work->shape.chunks;
    trial->layers = ARENA_PUSH(arena, uint32_t, chunks);
    trial->counts = ARENA_PUSH(arena, uint32_t, (size_t)chunks * WORK_BLOCK_MAX);
    trial->load = variant->load; /* messages */
    trial->load.work = work;
    trial->load.stream = stream_cache_find(search, &leaf->form, &work->shape);
    trial->load.pieces = variant->pieces;
    trial->load.counts = trial->counts;
}

static enum layout_verdict place(struct trial *trial, struct layout_room room)
{
    return layout_partition(trial->search, &trial->load, room, trial->layers, trial->counts,
                            &trial->search->scratch);
}

/* A step that is slower is of no interest; 0: there is none such yet. */
static double find_limit_s(const struct search *search)
{
    const double threshold_s = ranking_threshold_s(search);
    return search->options->no_prune || threshold_s >= 1e300 ? 0.0 : threshold_s;
}

static void copy_layers(struct search *search, const struct trial *trial, struct leaf *leaf)
{
    const struct schedule_shape *shape = &trial->load.work->shape;
    const size_t chunks = (size_t)shape->stages * shape->chunks;
    leaf->layers = ARENA_PUSH(search->arena, uint32_t, chunks);
    memcpy(leaf->layers, trial->layers, chunks * sizeof *leaf->layers);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Remembers the leaf whose fullest stage lacks least, for when nothing fits. */
static void note_shortage(struct trial *trial, const struct leaf *leaf)
{
    struct search *search = trial->search;
    if (place(trial, (struct layout_room){.limited = false}) != LAYOUT_FOUND) {
        return;
    }
    double over = 0.0;
    for (uint32_t stage = 0; stage < trial->load.work->shape.stages; stage++) {
        const double room =
            search->estimator->room_bytes(search->estimator->state, &trial->load, stage);
        over = -room > over ? -room : over;
    }
    if (search->least_over.layers == NULL || over < search->least_over_bytes) {
        search->least_over = *leaf;
        search->least_over_bytes = over;
        copy_layers(search, trial, &search->least_over);
    }
}

/* Unlike layers have no cap per stage: they are placed at once. */
static bool has_room(struct trial *trial, uint32_t *caps)
{
    struct search *search = trial->search;
    return layout_is_alike(search->problem->model)
               ? layout_caps(search, &trial->load, trial->counts, caps)
               : place(trial, (struct layout_room){.limited = true}) == LAYOUT_FOUND;
}

/* A stage may have room for what it holds at least. */
static bool may_have_room(const struct search *search, double floor_bytes)
{
    return floor_bytes * ROUNDING <= search->estimator->capacity_bytes(search->estimator->state);
}

bool leaf_caps(struct search *search, struct variant *variant, const struct leaf *leaf,
               uint32_t *caps)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    variant_keep(search, variant, leaf);
    const double floor_bytes = variant_floor_bytes(variant);
    const bool may = may_have_room(search, floor_bytes);
    bool good = false;
    if (may || ranking_wants_shortage(search, floor_bytes)) {
        struct trial trial;
        open_trial(search, variant, leaf, &trial);
        good = may && has_room(&trial, caps);
        if (!good && ranking_wants_shortage(search, floor_bytes)) {
            note_shortage(&trial, leaf);
        }
    }
    arena_pop(&search->scratch, mark);
    return good;
}

/* --- time ------------------------------------------------------------------------------------- */

static void probe_placed(struct trial *trial, const struct leaf *leaf)
{
    struct search *search = trial->search;
    struct leaf probed = *leaf;
    struct estimate estimate;
    search->estimator->combine(search->estimator->state, &trial->load, false, &search->scratch,
                               &estimate);
    probed.step_s = estimate.step_s;
    if (ranking_wants_probe(search, estimate.step_s)) {
        copy_layers(search, trial, &probed);
        ranking_push_probe(search, &probed);
    }
}

/* Unlike layers: no plan slower than the probes so far is of use. */
static bool probe_place(struct trial *trial, uint32_t *caps)
{
    const struct search *search = trial->search;
    const bool alike = layout_is_alike(search->problem->model);
    const struct layout_room room = {
        .limited = true, .caps = alike ? caps : NULL, .step_s = find_limit_s(search)};
    return (!alike || has_room(trial, caps)) && place(trial, room) == LAYOUT_FOUND;
}

bool leaf_probe(struct search *search, struct variant *variant, const struct leaf *leaf)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    uint32_t *caps = ARENA_PUSH(&search->scratch, uint32_t, variant->work->shape.stages);
    variant_keep(search, variant, leaf);
    bool fits = may_have_room(search, variant_floor_bytes(variant));
    if (fits) {
        struct trial trial;
        open_trial(search, variant, leaf, &trial);
        fits = probe_place(&trial, caps);
        if (fits) {
            probe_placed(&trial, leaf);
        }
    }
    arena_pop(&search->scratch, mark);
    return fits;
}

/* No placement of the leaf is faster. */
static double leaf_bound_s(const struct trial *trial, const struct leaf *leaf)
{
    struct pipeline_terms terms = trial->variant->terms;
    terms.layers = trial->search->layers;
    terms.chunks = leaf->form.chunks;
    terms.splits = leaf->form.schedule->splits;
    return pipeline_bound_s(&terms);
}

static void close_leaf(struct trial *trial, const struct placing *placing, const struct leaf *leaf)
{
    struct search *search = trial->search;
    if (placing->open) {
        pending_push(search, leaf, trial->load.work->shape.stages, leaf_bound_s(trial, leaf));
    }
    if (!placing->looked) {
        search->certificate.pruned[BOUND_PATH]++;
        return;
    }
    search->certificate.evaluated++;
    if (placing->best_s < 1e300) {
        struct leaf best = *leaf;
        best.step_s = placing->best_s;
        memcpy(trial->layers, placing->best_layers,
               (size_t)trial->load.work->shape.stages * leaf->form.chunks * sizeof *trial->layers);
        copy_layers(search, trial, &best);
        ranking_push(search, &best);
    }
}

/* Of a leaf whose layers are placed. False: no placement that is fast enough fits. */
static bool judge_placed(struct trial *trial, struct layout_room room, const struct leaf *leaf)
{
    struct search *search = trial->search;
    struct placing placing;
    placement_init(search, &trial->load, trial->layers, ranking_threshold_s(search),
                   &search->scratch, &placing);
    placing.splits = leaf->form.schedule->splits;
    placement_try(&placing, room, trial->counts);
    close_leaf(trial, &placing, leaf);
    return placing.best_s < 1e300;
}

void leaf_judge(struct search *search, struct variant *variant, const struct leaf *leaf,
                const uint32_t *caps)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    struct trial trial;
    variant_keep(search, variant, leaf);
    open_trial(search, variant, leaf, &trial);
    const struct layout_room room = {.limited = caps != NULL, .caps = caps};
    if (place(&trial, room) != LAYOUT_FOUND) {
        BUG("layers that go onto their stages do not go again");
    }
    (void)judge_placed(&trial, room, leaf);
    arena_pop(&search->scratch, mark);
}

/* Too slow is told by the time of the busiest stage alone; where no memory is the limit, whatever
 * the times, the leaf is kept in mind for when nothing fits. Chunk by chunk another placement may
 * have the room that the first one lacks. */
static enum layout_verdict judge_unlike(struct trial *trial, const struct leaf *leaf)
{
    struct search *search = trial->search;
    const bool prunes = !search->options->no_prune;
    const struct layout_room room = {.limited = true, .step_s = find_limit_s(search)};
    const enum layout_verdict verdict = place(trial, room);
    const bool elsewhere = verdict == LAYOUT_NO_ROOM && leaf->form.chunks > 1;
    if (verdict == LAYOUT_FOUND || (elsewhere && prunes)) {
        return judge_placed(trial, room, leaf) ? LAYOUT_FOUND : verdict;
    }
    if (prunes) {
        search->certificate.pruned[verdict == LAYOUT_NO_ROOM ? BOUND_MEMORY : BOUND_PATH]++;
    } else if (place(trial, (struct layout_room){.limited = false}) == LAYOUT_FOUND) {
        (void)judge_placed(trial, (struct layout_room){.limited = false}, leaf);
    }
    return verdict;
}

/* Chunk by chunk, memory is only looked at afterwards: other times may find a place with room. */
bool leaf_judge_unlike(struct search *search, struct variant *variant, const struct leaf *leaf)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    variant_keep(search, variant, leaf);
    const double floor_bytes = variant_floor_bytes(variant);
    const bool may = search->options->no_prune || may_have_room(search, floor_bytes);
    const bool notes = ranking_wants_shortage(search, floor_bytes);
    bool no_room = !may;
    struct trial trial;
    if (may || notes) {
        open_trial(search, variant, leaf, &trial);
    }
    if (may) {
        no_room = judge_unlike(&trial, leaf) == LAYOUT_NO_ROOM;
    } else {
        search->certificate.pruned[BOUND_MEMORY]++;
    }
    if (no_room && notes) {
        note_shortage(&trial, leaf);
    }
    arena_pop(&search->scratch, mark);
    return may && !(no_room && leaf->form.chunks == 1);
}

/* One leaf: an alternative on a priced variant, its layers placed, bounded, judged. */
#include <assert.h>
#include <string.h>

#include "planner/planner_inside.h"

/* An alternative of a variant under a schedule shape. */
struct trial {
    struct search *search;
    struct variant *variant;
    uint32_t *layers, *counts;
    struct load load;
};

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
    trial->load = (struct load){.work = work,
                                .stream = stream_cache_find(search, &leaf->form, &work->shape),
                                .pieces = variant->pieces,
                                .counts = trial->counts,
                                .send_s = variant->send_s,
                                .tied_s = variant->tied_s,
                                .norm_s = variant->norm_s};
}

static bool place(struct trial *trial, struct layout_room room)
{
    return layout_partition(trial->search, &trial->load, room, trial->layers, trial->counts,
                            &trial->search->scratch);
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
    if (!place(trial, (struct layout_room){.limited = false})) {
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
               : place(trial, (struct layout_room){.limited = true});
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

bool leaf_probe(struct search *search, struct variant *variant, const struct leaf *leaf)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    uint32_t *caps = ARENA_PUSH(&search->scratch, uint32_t, search->layers);
    variant_keep(search, variant, leaf);
    bool fits = may_have_room(search, variant_floor_bytes(variant));
    if (fits) {
        struct trial trial;
        open_trial(search, variant, leaf, &trial);
        fits = has_room(&trial, caps) && place(&trial, (struct layout_room){true, caps});
        if (fits) {
            probe_placed(&trial, leaf);
        }
    }
    arena_pop(&search->scratch, mark);
    return fits;
}

static void judge_fully(struct trial *trial, const struct leaf *leaf)
{
    struct search *search = trial->search;
    const struct estimator *estimator = search->estimator;
    struct estimate estimate;
    estimator->combine(estimator->state, &trial->load, false, &search->scratch, &estimate);
    search->certificate.evaluated++;
    if (estimate.fits && estimate.step_s <= ranking_threshold_s(search)) {
        struct leaf judged = *leaf;
        judged.step_s = estimate.step_s;
        copy_layers(search, trial, &judged);
        ranking_push(search, &judged);
    }
}

void leaf_judge(struct search *search, struct variant *variant, const struct leaf *leaf,
                const uint32_t *caps)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    const struct estimator *estimator = search->estimator;
    struct certificate *certificate = &search->certificate;
    struct trial trial;
    variant_keep(search, variant, leaf);
    open_trial(search, variant, leaf, &trial);
    if (!place(&trial, (struct layout_room){caps != NULL, caps})) {
        certificate->pruned[BOUND_MEMORY]++; /* unlike layers: their place depends on times too */
    } else if (!search->options->no_prune &&
               estimator->bound(estimator->state, &trial.load) * ROUNDING >
                   ranking_threshold_s(search)) {
        certificate->pruned[BOUND_PATH]++;
    } else {
        judge_fully(&trial, leaf);
    }
    arena_pop(&search->scratch, mark);
}

/* A plan with its layers placed in every way, one by one: each chunk of a stage takes one layer at
 * least. */
#ifndef SHARDPLAN_TESTS_CROSS_ALL_PLACEMENTS_H
#define SHARDPLAN_TESTS_CROSS_ALL_PLACEMENTS_H

#include "tests/cross/thrown_question.h"

/* One plan, priced, and the best of its placements so far. */
struct placements {
    struct load load;
    struct stream stream;
    uint32_t *layers; /* [model chunk] */
    uint32_t *counts;
    uint32_t chunks;
    double best_s; /* 1e300: none fits */
};

static inline void open_placements(const struct plan *plan, struct placements *out)
{
    const struct estimator *estimator = &question.estimator;
    struct work *work = ARENA_PUSH(&arena, struct work, 1);
    work_build(&question.problem, plan, &arena, work);
    ck_assert(stream_build(plan->schedule.schedule, &work->shape, &arena, &out->stream, &diag));
    out->chunks = work->shape.stages * work->shape.chunks;
    out->layers = ARENA_PUSH(&arena, uint32_t, out->chunks);
    out->counts = ARENA_PUSH(&arena, uint32_t, (size_t)out->chunks * WORK_BLOCK_MAX);
    out->best_s = 1e300;
    out->load = (struct load){.work = work,
                              .stream = &out->stream,
                              .pieces = estimator_price_blocks(estimator, work, &arena),
                              .counts = out->counts};
    estimator_price_messages(estimator, work, &arena, &out->load);
}

static inline void judge_placement(struct placements *placements)
{
    const struct arena_mark mark = arena_find_mark(&arena);
    struct estimate estimate;
    work_count_blocks(placements->load.work, placements->layers, placements->counts);
    question.estimator.combine(question.estimator.state, &placements->load, false, &arena,
                               &estimate);
    if (estimate.fits && estimate.step_s < placements->best_s) {
        placements->best_s = estimate.step_s;
    }
    arena_pop(&arena, mark);
}

/* Like layers are even over the chunks of a stage; the odd ones are away from the ends of the
 * chain. */
static inline void spread_stage(struct placements *placements, uint32_t stage, uint32_t layers)
{
    const uint32_t chunks = placements->stream.shape.chunks;
    for (uint32_t i = 0; i < chunks; i++) {
        const uint32_t local = stage == 0 ? chunks - 1 - i : i;
        placements->layers[placements->stream.model_chunk[stage * chunks + local]] =
            layers / chunks + (i < layers % chunks ? 1 : 0);
    }
}

/* From `place` on, with `left` layers: places are stages of like layers, else chunks. */
static inline void each_placement(struct placements *placements, uint32_t place, uint32_t left)
{
    const bool alike = question.problem.model->run_count <= 3;
    const uint32_t least = alike ? placements->stream.shape.chunks : 1;
    const uint32_t behind = placements->chunks / least - 1 - place;
    for (uint32_t own = behind == 0 ? left : least; own + behind * least <= left; own++) {
        if (alike) {
            spread_stage(placements, place, own);
        } else {
            placements->layers[place] = own;
        }
        if (behind == 0) {
            judge_placement(placements);
        } else {
            each_placement(placements, place + 1, left - own);
        }
    }
}

/* Least step of a plan in any placement that fits; 1e300: none does. */
static inline double find_placed_s(const struct plan *plan)
{
    const struct arena_mark mark = arena_find_mark(&arena);
    struct placements placements;
    open_placements(plan, &placements);
    each_placement(&placements, 0, plan_count_layers(question.problem.model));
    if (question.estimator.forget_streams != NULL) {
        question.estimator.forget_streams(question.estimator.state);
    }
    const double best_s = placements.best_s;
    arena_pop(&arena, mark);
    return best_s;
}

#endif

/* One plan through the analytic judge, with every intermediate at hand. */
#ifndef SHARDPLAN_TESTS_LAW_JUDGED_PLAN_H
#define SHARDPLAN_TESTS_LAW_JUDGED_PLAN_H

#include "costmodel/costmodel.h"
#include "models/transformer.h"
#include "tests/law/random_plan.h"
#include "tests/law/single_plan.h"

static struct costmodel judge;
static struct prices prices;

static inline void begin_judged(const char *name)
{
    begin(name);
    ck_assert_msg(prices_read(&cluster, &runtime, &arena, &prices, &diag), "%s",
                  diag.entries[0].message);
    costmodel_init(&judge, &problem, &prices, &arena);
}

static inline void end_judged(void)
{
    costmodel_release(&judge);
    arena_release(&arena);
}

struct judged {
    struct work work;
    struct stream stream;
    struct piece pieces[WORK_BLOCK_MAX];
    struct load load;
    struct estimate estimate;
};

/* Layers as even as they come, the rest one each from the second chunk on. */
static inline uint32_t *spread_layers(uint32_t chunks)
{
    const uint32_t layers = plan_count_layers(&model);
    uint32_t *out = ARENA_PUSH(&arena, uint32_t, chunks);
    for (uint32_t i = 0; i < chunks; i++) {
        out[i] = layers / chunks + (i > 0 && i <= layers % chunks ? 1 : 0);
    }
    return out;
}

/* Everything but the estimate. */
static inline struct judged *load_plan(const struct plan *plan)
{
    struct judged *judged = ARENA_PUSH(&arena, struct judged, 1);
    struct estimator estimator;
    costmodel_estimator(&judge, &estimator);
    struct work *work = &judged->work;
    work_build(&problem, plan, &arena, work);
    ck_assert(work_check(work));
    ck_assert_msg(
        stream_build(plan->schedule.schedule, &work->shape, &arena, &judged->stream, &diag), "%s",
        diag.entries[0].message);
    for (uint32_t i = 0; i < work->block_count; i++) {
        costmodel_piece(&judge, work, i, 0, NULL, &judged->pieces[i]);
    }
    const uint32_t chunks = work->shape.stages * work->shape.chunks;
    uint32_t *counts = ARENA_PUSH(&arena, uint32_t, (size_t)chunks * WORK_BLOCK_MAX);
    work_count_blocks(work, spread_layers(chunks), counts);
    judged->load = (struct load){.work = work,
                                 .stream = &judged->stream,
                                 .pieces = judged->pieces,
                                 .counts = counts,
                                 .send_s = costmodel_message_s(&judge, work, &work->send, 0),
                                 .tied_s = costmodel_message_s(&judge, work, &work->tied, 0),
                                 .norm_s = costmodel_message_s(&judge, work, &work->norm, 0)};
    return judged;
}

static inline struct judged *judge_plan(const struct plan *plan)
{
    struct judged *judged = load_plan(plan);
    costmodel_combine(&judge, &judged->load, true, &arena, &judged->estimate);
    return judged;
}

static inline const struct work_block *middle_block(const struct work *work, enum work_keep keep)
{
    return &work->blocks[work_find_block(work, model.chain[model.run_count - 2].part, keep)];
}

#endif

/* Work programs of plans written out by hand, and the models that laws of the rule run over. */
#ifndef SHARDPLAN_TESTS_LAW_BUILT_WORK_H
#define SHARDPLAN_TESTS_LAW_BUILT_WORK_H

#include "models/transformer.h"
#include "plan/work.h"
#include "tests/law/random_plan.h"
#include "tests/law/single_plan.h"

static const char *const decoders[] = {"llama-3.1-8b", "llama-2-7b", "qwen3-8b",
                                       "gpt3-175b",    "mistral-7b", "gpt2-large"};
#define DECODER_COUNT (sizeof decoders / sizeof decoders[0])

static const char *const mixtures[] = {"mixtral-8x7b", "qwen3-30b-a3b", "toy-moe-4l"};
#define MIXTURE_COUNT (sizeof mixtures / sizeof mixtures[0])

static inline struct work *start(const struct plan *plan)
{
    struct work *work = ARENA_PUSH(&arena, struct work, 1);
    work_start(&problem, plan, &arena, work);
    ck_assert(work_check(work));
    return work;
}

static inline struct work *finish(const struct plan *plan)
{
    struct work *work = ARENA_PUSH(&arena, struct work, 1);
    work_build(&problem, plan, &arena, work);
    ck_assert(work_check(work));
    return work;
}

/* The block of layers that is not at an end of the chain. */
static inline const struct work_block *middle(const struct work *work)
{
    const uint32_t block = work_find_block(work, model.chain[model.run_count - 2].part, KEEP_ALL);
    return &work->blocks[block];
}

static inline uint32_t count_messages(const struct work_items *items)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < items->count; i++) {
        count += items->items[i].is_message ? 1 : 0;
    }
    return count;
}

static inline axis_set axes_of(const char *const *names)
{
    axis_set set = 0;
    for (uint32_t i = 0; names[i] != NULL; i++) {
        const uint32_t axis = model_find_axis(&model, names[i]);
        set |= axis == NO_INDEX ? 0 : (axis_set)1 << axis;
    }
    return set;
}

static inline axis_set tensor_axes(void)
{
    static const char *const names[] = {
        "heads",      "kv_heads",    "ffn",          "expert_ffn",      "shared_ffn", "vocab",
        "scan_heads", "scan_groups", "vision_heads", "vision_kv_heads", "vision_ffn", NULL};
    return axes_of(names);
}

#endif

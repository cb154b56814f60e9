/* HAP: one program on all devices without stages; per-device shares in proportion to speed. */
#include "planner/strategies/usual.h"

extern const struct strategy strategy_hap;

static void each_level(const struct strategy_case *of, uint32_t tensor, uint32_t micro_batch)
{
    const uint32_t replicas = strategy_count_devices(of) / tensor;
    const struct strategy_degree degrees[] = {{"tp", tensor}, {"dp", replicas}, {"sp", tensor}};
    const struct plan *bare = strategy_build_plan(of, degrees, 3, micro_batch);
    usual_offer(of, bare);
    for (uint32_t level = 0; level < 3; level++) {
        struct plan *plan = ARENA_PUSH(of->arena, struct plan, 1);
        *plan = *bare;
        if (strategy_push_use(of, plan, "shard", level)) {
            strategy_offer(of, plan);
        }
    }
}

static void propose(const struct strategy_case *of)
{
    const uint32_t devices = strategy_count_devices(of);
    for (uint32_t tensor = 1; tensor <= devices; tensor++) {
        uint32_t sizes[STRATEGY_MICRO_MAX];
        const uint32_t count =
            devices % tensor == 0 ? strategy_list_micro(of, devices / tensor, sizes) : 0;
        for (uint32_t i = 0; i < count; i++) {
            each_level(of, tensor, sizes[i]);
        }
    }
}

const struct strategy strategy_hap = {
    .name = "hap",
    .summary = "one program on all devices: tensor and data ranks, states shared as far as it pays",
    .source = "Zhang et al., EuroSys 2024, arXiv 2401.05965",
    .lacks = "unlike shares per device, cuts per layer",
    .propose = propose,
};

/* FPDeep: one chain of devices, layers cut so that all are equally busy. */
#include "planner/strategies/usual.h"

extern const struct strategy strategy_fpdeep;

/* As many stages as layers allow; what is left over are replicas of the chain. */
static void propose(const struct strategy_case *of)
{
    const uint32_t devices = strategy_count_devices(of);
    const uint32_t layers = plan_count_layers(of->problem->model);
    uint32_t stages = layers < devices ? layers : devices;
    while (devices % stages != 0) {
        stages--;
    }
    const struct strategy_degree degrees[] = {{"pp", stages}, {"dp", devices / stages}};
    const struct strategy_degree outside[] = {{"dp", devices / stages}, {"pp", stages}};
    for (uint32_t way = 0; way < 2; way++) {
        const struct strategy_degree *order = way == 0 ? degrees : outside;
        usual_offer(of, strategy_build_plan(of, order, 2, 1));
    }
}

const struct strategy strategy_fpdeep = {
    .name = "fpdeep",
    .summary = "one long chain of devices, one sequence at a time",
    .source = "Wang et al., 2019, arXiv 1901.01007",
    .lacks = "cuts inside layers, weights kept by neighbours",
    .propose = propose,
};

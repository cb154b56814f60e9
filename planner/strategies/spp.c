/* SPP: devices lined up by recursive minimum cuts, layers by its dynamic programme, the number of
 * stages by how long its order of blocks takes. */
#include "planner/block_order.h"
#include "planner/device_web.h"
#include "planner/strategies/usual.h"

extern const struct strategy strategy_spp;

#define STAGES_MAX 64u

/* What one number of stages came to. */
struct outcome {
    struct plan *plan;
    double total_s;
};

/* The line's places in the order of the cuts, each with its devices. */
static uint32_t *line_up(const struct strategy_case *of, const uint32_t *devices,
                         const struct strategy_line *line)
{
    const uint32_t count = line->row.count * line->unit;
    uint32_t *order = ARENA_PUSH(of->arena, uint32_t, line->row.count);
    uint32_t *sorted = ARENA_PUSH(of->arena, uint32_t, count);
    struct device_web web;
    device_web_build(of->problem->cluster, devices, count, line->unit, of->arena, &web);
    device_web_sort(&web, of->arena, order);
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = devices[order[i / line->unit] * line->unit + i % line->unit];
    }
    return sorted;
}

static struct outcome try_stages(const struct strategy_case *of, struct plan *plan,
                                 const uint32_t *devices)
{
    struct outcome none = {NULL, 1e300};
    struct strategy_line line;
    struct replica_stage stages[STAGES_MAX];
    struct replica_times times;
    if (!strategy_build_line(of, plan, devices, &line)) {
        return none;
    }
    if (of->pins->slice_count == 0 && line.stages > 1) {
        devices = line_up(of, devices, &line);
        strategy_place(of, plan, devices, line.row.count * line.unit);
        strategy_build_line(of, plan, devices, &line);
    }
    if (replica_partition_find(&line.chain, &line.row, line.stages, line.replicas, of->arena,
                               stages) >= REPLICA_PARTITION_NEVER_S) {
        return none;
    }
    replica_partition_time(&line.chain, &line.row, stages, line.stages, of->arena, &times);
    strategy_set_layers(of, plan, stages, line.stages);
    return (struct outcome){plan, block_order_find(&times, line.chain.micro_batches, of->arena)};
}

/* Deep warm-up is the nearest named schedule to its order of blocks; plain 1F1B needs less
 * memory. */
static void offer(const struct strategy_case *of, struct plan *plan)
{
    usual_offer(of, plan);
    struct plan *deep = ARENA_PUSH(of->arena, struct plan, 1);
    *deep = *plan;
    deep->schedule.schedule = schedule_find("1f1b-deep");
    usual_offer(of, deep);
}

static void each_stages(const struct strategy_case *of, uint32_t tensor, uint32_t micro_batch,
                        const uint32_t *devices)
{
    const uint32_t count = strategy_count_devices(of) / tensor;
    const uint32_t layers = plan_count_layers(of->problem->model);
    struct outcome best = {NULL, 1e300};
    for (uint32_t stages = 1; stages <= layers && stages <= STAGES_MAX; stages++) {
        if (count % stages != 0) {
            continue;
        }
        const struct usual_mesh mesh = {tensor, stages, count / stages, micro_batch};
        const struct outcome now = try_stages(of, usual_build_plan(of, &mesh), devices);
        best = now.total_s < best.total_s ? now : best;
    }
    if (best.plan != NULL) {
        offer(of, best.plan);
    }
}

/* Tensor ranks, which the method does not know, are those of one device for it. */
static void propose(const struct strategy_case *of)
{
    const uint32_t *devices = strategy_sort_kinds(of, true), server = strategy_count_server(of);
    for (uint32_t tensor = 1; tensor <= server; tensor *= 2) {
        for (uint32_t micro_batch = 1; micro_batch <= 8 && server % tensor == 0; micro_batch *= 2) {
            each_stages(of, tensor, micro_batch, devices);
        }
    }
}

const struct strategy strategy_spp = {
    .name = "spp",
    .summary = "devices lined up by minimum cuts (RDO), layers by PRM, stages by PE's time",
    .source = "Luo et al., INFOCOM 2022, arXiv 2204.10562",
    .lacks = "stages with unlike numbers of replicas; PE's own order of blocks",
    .propose = propose,
};

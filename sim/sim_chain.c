/* The chain of tasks that the measured steps took as long as: from the last end back, each time to
 * the one that was waited for longest. */
#include <assert.h>
#include <string.h>

#include "sim/sim_inside.h"

const char *sim_chain_name(enum sim_chain_part part)
{
    static const char *const names[SIM_CHAIN_COUNT] = {
        [SIM_CHAIN_KERNELS] = "kernels",
        [SIM_CHAIN_HOST] = "launches by the host",
        [SIM_CHAIN_TENSOR] = "messages between kernels",
        [SIM_CHAIN_PREFETCH] = "gathers of parameters under kernels",
        [SIM_CHAIN_DATA] = "gathers and sums once a step",
        [SIM_CHAIN_SEND] = "sends between stages",
        [SIM_CHAIN_SHARED] = "links shared with other messages",
        [SIM_CHAIN_UPDATE] = "update of the weights",
        [SIM_CHAIN_OVERHEAD] = "overhead of a step"};
    return names[part];
}

/* Of tasks on the compute stream those that are no kernels have a name of their own. */
static enum sim_chain_part part_of_compute(const char *name)
{
    if (name == NULL) {
        return SIM_CHAIN_KERNELS;
    }
    return strcmp(name, SIM_UPDATE) == 0     ? SIM_CHAIN_UPDATE
           : strcmp(name, SIM_OVERHEAD) == 0 ? SIM_CHAIN_OVERHEAD
           : strcmp(name, EMIT_HOST) == 0    ? SIM_CHAIN_HOST
                                             : SIM_CHAIN_KERNELS;
}

static enum sim_chain_part part_of(const struct engine_label *label)
{
    switch ((enum emit_stream)(label->tag % EMIT_STREAM_COUNT)) {
    case EMIT_COMPUTE: return part_of_compute(label->name);
    case EMIT_TENSOR: return SIM_CHAIN_TENSOR;
    case EMIT_PREFETCH: return SIM_CHAIN_PREFETCH;
    case EMIT_DATA: return SIM_CHAIN_DATA;
    case EMIT_SEND: return SIM_CHAIN_SEND;
    case EMIT_STREAM_COUNT: break;
    }
    BUG("a task of no stream");
}

static uint32_t stage_of(const struct step_run *run, struct engine_label label)
{
    return label.tag / EMIT_STREAM_COUNT % run->load->work->shape.stages;
}

/* What of the task lies in the measured steps. */
static void charge(const struct step_run *run, uint32_t task, double begin_s, struct sim_chain *out)
{
    const struct engine *engine = &run->engine;
    const struct engine_label label = engine_find_label(engine, task);
    const double start_s = world_find_s(&engine->world, engine_find_start(engine, task));
    const double from_s = start_s > begin_s ? start_s : begin_s;
    const double lasted_s = engine_find_end_s(engine, task) - from_s;
    const double alone_s = engine_find_alone_s(engine, task);
    const double own_s = alone_s < lasted_s ? alone_s : lasted_s;
    const double tick_s = 1.0 / engine->world.ticks_per_s;
    /* what is longer by rounding alone was not shared */
    const bool is_shared = lasted_s - own_s > 2.0 * tick_s + 1e-12 * lasted_s;
    out->part_s[part_of(&label)] += is_shared ? own_s : lasted_s;
    out->part_s[SIM_CHAIN_SHARED] += is_shared ? lasted_s - own_s : 0.0;
    out->stage_s[stage_of(run, label)] += lasted_s;
}

void sim_find_chain(const struct step_run *run, struct arena *arena, struct sim_chain *out)
{
    const struct engine *engine = &run->engine;
    const uint32_t stages = run->load->work->shape.stages;
    const double steps = run->step_count - run->warm_steps;
    const double begin_s = run->ends[run->warm_steps].start_s;
    uint32_t *before = ARENA_PUSH(run->arena, uint32_t, engine->task_count);
    uint32_t stage = UINT32_MAX;
    engine_find_befores(engine, before);
    memset(out, 0, sizeof *out);
    out->stage_s = ARENA_PUSH(arena, double, stages);
    for (uint32_t task = run->last_task;
         task != ENGINE_NO_TASK && engine_find_end_s(engine, task) > begin_s; task = before[task]) {
        const uint32_t own = stage_of(run, engine_find_label(engine, task));
        charge(run, task, begin_s, out);
        out->crossings += stage != UINT32_MAX && own != stage ? 1.0 : 0.0;
        stage = own;
    }
    for (uint32_t part = 0; part < SIM_CHAIN_COUNT; part++) {
        out->part_s[part] /= steps;
    }
    out->crossings /= steps;
    for (uint32_t i = 0; i < stages; i++) {
        out->stage_s[i] /= steps;
    }
}

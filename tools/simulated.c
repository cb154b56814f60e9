/* The simulator is asked about a plan that the cost model has judged. */
#include "tools/simulated.h"

/* Per model chunk, as the plan states them per stage. */
static uint32_t *layers_of(const struct plan *plan, const struct stream *stream,
                           struct arena *arena)
{
    const uint32_t chunks = stream->shape.stages * stream->shape.chunks;
    uint32_t *layers = ARENA_PUSH(arena, uint32_t, chunks);
    for (uint32_t chunk = 0; chunk < chunks; chunk++) {
        layers[chunk] = plan->schedule.layers[stream->chunk_place[chunk]];
    }
    return layers;
}

bool simulated_build(struct command *command, const struct question *question,
                     const struct plan *plan, const struct sim_options *options,
                     struct simulated *out)
{
    struct arena *arena = command->arena;
    out->work = ARENA_PUSH(arena, struct work, 1);
    work_build(&question->problem, plan, arena, out->work);
    if (!stream_build(plan->schedule.schedule, &out->work->shape, arena, &out->stream,
                      command->diag)) {
        return false;
    }
    sim_init(&out->sim, &question->problem, &question->prices, options, arena);
    sim_build_load(&out->sim, out->work, &out->stream, layers_of(plan, &out->stream, arena), arena,
                   &out->load);
    return true;
}

/* Beside an answer a large step is run slot by slot, in tens of megabytes; `simulate` runs it
 * kernel by kernel. */
#define SLOTS_IN_FULL 4096u

static enum sim_granularity granularity_of(const struct question *question, const struct plan *plan)
{
    const uint64_t slots = 2ull * plan_count_stages(plan) * plan->schedule.chunks *
                           plan_count_micro_batches(&question->problem, plan);
    return slots <= SLOTS_IN_FULL ? SIM_OPS : SIM_SLOTS;
}

/* The simulator counts femtoseconds in 64 bits; a longer step is left to the cost model. */
#define STEP_MAX_S 4000.0

bool simulated_judge(struct command *command, const struct question *question,
                     struct verdict *verdict)
{
    struct simulated simulated;
    struct sim_result result;
    struct sim_options options = sim_full_options();
    options.granularity = granularity_of(question, verdict->plan);
    if (verdict->estimate.step_s > STEP_MAX_S) {
        return true;
    }
    if (!simulated_build(command, question, verdict->plan, &options, &simulated) ||
        !sim_run(&simulated.sim, &simulated.load, command->arena, &result, command->diag)) {
        return false;
    }
    verdict->simulated = true;
    verdict->simulated_step_s = result.estimate.step_s;
    return true;
}

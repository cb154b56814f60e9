/* Do batch, stages, chunks, layers add up?
 *
 * The common case is one pipeline through the stages of one group's mesh. A plan with pipelines of
 * its own says for each which layers run on which group, and what share of the batch it takes. */
#include <string.h>

#include "plan/plan_rule.h"

/* Slots of a step, all stages together: more is a slip of the batch. */
#define PLAN_SLOTS_MAX (1u << 20)

static void check_batch(struct plan_rules *rules)
{
    const uint64_t replicas = plan_count_replicas(rules->problem, rules->plan);
    const uint32_t micro_batch = rules->plan->schedule.micro_batch;
    const uint64_t global_batch = rules->problem->setup->global_batch;
    if (micro_batch == 0)
        plan_rule_break(rules, DIAG_P415, NULL,
                        "the micro-batch is 0 sequences: at least 1 is needed");
    else if (plan_count_micro_batches(rules->problem, rules->plan) == 0)
        plan_rule_break(
            rules, DIAG_P415,
            plan_rule_hint(rules, "replicas x micro-batch must divide %llu",
                           (unsigned long long)global_batch),
            "a global batch of %llu sequences is not a multiple of %llu replicas x micro-batch %u",
            (unsigned long long)global_batch, (unsigned long long)replicas, micro_batch);
}

/* Some runtimes spread layers themselves: as many on every stage. */
static void check_even(struct plan_rules *rules, uint64_t chunks, uint32_t model_layers)
{
    const struct plan_schedule *schedule = &rules->plan->schedule;
    const struct runtime *runtime = rules->problem->setup->runtime;
    bool even = chunks == 0 || model_layers % chunks == 0;
    for (uint64_t i = 1; even && schedule->layers != NULL && i < chunks; i++)
        even = schedule->layers[i] == schedule->layers[0];
    if (runtime->even_layers && !even)
        plan_rule_break(rules, DIAG_P420, "a number of stages that divides the layers",
                        "runtime '%s' spreads %u layers evenly over stages: not so over %llu",
                        runtime->name, model_layers, (unsigned long long)chunks);
}

static void check_layers(struct plan_rules *rules, uint32_t stages)
{
    const struct plan_schedule *schedule = &rules->plan->schedule;
    const uint32_t model_layers = plan_count_layers(rules->problem->model);
    const uint64_t chunks = (uint64_t)stages * schedule->chunks;
    uint64_t sum = 0;
    if (model_layers != 0 && chunks > 1)
        check_even(rules, chunks, model_layers);
    if (schedule->layers == NULL || model_layers == 0) {
        if (model_layers != 0 && chunks > model_layers)
            plan_rule_break(rules, DIAG_P418,
                            plan_rule_hint(rules, "at most %u stages x chunks", model_layers),
                            "%llu chunks of stages cannot share %u layers: each needs one",
                            (unsigned long long)chunks, model_layers);
        return;
    }
    if (schedule->stages != stages) {
        plan_rule_break(rules, DIAG_P418,
                        plan_rule_hint(rules, "a list of layers for each of %u stages", stages),
                        "layers are given for %u stages, the mesh has %u", schedule->stages,
                        stages);
        return;
    }
    for (uint64_t i = 0; i < chunks; i++) {
        sum += schedule->layers[i];
        /* The ends of the chain sit in the first and the last chunk, which may hold nothing
         * else. */
        if (schedule->layers[i] == 0 && i != 0 && i + 1 != chunks)
            plan_rule_break(rules, DIAG_P418, "take one from a neighbour, or use fewer chunks",
                            "chunk %llu of stage %llu has no layer: each needs one",
                            (unsigned long long)(i % schedule->chunks),
                            (unsigned long long)(i / schedule->chunks));
    }
    if (sum != model_layers)
        plan_rule_break(
            rules, DIAG_P418,
            plan_rule_hint(rules, "the ends of the chain (embedding, head) are not counted"),
            "the layers of the stages add up to %llu, model '%s' has %u", (unsigned long long)sum,
            rules->problem->model->name, model_layers);
}

static void check_shape(struct plan_rules *rules, uint32_t stages)
{
    const struct plan_schedule *schedule = &rules->plan->schedule;
    const struct schedule_shape shape = {
        .stages = stages,
        .chunks = schedule->chunks,
        .micro_batches = plan_count_passes(rules->problem, rules->plan),
    };
    if (schedule->schedule == NULL) {
        if (schedule->table == NULL && stages > 1)
            plan_rule_break(rules, DIAG_P416, NULL,
                            "%u stages need a schedule, by name or as a table", stages);
        return;
    }
    if (shape.micro_batches == 0 && plan_count_micro_batches(rules->problem, rules->plan) > 0)
        plan_rule_break(rules, DIAG_P416, "larger micro-batches",
                        "%u forwards of each of %u micro-batches are more than can be counted",
                        rules->problem->setup->optimizer->forwards,
                        plan_count_micro_batches(rules->problem, rules->plan));
    if (shape.chunks == 0 || shape.micro_batches == 0)
        return;
    if (schedule->schedule->copies > 1)
        plan_rule_break(rules, DIAG_P416, "`shardplan schedule` replays it with given times",
                        "schedule '%s' keeps %u copies of the model's chunks: a plan holds one",
                        schedule->schedule->name, schedule->schedule->copies);
    const uint64_t slots = schedule_count_slots(&shape) * shape.stages;
    if (slots > PLAN_SLOTS_MAX)
        plan_rule_break(rules, DIAG_P416, "larger micro-batches, or a smaller global batch",
                        "a step of %u micro-batches in %u chunks on %u stages: 3 x stages x chunks "
                        "x micro-batches must be at most %u",
                        shape.micro_batches, shape.chunks, shape.stages, PLAN_SLOTS_MAX);
    const char *reason =
        slots > PLAN_SLOTS_MAX ? NULL : schedule_refuses(schedule->schedule, &shape);
    if (reason != NULL)
        plan_rule_break(rules, DIAG_P416, reason,
                        "schedule '%s' does not run with %u stages, %u chunks, %u micro-batches",
                        schedule->schedule->name, shape.stages, shape.chunks, shape.micro_batches);
}

static void check_accepted(struct plan_rules *rules)
{
    const struct schedule *schedule = rules->plan->schedule.schedule;
    const struct runtime *runtime = rules->problem->setup->runtime;
    if (schedule != NULL && !runtime_accepts_schedule(runtime, schedule->name))
        plan_rule_break(rules, DIAG_P420, NULL, "runtime '%s' does not run schedule '%s'",
                        runtime->name, schedule->name);
}

static void check_common(struct plan_rules *rules)
{
    const uint32_t stages = plan_count_stages(rules->plan);
    const struct runtime *runtime = rules->problem->setup->runtime;
    if (rules->plan->schedule.chunks > 1 && stages == 1 && !runtime->chunks_on_one_stage)
        plan_rule_break(rules, DIAG_P420, "one chunk, or more stages",
                        "runtime '%s' has no %u chunks without a pipeline", runtime->name,
                        rules->plan->schedule.chunks);
    if (rules->plan->schedule.chunks == 0)
        plan_rule_break(rules, DIAG_P416, NULL, "0 chunks per stage: at least 1 is needed");
    check_batch(rules);
    if (!plan_rule_is_settled(rules))
        check_shape(rules, stages);
    if (!plan_rule_is_settled(rules))
        check_layers(rules, stages);
}

/* Stops that speak of layers must cover the chain once, in order; fractions of a layer may change
 * hands. */
static void check_stops(struct plan_rules *rules, const struct pipeline *pipeline, uint32_t index)
{
    const double layers = plan_count_layers(rules->problem->model);
    const char *name = pipeline->name == NULL ? "" : pipeline->name;
    double next = 0;
    bool named = false;
    for (uint32_t i = 0; i < pipeline->stop_count; i++) {
        const struct pipeline_stop *stop = &pipeline->stops[i];
        named = named || stop->module != NULL;
        if (stop->module == NULL &&
            (stop->first_layer < next - 1e-9 || stop->first_layer > next + 1e-9))
            plan_rule_break(rules, DIAG_P422, NULL,
                            "stop %u of pipeline %u '%s' starts at layer %g, not at %g", i, index,
                            name, stop->first_layer, next);
        next = stop->first_layer + stop->layer_count;
    }
    if (!named && layers > 0 && (next < layers - 1e-9 || next > layers + 1e-9))
        plan_rule_break(rules, DIAG_P422, NULL,
                        "pipeline %u '%s' covers %g layers, model '%s' has %g", index, name, next,
                        rules->problem->model->name, layers);
}

static void check_pipelines(struct plan_rules *rules)
{
    const struct plan *plan = rules->plan;
    double sum = 0;
    uint32_t stated = 0;
    for (uint32_t i = 0; i < plan->pipeline_count; i++) {
        const struct pipeline *pipeline = &plan->pipelines[i];
        sum += pipeline->batch_frac;
        stated += pipeline->batch_frac > 0;
        if (pipeline->micro_batch == 0 && plan->schedule.micro_batch == 0)
            plan_rule_break(rules, DIAG_P415, NULL,
                            "pipeline %u has no micro-batch, nor has the schedule", i);
        for (uint32_t s = 0; s < pipeline->stop_count; s++) {
            if (pipeline->stops[s].group >= plan->group_count)
                plan_rule_break(rules, DIAG_P422, NULL,
                                "stop %u of pipeline %u names a group that is not there", s, i);
        }
        if (pipeline->stop_count > 0)
            check_stops(rules, pipeline, i);
    }
    if (stated > 0 && (stated != plan->pipeline_count || sum < 1 - 1e-6 || sum > 1 + 1e-6))
        plan_rule_break(rules, DIAG_P422, "leave all out for equal shares",
                        "the pipelines take %g of the batch together: it must be 1", sum);
}

static bool reconciles(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->policy_count; i++) {
        if (plan->policies[i].kind->reconciles)
            return true;
    }
    return false;
}

/* Layers that two pipelines train are held twice: how the copies agree must be said. */
static void check_copies(struct plan_rules *rules)
{
    const struct plan *plan = rules->plan;
    uint32_t trained = 0;
    for (uint32_t i = 0; i < plan->pipeline_count; i++) {
        const struct pipeline *pipeline = &plan->pipelines[i];
        trained += pipeline->stop_count > 0 && pipeline->stops[0].module == NULL;
    }
    if (trained > 1 && rules->problem->setup->mode != SETUP_ARRIVALS && !reconciles(plan))
        plan_rule_break(
            rules, DIAG_P422, "'list policies' says which policy synchronises",
            "%u pipelines hold the same layers, but no policy says how their copies agree",
            trained);
}

void plan_rule_schedule(struct plan_rules *rules)
{
    check_accepted(rules);
    if (rules->plan->pipeline_count == 0) {
        check_common(rules);
        return;
    }
    check_pipelines(rules);
    check_copies(rules);
}

/* Nothing fits: what lacks in the plan that lacks least, which larger cluster would do. */
#include "tools/shortage.h"

#include "tools/plan_flags.h"

#define DEVICES_MAX 262144u

/* Does any plan fit there? Only lean ones are asked. */
static bool fits_on(struct command *command, const struct question *question,
                    const struct planner_options *options, uint32_t degree)
{
    struct question *moved = ARENA_PUSH(command->arena, struct question, 1);
    struct planner_options lean = *options;
    plan_flags_pin_lean(&lean.pins, command->arena);
    return problem_flags_scale(command, question, degree, moved) &&
           planner_fits(&moved->problem, &moved->estimator, &lean, command->arena);
}

/* Degree of the last level: doubled until something fits, then halved back towards the last that
 * did not. 0: none. */
static uint32_t find_degree(struct command *command, const struct question *question,
                            const struct planner_options *options)
{
    const struct cluster *cluster = &question->cluster;
    if (cluster->level_count == 0 || cluster->device_kind != NULL) {
        return 0;
    }
    const uint32_t start = cluster->levels[cluster->level_count - 1].degree;
    const uint32_t inner = cluster->device_count / start;
    uint32_t below = start, above = 2 * start;
    while ((uint64_t)inner * above <= DEVICES_MAX && !fits_on(command, question, options, above)) {
        below = above;
        above *= 2;
    }
    if ((uint64_t)inner * above > DEVICES_MAX) {
        return 0;
    }
    while (above - below > 1) {
        const uint32_t middle = below + (above - below) / 2;
        if (fits_on(command, question, options, middle)) {
            above = middle;
        } else {
            below = middle;
        }
    }
    return above;
}

/* Does it fit with what is tried on demand only? */
static const struct ranked_plan *find_on_demand(struct command *command,
                                                const struct question *question,
                                                const struct planner_options *options,
                                                const struct planner_result *result)
{
    return planner_search_on_demand(&question->problem, &question->estimator, options,
                                    result->certificate.space_size, command->arena);
}

static void push_on_demand(struct command *command, const struct question *question,
                           const struct ranked_plan *found, struct json_writer *out)
{
    json_push_key(out, "fits_on_demand");
    if (found == NULL) {
        json_push_null(out);
        return;
    }
    json_push_object(out);
    json_push_key_double(out, "step_s", found->estimate.step_s);
    report_push_configuration(command, &question->problem, found->plan, out);
    json_pop_object(out);
}

static void push_least_over(struct command *command, const struct question *question,
                            const struct ranked_plan *least_over, struct json_writer *out)
{
    const struct estimate *estimate = &least_over->estimate;
    struct shortage shortage;
    if (least_over->plan == NULL || !estimator_find_shortage(estimate, &shortage)) {
        return;
    }
    const struct stage_estimate *stage = &estimate->stages[shortage.stage];
    json_push_key_double(out, "over_bytes", shortage.needed_bytes - shortage.capacity_bytes);
    json_push_key_bool(out, "on_host", shortage.on_host);
    json_push_key_u64(out, "stage", shortage.stage);
    report_push_configuration(command, &question->problem, least_over->plan, out);
    json_push_key(out, "memory");
    json_push_object(out);
    for (uint32_t i = 0; i < MEMORY_CLASS_COUNT; i++) {
        json_push_key_double(out, estimator_memory_key((enum memory_class)i),
                             stage->memory_bytes[i]);
    }
    json_push_key_double(out, "capacity_bytes", stage->capacity_bytes);
    report_push_host(stage, out);
    json_pop_object(out);
}

void shortage_push(struct command *command, const struct question *question,
                   const struct planner_options *options, const struct planner_result *result,
                   struct json_writer *out)
{
    const uint32_t degree = find_degree(command, question, options);
    json_push_key(out, "nothing_fits");
    json_push_object(out);
    push_least_over(command, question, &result->least_over, out);
    push_on_demand(command, question, find_on_demand(command, question, options, result), out);
    json_push_key(out, "fits_with_devices");
    if (degree == 0) {
        json_push_null(out);
    } else {
        const struct level *last = &question->cluster.levels[question->cluster.level_count - 1];
        json_push_u64(out, (uint64_t)(question->cluster.device_count / last->degree) * degree);
    }
    json_pop_object(out);
}

static void dump_larger(struct command *command, const struct question *question, uint32_t degree)
{
    const struct cluster *cluster = &question->cluster;
    if (degree == 0) {
        text_push(
            &command->out,
            "\nNo larger cluster of this kind with up to %s devices was found to fit it either.\n",
            report_count(command->arena, DEVICES_MAX));
        return;
    }
    const uint32_t last = cluster->levels[cluster->level_count - 1].degree;
    const uint64_t devices = (uint64_t)(cluster->device_count / last) * degree;
    text_push(
        &command->out,
        "\nThe smallest cluster of this kind found to fit it has %s devices: level '%s' of degree\n"
        "%u, here it is %u.\n",
        report_count(command->arena, devices), cluster->levels[cluster->level_count - 1].name,
        degree, last);
}

static void dump_on_demand(struct command *command, const struct question *question,
                           const struct ranked_plan *found)
{
    if (found == NULL) {
        return;
    }
    text_push(&command->out,
              "\nWith the hosts' memory (" PLAN_FLAGS_OFFLOAD
              " search) it fits here, at %s per step:\n\n",
              report_seconds(command->arena, found->estimate.step_s));
    report_dump_flags(command, "", found->plan, &question->runtime);
    report_dump_host(command, question, &found->estimate);
}

void shortage_dump(struct command *command, const struct question *question,
                   const struct planner_options *options, const struct planner_result *result)
{
    text_push(&command->out, "Nothing fits: none of %s legal plans has room in memory.\n",
              report_count(command->arena, result->certificate.space_size));
    if (result->least_over.plan != NULL) {
        text_push(&command->out, "The one that lacks least is\n\n");
        report_dump_flags(command, "", result->least_over.plan, &question->runtime);
        text_push(&command->out, "\n");
        report_dump_shortage(command, &result->least_over.estimate);
    }
    dump_larger(command, question, find_degree(command, question, options));
    dump_on_demand(command, question, find_on_demand(command, question, options, result));
}

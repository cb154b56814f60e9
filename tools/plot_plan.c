/* A saved plan over time: what each stage runs when, how full it is. */
#include <string.h>

#include "tools/plot.h"
#include "tools/saved_plan.h"
#include "tools/simulated.h"

#define GIB 1073741824.0

struct played {
    struct question question;
    struct plan *plan;
    struct simulated simulated;
    struct sim_result result;
};

/* Slot by slot: single kernels would not be seen. */
static bool play(struct command *command, const char *path, struct played *out)
{
    struct sim_options options = sim_full_options();
    struct verdict verdict;
    options.granularity = SIM_SLOTS;
    options.spans = true;
    if (!saved_plan_read(command, path, &out->question, &out->plan) ||
        !plan_check(&out->question.problem, out->plan, command->diag) ||
        !plan_check_costed(&out->question.problem, out->plan, command->diag)) {
        return false;
    }
    if (out->plan->schedule.layers == NULL) {
        report_judge(command, &out->question, out->plan, &verdict);
    }
    return simulated_build(command, &out->question, out->plan, &options, &out->simulated) &&
           sim_run(&out->simulated.sim, &out->simulated.load, command->arena, &out->result,
                   command->diag);
}

static void push_title(const struct played *played, const char *what, struct text *out)
{
    text_push(out, "set title ");
    plot_push_text(out, text_build(out->arena, "%s of %s on %s: a step of %s", what,
                                   played->question.model.name, played->question.cluster.name,
                                   report_seconds(out->arena, played->result.estimate.step_s)));
    text_push(out, "\nset xlabel 'seconds'\nset xrange [0:%.9g]\n", played->result.estimate.step_s);
}

/* --- timeline --------------------------------------------------------------------------------- */

enum lane { LANE_FORWARD, LANE_BACKWARD, LANE_WEIGHT, LANE_SENDS, LANE_SUMS, LANE_COUNT };

static const struct {
    const char *title, *colour;
    double low, high; /* of the height of a stage */
} lanes[LANE_COUNT] = {
    [LANE_FORWARD] = {"forward", "#4c78a8", -0.40, 0.24},
    [LANE_BACKWARD] = {"backward", "#59a14f", -0.40, 0.24},
    [LANE_WEIGHT] = {"weight gradients", "#edc948", -0.40, 0.24},
    [LANE_SENDS] = {"sends", "#e15759", 0.26, 0.33},
    [LANE_SUMS] = {"sums and gathers of states", "#b07aa1", 0.35, 0.42},
};

static enum lane find_lane(const struct sim_span *span)
{
    if (strcmp(span->stream, "slots") == 0) {
        switch (span->name[0]) {
        case 'F': return LANE_FORWARD;
        case 'W': return LANE_WEIGHT;
        default: return LANE_BACKWARD;
        }
    }
    if (strcmp(span->stream, "send") == 0) {
        return LANE_SENDS;
    }
    return strcmp(span->stream, "data messages") == 0 ? LANE_SUMS : LANE_COUNT;
}

/* The later model chunks of a device are drawn paler: "F3.1" is of the second. */
static bool is_pale(const struct sim_span *span)
{
    const size_t length = strlen(span->name);
    return strchr(span->name, '.') != NULL && (span->name[length - 1] - '0') % 2 == 1;
}

static bool is_in(const struct sim_span *span, enum lane lane, bool pale)
{
    return find_lane(span) == lane && span->end_s > span->start_s &&
           (lane < LANE_SENDS ? is_pale(span) == pale : !pale);
}

/* Centre, then edges; false where nothing is in that lane. */
static bool push_boxes(const struct sim_result *result, enum lane lane, bool pale, struct text *out)
{
    bool any = false;
    for (uint32_t i = 0; i < result->span_count; i++) {
        const struct sim_span *span = &result->spans[i];
        if (!is_in(span, lane, pale)) {
            continue;
        }
        if (!any) {
            text_push(out, "$lane%u%s << EOD\n", (uint32_t)lane, pale ? "pale" : "");
            any = true;
        }
        text_push(out, "%.9g %u %.9g %.9g %.2f %.2f\n", 0.5 * (span->start_s + span->end_s),
                  span->stage, span->start_s, span->end_s, span->stage + lanes[lane].low,
                  span->stage + lanes[lane].high);
    }
    if (any) {
        text_push(out, "EOD\n");
    }
    return any;
}

static bool draw_timeline(struct command *command, const char *path, struct text *out)
{
    struct played *played = ARENA_PUSH(command->arena, struct played, 1);
    struct text plot;
    if (!play(command, path, played)) {
        return false;
    }
    const struct sim_result *result = &played->result;
    const uint32_t stages = result->estimate.stage_count;
    push_title(played, "Timeline", out);
    text_push(out, "set ylabel 'pipeline stage'\nset yrange [%.1f:-0.6]\nset ytics 0,%u\n",
              stages - 0.4, 1 + (stages - 1) / 32);
    text_push(out, "set key below\nset style fill solid 1.0 border rgb '#ffffff'\n");
    text_init(&plot, command->arena);
    for (uint32_t i = 0; i < 2 * LANE_COUNT; i++) {
        const enum lane lane = (enum lane)(i / 2);
        const bool pale = i % 2 == 1;
        if (push_boxes(result, lane, pale, out)) {
            text_push(&plot, "%s$lane%u%s using 1:2:3:4:5:6 with boxxyerror %slc rgb '%s'",
                      plot.length == 0 ? "plot " : ", \\\n     ", (uint32_t)lane,
                      pale ? "pale" : "", pale ? "fs solid 0.6 " : "", lanes[lane].colour);
            text_push(&plot, pale ? " notitle" : " title '%s'", lanes[lane].title);
        }
    }
    text_push(out, "%s\n", plot.bytes);
    return true;
}

const struct plot_kind plot_timeline = {
    .name = "timeline",
    .summary = "a saved plan: what each stage runs when; odd model chunks are paler",
    .draw = draw_timeline,
};

/* --- memory ----------------------------------------------------------------------------------- */

/* One line, or one for each size that devices have. */
static void push_capacities(const struct estimate *estimate, struct text *out)
{
    uint32_t lines = 0;
    for (uint32_t i = 0; i < estimate->stage_count; i++) {
        uint32_t first = 0;
        while (estimate->stages[first].capacity_bytes != estimate->stages[i].capacity_bytes) {
            first++;
        }
        if (first == i) {
            text_push(out, "%s%.6g title 'usable of stage %u' with lines dt %u lc rgb '#000000'",
                      lines == 0 ? "plot " : ", \\\n     ",
                      estimate->stages[i].capacity_bytes / GIB, i, 2 + lines);
            lines++;
        }
    }
}

static bool draw_memory(struct command *command, const char *path, struct text *out)
{
    struct played *played = ARENA_PUSH(command->arena, struct played, 1);
    if (!play(command, path, played)) {
        return false;
    }
    const struct sim_result *result = &played->result;
    const uint32_t stages = result->estimate.stage_count;
    push_title(played, "Memory", out);
    text_push(out, "set ylabel 'GiB of one device'\nset yrange [0:*]\nset key outside\n");
    for (uint32_t stage = 0; stage < stages; stage++) {
        text_push(out, "$stage%u << EOD\n", stage);
        for (uint32_t i = 0; i < result->level_count; i++) {
            if (result->levels[i].stage == stage) {
                text_push(out, "%.9g %.6g\n", result->levels[i].at_s,
                          result->levels[i].bytes / GIB);
            }
        }
        text_push(out, "EOD\n");
    }
    push_capacities(&result->estimate, out);
    for (uint32_t stage = 0; stage < stages; stage++) {
        text_push(out, ", \\\n     $stage%u using 1:2 with steps title 'stage %u'", stage, stage);
    }
    text_push(out, "\n");
    return true;
}

const struct plot_kind plot_memory = {
    .name = "memory",
    .summary = "a saved plan: how full a device of each stage is over a step",
    .draw = draw_memory,
};

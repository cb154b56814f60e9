/* `shardplan simulate`: a saved plan, or bare transfers, event by event. */
#include <string.h>

#include "base/table.h"
#include "sim/trace.h"
#include "tools/critical_path.h"
#include "tools/decompose.h"
#include "tools/failures.h"
#include "tools/flow_file.h"
#include "tools/many_runs.h"
#include "tools/saved_plan.h"
#include "tools/sensitivity.h"
#include "tools/simulated.h"
#include "tools/slow_list.h"
#include "tools/unfold.h"

#define STAGES_SHOWN 16u

extern const struct command_kind command_simulate;

/* What a plan's simulation gave. */
struct answer {
    struct question question;
    struct plan *plan;
    struct sim_result result;
    enum sim_fold fold;
    double *step_s; /* of all runs, ascending */
    uint64_t runs;
    double wall_s;
    bool decomposed;
    struct decomposition parts;
    double sensitivity_frac; /* 0: not asked for */
    struct sensitivity sensitivity;
    bool fails; /* failures are asked about */
    struct failures failures;
};

/* --- the question -------------------------------------------------------------------------- */

/* "0.05" for both, or "compute=0.05,network=0.1". */
static bool read_jitter(struct command *command, struct sim_options *out)
{
    static const char *const names[] = {"compute=", "network="};
    double *const fracs[] = {&out->compute_jitter_frac, &out->network_jitter_frac};
    const char *text;
    if (!command_has(command, "--jitter")) {
        return true;
    }
    if (!command_text(command, "--jitter", &text)) {
        return false;
    }
    const char *at = text;
    bool good = true;
    while (good && *at != '\0') {
        double frac;
        const bool named[2] = {strncmp(at, names[0], 8) == 0, strncmp(at, names[1], 8) == 0};
        at += named[0] || named[1] ? 8 : 0;
        good = command_parse_number(&at, &frac) && frac >= 0.0 && frac < 1.0 &&
               (*at == ',' || *at == '\0');
        for (uint32_t i = 0; good && i < 2; i++) {
            *fracs[i] = named[i] || !(named[0] || named[1]) ? frac : *fracs[i];
        }
        at += *at == ',';
    }
    return good || diag_push(command->diag, DIAG_C704, (struct diag_place){0},
                             "write 0.05 or compute=0.05,network=0.1",
                             "--jitter is '%s': it must be shares from 0 to below 1", text);
}

static bool read_sensitivity(struct command *command, double *out)
{
    *out = 0.0;
    if (!command_has(command, "--sensitivity")) {
        return true;
    }
    if (!command_number(command, "--sensitivity", out)) {
        return false;
    }
    return (*out > 0.0 && *out <= 9.0) ||
           diag_push(command->diag, DIAG_C704, (struct diag_place){0},
                     "0.1 changes each bandwidth, latency and rate by a tenth",
                     "--sensitivity is %g: it must be above 0 and at most 9", *out);
}

static bool read_options(struct command *command, struct sim_options *out, uint64_t *runs)
{
    uint64_t iterations = 0;
    *out = sim_full_options();
    bool good = command_count(command, "--runs", runs);
    good = command_count(command, "--seed", &out->seed) && good;
    good = command_count(command, "--iterations", &iterations) && good;
    good = read_jitter(command, out) && good;
    out->iterations = (uint32_t)iterations;
    out->spans = command_has(command, "--trace");
    out->chain = true;
    return good;
}

static bool read_plan(struct command *command, struct answer *out)
{
    return saved_plan_read(command, command->positional[0], &out->question, &out->plan) &&
           plan_check(&out->question.problem, out->plan, command->diag) &&
           plan_check_costed(&out->question.problem, out->plan, command->diag);
}

static bool write_trace(struct command *command, const struct answer *answer)
{
    struct text text;
    struct json_writer writer;
    if (!command_has(command, "--trace")) {
        return true;
    }
    text_init(&text, command->arena);
    json_writer_init(&writer, &text, true);
    trace_dump(&answer->result, command->arena, &writer);
    text_push(&text, "\n");
    return command_write_flag(command, "--trace", &text);
}

static bool simulate(struct command *command, struct answer *answer)
{
    struct sim_options options;
    struct simulated simulated;
    struct verdict verdict;
    if (!read_options(command, &options, &answer->runs) ||
        !read_sensitivity(command, &answer->sensitivity_frac) ||
        !failures_read(command, &answer->fails, &answer->failures) || !read_plan(command, answer) ||
        !slow_list_read(command, "--slow", "stage", plan_count_stages(answer->plan),
                        &options.slowness) ||
        !unfold_read(command, answer->plan, &options)) {
        return false;
    }
    if (answer->plan->schedule.layers == NULL) {
        report_judge(command, &answer->question, answer->plan, &verdict);
    }
    const double start_s = command_now_s();
    if (!simulated_build(command, &answer->question, answer->plan, &options, &simulated) ||
        !unfold_check(command, &simulated.sim, &simulated.load) ||
        !sim_run(&simulated.sim, &simulated.load, command->arena, &answer->result, command->diag) ||
        !many_runs_find(command, &simulated, (uint32_t)answer->runs, &answer->step_s)) {
        return false;
    }
    answer->wall_s = command_now_s() - start_s;
    answer->fold = simulated.sim.options.fold;
    answer->decomposed = command_has(command, "--decompose");
    if (answer->decomposed &&
        !decompose_find(command, &answer->question, answer->plan, &answer->parts)) {
        return false;
    }
    if (answer->sensitivity_frac > 0.0 &&
        !sensitivity_find(command, &answer->question, answer->plan, answer->sensitivity_frac,
                          options.slowness, &answer->sensitivity)) {
        return false;
    }
    if (answer->fails) {
        failures_find(answer->plan, answer->result.estimate.step_s, &answer->failures);
    }
    return write_trace(command, answer);
}

/* --- the answer ---------------------------------------------------------------------------- */

/* The smallest time that at least so many of a hundred runs stay within. */
static double percentile_s(const struct answer *answer, uint64_t percent)
{
    const uint64_t rank = (answer->runs * percent + 99) / 100;
    return answer->step_s[rank == 0 ? 0 : rank - 1];
}

static void push_stages(const struct sim_result *result, struct json_writer *out)
{
    json_push_key(out, "stages");
    json_push_array(out);
    for (uint32_t i = 0; i < result->estimate.stage_count; i++) {
        const struct sim_stage *stage = &result->stages[i];
        json_push_object(out);
        json_push_key_u64(out, "stage", i);
        json_push_key_double(out, "busy_s", stage->busy_s);
        json_push_key_double(out, "idle_frac", stage->idle_frac);
        json_push_key_double(out, "start_s", stage->start_s);
        json_push_key_double(out, "end_s", stage->end_s);
        json_push_key_double(out, "peak_memory_bytes", stage->peak_bytes);
        json_push_key_double(out, "peak_at_s", stage->peak_at_s);
        json_push_key_double(out, "peak_live", stage->live_micro_batches);
        report_push_host(&result->estimate.stages[i], out);
        json_pop_object(out);
    }
    json_pop_array(out);
}

static void dump_json(struct command *command, const struct answer *answer)
{
    const struct sim_result *result = &answer->result;
    struct json_writer out;
    json_writer_init(&out, &command->out, false);
    json_push_object(&out);
    report_push_head(command, &answer->question.problem, &out);
    json_push_key_double(&out, "step_s", result->estimate.step_s);
    json_push_key_u64(&out, "runs", answer->runs);
    json_push_key_double(&out, "p50_s", percentile_s(answer, 50));
    json_push_key_double(&out, "p95_s", percentile_s(answer, 95));
    json_push_key_double(&out, "p99_s", percentile_s(answer, 99));
    json_push_key_double(&out, "bubble_frac", result->bubble_frac);
    json_push_key_double(&out, "peak_memory_bytes", result->estimate.peak_bytes);
    json_push_key_double(&out, "capacity_bytes", result->estimate.capacity_bytes);
    json_push_key_bool(&out, "fits", result->estimate.fits);
    json_push_key_u64(&out, "iterations", result->iterations);
    json_push_key_u64(&out, "events", result->events);
    json_push_key_string(&out, "simulated", unfold_name(answer->fold));
    if (command->timing) {
        json_push_key_double(&out, "wall_s", answer->wall_s);
    }
    push_stages(result, &out);
    critical_path_push_json(result, &out);
    critical_path_push_ports(&answer->question.cluster, result, &out);
    if (answer->decomposed) {
        decompose_push_json(&answer->parts, &out);
    }
    if (answer->sensitivity_frac > 0.0) {
        sensitivity_push_json(&answer->sensitivity, &out);
    }
    if (answer->fails) {
        failures_push_json(&answer->failures, &out);
    }
    json_pop_object(&out);
    text_push(&command->out, "\n");
}

static void push_stage(struct command *command, const struct sim_result *result, uint32_t index,
                       struct table *table)
{
    const struct sim_stage *stage = &result->stages[index];
    table_push(table, "%u", index);
    table_push(table, "%s", report_seconds(command->arena, stage->busy_s));
    table_push(table, "%.1f %%", 100.0 * stage->idle_frac);
    table_push(table, "%s", report_bytes(command->arena, stage->peak_bytes));
    table_push(table, "%s", report_seconds(command->arena, stage->peak_at_s));
    table_push(table, "%.4g", stage->live_micro_batches);
}

static void dump_stages(struct command *command, const struct sim_result *result)
{
    static const char *const headings[] = {
        ">stage", ">kernels", ">idle", ">fullest", ">at", ">micro-batches live", NULL};
    const uint32_t count = result->estimate.stage_count;
    const uint32_t shown = count > STAGES_SHOWN ? STAGES_SHOWN : count;
    struct table table;
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < shown; i++) {
        push_stage(command, result, i + 1 < shown ? i : count - 1, &table);
    }
    text_push(&command->out, "\n");
    table_dump(&table, &command->out);
    if (shown < count) {
        text_push(&command->out, "stages %u to %u are left out here; --json has all\n", shown - 1,
                  count - 2);
    }
}

static void dump_people(struct command *command, const struct answer *answer)
{
    struct arena *arena = command->arena;
    struct text *out = &command->out;
    const struct sim_result *result = &answer->result;
    report_dump_question(command, &answer->question);
    report_dump_flags(command, "plan", answer->plan, &answer->question.runtime);
    text_push(out, "time     %s per step, by %s events over %u step%s\n",
              report_seconds(arena, result->estimate.step_s), report_count(arena, result->events),
              result->iterations, result->iterations == 1 ? "" : "s");
    if (answer->runs > 1) {
        text_push(out, "runs     %llu: half within %s, 95 %% within %s, 99 %% within %s\n",
                  (unsigned long long)answer->runs, report_seconds(arena, percentile_s(answer, 50)),
                  report_seconds(arena, percentile_s(answer, 95)),
                  report_seconds(arena, percentile_s(answer, 99)));
    }
    text_push(out, "idle     %.1f %% of the pipeline's time, mean over the stages\n",
              100.0 * result->bubble_frac);
    text_push(out, "memory   %s of %s usable per device%s\n",
              report_bytes(arena, result->estimate.peak_bytes),
              report_bytes(arena, result->estimate.capacity_bytes),
              report_is_over(&result->estimate) ? ": DOES NOT FIT" : "");
    report_dump_host(command, &answer->question, &result->estimate);
    dump_stages(command, result);
    critical_path_dump(command, &answer->question.cluster, result);
    if (answer->decomposed) {
        decompose_dump(command, &answer->parts);
    }
    if (answer->sensitivity_frac > 0.0) {
        sensitivity_dump(command, &answer->sensitivity);
    }
    if (answer->fails) {
        failures_dump(command, &answer->failures);
    }
    if (command->timing) {
        text_push(out, "\nThe simulation took %s.\n", report_seconds(arena, answer->wall_s));
    }
}

static int run(struct command *command)
{
    struct answer answer;
    if (command_has(command, "--flows")) {
        return flow_file_run(command);
    }
    if (command->positional_count == 0) {
        diag_push(command->diag, DIAG_C706, (struct diag_place){0},
                  "shardplan plan ... -o plan.json saves one",
                  "'shardplan simulate' needs a saved plan, or --flows with --cluster");
        return command_fail(command);
    }
    if (!simulate(command, &answer)) {
        return command_fail(command);
    }
    if (command->json) {
        dump_json(command, &answer);
    } else {
        dump_people(command, &answer);
    }
    return 0;
}

static const struct flag plan_flags[] = {
    {.name = "--trace",
     .kind = FLAG_TEXT,
     .value = "FILE",
     .help = "write what ran when as Chrome trace JSON (ui.perfetto.dev opens it)"},
    {.name = "--decompose",
     .kind = FLAG_SWITCH,
     .help =
         "say which effect makes the difference to the cost model, one switched on after another"},
    {.name = "--sensitivity",
     .kind = FLAG_NUMBER,
     .value = "FRAC",
     .help = "simulate again with each bandwidth, latency and rate better and worse by that share, "
             "one at a time: 0.1",
     .absent = "not done",
     .max = 9},
    {.name = "--iterations",
     .kind = FLAG_COUNT,
     .value = "N",
     .help = "steps to average over",
     .fallback = "0",
     .absent = "as many as the plan's rarest message asks for",
     .max = 1000},
    {.name = "--jitter",
     .kind = FLAG_TEXT,
     .value = "SPEC",
     .help = "times vary by up to this share: 0.05, or compute=0.05,network=0.1",
     .absent = "none"},
    MANY_RUNS_FLAGS,
    {.name = "--seed",
     .kind = FLAG_COUNT,
     .value = "S",
     .help = "of the first run's draws",
     .fallback = "0"},
    SLOW_STAGES_FLAG,
    UNFOLD_FLAGS,
    FAILURES_FLAGS,
    PROBLEM_FLAG_PROFILE("measurements of the accelerator beside the formulas", "formulas alone"),
    {.name = NULL},
};

static const struct flag flow_flags[] = {
    {.name = "--flows",
     .kind = FLAG_TEXT,
     .value = "CSV",
     .help = "transfers, one per line: src,dst,bytes,start_s; devices by index or id"},
    PROBLEM_FLAG_CLUSTER("the cluster whose links they share"),
    {.name = NULL},
};

static const struct flag_group groups[] = {
    {.title = "A plan", .flags = plan_flags},
    {.title = "Bare transfers instead", .flags = flow_flags},
    {.title = "What a topology file leaves out", .flags = problem_flags_topology},
    {.title = NULL},
};

const struct command_kind command_simulate = {
    .name = "simulate",
    .usage = "shardplan simulate (PLAN | --flows CSV --cluster C) [...]",
    .summary = "a saved plan run event by event: contention, jitter, memory over time",
    .lesson = "Runs a saved plan kernel by kernel and message by message on the cluster's own "
              "links. It shares\n"
              "prices with `estimate` and no formula: where the two differ, contention or waiting "
              "is why.\n"
              "Of alike ranks one stands for all of its stage; --unfold ranks simulates each, with "
              "the same result.\n"
              "With --flows it runs bare transfers, raw bandwidths and latencies, no protocol.\n\n"
              "  shardplan simulate plan.json --trace step.json\n"
              "  shardplan simulate plan.json --runs 100 --jitter 0.05\n"
              "  shardplan simulate --flows transfers.csv --cluster dgx-h100:2\n",
    .groups = groups,
    .positional_min = 0,
    .positional_max = 1,
    .run = run,
};

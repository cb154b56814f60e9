/* A judged plan as people read it: what it is, how long, how full, why, what to type next. */
#include <string.h>

#include "base/table.h"
#include "tools/plan_flags.h"
#include "tools/report.h"
#include "tools/request_times.h"

#define HEAD_WIDTH 9u
#define WIDTH 96u

const char *report_seconds(struct arena *arena, double value_s)
{
    struct text text;
    text_init(&text, arena);
    unit_dump_short(UNIT_SECONDS, value_s, &text);
    return text.bytes;
}

const char *report_bytes(struct arena *arena, double bytes)
{
    struct text text;
    text_init(&text, arena);
    unit_dump_short(UNIT_BYTES, bytes, &text);
    return text.bytes;
}

const char *report_count(struct arena *arena, uint64_t count)
{
    const char *digits = text_build(arena, "%llu", (unsigned long long)count);
    const size_t length = strlen(digits);
    struct text text;
    text_init(&text, arena);
    for (size_t i = 0; i < length; i++) {
        text_push(&text, "%s%c", i > 0 && (length - i) % 3 == 0 ? "," : "", digits[i]);
    }
    return text.bytes;
}

const char *report_devices(struct arena *arena, const struct cluster *cluster)
{
    if (cluster->accelerator_count == 1) {
        return text_build(arena, "%s devices %s", report_count(arena, cluster->device_count),
                          cluster->accelerators[0].name);
    }
    uint32_t *counts = ARENA_PUSH(arena, uint32_t, cluster->accelerator_count);
    for (uint32_t device = 0; device < cluster->device_count; device++) {
        counts[cluster->device_kind[device]]++;
    }
    struct text text;
    text_init(&text, arena);
    for (uint32_t kind = 0; kind < cluster->accelerator_count; kind++) {
        text_push(&text, "%s%s %s", kind == 0 ? "" : ", ", report_count(arena, counts[kind]),
                  cluster->accelerators[kind].name);
    }
    return text.bytes;
}

void report_dump_question(struct command *command, const struct question *question)
{
    const struct setup *setup = &question->setup;
    const struct cluster *cluster = &question->cluster;
    const uint64_t parameters = model_count_parameters(&question->model);
    text_push(&command->out, "model    %s, %.4g billion parameters\n", question->model.name,
              (double)parameters / 1e9);
    text_push(&command->out, "cluster  %s: %s\n", cluster->name,
              report_devices(command->arena, cluster));
    text_push(&command->out, "step     %llu sequences of %llu tokens, %s, ",
              (unsigned long long)setup->global_batch, (unsigned long long)setup->seq_length,
              dtype_name(setup->dtype));
    if (setup->length_count > 0) {
        text_push(&command->out, "%s from %.5g on average, ", setup_packing_names()[setup->packing],
                  setup_mean_length(setup));
    }
    if (setup->task.kind != TASK_PRETRAIN) {
        text_push(&command->out, "%s, ", setup->task.text);
    }
    if (task_trains(&setup->task)) {
        text_push(&command->out, "%s, ", setup->optimizer->name);
    }
    text_push(&command->out, "runtime %s\n\n", setup->runtime->name);
}

/* --- the plan ------------------------------------------------------------------------------ */

void report_dump_flags(struct command *command, const char *head, const struct plan *plan,
                       const struct runtime *runtime)
{
    struct text flags;
    text_init(&flags, command->arena);
    plan_flags_dump(plan, runtime, command->arena, &flags);
    text_push(&command->out, "%-9s", head);
    size_t column = HEAD_WIDTH;
    for (const char *at = flags.bytes; *at != '\0';) {
        const char *next = strstr(at + 1, " --");
        const size_t length = next == NULL ? strlen(at) : (size_t)(next - at);
        if (column > HEAD_WIDTH && column + length > WIDTH) {
            text_push(&command->out, "\n%9s", "");
            at += at[0] == ' ';
            column = HEAD_WIDTH;
            continue;
        }
        text_push(&command->out, "%.*s", (int)length, at);
        column += length;
        at += length;
    }
    text_push(&command->out, "\n");
}

/* The first kind without a peak of the number format. */
static const char *unpeaked(const struct question *question)
{
    const struct accelerator *kinds = question->cluster.accelerators;
    uint32_t kind = 0;
    while (kind + 1 < question->cluster.accelerator_count &&
           kinds[kind].peak_flops_per_s[question->setup.dtype] > 0.0) {
        kind++;
    }
    return kinds[kind].name;
}

static void dump_band(struct command *command, const struct question *question, double step_s)
{
    double low_s, high_s;
    if (report_find_band(question, step_s, &low_s, &high_s)) {
        text_push(
            &command->out,
            "\nband     %s to %s: no farther off were %.0f %% of %u measured steps of this runtime",
            report_seconds(command->arena, low_s), report_seconds(command->arena, high_s),
            100.0 * RUNTIME_BAND_SHARE, question->runtime.band.rows);
    }
}

/* On devices of several sizes the stage that decides need not be the one with most in it. */
static const char *fullest_word(const struct estimate *estimate)
{
    for (uint32_t i = 1; i < estimate->stage_count; i++) {
        if (estimate->stages[i].capacity_bytes != estimate->stages[0].capacity_bytes) {
            return "tightest";
        }
    }
    return "fullest";
}

static void dump_rates(struct command *command, const struct question *question,
                       const struct verdict *verdict)
{
    struct arena *arena = command->arena;
    struct text *out = &command->out;
    const struct estimate *estimate = &verdict->estimate;
    struct report_rates rates;
    report_find_rates(question, estimate->step_s, &rates);
    text_push(out, "time     %s per step", report_seconds(arena, estimate->step_s));
    if (verdict->simulated) {
        text_push(out, "; the simulator says %s (%+.1f %%)",
                  report_seconds(arena, verdict->simulated_step_s),
                  100.0 * (verdict->simulated_step_s / estimate->step_s - 1.0));
    }
    dump_band(command, question, estimate->step_s);
    text_push(out, "\nrate     %s tokens/s per device, %s in all\n",
              report_count(arena, (uint64_t)(rates.tokens_per_s_per_device + 0.5)),
              report_count(arena, (uint64_t)(rates.tokens_per_s + 0.5)));
    if (rates.mfu_frac > 0.0) {
        text_push(
            out,
            "MFU      %.1f %% of the dense %s peak; %.1f %% with masked attention counted too\n",
            100.0 * rates.mfu_frac, dtype_name(question->setup.dtype),
            100.0 * rates.mfu_full_attention_frac);
    } else if (!task_trains(&question->setup.task)) {
        request_times_dump(command, question, verdict);
    } else if (!setup_has_backward(&question->setup)) {
        text_push(out, "MFU      not stated: a step is %u forwards\n",
                  question->setup.optimizer->forwards);
    } else if (question->setup.task.kind != TASK_PRETRAIN) {
        text_push(out, "MFU      not stated: only a part of the model is trained\n");
    } else {
        text_push(out, "MFU      not stated: %s has no %s peak of its own\n", unpeaked(question),
                  dtype_name(question->setup.dtype));
    }
    text_push(out, "memory   %s of %s usable per device", report_bytes(arena, estimate->peak_bytes),
              report_bytes(arena, estimate->capacity_bytes));
    if (estimate->stage_count > 1) {
        text_push(out, ", on the %s stage, %u", fullest_word(estimate), estimate->fullest_stage);
    }
    text_push(out, "%s\n", report_is_over(estimate) ? ": DOES NOT FIT" : "");
    report_dump_host(command, question, estimate);
}

/* --- tables -------------------------------------------------------------------------------- */

/* "tp_comm_s" for people. */
const char *report_cost_name(uint32_t cost, struct arena *arena)
{
    static const char *const names[COST_DIM] = {"compute", "recomputation", "optimizer",
                                                "host overhead", "idle (bubble)"};
    return cost < COST_DIM ? names[cost]
           : cost == COST_HOST
               ? "host copies"
               : text_build(arena, "%s communication", dim_table[cost - COST_DIM]->name);
}

static void dump_breakdown(struct command *command, const struct estimate *estimate)
{
    static const char *const headings[] = {"where the time goes", ">time", ">share", NULL};
    const struct stage_estimate *stage = &estimate->stages[estimate->slowest_stage];
    struct table table;
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < COST_COUNT; i++) {
        if (estimator_cost_key(i, command->arena) == NULL || stage->cost_s[i] <= 0.0) {
            continue;
        }
        table_push(&table, "%s", report_cost_name(i, command->arena));
        table_push(&table, "%s", report_seconds(command->arena, stage->cost_s[i]));
        table_push(&table, "%.1f %%", 100.0 * stage->cost_s[i] / estimate->step_s);
    }
    text_push(&command->out, "\n");
    table_dump(&table, &command->out);
    if (estimate->stage_count > 1) {
        text_push(&command->out,
                  "of stage %u, the slowest; communication only where compute does not hide it\n",
                  estimate->slowest_stage);
    } else {
        text_push(&command->out, "communication only where compute does not hide it\n");
    }
}

const char *report_memory_name(uint32_t class)
{
    static const char *const names[MEMORY_CLASS_COUNT] = {
        "parameters",  "gradients", "optimizer states", "key-value cache",
        "activations", "logits",    "buffers",          "context, libraries"};
    return names[class];
}

void report_dump_memory(struct command *command, const struct estimate *estimate, uint32_t which)
{
    static const char *const headings[] = {"where the memory goes", ">size", ">of usable", NULL};
    const struct stage_estimate *stage = &estimate->stages[which];
    struct table table;
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < MEMORY_CLASS_COUNT; i++) {
        if (stage->memory_bytes[i] <= 0.0) {
            continue;
        }
        table_push(&table, "%s", report_memory_name(i));
        table_push(&table, "%s", report_bytes(command->arena, stage->memory_bytes[i]));
        table_push(&table, "%.1f %%", 100.0 * stage->memory_bytes[i] / stage->capacity_bytes);
    }
    text_push(&command->out, "\n");
    table_dump(&table, &command->out);
    if (estimate->stage_count > 1) {
        text_push(&command->out, "of stage %u, the %s, at its peak\n", which,
                  fullest_word(estimate));
    }
}

void report_dump_verdict(struct command *command, const struct question *question,
                         const struct verdict *verdict)
{
    report_dump_flags(command, "plan", verdict->plan, &question->runtime);
    dump_rates(command, question, verdict);
    dump_breakdown(command, &verdict->estimate);
    report_dump_memory(command, &verdict->estimate, verdict->estimate.fullest_stage);
    report_dump_stages(command, question, verdict);
}

void report_dump_provenance(struct command *command, const struct verdict *verdict)
{
    bool first = true;
    text_push(&command->out, "\nPrices of the kernels, by share of their time:");
    for (uint32_t i = 0; i < PROVENANCE_COUNT; i++) {
        if (verdict->provenance_frac[i] > 0.0) {
            text_push(&command->out, "%s %.1f %% %s", first ? "" : ",",
                      100.0 * verdict->provenance_frac[i],
                      prices_provenance_name((enum provenance)i));
            first = false;
        }
    }
    text_push(&command->out, ".\n");
}

/* --- the certificate ----------------------------------------------------------------------- */

static const char *bound_words(enum planner_bound bound)
{
    static const char *const words[BOUND_COUNT] = {
        "by their compute alone",
        "by the filling and emptying of their pipeline",
        "do not fit in memory",
        "by the longest chain of work through their pipeline",
    };
    return words[bound];
}

static void dump_pruned(struct command *command, const struct certificate *certificate)
{
    struct arena *arena = command->arena;
    for (uint32_t i = 0; i < BOUND_COUNT; i++) {
        if (certificate->pruned[i] > 0) {
            text_push(&command->out, "  %14s  %s%s\n", report_count(arena, certificate->pruned[i]),
                      i == BOUND_MEMORY ? "" : "too slow ", bound_words((enum planner_bound)i));
        }
    }
    text_push(&command->out, "  %14s  computed in full\n",
              report_count(arena, certificate->evaluated));
    uint64_t left = certificate->space_size - certificate->evaluated;
    for (uint32_t i = 0; i < BOUND_COUNT; i++) {
        left -= certificate->pruned[i];
    }
    if (!certificate->complete) {
        text_push(&command->out, "  %14s  not looked at\n", report_count(arena, left));
    }
}

/* What the space does not have. */
static void dump_left(struct command *command, const struct certificate *certificate)
{
    const char *names = NULL;
    for (uint32_t i = 0; i < schedule_table_count; i++) {
        if ((certificate->schedules_left >> i & 1u) != 0) {
            names = names == NULL
                        ? schedule_table[i]->name
                        : text_build(command->arena, "%s, %s", names, schedule_table[i]->name);
        }
    }
    if (names != NULL) {
        text_push(
            &command->out,
            "Schedules that few runtimes have are tried when they are named (--schedule):\n%s.\n",
            names);
    }
}

void report_dump_certificate(struct command *command, const struct certificate *certificate,
                             double best_s)
{
    struct arena *arena = command->arena;
    if (certificate->complete && certificate->gap_frac > 0.0) {
        text_push(&command->out,
                  "\nThe fastest legal plan takes %s by this cost model, %.1f %% less: of %s,\n",
                  report_seconds(arena, certificate->lower_bound_s), 100.0 * certificate->gap_frac,
                  report_count(arena, certificate->space_size));
    } else if (certificate->complete && certificate->placement_gap_frac > 0.0) {
        text_push(&command->out,
                  "\nNo legal plan is faster by this cost model with its layers placed in the ways "
                  "that were tried;\nplaced otherwise none is faster than %s, %.1f %% below %s: "
                  "of %s,\n",
                  report_seconds(arena, certificate->placement_bound_s),
                  100.0 * certificate->placement_gap_frac, report_seconds(arena, best_s),
                  report_count(arena, certificate->space_size));
    } else if (certificate->complete) {
        text_push(&command->out, "\nNo legal plan is faster by this cost model: of %s,\n",
                  report_count(arena, certificate->space_size));
    } else {
        text_push(&command->out,
                  "\nThe search stopped at its budget: no plan is faster than %s, %.1f %% below "
                  "%s. Of %s plans,\n",
                  report_seconds(arena, certificate->lower_bound_s), 100.0 * certificate->gap_frac,
                  report_seconds(arena, best_s), report_count(arena, certificate->space_size));
    }
    dump_pruned(command, certificate);
    dump_left(command, certificate);
}

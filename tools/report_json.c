/* Keys of a judged plan: stable names with the unit in them. */
#include "tools/plan_flags.h"
#include "tools/problem_flags.h"
#include "tools/report.h"
#include "tools/request_times.h"

/* The profile was read before: a file that has gone since is left out. */
static void push_profile_digest(struct command *command, struct json_writer *out)
{
    const char *path;
    struct text text;
    text_init(&text, command->arena);
    if (command_has(command, PROFILE_FLAG) && command_text(command, PROFILE_FLAG, &path) &&
        command_read_file(command, path, &text)) {
        json_push_key_string(out, "profile",
                             text_build(command->arena, "%016llx",
                                        text_digest(TEXT_DIGEST_SEED, text.bytes, text.length)));
    }
}

void report_push_head(struct command *command, const struct problem *problem,
                      struct json_writer *out)
{
    struct arena *arena = command->arena;
    json_push_key_string(out, "version", SHARDPLAN_VERSION);
    json_push_key(out, "digests");
    json_push_object(out);
    json_push_key_string(out, "model", text_build(arena, "%016llx", problem->model->digest));
    json_push_key_string(out, "cluster", text_build(arena, "%016llx", problem->cluster->digest));
    json_push_key_string(out, "setup",
                         text_build(arena, "%016llx", setup_digest(problem->setup, arena)));
    push_profile_digest(command, out);
    json_pop_object(out);
}

void report_push_head_of(struct command *command, const char *noun, unsigned long long digest,
                         struct json_writer *out)
{
    json_push_key_string(out, "version", SHARDPLAN_VERSION);
    json_push_key(out, "digests");
    json_push_object(out);
    json_push_key_string(out, noun, text_build(command->arena, "%016llx", digest));
    push_profile_digest(command, out);
    json_pop_object(out);
}

void report_push_configuration(struct command *command, const struct problem *problem,
                               const struct plan *plan, struct json_writer *out)
{
    struct plan_words words;
    struct text flags;
    plan_flags_describe(plan, command->arena, &words);
    json_push_key(out, "configuration");
    json_push_object(out);
    for (uint32_t i = 0; i < dim_table_count; i++) {
        const struct dim *dim = dim_table[i];
        if (dim->on_or_off) {
            json_push_key_bool(out, dim->name, words.degrees[i] > 1);
        } else {
            json_push_key_u64(out, dim->name, words.degrees[i]);
        }
        if (dim->variant_count > 1 && words.degrees[i] > 1) {
            json_push_key_string(out, text_build(command->arena, "%s_type", dim->name),
                                 dim->variants[words.variants[i]].name);
        }
    }
    json_push_key_u64(out, "micro_batch_size", plan->schedule.micro_batch);
    json_push_key_u64(out, "vpp", plan->schedule.chunks);
    json_push_key_string(out, "schedule",
                         plan->schedule.schedule == NULL ? NULL : plan->schedule.schedule->name);
    json_push_key_u64(out, "zero", words.zero);
    json_push_key_string(out, "recompute", words.recompute);
    json_push_key_string(out, "offload", words.offload);
    text_init(&flags, command->arena);
    plan_flags_dump(plan, problem->setup->runtime, command->arena, &flags);
    json_push_key_string(out, "flags", flags.bytes);
    json_pop_object(out);
}

static void push_costs(struct command *command, const struct stage_estimate *stage,
                       struct json_writer *out)
{
    for (uint32_t i = 0; i < COST_COUNT; i++) {
        const char *key = estimator_cost_key(i, command->arena);
        if (key != NULL) {
            json_push_key_double(out, key, stage->cost_s[i]);
        }
    }
}

static void push_memory(const struct stage_estimate *stage, struct json_writer *out)
{
    for (uint32_t i = 0; i < MEMORY_CLASS_COUNT; i++) {
        json_push_key_double(out, estimator_memory_key((enum memory_class)i),
                             stage->memory_bytes[i]);
    }
    json_push_key_double(out, "peak_bytes", stage->peak_bytes);
    json_push_key_double(out, "first_step_peak_bytes", stage->first_step_peak_bytes);
    json_push_key_double(out, "capacity_bytes", stage->capacity_bytes);
    report_push_host(stage, out);
}

static void push_layers(const struct plan_schedule *schedule, uint32_t stage,
                        struct json_writer *out)
{
    json_push_key(out, "layers");
    json_push_array(out);
    for (uint32_t chunk = 0; schedule->layers != NULL && chunk < schedule->chunks; chunk++) {
        json_push_u64(out, schedule->layers[stage * schedule->chunks + chunk]);
    }
    json_pop_array(out);
}

static void push_stages(struct command *command, const struct verdict *verdict,
                        struct json_writer *out)
{
    const struct estimate *estimate = &verdict->estimate;
    json_push_key(out, "stages");
    json_push_array(out);
    for (uint32_t i = 0; i < estimate->stage_count; i++) {
        json_push_object(out);
        json_push_key_u64(out, "stage", i);
        push_layers(&verdict->plan->schedule, i, out);
        json_push_key(out, "breakdown");
        json_push_object(out);
        push_costs(command, &estimate->stages[i], out);
        json_pop_object(out);
        json_pop_object(out);
    }
    json_pop_array(out);
    json_push_key(out, "memory");
    json_push_array(out);
    for (uint32_t i = 0; i < estimate->stage_count; i++) {
        json_push_object(out);
        json_push_key_u64(out, "stage", i);
        push_memory(&estimate->stages[i], out);
        json_pop_object(out);
    }
    json_pop_array(out);
}

static void push_provenance(const struct verdict *verdict, struct json_writer *out)
{
    json_push_key(out, "provenance");
    json_push_object(out);
    for (uint32_t i = 0; i < PROVENANCE_COUNT; i++) {
        json_push_key_double(out, prices_provenance_name((enum provenance)i),
                             verdict->provenance_frac[i]);
    }
    json_pop_object(out);
}

static void push_band(const struct question *question, double step_s, struct json_writer *out)
{
    double low_s, high_s;
    json_push_key(out, "band");
    if (!report_find_band(question, step_s, &low_s, &high_s)) {
        json_push_null(out);
        return;
    }
    json_push_object(out);
    json_push_key_double(out, "low_s", low_s);
    json_push_key_double(out, "high_s", high_s);
    json_push_key_double(out, "share_frac", RUNTIME_BAND_SHARE);
    json_push_key_u64(out, "rows", question->runtime.band.rows);
    json_pop_object(out);
}

void report_push_verdict(struct command *command, const struct question *question,
                         const struct verdict *verdict, struct json_writer *out)
{
    const struct estimate *estimate = &verdict->estimate;
    struct report_rates rates;
    report_find_rates(question, estimate->step_s, &rates);
    json_push_key_double(out, "step_s", estimate->step_s);
    json_push_key(out, "simulated_step_s");
    if (verdict->simulated) {
        json_push_double(out, verdict->simulated_step_s);
    } else {
        json_push_null(out);
    }
    push_band(question, estimate->step_s, out);
    json_push_key_double(out, "tokens_per_s", rates.tokens_per_s);
    json_push_key_double(out, "tokens_per_s_per_device", rates.tokens_per_s_per_device);
    if (rates.mfu_frac > 0.0) {
        json_push_key_double(out, "mfu_frac", rates.mfu_frac);
        json_push_key_double(out, "mfu_full_attention_frac", rates.mfu_full_attention_frac);
    } else {
        json_push_key(out, "mfu_frac");
        json_push_null(out);
    }
    if (!task_trains(&question->setup.task)) {
        request_times_push(command, question, verdict, out);
    }
    json_push_key_bool(out, "fits", estimate->fits);
    json_push_key_double(out, "peak_memory_bytes", estimate->peak_bytes);
    json_push_key_double(out, "capacity_bytes", estimate->capacity_bytes);
    json_push_key_u64(out, "slowest_stage", estimate->slowest_stage);
    json_push_key_u64(out, "fullest_stage", estimate->fullest_stage);
    report_push_configuration(command, &question->problem, verdict->plan, out);
    json_push_key(out, "breakdown");
    json_push_object(out);
    push_costs(command, &estimate->stages[estimate->slowest_stage], out);
    json_pop_object(out);
    push_stages(command, verdict, out);
    push_provenance(verdict, out);
    json_push_key(out, "plan");
    plan_dump(&question->problem, verdict->plan, true, out);
}

void report_push_certificate(const struct certificate *certificate, struct json_writer *out)
{
    json_push_key(out, "certificate");
    json_push_object(out);
    json_push_key_double(out, "lower_bound_s", certificate->lower_bound_s);
    json_push_key_double(out, "gap_frac", certificate->gap_frac);
    json_push_key_double(out, "placement_bound_s", certificate->placement_bound_s);
    json_push_key_double(out, "placement_gap_frac", certificate->placement_gap_frac);
    json_push_key_u64(out, "space_size", certificate->space_size);
    json_push_key_u64(out, "evaluated", certificate->evaluated);
    json_push_key(out, "pruned");
    json_push_object(out);
    for (uint32_t i = 0; i < BOUND_COUNT; i++) {
        json_push_key_u64(out, planner_bound_name((enum planner_bound)i), certificate->pruned[i]);
    }
    json_pop_object(out);
    json_push_key_bool(out, "complete", certificate->complete);
    json_push_key(out, "schedules_left");
    json_push_array(out);
    for (uint32_t i = 0; i < schedule_table_count; i++) {
        if ((certificate->schedules_left >> i & 1u) != 0) {
            json_push_string(out, schedule_table[i]->name);
        }
    }
    json_pop_array(out);
    json_pop_object(out);
}

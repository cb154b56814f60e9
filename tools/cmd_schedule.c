/* `shardplan schedule`: one pipeline schedule alone, with times given by hand. */
#include "costmodel/replay.h"
#include "sim/ready_run.h"
#include "tools/late_slots.h"
#include "tools/schedule_report.h"

static const char *const judges[] = {"costmodel", "simulator", NULL};
enum judge { JUDGE_COSTMODEL, JUDGE_SIMULATOR };

static const char *const dispatches[] = {"fixed", "ready", "hint", NULL};
enum dispatch { DISPATCH_FIXED, DISPATCH_READY, DISPATCH_HINT };

static const struct flag flags[] = {
    {.name = "--stages",
     .kind = FLAG_COUNT,
     .value = "P",
     .help = "stages in a row",
     .min = 1,
     .max = STREAM_SLOTS_MAX},
    {.name = "--microbatches",
     .kind = FLAG_COUNT,
     .value = "M",
     .help = "micro-batches per step",
     .min = 1,
     .max = STREAM_SLOTS_MAX},
    {.name = "--chunks",
     .kind = FLAG_COUNT,
     .value = "V",
     .help = "model chunks per stage",
     .fallback = "1",
     .min = 1,
     .max = STREAM_SLOTS_MAX},
    {.name = "--forward-s",
     .kind = FLAG_NUMBERS,
     .value = "F",
     .help = "forward of one micro-batch through all chunks of a stage; one value or one per stage",
     .fallback = "1"},
    {.name = "--backward-s",
     .kind = FLAG_NUMBERS,
     .value = "B",
     .help = "its backward; the input gradient alone when --weight-s is given",
     .fallback = "2"},
    {.name = "--weight-s", .kind = FLAG_NUMBERS, .value = "W", .help = "its weight gradient"},
    {.name = "--send-s",
     .kind = FLAG_NUMBERS,
     .value = "C",
     .help = "transfer to the next stage, and back; one value or one per stage (the last: to the "
             "first)",
     .fallback = "0"},
    {.name = "--send-blocks",
     .kind = FLAG_SWITCH,
     .help = "a stage waits for the end of what it sends"},
    {.name = "--pair-frac",
     .kind = FLAG_NUMBER,
     .value = "X",
     .help = "a forward that shares its time with a backward: both last X times their sum",
     .fallback = "1",
     .max = 1},
    {.name = "--judge",
     .kind = FLAG_CHOICE,
     .help = "who replays it: the cost model in closed form, or the simulator event by event",
     .fallback = "costmodel",
     .choices = judges},
    {.name = "--dispatch",
     .kind = FLAG_CHOICE,
     .help = "fixed: slots in the order of the schedule; ready: a free stage runs what is ready, "
             "backwards first; hint: what is ready, in the order of the schedule (simulated)",
     .fallback = "fixed",
     .choices = dispatches},
    {.name = "--in-flight",
     .kind = FLAG_NUMBERS,
     .value = "N",
     .help = "ready, hint: micro-batch chunks that a stage may hold; one value or one per stage"},
    {.name = "--late",
     .kind = FLAG_TEXT,
     .value = "LIST",
     .help = "slots that last longer, such as F5@0=6,B2@3=0.5: slot, stage, seconds (simulated)"},
    {.name = "--file",
     .kind = FLAG_TEXT,
     .value = "CSV",
     .help = "slots from a table instead of NAME: a row per stage, cells such as 0F0"},
    {.name = "--csv",
     .kind = FLAG_SWITCH,
     .help = "print the slots as such a table, which PyTorch's pipeline runtime loads"},
    {.name = NULL},
};
static const struct flag_group flag_groups[] = {
    {.title = "The schedule", .flags = flags},
    {.title = NULL},
};

/* --- the question -------------------------------------------------------------------------- */

static bool read_shape(struct command *command, struct schedule_shape *out)
{
    uint64_t stages, micro_batches, chunks;
    bool good = command_count(command, "--stages", &stages);
    good = command_count(command, "--microbatches", &micro_batches) && good;
    good = command_count(command, "--chunks", &chunks) && good;
    if (!good) {
        return false;
    }
    *out = (struct schedule_shape){.stages = (uint32_t)stages,
                                   .chunks = (uint32_t)chunks,
                                   .micro_batches = (uint32_t)micro_batches};
    return true;
}

static bool read_named(struct command *command, struct schedule_report *out)
{
    struct schedule_shape shape;
    out->name = command->positional[0];
    const struct schedule *schedule = schedule_find(out->name);
    if (schedule == NULL) {
        return diag_push(command->diag, DIAG_B110, (struct diag_place){0},
                         command_hint(command, out->name, schedule_names(), schedule_table_count,
                                      "`shardplan list schedules` names them"),
                         "no schedule is called '%s'", out->name);
    }
    return read_shape(command, &shape) &&
           stream_build(schedule, &shape, command->arena, &out->stream, command->diag);
}

static bool read_stream(struct command *command, struct schedule_report *out)
{
    struct text text;
    bool given = command_has(command, "--file");
    if (given == (command->positional_count > 0)) {
        return diag_push(command->diag, DIAG_C751, (struct diag_place){0}, NULL,
                         "give the name of a schedule or --file, one of the two");
    }
    if (!given) {
        return read_named(command, out);
    }
    return command_text(command, "--file", &out->name) &&
           command_read_file(command, out->name, &text) &&
           stream_read_table(out->name, text.bytes, text.length, command->arena, &out->stream,
                             command->diag);
}

/* One value per stage from a flag that gives one for all or one for each. */
static bool read_per_stage(struct command *command, const char *flag, uint32_t stages,
                           const double **out)
{
    const double *values;
    uint32_t count;
    if (!command_numbers(command, flag, &values, &count)) {
        return false;
    }
    if (count != 1 && count != stages) {
        return diag_push(command->diag, DIAG_C750, (struct diag_place){0}, NULL,
                         "%s has %u values: give one, or one for each of %u stages", flag, count,
                         stages);
    }
    double *per_stage = ARENA_PUSH(command->arena, double, stages);
    for (uint32_t stage = 0; stage < stages; stage++) {
        per_stage[stage] = values[count == 1 ? 0 : stage];
        if (!(per_stage[stage] >= 0 && per_stage[stage] <= 1e12)) {
            return diag_push(command->diag, DIAG_C750, (struct diag_place){0}, NULL,
                             "%s is %g s for stage %u: times are from 0 to 1e12 s", flag,
                             per_stage[stage], stage);
        }
    }
    *out = per_stage;
    return true;
}

/* Whole numbers from 1. */
static bool read_caps(struct command *command, uint32_t stages, const uint32_t **out)
{
    const double *values;
    if (!command_has(command, "--in-flight")) {
        *out = NULL;
        return true;
    }
    if (!read_per_stage(command, "--in-flight", stages, &values)) {
        return false;
    }
    uint32_t *caps = ARENA_PUSH(command->arena, uint32_t, stages);
    for (uint32_t stage = 0; stage < stages; stage++) {
        caps[stage] = values[stage] < STREAM_SLOTS_MAX ? (uint32_t)values[stage] : UINT32_MAX;
        if (values[stage] < 1 || (double)caps[stage] != values[stage]) {
            return diag_push(command->diag, DIAG_C750, (struct diag_place){0}, NULL,
                             "--in-flight is %g for stage %u: it must be a whole number from 1 to "
                             "%u",
                             values[stage], stage, STREAM_SLOTS_MAX - 1);
        }
    }
    *out = caps;
    return true;
}

/* Times of a stage, spread over its chunks; `more` (or NULL) is added. */
static const double *spread(struct command *command, const struct stream *stream,
                            const double *per_stage, const double *more)
{
    uint32_t chunks = stream->shape.chunks, count = stream->shape.stages * chunks;
    double *values = ARENA_PUSH(command->arena, double, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t stage = stream->chunk_place[i] / chunks;
        values[i] = (per_stage[stage] + (more == NULL ? 0 : more[stage])) * stream->copies / chunks;
    }
    return values;
}

/* The link that joins two stages: of neighbours that of the first, else the sender's own. */
static uint32_t find_link(const struct stream *stream, uint32_t model_chunk)
{
    uint32_t from = stream->chunk_place[model_chunk] / stream->shape.chunks;
    uint32_t to = stream->chunk_place[model_chunk + 1] / stream->shape.chunks;
    return to + 1 == from ? to : from;
}

static bool read_times(struct command *command, const struct stream *stream,
                       struct replay_times *out)
{
    uint32_t stages = stream->shape.stages, count = stages * stream->shape.chunks;
    const double *forward_s, *backward_s, *send_s, *weight_s = NULL;
    double pair_frac = 1;
    bool good = read_per_stage(command, "--forward-s", stages, &forward_s);
    good = read_per_stage(command, "--backward-s", stages, &backward_s) && good;
    good = read_per_stage(command, "--send-s", stages, &send_s) && good;
    good = command_number(command, "--pair-frac", &pair_frac) && good;
    if (command_has(command, "--weight-s")) {
        good = read_per_stage(command, "--weight-s", stages, &weight_s) && good;
    }
    if (!good) {
        return false;
    }
    if (!(pair_frac > 0 && pair_frac <= 1)) {
        return diag_push(
            command->diag, DIAG_C750, (struct diag_place){0}, NULL,
            "--pair-frac is %g: a pair lasts more than 0 and at most 1 times its slots", pair_frac);
    }
    double *sends_s = ARENA_PUSH(command->arena, double, count);
    for (uint32_t i = 0; i + 1 < count; i++) {
        sends_s[i] = send_s[find_link(stream, i)];
    }
    *out = (struct replay_times){
        .forward_s = spread(command, stream, forward_s, NULL),
        .backward_s = spread(command, stream, backward_s, weight_s),
        .input_s = spread(command, stream, backward_s, NULL),
        .weight_s = weight_s == NULL ? NULL : spread(command, stream, weight_s, NULL),
        .send_s = sends_s,
        .send_back_s = sends_s,
        .send_blocks = command_has(command, "--send-blocks"),
        .pair_frac = pair_frac,
    };
    return true;
}

/* --- the answer ---------------------------------------------------------------------------- */

static void replay(struct command *command, const struct replay_times *times,
                   struct schedule_report *answer)
{
    struct replay_plan plan;
    struct replay_result result;
    replay_build(&answer->stream, command->arena, &plan);
    void *scratch = arena_push(command->arena, 1, replay_count_scratch(&plan));
    replay_find_times(&plan, times, scratch, &result);
    answer->makespan_s = result.makespan_s;
    answer->busy_s = result.stage_busy_s;
}

/* Slots in the order they ran, what was alive meanwhile. */
static void adopt_order(struct command *command, const struct ready_run_result *result,
                        struct stream *stream)
{
    uint32_t first = 0;
    for (uint32_t stage = 0; stage < stream->shape.stages; stage++) {
        const uint32_t count = stream->slot_counts[stage];
        struct slot *slots = ARENA_PUSH(command->arena, struct slot, count);
        for (uint32_t i = 0; i < count; i++) {
            slots[i] = stream->slots[stage][result->order[first + i] - first];
            slots[i].paired = false;
        }
        stream->slots[stage] = slots;
        stream->peak_live_chunks[stage] = result->peak_live[stage];
        first += count;
    }
}

static bool run_ready(struct command *command, const struct schedule_run_times *times,
                      bool by_order, struct schedule_report *answer,
                      struct schedule_run_result *out)
{
    struct ready_run_rules rules = {.by_order = by_order};
    struct ready_run_result result;
    if (!read_caps(command, answer->stream.shape.stages, &rules.live_caps) ||
        !ready_run(&answer->stream, times, &rules, command->arena, &result, command->diag)) {
        return false;
    }
    adopt_order(command, &result, &answer->stream);
    *out = result.run;
    return true;
}

static bool simulate(struct command *command, const struct replay_times *times,
                     enum dispatch dispatch, struct schedule_report *answer)
{
    struct schedule_run_times run = {
        .forward_s = times->forward_s,
        .backward_s = times->backward_s,
        .input_s = times->input_s,
        .weight_s = times->weight_s,
        .send_s = times->send_s,
        .send_back_s = times->send_back_s,
        .send_blocks = times->send_blocks,
        .pair_frac = times->pair_frac,
    };
    struct schedule_run_result result;
    const bool good =
        late_slots_read(command, &answer->stream, &run.extra_s) &&
        (dispatch == DISPATCH_FIXED
             ? schedule_run(&answer->stream, &run, command->arena, &result, command->diag)
             : run_ready(command, &run, dispatch == DISPATCH_HINT, answer, &result));
    if (good) {
        answer->makespan_s = result.makespan_s;
        answer->busy_s = result.stage_busy_s;
    }
    return good;
}

static int dump_csv(struct command *command, const struct stream *stream)
{
    if (stream->copies > 1) {
        diag_push(command->diag, DIAG_C750, (struct diag_place){0}, NULL,
                  "--csv: the schedule keeps %u copies of each model chunk, the table has one",
                  stream->copies);
        return command_fail(command);
    }
    stream_dump_table(stream, &command->out);
    return 0;
}

static bool check_flags(struct command *command, enum dispatch dispatch)
{
    return dispatch != DISPATCH_FIXED || !command_has(command, "--in-flight") ||
           diag_push(command->diag, DIAG_C750, (struct diag_place){0}, NULL,
                     "--in-flight caps what `--dispatch ready` or `--dispatch hint` start; a fixed "
                     "order holds what it holds");
}

/* A pipeline that comes to a halt is an answer. */
static int fail(struct command *command)
{
    for (uint32_t i = 0; i < command->diag->kept; i++) {
        if (command->diag->entries[i].code == DIAG_P443 ||
            command->diag->entries[i].code == DIAG_S803) {
            return 1;
        }
    }
    return command_fail(command);
}

static int run(struct command *command)
{
    struct schedule_report answer;
    struct replay_times times;
    uint32_t judge;
    uint32_t dispatch;
    if (!read_stream(command, &answer) || !read_times(command, &answer.stream, &times) ||
        !command_choice(command, "--judge", &judge) ||
        !command_choice(command, "--dispatch", &dispatch) || !check_flags(command, dispatch)) {
        return fail(command);
    }
    if (command_has(command, "--csv")) {
        return dump_csv(command, &answer.stream);
    }
    const bool simulated =
        judge == JUDGE_SIMULATOR || dispatch != DISPATCH_FIXED || command_has(command, "--late");
    if (!simulated) {
        replay(command, &times, &answer);
    } else if (!simulate(command, &times, dispatch, &answer)) {
        return fail(command);
    }
    if (command->json) {
        schedule_report_dump_json(command, &answer);
    } else {
        schedule_report_dump_people(command, &answer);
    }
    return 0;
}

extern const struct command_kind command_schedule;

const struct command_kind command_schedule = {
    .name = "schedule",
    .usage = "shardplan schedule NAME --stages P --microbatches M [--chunks V] [times]",
    .summary = "how long a pipeline schedule takes, what waits, what is alive",
    .lesson = "Replays one pipeline schedule with times given by hand: the makespan, each stage's\n"
              "bubble (makespan less its own work), the most micro-batches alive, the order of\n"
              "slots. Transfers do not wait for links.\n\n"
              "  shardplan schedule 1f1b --stages 4 --microbatches 8 --forward-s 1 --backward-s 2\n"
              "  shardplan schedule interleaved --stages 4 --microbatches 8 --chunks 2 --json\n",
    .groups = flag_groups,
    .positional_min = 0,
    .positional_max = 1,
    .run = run,
};

/* `shardplan schedule`: one pipeline schedule alone, with times given by hand. */
#include "base/json.h"
#include "base/table.h"
#include "costmodel/replay.h"
#include "plan/schedule.h"
#include "sim/schedule_run.h"
#include "tools/command.h"

#define SHOWN_SLOTS 48u /* of a stage, to people */

static const char *const judges[] = {"costmodel", "simulator", NULL};
enum judge { JUDGE_COSTMODEL, JUDGE_SIMULATOR };

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

/* The answer, whoever judged. */
struct answer {
    const char *name; /* of the schedule or its table */
    struct stream stream;
    double makespan_s;
    const double *busy_s; /* per stage */
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

static bool read_named(struct command *command, struct answer *out)
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

static bool read_stream(struct command *command, struct answer *out)
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

static void dump_slots(const struct stream *stream, uint32_t stage, struct json_writer *out)
{
    struct text slot;
    text_init(&slot, out->out->arena);
    json_push_array(out);
    for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
        slot.length = 0;
        schedule_dump_slot(&stream->slots[stage][i], stream->shape.chunks, &slot);
        json_push_string(out, slot.bytes);
    }
    json_pop_array(out);
}

static double work_of(const struct answer *answer, uint32_t stage)
{
    return answer->busy_s[stage];
}

static double bubble_of(const struct answer *answer, uint32_t stage)
{
    return answer->makespan_s - answer->busy_s[stage];
}

static double live_chunks_of(const struct answer *answer, uint32_t stage)
{
    return answer->stream.peak_live_chunks[stage];
}

/* In micro-batches: a chunk counts copies/chunks. */
static double live_of(const struct answer *answer, uint32_t stage)
{
    return live_chunks_of(answer, stage) * answer->stream.copies / answer->stream.shape.chunks;
}

static void dump_per_stage(const struct answer *answer, const char *key,
                           double (*value)(const struct answer *answer, uint32_t stage),
                           struct json_writer *out)
{
    json_push_key(out, key);
    json_push_array(out);
    for (uint32_t stage = 0; stage < answer->stream.shape.stages; stage++) {
        json_push_double(out, value(answer, stage));
    }
    json_pop_array(out);
}

static void dump_json(struct command *command, const struct answer *answer)
{
    const struct stream *stream = &answer->stream;
    uint32_t stages = stream->shape.stages;
    struct json_writer out;
    json_writer_init(&out, &command->out, false);
    json_push_object(&out);
    json_push_key_string(&out, "version", SHARDPLAN_VERSION);
    json_push_key_string(&out, "schedule", answer->name);
    json_push_key_u64(&out, "stages", stages);
    json_push_key_u64(&out, "chunks", stream->shape.chunks);
    json_push_key_u64(&out, "microbatches", stream->shape.micro_batches);
    json_push_key_double(&out, "makespan_s", answer->makespan_s);
    dump_per_stage(answer, "work_s", work_of, &out);
    dump_per_stage(answer, "bubble_s", bubble_of, &out);
    dump_per_stage(answer, "peak_live", live_of, &out);
    dump_per_stage(answer, "peak_live_chunks", live_chunks_of, &out);
    json_push_key(&out, "order");
    json_push_array(&out);
    for (uint32_t stage = 0; stage < stages; stage++) {
        dump_slots(stream, stage, &out);
    }
    json_pop_array(&out);
    json_pop_object(&out);
    text_push(&command->out, "\n");
}

static const char *seconds(struct arena *arena, double value_s)
{
    struct text text;
    text_init(&text, arena);
    unit_dump_short(UNIT_SECONDS, value_s, &text);
    return text.bytes;
}

static void dump_order(const struct stream *stream, uint32_t stage, struct text *out)
{
    uint32_t count = stream->slot_counts[stage];
    uint32_t shown = count < SHOWN_SLOTS ? count : SHOWN_SLOTS;
    text_push(out, "stage %u:", stage);
    for (uint32_t i = 0; i < shown; i++) {
        text_push(out, i > 0 && stream->slots[stage][i - 1].paired ? "&" : " ");
        schedule_dump_slot(&stream->slots[stage][i], stream->shape.chunks, out);
    }
    if (shown < count) {
        text_push(out, " and %u more", count - shown);
    }
    text_push(out, "\n");
}

static void dump_people(struct command *command, const struct answer *answer)
{
    static const char *const headings[] = {
        ">stage", ">work", ">bubble", ">of the step", ">live micro-batches", NULL};
    const struct stream *stream = &answer->stream;
    double makespan_s = answer->makespan_s;
    struct table table;
    table_init(&table, command->arena, headings);
    for (uint32_t stage = 0; stage < stream->shape.stages; stage++) {
        double bubble_s = bubble_of(answer, stage);
        table_push(&table, "%u", stage);
        table_push(&table, "%s", seconds(command->arena, work_of(answer, stage)));
        table_push(&table, "%s", seconds(command->arena, bubble_s));
        table_push(&table, "%.1f %%", makespan_s > 0 ? 100 * bubble_s / makespan_s : 0);
        table_push(&table, "%g", live_of(answer, stage));
    }
    text_push(&command->out, "%s: stages %u, model chunks on each %u, micro-batches %u: %s\n\n",
              answer->name, stream->shape.stages, stream->shape.chunks, stream->shape.micro_batches,
              seconds(command->arena, makespan_s));
    table_dump(&table, &command->out);
    text_push(&command->out, "\n");
    for (uint32_t stage = 0; stage < stream->shape.stages; stage++) {
        dump_order(stream, stage, &command->out);
    }
}

static void replay(struct command *command, const struct replay_times *times, struct answer *answer)
{
    struct replay_plan plan;
    struct replay_result result;
    replay_build(&answer->stream, command->arena, &plan);
    void *scratch = arena_push(command->arena, 1, replay_count_scratch(&plan));
    replay_find_times(&plan, times, scratch, &result);
    answer->makespan_s = result.makespan_s;
    answer->busy_s = result.stage_busy_s;
}

static bool simulate(struct command *command, const struct replay_times *times,
                     struct answer *answer)
{
    const struct schedule_run_times run = {
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
    if (!schedule_run(&answer->stream, &run, command->arena, &result, command->diag)) {
        return false;
    }
    answer->makespan_s = result.makespan_s;
    answer->busy_s = result.stage_busy_s;
    return true;
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

static int run(struct command *command)
{
    struct answer answer;
    struct replay_times times;
    uint32_t judge;
    if (!read_stream(command, &answer) || !read_times(command, &answer.stream, &times) ||
        !command_choice(command, "--judge", &judge)) {
        return command_fail(command);
    }
    if (command_has(command, "--csv")) {
        return dump_csv(command, &answer.stream);
    }
    if (judge == JUDGE_COSTMODEL) {
        replay(command, &times, &answer);
    } else if (!simulate(command, &times, &answer)) {
        return command_fail(command);
    }
    if (command->json) {
        dump_json(command, &answer);
    } else {
        dump_people(command, &answer);
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

/* Tables of stages, orders of slots. */
#include "tools/schedule_report.h"

#include "base/json.h"
#include "base/table.h"

#define SHOWN_SLOTS 48u  /* of a stage, to people */
#define SHOWN_STAGES 64u /* to people: the first, and the last */

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

static double work_of(const struct schedule_report *report, uint32_t stage)
{
    return report->busy_s[stage];
}

static double bubble_of(const struct schedule_report *report, uint32_t stage)
{
    return report->makespan_s - report->busy_s[stage];
}

static double live_chunks_of(const struct schedule_report *report, uint32_t stage)
{
    return report->stream.peak_live_chunks[stage];
}

/* In micro-batches: a chunk counts copies/chunks. */
static double live_of(const struct schedule_report *report, uint32_t stage)
{
    return live_chunks_of(report, stage) * report->stream.copies / report->stream.shape.chunks;
}

static void dump_per_stage(const struct schedule_report *report, const char *key,
                           double (*value)(const struct schedule_report *report, uint32_t stage),
                           struct json_writer *out)
{
    json_push_key(out, key);
    json_push_array(out);
    for (uint32_t stage = 0; stage < report->stream.shape.stages; stage++) {
        json_push_double(out, value(report, stage));
    }
    json_pop_array(out);
}

void schedule_report_dump_json(struct command *command, const struct schedule_report *report)
{
    const struct stream *stream = &report->stream;
    uint32_t stages = stream->shape.stages;
    struct json_writer out;
    json_writer_init(&out, &command->out, false);
    json_push_object(&out);
    json_push_key_string(&out, "version", SHARDPLAN_VERSION);
    json_push_key_string(&out, "schedule", report->name);
    json_push_key_u64(&out, "stages", stages);
    json_push_key_u64(&out, "chunks", stream->shape.chunks);
    json_push_key_u64(&out, "microbatches", stream->shape.micro_batches);
    json_push_key_double(&out, "makespan_s", report->makespan_s);
    dump_per_stage(report, "work_s", work_of, &out);
    dump_per_stage(report, "bubble_s", bubble_of, &out);
    dump_per_stage(report, "peak_live", live_of, &out);
    dump_per_stage(report, "peak_live_chunks", live_chunks_of, &out);
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

static void dump_stage(const struct schedule_report *report, uint32_t stage, struct arena *arena,
                       struct table *table)
{
    const double makespan_s = report->makespan_s, bubble_s = bubble_of(report, stage);
    table_push(table, "%u", stage);
    table_push(table, "%s", seconds(arena, work_of(report, stage)));
    table_push(table, "%s", seconds(arena, bubble_s));
    table_push(table, "%.1f %%", makespan_s > 0 ? 100 * bubble_s / makespan_s : 0);
    table_push(table, "%g", live_of(report, stage));
}

void schedule_report_dump_people(struct command *command, const struct schedule_report *report)
{
    static const char *const headings[] = {
        ">stage", ">work", ">bubble", ">of the step", ">live micro-batches", NULL};
    const struct stream *stream = &report->stream;
    const uint32_t stages = stream->shape.stages;
    const uint32_t shown = stages < SHOWN_STAGES ? stages : SHOWN_STAGES;
    struct table table;
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < shown; i++) {
        dump_stage(report, i + 1 < shown ? i : stages - 1, command->arena, &table);
    }
    text_push(&command->out, "%s: stages %u, model chunks on each %u, micro-batches %u: %s\n\n",
              report->name, stages, stream->shape.chunks, stream->shape.micro_batches,
              seconds(command->arena, report->makespan_s));
    table_dump(&table, &command->out);
    text_push(&command->out, "\n");
    for (uint32_t i = 0; i < shown; i++) {
        dump_order(stream, i + 1 < shown ? i : stages - 1, &command->out);
    }
    if (shown < stages) {
        text_push(&command->out, "stages %u to %u are left out here; --json has all\n", shown - 1,
                  stages - 2);
    }
}

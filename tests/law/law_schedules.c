/* What every pipeline schedule keeps: each slot once behind what it needs, no waiting in a
 * circle. */
#include <string.h>

#include "tests/law/each_stream.h"

static void refusal_is_reported(const struct schedule *schedule, const struct schedule_shape *shape)
{
    struct stream stream;
    diag_init(&diag, &arena);
    ck_assert(!stream_build(schedule, shape, &arena, &stream, &diag));
    ck_assert_uint_eq(diag.count, 1);
    ck_assert_uint_eq(diag.entries[0].code, DIAG_P440);
    ck_assert_ptr_nonnull(strstr(diag.entries[0].message, schedule->name));
    ck_assert_ptr_nonnull(strstr(diag.entries[0].message, schedule_refuses(schedule, shape)));
}

START_TEST(members_are_named_as_their_files)
{
    for (uint32_t i = 0; i < schedule_table_count; i++) {
        ck_assert_str_eq(schedule_table[i]->name, schedule_names()[i]);
        ck_assert_ptr_eq(schedule_find(schedule_names()[i]), schedule_table[i]);
        ck_assert_uint_gt(strlen(schedule_table[i]->summary), 20);
    }
    ck_assert_ptr_null(schedule_names()[schedule_table_count]);
    ck_assert_ptr_null(schedule_find("no-such-schedule"));
}
END_TEST

START_TEST(other_shapes_are_refused_with_a_reason)
{
    arena_init(&arena);
    uint32_t refused = 0;
    for (uint32_t i = 0; i < schedule_table_count; i++) {
        for (uint32_t j = 0; j < SHAPE_COUNT; j++) {
            struct schedule_shape shape = shape_at(j);
            if (schedule_refuses(schedule_table[i], &shape) != NULL) {
                refusal_is_reported(schedule_table[i], &shape);
                refused++;
            }
        }
        refusal_is_reported(schedule_table[i], &(struct schedule_shape){0, 1, 1});
        refusal_is_reported(schedule_table[i], &(struct schedule_shape){1, 0, 1});
        refusal_is_reported(schedule_table[i], &(struct schedule_shape){1, 1, 0});
        refusal_is_reported(schedule_table[i], &(struct schedule_shape){
                                                   4096, schedule_table[i]->chunked ? 4 : 1, 4096});
    }
    ck_assert_uint_gt(refused, 100);
    arena_release(&arena);
}
END_TEST

/* The chain that the micro-batch takes: the one whose first chunk runs its forward. */
static uint32_t chain_of(const struct stream *stream, uint32_t micro_batch)
{
    const uint32_t length = stream->shape.stages * stream->shape.chunks / stream->copies;
    uint32_t chain = 0, found = 0;
    for (uint32_t i = 0; i < stream->copies; i++) {
        const uint32_t place = stream->chunk_place[i * length];
        const uint32_t stage = place / stream->shape.chunks, chunk = place % stream->shape.chunks;
        for (uint32_t j = 0; j < stream->slot_counts[stage]; j++) {
            const struct slot *slot = &stream->slots[stage][j];
            if (slot->kind == SLOT_FORWARD && slot->micro_batch == micro_batch &&
                slot->chunk == chunk) {
                chain = i;
                found++;
            }
        }
    }
    ck_assert_uint_eq(found, 1);
    return chain;
}

/* How often the stage must run a pair (chunk, micro-batch): once, or never where the micro-batch
 * takes another chain. */
static uint32_t runs_here(const struct stream *stream, uint32_t stage, uint32_t pair)
{
    const uint32_t chunk = pair / stream->shape.micro_batches;
    const uint32_t length = stream->shape.stages * stream->shape.chunks / stream->copies;
    const uint32_t chain = stream->model_chunk[stage * stream->shape.chunks + chunk] / length;
    return stream->copies == 1 || chain_of(stream, pair % stream->shape.micro_batches) == chain;
}

/* Runs of each (kind, chunk, micro-batch), and that none comes before what it needs. */
static void stage_runs_each_slot_once(const struct stream *stream, uint32_t stage)
{
    const struct schedule_shape *shape = &stream->shape;
    uint32_t pairs = shape->chunks * shape->micro_batches;
    uint32_t *runs[SLOT_KIND_COUNT];
    for (uint32_t kind = 0; kind < SLOT_KIND_COUNT; kind++) {
        runs[kind] = ARENA_PUSH(&arena, uint32_t, pairs);
    }
    for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
        const struct slot *slot = &stream->slots[stage][i];
        uint32_t pair = slot->chunk * shape->micro_batches + slot->micro_batch;
        ck_assert_uint_lt(slot->chunk, shape->chunks);
        ck_assert_uint_lt(slot->micro_batch, shape->micro_batches);
        ck_assert(slot->kind == SLOT_FORWARD || runs[SLOT_FORWARD][pair] == 1);
        ck_assert(slot->kind != SLOT_WEIGHT_GRADIENT || runs[SLOT_INPUT_GRADIENT][pair] == 1);
        runs[slot->kind][pair]++;
    }
    for (uint32_t i = 0; i < pairs; i++) {
        ck_assert_uint_eq(runs[SLOT_FORWARD][i], runs_here(stream, stage, i));
        ck_assert_uint_eq(runs[SLOT_BACKWARD][i] + runs[SLOT_INPUT_GRADIENT][i],
                          runs[SLOT_FORWARD][i]);
        ck_assert_uint_eq(runs[SLOT_WEIGHT_GRADIENT][i], runs[SLOT_INPUT_GRADIENT][i]);
    }
}

static void slots_law(const struct schedule *schedule, const struct stream *stream)
{
    (void)schedule;
    for (uint32_t stage = 0; stage < stream->shape.stages; stage++) {
        ck_assert_uint_le(stream->slot_counts[stage], schedule_count_slots(&stream->shape));
        stage_runs_each_slot_once(stream, stage);
    }
    ck_assert(stream_check(stream, &diag));
}

START_TEST(each_slot_runs_once_behind_what_it_needs)
{
    each_stream(slots_law);
}
END_TEST

static void places_law(const struct schedule *schedule, const struct stream *stream)
{
    (void)schedule;
    uint32_t places = stream->shape.stages * stream->shape.chunks;
    bool *seen = ARENA_PUSH(&arena, bool, places);
    for (uint32_t place = 0; place < places; place++) {
        ck_assert_uint_lt(stream->model_chunk[place], places);
        ck_assert(!seen[stream->model_chunk[place]]);
        seen[stream->model_chunk[place]] = true;
        ck_assert_uint_eq(stream->chunk_place[stream->model_chunk[place]], place);
    }
}

START_TEST(model_chunks_spread_one_to_one)
{
    each_stream(places_law);
}
END_TEST

/* Live after each slot, counted from the definition: forwards run less micro-batches all done. */
static void peaks_law(const struct schedule *schedule, const struct stream *stream)
{
    (void)schedule;
    for (uint32_t stage = 0; stage < stream->shape.stages; stage++) {
        uint32_t peak = 0, begun = 0, done = 0;
        for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
            enum slot_kind kind = stream->slots[stage][i].kind;
            begun += kind == SLOT_FORWARD;
            peak = begun - done > peak ? begun - done : peak;
            done += kind == SLOT_BACKWARD || kind == SLOT_WEIGHT_GRADIENT;
        }
        ck_assert_uint_eq(begun, done);
        ck_assert_uint_eq(stream->peak_live_chunks[stage], peak);
    }
}

START_TEST(what_begins_is_released)
{
    each_stream(peaks_law);
}
END_TEST

/* The table of a stream is the stream, slot by slot; some chunks may have other local numbers. */
static void table_law(const struct schedule *schedule, const struct stream *stream)
{
    struct stream same;
    struct text table;
    if (stream->copies > 1) {
        return;
    }
    text_init(&table, &arena);
    stream_dump_table(stream, &table);
    ck_assert(stream_read_table(schedule->name, table.bytes, table.length, &arena, &same, &diag));
    ck_assert_uint_eq(same.shape.stages, stream->shape.stages);
    ck_assert_uint_eq(same.shape.chunks, stream->shape.chunks);
    ck_assert_uint_eq(same.shape.micro_batches, stream->shape.micro_batches);
    for (uint32_t stage = 0; stage < same.shape.stages; stage++) {
        const uint32_t *chunks[2] = {&same.model_chunk[stage * same.shape.chunks],
                                     &stream->model_chunk[stage * same.shape.chunks]};
        ck_assert_uint_eq(same.slot_counts[stage], stream->slot_counts[stage]);
        for (uint32_t i = 0; i < same.slot_counts[stage]; i++) {
            const struct slot *a = &same.slots[stage][i], *b = &stream->slots[stage][i];
            ck_assert_uint_eq(a->kind, b->kind);
            ck_assert_uint_eq(a->micro_batch, b->micro_batch);
            ck_assert_uint_eq(chunks[0][a->chunk], chunks[1][b->chunk]);
            ck_assert(a->paired == b->paired);
        }
    }
}

START_TEST(tables_read_back)
{
    each_stream(table_law);
}
END_TEST

TAP_MAIN("schedules", members_are_named_as_their_files, other_shapes_are_refused_with_a_reason,
         each_slot_runs_once_behind_what_it_needs, model_chunks_spread_one_to_one,
         what_begins_is_released, tables_read_back)

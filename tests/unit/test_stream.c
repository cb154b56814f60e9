/* Streams that are no schedule are refused by stage and slot; tables are read as PyTorch reads
 * them. */
#include "plan/schedule.h"

#include <string.h>

#include "tests/fresh.h"

static struct stream stream;

static bool read_text(const char *table)
{
    begin();
    return stream_read_table("t.csv", table, strlen(table), &arena, &stream, &diag);
}

static void refuses(const char *table, enum diag_code code, uint32_t line, uint32_t column,
                    const char *message)
{
    ck_assert_msg(!read_text(table), "accepted: %s", table);
    const struct diag_entry *entry = &diag.entries[0];
    ck_assert_msg(strstr(entry->message, message) != NULL, "'%s' says '%s', not '%s'", table,
                  entry->message, message);
    ck_assert_str_eq(diag_code_name(entry->code), diag_code_name(code));
    ck_assert_str_eq(entry->place.file, "t.csv");
    ck_assert_uint_eq(entry->place.line, line);
    ck_assert_uint_eq(entry->place.column, column);
    arena_release(&arena);
}

START_TEST(reads_a_table)
{
    ck_assert(read_text("0F0,0F1,,0B0, 0B1\r\n,1F0,1B0,1F1,1B1\n"));
    ck_assert_uint_eq(stream.shape.stages, 2);
    ck_assert_uint_eq(stream.shape.chunks, 1);
    ck_assert_uint_eq(stream.shape.micro_batches, 2);
    ck_assert_uint_eq(stream.slot_counts[0], 4);
    ck_assert_uint_eq(stream.slots[1][1].kind, SLOT_BACKWARD);
    ck_assert_uint_eq(stream.slots[1][2].micro_batch, 1);
    ck_assert_uint_eq(stream.peak_live_chunks[0], 2);
    ck_assert_uint_eq(stream.peak_live_chunks[1], 1);
    ck_assert_str_eq(stream.file, "t.csv");
    arena_release(&arena);
}
END_TEST

/* The chain turns round at the end: stage 0 has model chunks 0 and 3, stage 1 has 1 and 2. */
START_TEST(reads_placement_and_split_backwards)
{
    ck_assert(read_text("0F0,3F0,3I0,3W0,0B0\n1F0,2F0,2B0,1I0,1W0"));
    ck_assert_uint_eq(stream.shape.chunks, 2);
    ck_assert_uint_eq(stream.model_chunk[1], 3);
    ck_assert_uint_eq(stream.model_chunk[2], 1);
    ck_assert_uint_eq(stream.chunk_place[2], 3);
    ck_assert_uint_eq(stream.slots[0][3].kind, SLOT_WEIGHT_GRADIENT);
    ck_assert_uint_eq(stream.slots[0][3].chunk, 1);
    ck_assert_uint_eq(stream_find_source(&stream, 0, &stream.slots[0][1]), 2);
    ck_assert_uint_eq(stream_find_source(&stream, 0, &stream.slots[0][2]), STREAM_NO_SOURCE);
    ck_assert_uint_eq(stream_find_source(&stream, 0, &stream.slots[0][3]), STREAM_NO_SOURCE);
    ck_assert_uint_eq(stream_find_source(&stream, 0, &stream.slots[0][4]), 1);
    arena_release(&arena);
}
END_TEST

START_TEST(refuses_what_is_no_table)
{
    refuses("", DIAG_P444, 0, 0, "no slot");
    refuses("\n,,\n", DIAG_P444, 0, 0, "no slot");
    refuses("0F0,0X0,0B0", DIAG_P444, 1, 5, "'0X0' is no slot");
    refuses("0F0,0B0\n1F0, 1F,1B0", DIAG_P444, 2, 6, "'1F' is no slot");
    refuses("0F0,0B0 x", DIAG_P444, 1, 5, "'0B0 x' is no slot");
    refuses("0F0,(1F1;0B0)OVERLAP_B_F", DIAG_P444, 1, 5, "OVERLAP_B_F' is no slot");
    refuses("0F0,(0F1,0B0),0B1", DIAG_P444, 1, 5, "'(0F1' is no slot");
    refuses("0F0,(0F1;0F2)OVERLAP_F_B,0B0,0B1,0B2", DIAG_P442, 1, 1, "with what is no backward");
    refuses("(0B0;0F1)OVERLAP_F_B", DIAG_P442, 1, 1, "before its forward");
    refuses("(0F0;0B0)OVERLAP_F_B", DIAG_P442, 1, 1, "with its own backward");
    refuses("0F99999999999,0B0", DIAG_P444, 1, 1, "is no slot");
    refuses("9999999F0,0B9999999", DIAG_P444, 0, 0, "too many");
    refuses("0F0,0B0,1F0\n1B0", DIAG_P444, 2, 1, "stage 0 and on stage 1");
    refuses("0F0,0B0,3F0,3B0\n1F0,1B0", DIAG_P444, 0, 0, "model chunk 2 of 4 has no slot");
    refuses("0F0,0B0\n1F0,1B0,2F0,2B0,3F0,3B0", DIAG_P444, 1, 1, "stage 0 runs 1 model chunks");
    refuses("0F0,0B0\n\n1F0,1B0", DIAG_P444, 2, 0, "stage 1 (row 2) has no slot");
    refuses("\n0F0,0B0", DIAG_P444, 1, 0, "stage 0 (row 1) has no slot");
    refuses("0F0,0B0,1F0,1B0\n2F0,2B0", DIAG_P444, 0, 0,
            "3 model chunks do not spread evenly over 2");
}
END_TEST

/* What is no table at all may be one row of a hundred thousand bad cells. */
START_TEST(names_the_first_bad_cell_of_a_row)
{
    static char text[200002];
    for (size_t i = 0; i + 2 < sizeof text; i += 2) {
        memcpy(&text[i], "x,", 2);
    }
    memcpy(text, "x,x\n", 4);
    begin();
    ck_assert(!stream_read_table("huge", text, strlen(text), &arena, &stream, &diag));
    ck_assert_uint_eq(diag.count, 2);
    ck_assert_uint_eq(diag.entries[1].place.line, 2);
    arena_release(&arena);
}
END_TEST

START_TEST(refuses_missing_and_doubled_slots)
{
    refuses("0F0,0F1,0B0", DIAG_P441, 1, 1, "stage 0 never runs the backward of micro-batch 1");
    refuses("0F0,0B0\n1F0,1F1,1B0,1B1", DIAG_P441, 1, 1,
            "stage 0 never runs the forward of micro-batch 1");
    refuses("0F0,0I0", DIAG_P441, 1, 1, "never runs the weight gradient of micro-batch 0");
    refuses("0F0,0B0,0B0", DIAG_P441, 1, 1,
            "runs the backward of micro-batch 0 of chunk 0 a second");
    refuses("0F0,0F0,0B0", DIAG_P441, 1, 1,
            "runs the forward of micro-batch 0 of chunk 0 a second");
    refuses("0F0,0B0,0W0", DIAG_P441, 1, 1, "weight gradient of micro-batch 0 of chunk 0 a second");
    refuses("0F0,0I0,0W0,0W0", DIAG_P441, 1, 1, "weight gradient of micro-batch 0 of chunk 0 a");
}
END_TEST

START_TEST(refuses_slots_before_what_they_need)
{
    refuses("0B0,0F0", DIAG_P442, 1, 1,
            "runs the backward of micro-batch 0 of chunk 0 before its for");
    refuses("0F0,0W0,0I0", DIAG_P442, 1, 1,
            "weight gradient of micro-batch 0 of chunk 0 before its in");
}
END_TEST

START_TEST(names_the_cycle_of_a_deadlock)
{
    /* Each stage wants the other's later slot first. */
    refuses("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1", DIAG_P443, 1, 1,
            "stage 0 waits with B0 for B0 of stage 1, stage 1 waits with F1 for F1 of stage 0");
    /* Two chunks of one stage in the wrong order. */
    refuses("1F0,0F0,1B0,0B0", DIAG_P443, 1, 1, "stage 0 waits with F0.1 for F0.0 of stage 0");
    /* Stage 2 is outside of the cycle that holds it up. */
    refuses("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n2F0,2F1,2B0,2B1", DIAG_P443, 1, 1,
            "stage 0 waits with B0 for B0 of stage 1, stage 1 waits with F1 for F1 of stage 0");
}
END_TEST

START_TEST(refusal_names_what_would_do)
{
    begin();
    const struct schedule *schedule = schedule_find("interleaved");
    ck_assert(!stream_build(schedule, &(struct schedule_shape){4, 2, 6}, &arena, &stream, &diag));
    ck_assert_uint_eq(diag.entries[0].code, DIAG_P440);
    ck_assert_str_eq(diag.entries[0].hint, "4 or 8 micro-batches would do");
    ck_assert_ptr_nonnull(strstr(diag.entries[0].message, "multiple of the stages"));
    diag_init(&diag, &arena);
    ck_assert(!stream_build(schedule, &(struct schedule_shape){8, 2, 3}, &arena, &stream, &diag));
    ck_assert_str_eq(diag.entries[0].hint, "8 micro-batches would do");
    diag_init(&diag, &arena);
    ck_assert(!stream_build(schedule, &(struct schedule_shape){4, 1, 8}, &arena, &stream, &diag));
    ck_assert_ptr_null(diag.entries[0].hint);
    ck_assert_ptr_nonnull(strstr(diag.entries[0].message, "chunks must be at least 2"));
    arena_release(&arena);
}
END_TEST

START_TEST(spells_slots)
{
    static const struct {
        struct slot slot;
        uint32_t chunks;
        const char *text;
    } cases[] = {
        {{.kind = SLOT_FORWARD, .micro_batch = 12, .chunk = 0}, 1, "F12"},
        {{.kind = SLOT_BACKWARD, .micro_batch = 0, .chunk = 0}, 1, "B0"},
        {{.kind = SLOT_INPUT_GRADIENT, .micro_batch = 3, .chunk = 1}, 2, "B3.1"},
        {{.kind = SLOT_WEIGHT_GRADIENT, .micro_batch = 3, .chunk = 0}, 2, "W3.0"},
    };
    arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text text;
        text_init(&text, &arena);
        schedule_dump_slot(&cases[i].slot, cases[i].chunks, &text);
        ck_assert_str_eq(text.bytes, cases[i].text);
    }
    arena_release(&arena);
}
END_TEST

TAP_MAIN("stream", spells_slots, reads_a_table, reads_placement_and_split_backwards,
         refuses_what_is_no_table, names_the_first_bad_cell_of_a_row,
         refuses_missing_and_doubled_slots, refuses_slots_before_what_they_need,
         names_the_cycle_of_a_deadlock, refusal_names_what_would_do)

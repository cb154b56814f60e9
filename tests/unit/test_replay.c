/* Two stages by hand: where transfers, blocking transfers and releases go. */
#include "costmodel/replay.h"

#include <string.h>

#include "tests/fresh.h"

static struct replay_plan plan;
static struct replay_result result;
static void *scratch;

static void build(const char *table)
{
    struct stream stream;
    begin();
    ck_assert(stream_read_table("t", table, strlen(table), &arena, &stream, &diag));
    replay_build(&stream, &arena, &plan);
    scratch = arena_push(&arena, 1, replay_count_scratch(&plan));
}

static const double two_ones[] = {1, 1}, twos[] = {2, 2}, half[] = {0.5}, quarter[] = {0.25};

/* 0F0 0F1 . . . 0B0 . 0B1  a transfer of 1/2 forward, 1/4 back
 *   1F0 1B0 1F1 1B1                                             */
START_TEST(transfers_delay_the_receiver)
{
    build("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
    struct replay_times times = {
        .forward_s = two_ones, .backward_s = twos, .send_s = half, .send_back_s = quarter};
    replay_find_times(&plan, &times, scratch, &result);
    /* 1 + 1/2, then stage 1 is busy for 2 (1 + 2), then 1/4 and the last backward of 2. */
    ck_assert_double_eq(result.makespan_s, 1.5 + 6 + 0.25 + 2);
    ck_assert_double_eq(result.chunk_start_s[1], 1.5);
    ck_assert_double_eq(result.stage_start_s[0], 0);
    ck_assert_double_eq(result.stage_end_s[1], 7.5);
    ck_assert_double_eq(result.chunk_end_s[0], 9.75);
    ck_assert_double_eq(result.stage_busy_s[0], 6);
    arena_release(&arena);
}
END_TEST

START_TEST(blocking_transfers_hold_the_sender)
{
    build("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
    struct replay_times times = {.forward_s = two_ones,
                                 .backward_s = twos,
                                 .send_s = half,
                                 .send_back_s = quarter,
                                 .send_blocks = true};
    replay_find_times(&plan, &times, scratch, &result);
    /* Stage 1 also waits 1/4 for its first transfer back before it goes on. */
    ck_assert_double_eq(result.makespan_s, 1.5 + 3 + 0.25 + 3 + 0.25 + 2);
    /* Its own end is that of its last slot, not of the transfer behind it. */
    ck_assert_double_eq(result.stage_end_s[1], 1.5 + 3 + 0.25 + 3);
    struct replay_cut cut;
    replay_cut_init(2, &arena, &cut);
    replay_find_cut(&plan, &times, scratch, &cut);
    ck_assert(cut.send_blocks);
    ck_assert_uint_eq(cut.sends[0], 1);
    ck_assert_uint_eq(cut.sends_back[0], 2);
    ck_assert_uint_eq(cut.slots[SLOT_FORWARD][0], 1);
    ck_assert_uint_eq(cut.slots[SLOT_FORWARD][1], 2);
    ck_assert_uint_eq(cut.slots[SLOT_BACKWARD][0], 1);
    ck_assert_uint_eq(cut.slots[SLOT_BACKWARD][1], 2);
    ck_assert_uint_eq(cut.release, 2);
    arena_release(&arena);
}
END_TEST

START_TEST(releases_hold_the_first_forward)
{
    static const double release[] = {0.5, 10};
    build("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
    struct replay_times times = {.forward_s = two_ones, .backward_s = twos, .release_s = release};
    replay_find_times(&plan, &times, scratch, &result);
    ck_assert_double_eq(result.chunk_start_s[0], 0.5);
    ck_assert_double_eq(result.chunk_start_s[1], 10);
    ck_assert_double_eq(result.makespan_s, 10 + 6 + 2);
    struct replay_cut cut;
    replay_cut_init(2, &arena, &cut);
    replay_find_cut(&plan, &times, scratch, &cut);
    ck_assert_uint_eq(cut.release, 1);
    ck_assert_double_eq(replay_find_bound(&cut, &times), 18);
    arena_release(&arena);
}
END_TEST

/* A V: the chain turns round on stage 1, so nothing is sent there. */
START_TEST(chunks_of_one_stage_send_nothing)
{
    static const double ones[] = {1, 1, 1, 1}, send[] = {0.5, 100, 0.5};
    build("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n");
    struct replay_times times = {
        .forward_s = ones, .backward_s = ones, .send_s = send, .send_back_s = send};
    replay_find_times(&plan, &times, scratch, &result);
    ck_assert_double_eq(result.makespan_s, 8 + 4 * 0.5);
    times.send_blocks = true;
    replay_find_times(&plan, &times, scratch, &result);
    ck_assert_double_eq(result.makespan_s, 8 + 4 * 0.5);
    arena_release(&arena);
}
END_TEST

/* Split backwards: the input gradient goes on at once, the weight gradient fills the wait. */
START_TEST(weight_gradients_send_nothing)
{
    static const double threes[] = {3, 3};
    build("0F0,0I0,0W0\n1F0,1I0,1W0\n");
    struct replay_times times = {.forward_s = two_ones,
                                 .backward_s = NULL,
                                 .input_s = twos,
                                 .weight_s = threes,
                                 .send_s = half,
                                 .send_back_s = quarter};
    replay_find_times(&plan, &times, scratch, &result);
    ck_assert_double_eq(result.stage_end_s[1], 1.5 + 1 + 2 + 3);
    ck_assert_double_eq(result.makespan_s, 1.5 + 1 + 2 + 0.25 + 2 + 3);
    ck_assert_double_eq(result.chunk_end_s[1], 7.5);
    arena_release(&arena);
}
END_TEST

TAP_MAIN("replay", transfers_delay_the_receiver, blocking_transfers_hold_the_sender,
         releases_hold_the_first_forward, chunks_of_one_stage_send_nothing,
         weight_gradients_send_nothing)

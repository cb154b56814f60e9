/* A measured pipeline, its own slot durations fed to the simulator: is the rest, who waits for
 * whom, what was measured?
 *
 * Eight stages of two chunks each, 16 micro-batches, interleaved (Primus, AMD-AGI/Primus at
 * fd1eeabb, 20 steps): starts and ends of all slots on every rank. Read from the folder
 * SHARDPLAN_SHARED. Transfers are not in it and cost nothing here, which is what is left over. */
#include <stdlib.h>

#include "base/json.h"
#include "sim/schedule_run.h"
#include "tests/tap_main.h"

#define STAGES 8u
#define CHUNKS 2u
#define MICRO_BATCHES 16u
#define SLOTS (2 * CHUNKS * MICRO_BATCHES) /* of a stage */
#define STEPS 20u

static struct arena arena;
static struct diag diag;

static const char *folder(void)
{
    const char *shared = getenv("SHARDPLAN_SHARED");
    return shared == NULL ? "." : shared;
}

static bool open_rank(uint32_t rank, struct json **out)
{
    diag_init(&diag, &arena);
    return json_open(text_build(&arena, "%s/fixtures/profile-primus-pp/pp8_vpp2_pp_rank_%u.json",
                                folder(), rank),
                     false, &arena, out, &diag);
}

/* Times of one stage in one step, in its order of slots, seconds. */
struct measured {
    double start_s[STAGES * SLOTS], end_s[STAGES * SLOTS];
};

static double read_ms(struct json_value step, const char *key, uint32_t index)
{
    double value = 0;
    ck_assert(json_value_double(json_find_index(json_find(step, key), index), &value));
    return value * 1e-3;
}

static void read_stage(struct json_value step, const struct stream *stream, uint32_t stage,
                       struct measured *out)
{
    uint32_t forwards = 0, backwards = 0;
    ck_assert_uint_eq(stream->slot_counts[stage], SLOTS);
    for (uint32_t i = 0; i < SLOTS; i++) {
        const bool forward = stream->slots[stage][i].kind == SLOT_FORWARD;
        const uint32_t index = forward ? forwards++ : backwards++;
        const uint32_t slot = stage * SLOTS + i;
        out->start_s[slot] = read_ms(step, forward ? "fwd_start" : "bwd_start", index);
        out->end_s[slot] = read_ms(step, forward ? "fwd_end" : "bwd_end", index);
    }
}

static double idle_frac(const double *start_s, const double *end_s, uint32_t stage, double span_s)
{
    double busy_s = 0;
    for (uint32_t i = stage * SLOTS; i < (stage + 1) * SLOTS; i++) {
        busy_s += end_s[i] - start_s[i];
    }
    return 1 - busy_s / span_s;
}

static void compare(const struct stream *stream, const struct measured *measured, uint32_t step)
{
    double first_s = measured->start_s[0], last_s = 0, extra_s[STAGES * SLOTS];
    for (uint32_t i = 0; i < STAGES * SLOTS; i++) {
        first_s = measured->start_s[i] < first_s ? measured->start_s[i] : first_s;
        last_s = measured->end_s[i] > last_s ? measured->end_s[i] : last_s;
        extra_s[i] = measured->end_s[i] - measured->start_s[i];
    }
    const struct schedule_run_times times = {.extra_s = extra_s};
    struct schedule_run_result result;
    ck_assert(schedule_run(stream, &times, &arena, &result, &diag));
    const double span_s = last_s - first_s, off = result.makespan_s / span_s - 1;
    ck_assert_msg(off < 0.0 && off > -0.015, "step %u: simulated %g s, measured %g s", step,
                  result.makespan_s, span_s);
    for (uint32_t stage = 0; stage < STAGES; stage++) {
        const double wanted = idle_frac(measured->start_s, measured->end_s, stage, span_s);
        const double got =
            idle_frac(result.slot_start_s, result.slot_end_s, stage, result.makespan_s);
        ck_assert_msg(got - wanted < 0.015 && wanted - got < 0.015,
                      "step %u, stage %u: idle %.1f %%, measured %.1f %%", step, stage, 100 * got,
                      100 * wanted);
    }
}

/* Within 1.5 % and 1.5 points in every step but the first, which warms up; asked for are 3 % and
 * 5 points. */
START_TEST(steps_and_idle_times_are_as_measured)
{
    struct json *ranks[STAGES];
    struct stream stream;
    arena_init(&arena);
    for (uint32_t rank = 0; rank < STAGES; rank++) {
        ck_assert(open_rank(rank, &ranks[rank]));
    }
    const struct schedule_shape shape = {STAGES, CHUNKS, MICRO_BATCHES};
    ck_assert(stream_build(schedule_find("interleaved"), &shape, &arena, &stream, &diag));
    for (uint32_t step = 2; step <= STEPS; step++) {
        struct measured *measured = ARENA_PUSH(&arena, struct measured, 1);
        for (uint32_t rank = 0; rank < STAGES; rank++) {
            read_stage(json_find(json_root(ranks[rank]), text_build(&arena, "%u", step)), &stream,
                       rank, measured);
        }
        compare(&stream, measured, step);
    }
    for (uint32_t rank = 0; rank < STAGES; rank++) {
        json_close(ranks[rank]);
    }
    arena_release(&arena);
}
END_TEST

int main(void)
{
    struct json *document;
    arena_init(&arena);
    const bool there = open_rank(0, &document);
    if (!there) {
        puts("1..0 # SKIP SHARDPLAN_SHARED has no fixtures/profile-primus-pp");
        arena_release(&arena);
        return 0;
    }
    json_close(document);
    arena_release(&arena);
    const TTest *const tests[] = {steps_and_idle_times_are_as_measured};
    return tap_run("timelines", tests, 1);
}

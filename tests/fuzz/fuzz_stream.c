/* Any text is either refused with a diagnostic, or becomes a stream that ends and whose longest
 * path is one. */
#include "tests/fuzz/fuzz.h"

#include "costmodel/replay.h"

static double *fill(struct arena *arena, uint32_t count)
{
    double *times = ARENA_PUSH(arena, double, count);
    for (uint32_t i = 0; i < count; i++) {
        times[i] = 1 + i % 3;
    }
    return times;
}

static void expect_replay(const struct stream *stream, struct arena *arena)
{
    struct replay_plan plan;
    struct replay_result result;
    struct replay_cut cut;
    replay_build(stream, arena, &plan);
    void *scratch = arena_push(arena, 1, replay_count_scratch(&plan));
    struct replay_times times = {.forward_s = fill(arena, plan.chunk_count),
                                 .backward_s = fill(arena, plan.chunk_count),
                                 .weight_s = fill(arena, plan.chunk_count),
                                 .send_s = fill(arena, plan.chunk_count)};
    replay_find_times(&plan, &times, scratch, &result);
    replay_cut_init(plan.chunk_count, arena, &cut);
    replay_find_cut(&plan, &times, scratch, &cut);
    if (replay_find_bound(&cut, &times) != result.makespan_s) { /* whole numbers: exact */
        BUG("a path of %g s through a step of %g s", replay_find_bound(&cut, &times),
            result.makespan_s);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct arena arena;
    struct diag diag;
    struct stream stream;
    arena_init(&arena);
    diag_init(&diag, &arena);
    if (stream_read_table("input", (const char *)bytes, length, &arena, &stream, &diag)) {
        expect_replay(&stream, &arena);
    } else if (diag.count == 0) {
        BUG("refused without a word");
    }
    arena_release(&arena);
    return 0;
}

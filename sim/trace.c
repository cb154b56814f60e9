/* Complete events ("X") for spans, counters ("C") for memory, metadata ("M") for names. */
#include "sim/trace.h"

#include <assert.h>
#include <string.h>

#define US_PER_S 1e6

/* In the order in which viewers show them. */
static const char *const streams[] = {"slots",    "compute",       "tensor messages",
                                      "prefetch", "data messages", "send"};
#define STREAM_COUNT (sizeof streams / sizeof streams[0])

static uint32_t find_thread(const char *stream)
{
    uint32_t thread = 0;
    while (thread < STREAM_COUNT && strcmp(streams[thread], stream) != 0) {
        thread++;
    }
    assert(thread < STREAM_COUNT);
    return thread;
}

static void push_head(struct json_writer *out, const char *name, const char *phase, uint32_t stage)
{
    json_push_object(out);
    json_push_key_string(out, "name", name);
    json_push_key_string(out, "ph", phase);
    json_push_key_u64(out, "pid", stage);
}

static void push_name(struct json_writer *out, const char *what, uint32_t stage, uint32_t thread,
                      const char *name)
{
    push_head(out, what, "M", stage);
    json_push_key_u64(out, "tid", thread);
    json_push_key(out, "args");
    json_push_object(out);
    json_push_key_string(out, "name", name);
    json_pop_object(out);
    json_pop_object(out);
}

static void push_names(const struct sim_result *result, struct arena *arena,
                       struct json_writer *out)
{
    for (uint32_t stage = 0; stage < result->estimate.stage_count; stage++) {
        push_name(out, "process_name", stage, 0, text_build(arena, "stage %u", stage));
        for (uint32_t thread = 0; thread < STREAM_COUNT; thread++) {
            push_name(out, "thread_name", stage, thread, streams[thread]);
        }
    }
}

static void push_span(const struct sim_span *span, struct json_writer *out)
{
    push_head(out, span->name, "X", span->stage);
    json_push_key_u64(out, "tid", find_thread(span->stream));
    json_push_key_string(out, "cat", span->stream);
    json_push_key_double(out, "ts", span->start_s * US_PER_S);
    json_push_key_double(out, "dur", (span->end_s - span->start_s) * US_PER_S);
    json_pop_object(out);
}

static void push_level(const struct sim_level *level, struct json_writer *out)
{
    push_head(out, "memory", "C", level->stage);
    json_push_key_double(out, "ts", level->at_s * US_PER_S);
    json_push_key(out, "args");
    json_push_object(out);
    json_push_key_double(out, "bytes", level->bytes);
    json_pop_object(out);
    json_pop_object(out);
}

void trace_dump(const struct sim_result *result, struct arena *arena, struct json_writer *out)
{
    json_push_object(out);
    json_push_key_string(out, "displayTimeUnit", "ms");
    json_push_key(out, "traceEvents");
    json_push_array(out);
    push_names(result, arena, out);
    for (uint32_t i = 0; i < result->span_count; i++) {
        push_span(&result->spans[i], out);
    }
    for (uint32_t i = 0; i < result->level_count; i++) {
        push_level(&result->levels[i], out);
    }
    json_pop_array(out);
    json_pop_object(out);
}

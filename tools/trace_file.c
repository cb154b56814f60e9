/* Spans and memory of a simulation as Chrome trace JSON. */
#include "tools/trace_file.h"

#include <string.h>

#include "base/json.h"

#define STREAM_MAX 32u

/* Streams get numbers in the order in which they appear. */
struct streams {
    const char *names[STREAM_MAX];
    uint32_t count;
};

static uint32_t number_of(struct streams *streams, const char *name)
{
    for (uint32_t i = 0; i < streams->count; i++) {
        if (strcmp(streams->names[i], name) == 0) {
            return i;
        }
    }
    if (streams->count == STREAM_MAX) {
        return STREAM_MAX - 1;
    }
    streams->names[streams->count] = name;
    return streams->count++;
}

static void push_event(const char *name, const char *phase, uint32_t stage, struct json_writer *out)
{
    json_push_key_string(out, "name", name);
    json_push_key_string(out, "ph", phase);
    json_push_key_u64(out, "pid", stage);
}

static void push_span(const struct sim_span *span, struct streams *streams, struct json_writer *out)
{
    json_push_object(out);
    push_event(span->name, "X", span->stage, out);
    json_push_key_u64(out, "tid", number_of(streams, span->stream));
    json_push_key_double(out, "ts", span->start_s * 1e6);
    json_push_key_double(out, "dur", (span->end_s - span->start_s) * 1e6);
    json_pop_object(out);
}

static void push_level(const struct sim_level *level, struct json_writer *out)
{
    json_push_object(out);
    push_event("memory", "C", level->stage, out);
    json_push_key_double(out, "ts", level->at_s * 1e6);
    json_push_key(out, "args");
    json_push_object(out);
    json_push_key_double(out, "GiB", level->bytes / 1073741824.0);
    json_pop_object(out);
    json_pop_object(out);
}

static void push_name(const char *what, uint32_t stage, uint32_t thread, const char *name,
                      struct json_writer *out)
{
    json_push_object(out);
    push_event(what, "M", stage, out);
    json_push_key_u64(out, "tid", thread);
    json_push_key(out, "args");
    json_push_object(out);
    json_push_key_string(out, "name", name);
    json_pop_object(out);
    json_pop_object(out);
}

void trace_file_dump(const struct sim_result *result, struct text *out)
{
    struct streams streams = {.count = 0};
    struct json_writer writer;
    json_writer_init(&writer, out, true);
    json_push_object(&writer);
    json_push_key_string(&writer, "displayTimeUnit", "ms");
    json_push_key(&writer, "traceEvents");
    json_push_array(&writer);
    for (uint32_t i = 0; i < result->span_count; i++) {
        push_span(&result->spans[i], &streams, &writer);
    }
    for (uint32_t i = 0; i < result->level_count; i++) {
        push_level(&result->levels[i], &writer);
    }
    for (uint32_t stage = 0; stage < result->estimate.stage_count; stage++) {
        push_name("process_name", stage, 0, text_build(out->arena, "stage %u", stage), &writer);
        for (uint32_t i = 0; i < streams.count; i++) {
            push_name("thread_name", stage, i, streams.names[i], &writer);
        }
    }
    json_pop_array(&writer);
    json_pop_object(&writer);
    text_push(out, "\n");
}

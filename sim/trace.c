/* Complete events ("X") for spans, arrows ("s", "f") for sends, counters ("C") for memory and what
 * is sent, metadata ("M") for names. */
#include "sim/trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define US_PER_S 1e6

/* In the order in which viewers show them. */
static const char *const streams[] = {"slots",    "compute",       "tensor messages",
                                      "prefetch", "data messages", "send"};
#define STREAM_COUNT (sizeof streams / sizeof streams[0])

struct trace {
    const struct sim_result *result;
    struct arena *arena;
    struct json_writer *out;
    const uint32_t *threads; /* [span] */
};

static uint32_t find_stream(const char *stream)
{
    uint32_t thread = 0;
    while (thread < STREAM_COUNT && strcmp(streams[thread], stream) != 0) {
        thread++;
    }
    assert(thread < STREAM_COUNT);
    return thread;
}

/* A stage, or each rank where they were simulated. */
static uint32_t find_process(const struct sim_result *result, uint32_t stage, uint32_t rank)
{
    return result->lanes > 1 ? rank : stage;
}

/* --- threads ---------------------------------------------------------------------------------- */

/* A span, or a change of a counter, where its process and thread stand in time. */
struct mark {
    uint32_t process, stream, index;
    double at_s, change;
};

static int by_place_and_time(const void *a, const void *b)
{
    const struct mark *one = a, *other = b;
    return one->process != other->process ? (one->process < other->process ? -1 : 1)
           : one->stream != other->stream ? (one->stream < other->stream ? -1 : 1)
           : one->at_s != other->at_s     ? (one->at_s < other->at_s ? -1 : 1)
           : one->index != other->index   ? (one->index < other->index ? -1 : 1)
                                          : 0;
}

/* What overlaps on one stream is shown on threads of its own: viewers nest the spans of a thread.
 * Stream s has threads s, s + streams, s + 2 streams, ... */
static const uint32_t *find_threads(const struct sim_result *result, struct arena *arena)
{
    const uint32_t count = result->span_count;
    uint32_t *threads = ARENA_PUSH(arena, uint32_t, count);
    struct mark *marks = ARENA_PUSH(arena, struct mark, count);
    double *ends_s = ARENA_PUSH(arena, double, count); /* [copy] of the stream at hand */
    uint32_t copies = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct sim_span *span = &result->spans[i];
        marks[i] = (struct mark){.process = find_process(result, span->stage, span->rank),
                                 .stream = find_stream(span->stream),
                                 .index = i,
                                 .at_s = span->start_s};
    }
    qsort(marks, count, sizeof *marks, by_place_and_time);
    for (uint32_t i = 0; i < count; i++) {
        const struct mark *mark = &marks[i];
        const bool is_same =
            i > 0 && mark->process == marks[i - 1].process && mark->stream == marks[i - 1].stream;
        copies = is_same ? copies : 0;
        uint32_t copy = 0;
        while (copy < copies && ends_s[copy] > mark->at_s) {
            copy++;
        }
        copies = copy == copies ? copies + 1 : copies;
        ends_s[copy] = result->spans[mark->index].end_s;
        threads[mark->index] = mark->stream + copy * (uint32_t)STREAM_COUNT;
    }
    return threads;
}

/* --- events ----------------------------------------------------------------------------------- */

static void push_head(struct json_writer *out, const char *name, const char *phase,
                      uint32_t process)
{
    json_push_object(out);
    json_push_key_string(out, "name", name);
    json_push_key_string(out, "ph", phase);
    json_push_key_u64(out, "pid", process);
}

static void push_name(struct json_writer *out, const char *what, uint32_t process, uint32_t thread,
                      const char *name)
{
    push_head(out, what, "M", process);
    json_push_key_u64(out, "tid", thread);
    json_push_key(out, "args");
    json_push_object(out);
    json_push_key_string(out, "name", name);
    json_pop_object(out);
    json_pop_object(out);
}

/* Of every process and thread, where it first appears. */
static void push_names(const struct trace *trace)
{
    const struct sim_result *result = trace->result;
    uint32_t processes = result->estimate.stage_count * result->lanes, threads = STREAM_COUNT;
    for (uint32_t i = 0; i < result->span_count; i++) {
        threads = trace->threads[i] >= threads ? trace->threads[i] + 1 : threads;
    }
    bool *seen = ARENA_PUSH(trace->arena, bool, (size_t)processes *(threads + 1));
    for (uint32_t i = 0; i < result->span_count; i++) {
        const struct sim_span *span = &result->spans[i];
        const uint32_t process = find_process(result, span->stage, span->rank);
        const uint32_t thread = trace->threads[i], copy = thread / STREAM_COUNT;
        bool *const row = &seen[(size_t)process * (threads + 1)];
        assert(process < processes);
        if (!row[threads]) {
            push_name(trace->out, "process_name", process, 0,
                      result->lanes > 1
                          ? text_build(trace->arena, "rank %u, stage %u", process, span->stage)
                          : text_build(trace->arena, "stage %u", process));
        }
        if (!row[thread]) {
            push_name(trace->out, "thread_name", process, thread,
                      copy == 0 ? span->stream
                                : text_build(trace->arena, "%s %u", span->stream, copy + 1));
        }
        row[threads] = row[thread] = true;
    }
}

static void push_span(const struct trace *trace, uint32_t index)
{
    const struct sim_span *span = &trace->result->spans[index];
    struct json_writer *out = trace->out;
    push_head(out, span->name, "X", find_process(trace->result, span->stage, span->rank));
    json_push_key_u64(out, "tid", trace->threads[index]);
    json_push_key_string(out, "cat", span->stream);
    json_push_key_double(out, "ts", span->start_s * US_PER_S);
    json_push_key_double(out, "dur", (span->end_s - span->start_s) * US_PER_S);
    json_pop_object(out);
}

/* An end of an arrow, bound to the span that begins there. */
static void push_arrow_end(const struct trace *trace, uint32_t id, uint32_t index, bool is_head)
{
    const struct sim_span *span = &trace->result->spans[index];
    struct json_writer *out = trace->out;
    push_head(out, "send", is_head ? "f" : "s",
              find_process(trace->result, span->stage, span->rank));
    json_push_key_u64(out, "tid", trace->threads[index]);
    json_push_key_string(out, "cat", "send");
    json_push_key_u64(out, "id", id);
    if (is_head) {
        json_push_key_string(out, "bp", "e");
    }
    json_push_key_double(out, "ts", span->start_s * US_PER_S);
    json_pop_object(out);
}

static void push_counter(const struct trace *trace, const char *name, const char *key,
                         const struct mark *mark)
{
    struct json_writer *out = trace->out;
    push_head(out, name, "C", mark->process);
    json_push_key_double(out, "ts", mark->at_s * US_PER_S);
    json_push_key(out, "args");
    json_push_object(out);
    json_push_key_double(out, key, mark->change);
    json_pop_object(out);
    json_pop_object(out);
}

static void push_levels(const struct trace *trace)
{
    const struct sim_result *result = trace->result;
    for (uint32_t i = 0; i < result->level_count; i++) {
        const struct sim_level *level = &result->levels[i];
        const struct mark mark = {.process = find_process(result, level->stage, level->rank),
                                  .at_s = level->at_s,
                                  .change = level->bytes};
        push_counter(trace, "memory", "bytes", &mark);
    }
}

/* --- what is sent ----------------------------------------------------------------------------- */

/* Mean rates of the messages under way, together; of messages over shared ports. */
static void push_rates(const struct trace *trace)
{
    const struct sim_result *result = trace->result;
    struct mark *marks = ARENA_PUSH(trace->arena, struct mark, (size_t)2 * result->span_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < result->span_count; i++) {
        const struct sim_span *span = &result->spans[i];
        const double rate_Bps = span->bytes / (span->end_s - span->start_s);
        for (uint32_t end = 0; end < 2 && span->bytes > 0.0; end++) {
            marks[count] = (struct mark){.process = find_process(result, span->stage, span->rank),
                                         .index = count,
                                         .at_s = end == 0 ? span->start_s : span->end_s,
                                         .change = end == 0 ? rate_Bps : -rate_Bps};
            count++;
        }
    }
    qsort(marks, count, sizeof *marks, by_place_and_time);
    double sent_Bps = 0.0;
    uint32_t under_way = 0;
    for (uint32_t i = 0; i < count; i++) {
        under_way += marks[i].change > 0.0 ? 1 : UINT32_MAX;
        sent_Bps = under_way == 0 ? 0.0 : sent_Bps + marks[i].change;
        const bool is_last = i + 1 == count || marks[i + 1].process != marks[i].process ||
                             marks[i + 1].at_s != marks[i].at_s;
        if (is_last) {
            struct mark level = marks[i];
            level.change = sent_Bps;
            push_counter(trace, "sent", "bytes_per_s", &level);
        }
    }
}

void trace_dump(const struct sim_result *result, struct arena *arena, struct json_writer *out)
{
    const struct trace trace = {result, arena, out, find_threads(result, arena)};
    json_push_object(out);
    json_push_key_string(out, "displayTimeUnit", "ms");
    json_push_key(out, "traceEvents");
    json_push_array(out);
    push_names(&trace);
    for (uint32_t i = 0; i < result->span_count; i++) {
        push_span(&trace, i);
    }
    for (uint32_t i = 0; i < result->arrow_count; i++) {
        push_arrow_end(&trace, i, result->arrows[i].from, false);
        push_arrow_end(&trace, i, result->arrows[i].to, true);
    }
    push_levels(&trace);
    push_rates(&trace);
    json_pop_array(out);
    json_pop_object(out);
}

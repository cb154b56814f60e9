/* A stream that ends: every slot once, in an order that no stage waits on for ever. */
#include <assert.h>

#include "plan/schedule.h"

/* What a (stage, chunk, micro-batch) has run so far. */
enum {
    RAN_FORWARD = 1 << SLOT_FORWARD,
    RAN_BACKWARD = 1 << SLOT_BACKWARD,
    RAN_INPUT = 1 << SLOT_INPUT_GRADIENT,
    RAN_WEIGHT = 1 << SLOT_WEIGHT_GRADIENT,
};

static const char *const kind_words[SLOT_KIND_COUNT] = {"forward", "backward", "input gradient",
                                                        "weight gradient"};

static struct diag_place place_of(const struct stream *stream, uint32_t stage)
{
    return (struct diag_place){.file = stream->file, .line = stage + 1, .column = 1};
}

/* What must have run before a slot of this kind, what must not. */
static uint32_t needed(enum slot_kind kind)
{
    switch (kind) {
    case SLOT_FORWARD: return 0;
    case SLOT_BACKWARD:
    case SLOT_INPUT_GRADIENT: return RAN_FORWARD;
    case SLOT_WEIGHT_GRADIENT: return RAN_INPUT;
    case SLOT_KIND_COUNT: break;
    }
    return 0;
}

static uint32_t excluded(enum slot_kind kind)
{
    switch (kind) {
    case SLOT_FORWARD: return RAN_FORWARD;
    case SLOT_BACKWARD: return RAN_BACKWARD | RAN_INPUT | RAN_WEIGHT;
    case SLOT_INPUT_GRADIENT: return RAN_BACKWARD | RAN_INPUT;
    case SLOT_WEIGHT_GRADIENT: return RAN_BACKWARD | RAN_WEIGHT;
    case SLOT_KIND_COUNT: break;
    }
    return 0;
}

static bool check_slot(const struct stream *stream, uint32_t stage, const struct slot *slot,
                       uint8_t *ran, struct diag *diag)
{
    const struct schedule_shape *shape = &stream->shape;
    assert(slot->kind < SLOT_KIND_COUNT);
    const char *word = kind_words[slot->kind];
    if (slot->micro_batch >= shape->micro_batches || slot->chunk >= shape->chunks) {
        return diag_push(diag, DIAG_P441, place_of(stream, stage), NULL,
                         "stage %u runs the %s of micro-batch %u of chunk %u: micro-batches go "
                         "from 0 to %u, chunks from 0 to %u",
                         stage, word, slot->micro_batch, slot->chunk, shape->micro_batches - 1,
                         shape->chunks - 1);
    }
    uint8_t *mine = &ran[slot->chunk * shape->micro_batches + slot->micro_batch];
    if ((*mine & excluded(slot->kind)) != 0) {
        return diag_push(diag, DIAG_P441, place_of(stream, stage),
                         "each slot runs once; a whole backward leaves no gradient to compute",
                         "stage %u runs the %s of micro-batch %u of chunk %u a second time", stage,
                         word, slot->micro_batch, slot->chunk);
    }
    uint32_t missing = needed(slot->kind) & ~(uint32_t)*mine;
    *mine = (uint8_t)(*mine | 1u << slot->kind);
    if (missing != 0) {
        return diag_push(diag, DIAG_P442, place_of(stream, stage), NULL,
                         "stage %u runs the %s of micro-batch %u of chunk %u before its %s", stage,
                         word, slot->micro_batch, slot->chunk,
                         kind_words[missing == RAN_FORWARD ? SLOT_FORWARD : SLOT_INPUT_GRADIENT]);
    }
    return true;
}

/* The first slot that (chunk, micro-batch) still has to run; SLOT_KIND_COUNT if none. */
static enum slot_kind find_missing(uint8_t ran)
{
    if ((ran & RAN_FORWARD) == 0) {
        return SLOT_FORWARD;
    }
    if ((ran & (RAN_BACKWARD | RAN_INPUT)) == 0) {
        return SLOT_BACKWARD;
    }
    return (ran & RAN_INPUT) != 0 && (ran & RAN_WEIGHT) == 0 ? SLOT_WEIGHT_GRADIENT
                                                             : SLOT_KIND_COUNT;
}

/* With several chains a stage never sees the micro-batches of the other chains. */
static bool is_unfinished(const struct stream *stream, uint8_t ran)
{
    return find_missing(ran) != SLOT_KIND_COUNT && (ran != 0 || stream->copies == 1);
}

static bool check_missing(const struct stream *stream, uint32_t stage, const uint8_t *ran,
                          struct diag *diag)
{
    uint32_t micro_batches = stream->shape.micro_batches;
    uint32_t count = 0, first = 0;
    for (uint32_t i = 0; i < stream->shape.chunks * micro_batches; i++) {
        if (is_unfinished(stream, ran[i])) {
            first = count++ == 0 ? i : first;
        }
    }
    if (count == 0) {
        return true;
    }
    return diag_push(diag, DIAG_P441, place_of(stream, stage), NULL,
                     "stage %u never runs the %s of micro-batch %u of chunk %u (%u of %u chunks of "
                     "micro-batches are not finished)",
                     stage, kind_words[find_missing(ran[first])], first % micro_batches,
                     first / micro_batches, count, stream->shape.chunks * micro_batches);
}

/* A pair is a forward with the backward or input gradient behind it, of another chunk or
 * micro-batch. */
static bool check_pair(const struct stream *stream, uint32_t stage, uint32_t i, struct diag *diag)
{
    const struct slot *slot = &stream->slots[stage][i], *next = slot + 1;
    if (!slot->paired) {
        return true;
    }
    const bool has_next = i + 1 < stream->slot_counts[stage] && !next->paired;
    const bool fits = has_next && slot->kind == SLOT_FORWARD &&
                      (next->kind == SLOT_BACKWARD || next->kind == SLOT_INPUT_GRADIENT);
    if (fits && (slot->chunk != next->chunk || slot->micro_batch != next->micro_batch)) {
        return true;
    }
    return diag_push(diag, DIAG_P442, place_of(stream, stage),
                     "a forward may share its time with a backward of another chunk or micro-batch",
                     "stage %u pairs the %s of micro-batch %u of chunk %u with %s", stage,
                     kind_words[slot->kind], slot->micro_batch, slot->chunk,
                     fits ? "its own backward" : "what is no backward");
}

static bool check_stage(const struct stream *stream, uint32_t stage, struct diag *diag)
{
    struct arena_mark mark = arena_find_mark(diag->arena);
    size_t pairs = (size_t)stream->shape.chunks * stream->shape.micro_batches;
    uint8_t *ran = ARENA_PUSH(diag->arena, uint8_t, pairs);
    bool good = true;
    for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
        good = check_slot(stream, stage, &stream->slots[stage][i], ran, diag) && good;
        good = check_pair(stream, stage, i, diag) && good;
    }
    good = check_missing(stream, stage, ran, diag) && good;
    if (good) { /* else the diag has text behind the mark */
        arena_pop(diag->arena, mark);
    }
    return good;
}

/* Chunks of the micro-batch's chains that run it: each by its first forward. */
static bool check_chain(const struct stream *stream, const bool *runs, uint32_t micro_batch,
                        struct diag *diag)
{
    const uint32_t length = stream_count_chain(stream);
    uint32_t whole = 0, touched = 0;
    for (uint32_t chain = 0; chain < stream->copies; chain++) {
        uint32_t count = 0;
        for (uint32_t depth = 0; depth < length; depth++) {
            const size_t chunk = (size_t)chain * length + depth;
            count += runs[chunk * stream->shape.micro_batches + micro_batch];
        }
        touched += count > 0;
        whole += count == length;
    }
    if (whole == 1 && touched == 1) {
        return true;
    }
    return diag_push(diag, DIAG_P441, place_of(stream, 0),
                     "it must run on every chunk of one chain and on no other",
                     "micro-batch %u runs on %s of the %u chains", micro_batch,
                     touched == 0   ? "none"
                     : touched == 1 ? "a part of one"
                                    : "several",
                     stream->copies);
}

/* Every micro-batch runs through one chain. */
static bool check_chains(const struct stream *stream, struct diag *diag)
{
    const struct schedule_shape *shape = &stream->shape;
    if (stream->copies == 1) {
        return true;
    }
    struct arena_mark mark = arena_find_mark(diag->arena);
    bool *runs =
        ARENA_PUSH(diag->arena, bool, (size_t)shape->stages * shape->chunks * shape->micro_batches);
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
            const struct slot *slot = &stream->slots[stage][i];
            const size_t chunk = stream->model_chunk[stage * shape->chunks + slot->chunk];
            runs[chunk * shape->micro_batches + slot->micro_batch] = true;
        }
    }
    bool good = true;
    for (uint32_t i = 0; i < shape->micro_batches && good; i++) {
        good = check_chain(stream, runs, i, diag);
    }
    if (good) {
        arena_pop(diag->arena, mark);
    }
    return good;
}

/* How far each stage has come, and which slots have ended: [model chunk * micro_batches +
 * micro-batch]. A stage is looked at again only when something that it may wait for has ended, so
 * a walk takes time in proportion to its slots. */
struct walk {
    uint32_t *at;
    bool *forward, *backward;
    uint32_t *called; /* stages to look at */
    uint32_t called_count;
    bool *is_called;
};

static bool *find_flag(const struct stream *stream, const struct walk *walk, uint32_t model_chunk,
                       const struct slot *slot)
{
    size_t index = (size_t)model_chunk * stream->shape.micro_batches + slot->micro_batch;
    return slot->kind == SLOT_FORWARD ? &walk->forward[index] : &walk->backward[index];
}

static bool has_source(const struct stream *stream, const struct walk *walk, uint32_t stage,
                       const struct slot *slot)
{
    uint32_t source = stream_find_source(stream, stage, slot);
    return source == STREAM_NO_SOURCE || *find_flag(stream, walk, source, slot);
}

/* The slot that waits: the next, or the one that is paired with it. NULL: both can start. */
static const struct slot *find_waiting(const struct stream *stream, const struct walk *walk,
                                       uint32_t stage)
{
    const struct slot *slot = &stream->slots[stage][walk->at[stage]];
    if (!has_source(stream, walk, stage, slot)) {
        return slot;
    }
    return slot->paired && !has_source(stream, walk, stage, slot + 1) ? slot + 1 : NULL;
}

static void call(struct walk *walk, uint32_t stage)
{
    if (!walk->is_called[stage]) {
        walk->is_called[stage] = true;
        walk->called[walk->called_count++] = stage;
    }
}

/* The slot has ended: calls the stage that has the next of its micro-batch. */
static void call_next(const struct stream *stream, struct walk *walk, uint32_t model_chunk,
                      enum slot_kind kind)
{
    const uint32_t length = stream_count_chain(stream), depth = model_chunk % length;
    const bool forward = kind == SLOT_FORWARD;
    if (forward ? depth + 1 < length : depth > 0) {
        const uint32_t next = forward ? model_chunk + 1 : model_chunk - 1;
        call(walk, stream->chunk_place[next] / stream->shape.chunks);
    }
}

/* Runs the stage as far as it goes. */
static void go_on(const struct stream *stream, struct walk *walk, uint32_t stage)
{
    while (walk->at[stage] < stream->slot_counts[stage] &&
           find_waiting(stream, walk, stage) == NULL) {
        const struct slot *slot = &stream->slots[stage][walk->at[stage]];
        const uint32_t chunk = stream->model_chunk[stage * stream->shape.chunks + slot->chunk];
        walk->at[stage]++;
        if (slot->kind != SLOT_WEIGHT_GRADIENT) {
            *find_flag(stream, walk, chunk, slot) = true;
            call_next(stream, walk, chunk, slot->kind);
        }
    }
}

static void walk_all(const struct stream *stream, struct walk *walk)
{
    for (uint32_t stage = stream->shape.stages; stage-- > 0;) {
        call(walk, stage);
    }
    while (walk->called_count > 0) {
        const uint32_t stage = walk->called[--walk->called_count];
        walk->is_called[stage] = false;
        go_on(stream, walk, stage);
    }
}

/* The stage that runs what this blocked stage waits for. */
static uint32_t find_blocker(const struct stream *stream, const struct walk *walk, uint32_t stage)
{
    const struct slot *slot = find_waiting(stream, walk, stage);
    assert(slot != NULL);
    uint32_t source = stream_find_source(stream, stage, slot);
    assert(source != STREAM_NO_SOURCE);
    return stream->chunk_place[source] / stream->shape.chunks;
}

static void push_wait(const struct stream *stream, const struct walk *walk, uint32_t stage,
                      struct text *out)
{
    const struct schedule_shape *shape = &stream->shape;
    struct slot slot = *find_waiting(stream, walk, stage);
    text_push(out, "%sstage %u waits with ", out->length == 0 ? "" : ", ", stage);
    schedule_dump_slot(&slot, shape->chunks, out);
    slot.chunk = stream->chunk_place[stream_find_source(stream, stage, &slot)] % shape->chunks;
    text_push(out, " for ");
    schedule_dump_slot(&slot, shape->chunks, out);
    text_push(out, " of stage %u", find_blocker(stream, walk, stage));
}

/* Every blocked stage waits for a blocked one, so following them from any comes into a cycle;
 * its first stage. */
static uint32_t find_cycle(const struct stream *stream, const struct walk *walk, uint32_t blocked)
{
    uint32_t stage = blocked;
    for (uint32_t i = 0; i < stream->shape.stages; i++) {
        stage = find_blocker(stream, walk, stage);
    }
    uint32_t first = stage;
    for (uint32_t i = 0; i < stream->shape.stages; i++) {
        stage = find_blocker(stream, walk, stage);
        first = stage < first ? stage : first;
    }
    return first;
}

static bool report_cycle(const struct stream *stream, const struct walk *walk, uint32_t blocked,
                         struct diag *diag)
{
    uint32_t first = find_cycle(stream, walk, blocked), stage = first;
    struct text cycle;
    text_init(&cycle, diag->arena);
    do {
        push_wait(stream, walk, stage, &cycle);
        stage = find_blocker(stream, walk, stage);
    } while (stage != first);
    return diag_push(diag, DIAG_P443, place_of(stream, first),
                     "a slot must stand behind all that what it waits for needs", "deadlock: %s",
                     cycle.bytes);
}

static bool check_end(const struct stream *stream, struct diag *diag)
{
    const struct schedule_shape *shape = &stream->shape;
    size_t pairs = (size_t)shape->stages * shape->chunks * shape->micro_batches;
    struct arena_mark mark = arena_find_mark(diag->arena);
    struct walk walk = {.at = ARENA_PUSH(diag->arena, uint32_t, shape->stages),
                        .forward = ARENA_PUSH(diag->arena, bool, pairs),
                        .backward = ARENA_PUSH(diag->arena, bool, pairs),
                        .called = ARENA_PUSH(diag->arena, uint32_t, shape->stages),
                        .is_called = ARENA_PUSH(diag->arena, bool, shape->stages)};
    walk_all(stream, &walk);
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        if (walk.at[stage] < stream->slot_counts[stage]) {
            return report_cycle(stream, &walk, stage, diag);
        }
    }
    arena_pop(diag->arena, mark);
    return true;
}

bool stream_check(const struct stream *stream, struct diag *diag)
{
    const struct schedule_shape *shape = &stream->shape;
    bool good = true;
    for (uint32_t place = 0; place < shape->stages * shape->chunks; place++) {
        assert(stream->chunk_place[stream->model_chunk[place]] == place);
    }
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        good = check_stage(stream, stage, diag) && good;
    }
    return good && check_chains(stream, diag) && check_end(stream, diag);
}

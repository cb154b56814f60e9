/* Per stage two queues of what is ready, forwards apart since a cap may hold them back.
 *
 * All that happens at one instant is known before any stage chooses. */
#include "sim/ready_run.h"

#include <assert.h>
#include <string.h>

#include "base/heap.h"
#include "sim/schedule_run_inside.h"
#include "sim/world.h"

#define IS_ARRIVAL 0x80000000u /* events: slots that end, or what they made arrives */

enum queue { QUEUE_FORWARD, QUEUE_OTHER, QUEUE_COUNT };

struct ready {
    const struct schedule_run_times *times;
    const struct ready_run_rules *rules;
    struct slots slots;
    struct heap events;
    uint64_t sequence, now;
    uint8_t *waits;            /* [slot] what is not there yet: input, own forward */
    uint64_t *start, *end;     /* [slot] */
    uint32_t *own_backward;    /* [slot] of a forward: its backward or input gradient */
    uint32_t *own_weight;      /* [slot] of an input gradient: its weight gradient */
    struct heap *queues;       /* [QUEUE_COUNT * stage + queue] */
    bool *is_busy;             /* [stage] */
    uint32_t *live, *peak;     /* [stage] */
    uint32_t *order, *started; /* slots as they ran; [stage] how many */
    uint32_t *woken;           /* stages that may start something at this instant */
    uint32_t woken_count;
    bool *is_woken;
    uint32_t done;
};

#define LAST_PS (UINT64_MAX / 2) /* nothing that ends later is counted */

/* Longer ones end late whenever they begin. */
static uint64_t ticks(double seconds)
{
    const double ps = seconds * WORLD_PS_PER_S + 0.5;
    return ps < (double)LAST_PS ? (uint64_t)ps : LAST_PS + 1;
}

static void push_event(struct ready *ready, uint64_t when, uint32_t what)
{
    heap_push(&ready->events, (struct heap_entry){when, ready->sequence++, what});
}

/* --- what is ready ---------------------------------------------------------------------------- */

static uint64_t rank_of(const struct ready *ready, uint32_t slot)
{
    static const uint64_t classes[SLOT_KIND_COUNT] = {1, 0, 0, 2};
    const struct slot *which = slots_find(&ready->slots, slot);
    if (ready->rules->by_order) {
        return slot;
    }
    const uint64_t depth = ready->slots.model_chunk[slot] % stream_count_chain(ready->slots.stream);
    return classes[which->kind] << 62 | (uint64_t)which->micro_batch << 31 |
           (UINT32_MAX / 2 - depth);
}

static void wake(struct ready *ready, uint32_t stage)
{
    if (!ready->is_woken[stage]) {
        ready->is_woken[stage] = true;
        ready->woken[ready->woken_count++] = stage;
    }
}

static void satisfy(struct ready *ready, uint32_t slot)
{
    assert(ready->waits[slot] > 0);
    if (--ready->waits[slot] > 0) {
        return;
    }
    const bool forward = slots_find(&ready->slots, slot)->kind == SLOT_FORWARD;
    const enum queue queue = forward ? QUEUE_FORWARD : QUEUE_OTHER;
    heap_push(&ready->queues[QUEUE_COUNT * ready->slots.stage[slot] + queue],
              (struct heap_entry){rank_of(ready, slot), slot, slot});
    wake(ready, ready->slots.stage[slot]);
}

/* --- what happens ----------------------------------------------------------------------------- */

static void arrive(struct ready *ready, uint32_t slot)
{
    satisfy(ready, ready->slots.target[slot]);
}

static void finish(struct ready *ready, uint32_t slot)
{
    const uint32_t stage = ready->slots.stage[slot];
    const struct slot *which = slots_find(&ready->slots, slot);
    ready->done++;
    if (which->kind == SLOT_BACKWARD || which->kind == SLOT_WEIGHT_GRADIENT) {
        ready->live[stage]--;
    }
    if (ready->own_backward[slot] != SLOT_NONE) {
        satisfy(ready, ready->own_backward[slot]);
    }
    if (ready->own_weight[slot] != SLOT_NONE) {
        satisfy(ready, ready->own_weight[slot]);
    }
    const bool sends = slots_sends(&ready->slots, slot);
    const uint64_t sent =
        ready->now + (sends ? ticks(schedule_run_send_s(ready->times, &ready->slots, slot)) : 0);
    if (ready->slots.target[slot] != SLOT_NONE && !sends) {
        arrive(ready, slot);
    }
    if (sends) {
        push_event(ready, sent, slot | IS_ARRIVAL);
    }
    ready->is_busy[stage] = sends && ready->times->send_blocks;
    wake(ready, stage);
}

static void handle(struct ready *ready, uint32_t event)
{
    const uint32_t slot = event & ~IS_ARRIVAL;
    if ((event & IS_ARRIVAL) == 0) {
        finish(ready, slot);
        return;
    }
    arrive(ready, slot);
    if (ready->times->send_blocks) {
        ready->is_busy[ready->slots.stage[slot]] = false;
        wake(ready, ready->slots.stage[slot]);
    }
}

static bool may_grow(const struct ready *ready, uint32_t stage)
{
    const uint32_t *caps = ready->rules->live_caps;
    return caps == NULL || ready->live[stage] < caps[stage];
}

/* The better head of the two queues, or NULL. */
static struct heap *find_queue(struct ready *ready, uint32_t stage)
{
    struct heap *queues = &ready->queues[QUEUE_COUNT * stage];
    const struct heap_entry *forward =
        may_grow(ready, stage) ? heap_find_first(&queues[QUEUE_FORWARD]) : NULL;
    const struct heap_entry *other = heap_find_first(&queues[QUEUE_OTHER]);
    if (forward != NULL && (other == NULL || forward->key < other->key)) {
        return &queues[QUEUE_FORWARD];
    }
    return other != NULL ? &queues[QUEUE_OTHER] : NULL;
}

static void start(struct ready *ready, uint32_t stage)
{
    struct heap *queue = ready->is_busy[stage] ? NULL : find_queue(ready, stage);
    struct heap_entry entry;
    if (queue == NULL || !heap_pop(queue, &entry)) {
        return;
    }
    ready->is_busy[stage] = true;
    ready->live[stage] += slots_find(&ready->slots, entry.value)->kind == SLOT_FORWARD;
    ready->peak[stage] =
        ready->live[stage] > ready->peak[stage] ? ready->live[stage] : ready->peak[stage];
    ready->order[ready->slots.first_of_stage[stage] + ready->started[stage]++] = entry.value;
    ready->start[entry.value] = ready->now;
    ready->end[entry.value] =
        ready->now + ticks(schedule_run_slot_s(ready->times, &ready->slots, entry.value));
    push_event(ready, ready->end[entry.value], entry.value);
}

/* --- from beginning to end -------------------------------------------------------------------- */

/* Slots of a stage by (chunk, micro-batch), to join each backward to its forward. */
static void join_stage(struct ready *ready, uint32_t stage, uint32_t *forwards, uint32_t *inputs)
{
    const struct stream *stream = ready->slots.stream;
    const uint32_t first = ready->slots.first_of_stage[stage];
    for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
        const struct slot *slot = &stream->slots[stage][i];
        const uint32_t pair = slot->chunk * stream->shape.micro_batches + slot->micro_batch;
        const uint32_t number = first + i;
        ready->own_backward[number] = ready->own_weight[number] = SLOT_NONE;
        ready->waits[number] = ready->slots.source[number] == SLOT_NONE ? 0 : 1;
        if (slot->kind == SLOT_FORWARD) {
            forwards[pair] = number;
        } else if (slot->kind == SLOT_WEIGHT_GRADIENT) {
            ready->own_weight[inputs[pair]] = number;
            ready->waits[number]++;
        } else {
            ready->own_backward[forwards[pair]] = number;
            ready->waits[number]++;
            inputs[pair] = number;
        }
    }
}

static void init(struct ready *ready, const struct stream *stream, struct arena *arena)
{
    const struct schedule_shape *shape = &stream->shape;
    slots_build(stream, arena, &ready->slots);
    const uint32_t count = ready->slots.count;
    const size_t pairs = (size_t)shape->chunks * shape->micro_batches;
    heap_init(&ready->events, arena, 256);
    ready->waits = ARENA_PUSH(arena, uint8_t, count);
    ready->start = ARENA_PUSH(arena, uint64_t, count);
    ready->end = ARENA_PUSH(arena, uint64_t, count);
    ready->own_backward = ARENA_PUSH(arena, uint32_t, count);
    ready->own_weight = ARENA_PUSH(arena, uint32_t, count);
    ready->queues = ARENA_PUSH(arena, struct heap, (size_t)QUEUE_COUNT * shape->stages);
    ready->is_busy = ARENA_PUSH(arena, bool, shape->stages);
    ready->live = ARENA_PUSH(arena, uint32_t, shape->stages);
    ready->peak = ARENA_PUSH(arena, uint32_t, shape->stages);
    ready->started = ARENA_PUSH(arena, uint32_t, shape->stages);
    ready->order = ARENA_PUSH(arena, uint32_t, count);
    ready->woken = ARENA_PUSH(arena, uint32_t, shape->stages);
    ready->is_woken = ARENA_PUSH(arena, bool, shape->stages);
    uint32_t *forwards = ARENA_PUSH(arena, uint32_t, pairs);
    uint32_t *inputs = ARENA_PUSH(arena, uint32_t, pairs);
    for (uint32_t i = 0; i < QUEUE_COUNT * shape->stages; i++) {
        heap_init(&ready->queues[i], arena, 16);
    }
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        join_stage(ready, stage, forwards, inputs);
    }
}

/* All that happens at the instant is known. */
static void start_woken(struct ready *ready)
{
    for (uint32_t i = 0; i < ready->woken_count; i++) {
        ready->is_woken[ready->woken[i]] = false;
        start(ready, ready->woken[i]);
    }
    ready->woken_count = 0;
}

/* Slots that wait for nothing are ready when their chunk is released. */
static void begin(struct ready *ready)
{
    for (uint32_t slot = 0; slot < ready->slots.count; slot++) {
        if (ready->waits[slot] == 0) {
            ready->waits[slot] = 1;
            satisfy(ready, slot);
        }
    }
    start_woken(ready);
}

static bool run_all(struct ready *ready)
{
    struct heap_entry event;
    begin(ready);
    while (heap_pop(&ready->events, &event)) {
        if (event.key > LAST_PS) {
            return false;
        }
        ready->now = event.key;
        handle(ready, event.value);
        const struct heap_entry *next = heap_find_first(&ready->events);
        if (next != NULL && next->key == ready->now) {
            continue;
        }
        start_woken(ready);
    }
    return true;
}

static bool report_stuck(const struct ready *ready, struct diag *diag)
{
    uint32_t stage = 0;
    while (heap_find_first(&ready->queues[QUEUE_COUNT * stage + QUEUE_FORWARD]) == NULL) {
        stage++;
        assert(stage < ready->slots.stream->shape.stages);
    }
    return diag_push(diag, DIAG_S803, (struct diag_place){0}, "allow more at once",
                     "no stage can go on: stage %u holds %u chunks of micro-batches, as many as it "
                     "may, and a forward of it would come next",
                     stage, ready->live[stage]);
}

bool ready_run(const struct stream *stream, const struct schedule_run_times *times,
               const struct ready_run_rules *rules, struct arena *arena,
               struct ready_run_result *out, struct diag *diag)
{
    struct ready ready = {.times = times, .rules = rules};
    assert(times->release_s == NULL);
    init(&ready, stream, arena);
    if (!run_all(&ready)) {
        return diag_push(diag, DIAG_S802, (struct diag_place){0}, "give shorter times",
                         "simulation: does not end within %.3g s, the longest that can be counted",
                         (double)LAST_PS / WORLD_PS_PER_S);
    }
    if (ready.done < ready.slots.count) {
        return report_stuck(&ready, diag);
    }
    schedule_run_collect(&ready.slots, ready.start, ready.end, arena, &out->run);
    out->run.events = ready.sequence;
    out->order = ready.order;
    out->peak_live = ready.peak;
    return true;
}

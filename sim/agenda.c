/* Events in buckets by the digit in which their instant differs from the present one. */
#include "sim/agenda.h"

#include <assert.h>
#include <string.h>

#define CHUNK_EVENTS 30u /* with the head 512 bytes */
#define DIGIT_BITS 4u

struct agenda_entry {
    uint64_t when_ticks;
    struct agenda_event event;
};

struct agenda_chunk {
    struct agenda_chunk *next;
    uint32_t begin, end; /* entries in use */
    struct agenda_entry entries[CHUNK_EVENTS];
};

void agenda_init(struct agenda *agenda, struct arena *arena)
{
    memset(agenda, 0, sizeof *agenda);
    agenda->arena = arena;
}

/* --- chunks ----------------------------------------------------------------------------------- */

static struct agenda_chunk *new_chunk(struct agenda *agenda)
{
    struct agenda_chunk *chunk = agenda->spare;
    if (chunk == NULL) {
        return ARENA_PUSH(agenda->arena, struct agenda_chunk, 1);
    }
    agenda->spare = chunk->next;
    chunk->next = NULL;
    chunk->begin = chunk->end = 0;
    return chunk;
}

static void drop_chunk(struct agenda *agenda, struct agenda_chunk *chunk)
{
    chunk->next = agenda->spare;
    agenda->spare = chunk;
}

static void push_entry(struct agenda *agenda, struct agenda_bucket *bucket,
                       const struct agenda_entry *entry)
{
    struct agenda_chunk *last = bucket->last;
    if (last == NULL || last->end == CHUNK_EVENTS) {
        struct agenda_chunk *chunk = new_chunk(agenda);
        if (last == NULL) {
            bucket->first = chunk;
            bucket->least_ticks = entry->when_ticks;
        } else {
            last->next = chunk;
        }
        bucket->last = last = chunk;
    }
    if (entry->when_ticks < bucket->least_ticks) {
        bucket->least_ticks = entry->when_ticks;
    }
    last->entries[last->end++] = *entry;
}

/* --- digits ----------------------------------------------------------------------------------- */

static uint32_t lowest_bit(uint32_t bits)
{
    return (uint32_t)__builtin_ctz(bits);
}

static uint32_t highest_digit(uint64_t bits)
{
    return (63u - (uint32_t)__builtin_clzll(bits)) / DIGIT_BITS;
}

static void place(struct agenda *agenda, const struct agenda_entry *entry)
{
    const uint64_t differs = entry->when_ticks ^ agenda->now_ticks;
    if (differs == 0) {
        push_entry(agenda, &agenda->now, entry);
        return;
    }
    const uint32_t digit = highest_digit(differs);
    const uint32_t value = entry->when_ticks >> (digit * DIGIT_BITS) & (AGENDA_BASE - 1);
    push_entry(agenda, &agenda->buckets[digit][value], entry);
    agenda->used_digits |= 1u << digit;
    agenda->used[digit] |= 1u << value;
}

void agenda_push(struct agenda *agenda, uint64_t when_ticks, struct agenda_event event)
{
    assert(when_ticks >= agenda->now_ticks);
    const struct agenda_entry entry = {when_ticks, event};
    place(agenda, &entry);
}

/* The bucket of the next instant; there is one. */
static const struct agenda_bucket *first_bucket(const struct agenda *agenda, uint32_t *digit,
                                                uint32_t *value)
{
    *digit = lowest_bit(agenda->used_digits);
    *value = lowest_bit(agenda->used[*digit]);
    return &agenda->buckets[*digit][*value];
}

uint64_t agenda_find_next(const struct agenda *agenda)
{
    uint32_t digit, value;
    if (agenda->now.first != NULL) {
        return agenda->now_ticks;
    }
    return agenda->used_digits == 0 ? UINT64_MAX
                                    : first_bucket(agenda, &digit, &value)->least_ticks;
}

/* The next instant comes: the events of its bucket have that digit in common with it now. */
static void step(struct agenda *agenda)
{
    uint32_t digit, value;
    const struct agenda_bucket bucket = *first_bucket(agenda, &digit, &value);
    agenda->buckets[digit][value] = (struct agenda_bucket){0};
    agenda->used[digit] &= ~(1u << value);
    agenda->used_digits &= agenda->used[digit] == 0 ? ~(1u << digit) : ~0u;
    agenda->now_ticks = bucket.least_ticks;
    for (struct agenda_chunk *chunk = bucket.first; chunk != NULL;) {
        struct agenda_chunk *next = chunk->next;
        for (uint32_t i = 0; i < chunk->end; i++) {
            place(agenda, &chunk->entries[i]);
        }
        drop_chunk(agenda, chunk);
        chunk = next;
    }
}

bool agenda_pop(struct agenda *agenda, uint64_t *when_ticks, struct agenda_event *out)
{
    if (agenda->now.first == NULL) {
        if (agenda->used_digits == 0) {
            return false;
        }
        step(agenda);
    }
    struct agenda_chunk *first = agenda->now.first;
    *when_ticks = agenda->now_ticks;
    *out = first->entries[first->begin++].event;
    if (first->begin == first->end) {
        agenda->now.first = first->next;
        agenda->now.last = first->next == NULL ? NULL : agenda->now.last;
        drop_chunk(agenda, first);
    }
    return true;
}

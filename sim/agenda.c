/* A heap of instants with a list of events each. */
#include "sim/agenda.h"

#include <assert.h>
#include <string.h>

#define NONE UINT32_MAX

struct agenda_item {
    struct agenda_event event;
    uint32_t next;
};

struct agenda_instant {
    uint64_t when_ticks;
    uint32_t first, last;
    uint32_t next; /* of the same hash, or free */
};

void agenda_init(struct agenda *agenda, struct arena *arena)
{
    memset(agenda, 0, sizeof *agenda);
    agenda->arena = arena;
    heap_init(&agenda->heap, arena, 64);
    agenda->item_capacity = agenda->instant_capacity = agenda->table_size = 64;
    agenda->items = ARENA_PUSH(arena, struct agenda_item, agenda->item_capacity);
    agenda->instants = ARENA_PUSH(arena, struct agenda_instant, agenda->instant_capacity);
    agenda->table = ARENA_PUSH(arena, uint32_t, agenda->table_size);
    memset(agenda->table, 0xff, agenda->table_size * sizeof *agenda->table);
    agenda->free_item = agenda->free_instant = agenda->current = agenda->newest = NONE;
}

static uint32_t hash(const struct agenda *agenda, uint64_t when_ticks)
{
    const uint64_t mixed = when_ticks * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio (Knuth 6.4) */
    return (uint32_t)(mixed >> 32) & (agenda->table_size - 1);
}

static void grow_table(struct agenda *agenda)
{
    agenda->table_size *= 2;
    agenda->table = ARENA_PUSH(agenda->arena, uint32_t, agenda->table_size);
    memset(agenda->table, 0xff, agenda->table_size * sizeof *agenda->table);
    for (uint32_t i = 0; i < agenda->instant_count; i++) {
        uint32_t *chain = &agenda->table[hash(agenda, agenda->instants[i].when_ticks)];
        agenda->instants[i].next = *chain;
        *chain = i;
    }
}

static uint32_t new_item(struct agenda *agenda)
{
    if (agenda->free_item != NONE) {
        const uint32_t item = agenda->free_item;
        agenda->free_item = agenda->items[item].next;
        return item;
    }
    if (agenda->item_count == agenda->item_capacity) {
        struct agenda_item *grown =
            ARENA_PUSH(agenda->arena, struct agenda_item, (size_t)2 * agenda->item_capacity);
        memcpy(grown, agenda->items, agenda->item_count * sizeof *grown);
        agenda->items = grown;
        agenda->item_capacity *= 2;
    }
    return agenda->item_count++;
}

/* All instants are in use when the pool grows, so the table can be filled from it. */
static uint32_t new_instant(struct agenda *agenda)
{
    if (agenda->free_instant != NONE) {
        const uint32_t instant = agenda->free_instant;
        agenda->free_instant = agenda->instants[instant].next;
        return instant;
    }
    if (agenda->instant_count == agenda->instant_capacity) {
        struct agenda_instant *grown =
            ARENA_PUSH(agenda->arena, struct agenda_instant, (size_t)2 * agenda->instant_capacity);
        memcpy(grown, agenda->instants, agenda->instant_count * sizeof *grown);
        agenda->instants = grown;
        agenda->instant_capacity *= 2;
        grow_table(agenda);
    }
    return agenda->instant_count++;
}

static uint32_t find_instant(struct agenda *agenda, uint64_t when_ticks)
{
    uint32_t instant = agenda->newest;
    if (instant != NONE && agenda->instants[instant].when_ticks == when_ticks) {
        return instant;
    }
    instant = agenda->table[hash(agenda, when_ticks)];
    while (instant != NONE && agenda->instants[instant].when_ticks != when_ticks) {
        instant = agenda->instants[instant].next;
    }
    if (instant == NONE) {
        instant = new_instant(agenda);
        uint32_t *chain = &agenda->table[hash(agenda, when_ticks)];
        agenda->instants[instant] = (struct agenda_instant){when_ticks, NONE, NONE, *chain};
        *chain = instant;
        heap_push(&agenda->heap, (struct heap_entry){when_ticks, when_ticks, instant});
    }
    agenda->newest = instant;
    return instant;
}

void agenda_push(struct agenda *agenda, uint64_t when_ticks, struct agenda_event event)
{
    assert(agenda->current == NONE || when_ticks >= agenda->instants[agenda->current].when_ticks);
    const uint32_t item = new_item(agenda);
    const uint32_t found = find_instant(agenda, when_ticks);
    struct agenda_instant *instant = &agenda->instants[found];
    agenda->items[item] = (struct agenda_item){event, NONE};
    if (instant->first == NONE) {
        instant->first = item;
    } else {
        agenda->items[instant->last].next = item;
    }
    instant->last = item;
}

static void drop_current(struct agenda *agenda)
{
    const uint32_t instant = agenda->current;
    uint32_t *chain = &agenda->table[hash(agenda, agenda->instants[instant].when_ticks)];
    while (*chain != instant) {
        chain = &agenda->instants[*chain].next;
    }
    *chain = agenda->instants[instant].next;
    agenda->instants[instant].next = agenda->free_instant;
    agenda->free_instant = instant;
    agenda->newest = agenda->newest == instant ? NONE : agenda->newest;
    agenda->current = NONE;
}

static bool has_more_now(const struct agenda *agenda)
{
    return agenda->current != NONE && agenda->instants[agenda->current].first != NONE;
}

uint64_t agenda_find_next(const struct agenda *agenda)
{
    if (has_more_now(agenda)) {
        return agenda->instants[agenda->current].when_ticks;
    }
    const struct heap_entry *first = heap_find_first(&agenda->heap);
    return first == NULL ? UINT64_MAX : first->key;
}

bool agenda_pop(struct agenda *agenda, uint64_t *when_ticks, struct agenda_event *out)
{
    if (!has_more_now(agenda)) {
        struct heap_entry entry;
        if (agenda->current != NONE) {
            drop_current(agenda);
        }
        if (!heap_pop(&agenda->heap, &entry)) {
            return false;
        }
        agenda->current = entry.value;
    }
    struct agenda_instant *instant = &agenda->instants[agenda->current];
    const uint32_t item = instant->first;
    assert(item != NONE);
    *when_ticks = instant->when_ticks;
    *out = agenda->items[item].event;
    instant->first = agenda->items[item].next;
    agenda->items[item].next = agenda->free_item;
    agenda->free_item = item;
    return true;
}

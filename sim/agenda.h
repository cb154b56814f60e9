/* What happens when: events in order of time, those of one instant in the order they were
 * pushed. */
#ifndef SHARDPLAN_SIM_AGENDA_H
#define SHARDPLAN_SIM_AGENDA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/heap.h"

struct agenda_event {
    uint32_t kind, id, version; /* the caller's */
};

struct agenda_item;
struct agenda_instant;

/* Events of one instant share one entry of the heap: most instants of a regular program have
 * many. */
struct agenda {
    struct heap heap; /* instants by time */
    struct arena *arena;
    struct agenda_item *items;
    struct agenda_instant *instants;
    uint32_t item_count, item_capacity, free_item;
    uint32_t instant_count, instant_capacity, free_instant;
    uint32_t *table; /* of instants, by time; chains */
    uint32_t table_size;
    uint32_t current; /* instant whose events are being popped */
    uint32_t newest;  /* instant of the last push */
};

void agenda_init(struct agenda *agenda, struct arena *arena);
/* when must not lie before the last popped event. */
void agenda_push(struct agenda *agenda, uint64_t when_ticks, struct agenda_event event);
bool agenda_pop(struct agenda *agenda, uint64_t *when_ticks, struct agenda_event *out);
/* When the next event is; UINT64_MAX: there is none. */
uint64_t agenda_find_next(const struct agenda *agenda);

#endif

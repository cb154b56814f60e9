/* What happens when: events in order of time, those of one instant in the order they were
 * pushed. */
#ifndef SHARDPLAN_SIM_AGENDA_H
#define SHARDPLAN_SIM_AGENDA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* An instant has 16 digits of 4 bits. */
#define AGENDA_DIGITS 16u
#define AGENDA_BASE 16u

struct agenda_event {
    uint32_t kind, id; /* the caller's */
};

struct agenda_chunk;

/* Events in the order they were pushed, in chunks. */
struct agenda_bucket {
    uint64_t least_ticks; /* while there are any */
    struct agenda_chunk *first, *last;
};

/* A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990): events lie by the highest digit in which they
 * differ from the present instant, then by its value. The first of the buckets holds the next
 * instant; when that comes, its events differ in lower digits only. So each event moves at most
 * once per digit, from end to end of a bucket, whatever else is pending. */
struct agenda {
    struct arena *arena;
    uint64_t now_ticks;        /* of the last event popped */
    struct agenda_bucket now;  /* the rest of its instant */
    struct agenda_bucket buckets[AGENDA_DIGITS][AGENDA_BASE];
    uint32_t used_digits, used[AGENDA_DIGITS]; /* bits: not empty */
    struct agenda_chunk *spare;
};

void agenda_init(struct agenda *agenda, struct arena *arena);
/* when must not lie before the last popped event. */
void agenda_push(struct agenda *agenda, uint64_t when_ticks, struct agenda_event event);
bool agenda_pop(struct agenda *agenda, uint64_t *when_ticks, struct agenda_event *out);
/* When the next event is; UINT64_MAX: there is none. */
uint64_t agenda_find_next(const struct agenda *agenda);

#endif

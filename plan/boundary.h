/* Messages from a pipeline stage to the next that share links. */
#ifndef SHARDPLAN_PLAN_BOUNDARY_H
#define SHARDPLAN_PLAN_BOUNDARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct work;

/* A stage sends over so many links: to the one behind it, to the one before it, elsewhere. They
 * have at most so many lines for each stage. */
#define BOUNDARY_LINKS 3u
#define BOUNDARY_LINES 4u

/* stage * BOUNDARY_LINKS + which of them. */
static inline uint32_t boundary_find_link(uint32_t from, uint32_t to)
{
    return from * BOUNDARY_LINKS + (to == from + 1 ? 0 : from == to + 1 ? 1 : 2);
}

/* All ranks of a stage send to the next at once; the last stage sends to the first. */
struct boundary {
    /* Seconds per byte of one message until those of all have passed the narrowest link on their
     * ways; 0 where bandwidths are those of devices (levels). */
    double byte_s;
    /* Resources of the cluster, there and back, that the messages of both directions load most: the
     * first and the last of a way; NO_INDEX: those of the devices. */
    uint32_t busiest[2][2];
    uint32_t slowest; /* place with the longest way to the next stage, alone */
};

/* out: [stage]. Scratch: the arena is as before. */
void boundary_find(const struct work *work, struct arena *arena, struct boundary *out);
/* How many times the bytes of one message cross the narrowest link in the time that the way from
 * place `from` of the stage alone would need for them once: at least 1. */
double boundary_find_crowding(const struct work *work, uint32_t stage, uint32_t from,
                              double byte_s);
/* A line is a resource that is busiest for some link. out[2 * link], beside it: its lines, or one
 * twice. False: links share none. boundaries: [stage]. */
bool boundary_find_lines(const struct work *work, const struct boundary *boundaries, uint32_t *out);

#endif

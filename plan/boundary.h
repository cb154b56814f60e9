/* Messages from a pipeline stage to the next that share links. */
#ifndef SHARDPLAN_PLAN_BOUNDARY_H
#define SHARDPLAN_PLAN_BOUNDARY_H

#include <stdint.h>

#include "base/arena.h"

struct work;

/* All ranks of a stage send to the next at once. How many times the bytes of one message cross the
 * narrowest link of all their ways in the time that the way from place `from` alone would need for
 * them once: at least 1, and 1 where bandwidths are those of devices (levels). The last stage
 * sends to the first. Scratch: the arena is as before. */
double boundary_find_crowding(const struct work *work, uint32_t stage, uint32_t from,
                              struct arena *arena);

#endif

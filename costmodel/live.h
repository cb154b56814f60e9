/* Which micro-batches a stage holds at its fullest. */
#ifndef SHARDPLAN_COSTMODEL_LIVE_H
#define SHARDPLAN_COSTMODEL_LIVE_H

#include <stdint.h>

#include "base/arena.h"
#include "plan/schedule.h"

/* Per stage the sets of live forwards that no other set contains: counts per local chunk. Whatever
 * the chunks weigh, the fullest moment is one of them. */
struct live_sets {
    uint32_t chunks;  /* local chunks per stage */
    uint32_t *counts; /* [stage] number of sets */
    uint32_t **sets;  /* [stage][set * chunks + chunk] */
};

/* A chunk is live from its forward to the end of its backward, or of its weight gradient where that
 * is split off. */
void live_build(const struct stream *stream, struct arena *arena, struct live_sets *out);

#endif

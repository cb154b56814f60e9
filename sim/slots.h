/* Which slot of a schedule waits for which: a number for each slot of all stages. */
#ifndef SHARDPLAN_SIM_SLOTS_H
#define SHARDPLAN_SIM_SLOTS_H

#include "base/arena.h"
#include "plan/schedule.h"

#define SLOT_NONE UINT32_MAX

struct slots {
    const struct stream *stream;
    uint32_t count;
    uint32_t *first_of_stage;    /* [stage]; slot i of the stage is first_of_stage[stage] + i */
    uint32_t *source;            /* [slot] slot of another model chunk that it waits for, or
                                  * SLOT_NONE */
    uint32_t *target;            /* [slot] slot that waits for it so, or SLOT_NONE */
    uint32_t *begins;            /* [slot] with which it begins: itself, or the first of its pair */
    uint32_t *ends;              /* [slot] with which it ends: itself, or the last of its pair */
    uint32_t *model_chunk;       /* [slot] */
    uint32_t *stage;             /* [slot] */
    uint32_t *first_forward;     /* [model chunk] its first forward */
    uint32_t *last_backward;     /* [model chunk] its last slot, behind which its gradients are
                                  * whole */
};

/* The stream has passed stream_check. */
void slots_build(const struct stream *stream, struct arena *arena, struct slots *out);
const struct slot *slots_find(const struct slots *slots, uint32_t slot);
/* Does what the slot makes go to another stage? */
bool slots_sends(const struct slots *slots, uint32_t slot);
/* The last slot of the stage. */
uint32_t slots_find_last(const struct slots *slots, uint32_t stage);

#endif

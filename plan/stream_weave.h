/* Orders of slots found by what is ready. */
#ifndef SHARDPLAN_PLAN_STREAM_WEAVE_H
#define SHARDPLAN_PLAN_STREAM_WEAVE_H

#include "plan/schedule.h"

/* Fills slots and slot_counts of all stages; shape, copies, model_chunk, chunk_place and room for
 * the slots are there. Whole backwards only. */
void stream_weave_build(const struct schedule_weave *weave, struct stream *stream);

#endif

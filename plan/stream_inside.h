/* What the builders of streams share. */
#ifndef SHARDPLAN_PLAN_STREAM_INSIDE_H
#define SHARDPLAN_PLAN_STREAM_INSIDE_H

#include "plan/schedule.h"

/* Arrays for the shape, without slots; model chunk chunk * stages + stage at (stage, chunk). */
void stream_init(const struct schedule_shape *shape, struct arena *arena, struct stream *out);
/* Fills what follows from slots and model_chunk, then checks it all. */
bool stream_build_rest(struct stream *stream, struct diag *diag);

#endif

/* `--late F5@0=6,B2.1@3=0.5`: slots of a schedule that last longer than the others. */
#ifndef SHARDPLAN_TOOLS_LATE_SLOTS_H
#define SHARDPLAN_TOOLS_LATE_SLOTS_H

#include "plan/schedule.h"
#include "tools/command.h"

/* [slot] extra seconds, stage after stage in the order of the stream; NULL without the flag. */
bool late_slots_read(struct command *command, const struct stream *stream, const double **out);

#endif

/* What ran when, for trace viewers. */
#ifndef SHARDPLAN_TOOLS_TRACE_FILE_H
#define SHARDPLAN_TOOLS_TRACE_FILE_H

#include "base/text.h"
#include "sim/sim.h"

/* Chrome trace JSON: a process per stage, a thread per stream, a counter of memory. */
void trace_file_dump(const struct sim_result *result, struct text *out);

#endif

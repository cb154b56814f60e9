/* A simulated step as a Chrome trace, which Perfetto and chrome://tracing show. */
#ifndef SHARDPLAN_SIM_TRACE_H
#define SHARDPLAN_SIM_TRACE_H

#include "base/json.h"
#include "sim/sim.h"

/* One process for each stage, or rank that was simulated, with threads for its streams, counters of
 * its memory and of what it sends, arrows from its sends to the slots that wait for them. The
 * result was made with options.spans; arena is scratch. Times are in microseconds, as the format
 * wants. */
void trace_dump(const struct sim_result *result, struct arena *arena, struct json_writer *out);

#endif

/* What runs of a schedule share, in given order or by what is ready; nobody else includes it. */
#ifndef SHARDPLAN_SIM_SCHEDULE_RUN_INSIDE_H
#define SHARDPLAN_SIM_SCHEDULE_RUN_INSIDE_H

#include "sim/schedule_run.h"
#include "sim/slots.h"

/* Seconds of the slot's own work, what a pair saves left aside. */
double schedule_run_slot_s(const struct schedule_run_times *times, const struct slots *slots,
                           uint32_t slot);
/* Of the transfer of what it makes; slots_sends. */
double schedule_run_send_s(const struct schedule_run_times *times, const struct slots *slots,
                           uint32_t slot);
/* Fills all but the events from instants in picoseconds. */
void schedule_run_collect(const struct slots *slots, const uint64_t *start_ps,
                          const uint64_t *end_ps, struct arena *arena,
                          struct schedule_run_result *out);

#endif

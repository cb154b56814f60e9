/* A pipeline whose stages run what is ready instead of a fixed order. */
#ifndef SHARDPLAN_SIM_READY_RUN_H
#define SHARDPLAN_SIM_READY_RUN_H

#include "sim/schedule_run.h"

struct ready_run_rules {
    /* Of the ready slots the one that stands first in the stream; off: backwards before forwards
     * before weight gradients, then the earliest micro-batch, then the deepest chunk. */
    bool by_order;
    /* [stage] chunks of micro-batches alive at once: no forward starts beyond; NULL: any number. */
    const uint32_t *live_caps;
};

struct ready_run_result {
    struct schedule_run_result run;
    /* Slots in the order they ran, stage after stage; a slot has its number in the stream. */
    const uint32_t *order;
    const uint32_t *peak_live; /* [stage] chunks of micro-batches */
};

/* As schedule_run without release_s, but a stage that is free starts the best of its slots that
 * can start, at once; the slots of a pair run one by one. False: S802; S803 when caps leave all
 * stages waiting. */
bool ready_run(const struct stream *stream, const struct schedule_run_times *times,
               const struct ready_run_rules *rules, struct arena *arena,
               struct ready_run_result *out, struct diag *diag);

#endif

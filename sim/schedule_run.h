/* A pipeline schedule alone, run with given times. */
#ifndef SHARDPLAN_SIM_SCHEDULE_RUN_H
#define SHARDPLAN_SIM_SCHEDULE_RUN_H

#include "base/diag.h"
#include "plan/schedule.h"

/* Seconds of one micro-batch per model chunk, none negative; NULL: zeros. */
struct schedule_run_times {
    const double *forward_s;
    const double *backward_s;    /* whole backwards */
    const double *input_s;       /* input gradients of split ones; NULL: backward_s */
    const double *weight_s;      /* weight gradients of split ones */
    const double *send_s;        /* activations, model chunk i to i + 1 where that is on another
                                  * stage */
    const double *send_back_s;   /* gradients, model chunk i + 1 to i */
    const double *extra_s;       /* [slot] that it lasts longer, stage after stage in their order */
    const double *release_s;     /* no forward of the chunk starts before */
    bool send_blocks;            /* the sender's next slot waits for the end of the transfer */
    double pair_frac;            /* a pair lasts so many times its slots together; 0 counts as 1 */
};

/* Times of slots and stages, exact to the picosecond: each duration is rounded to one, half up. */
struct schedule_run_result {
    double makespan_s;           /* the last slot has ended */
    const double *stage_busy_s, *stage_start_s, *stage_end_s;    /* [stage] */
    const double *chunk_start_s, *chunk_end_s;                   /* [model chunk] */
    const double *slot_start_s, *slot_end_s;     /* stage after stage, in the order of their
                                                  * slots */
    uint64_t events;
};

/* The stream has passed stream_check. S802 when the times are longer than can be counted. */
bool schedule_run(const struct stream *stream, const struct schedule_run_times *times,
                  struct arena *arena, struct schedule_run_result *out, struct diag *diag);

#endif

/* How long one step of a pipeline takes when every slot's time is known: the longest path,
 * exactly.
 *
 * A slot starts when the slot before it on its stage has ended and, coming from another stage,
 * what it needs has arrived. A transfer between two chunks of one stage costs nothing. All that a
 * stage sends to another queues for the link between them. */
#ifndef SHARDPLAN_COSTMODEL_REPLAY_H
#define SHARDPLAN_COSTMODEL_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "plan/schedule.h"

/* Seconds of one micro-batch, per model chunk (position in the chain, 0 .. stages*chunks-1). No
 * value is negative. Arrays that may be NULL count as zeros unless said otherwise. */
struct replay_times {
    const double *forward_s;
    const double *backward_s; /* a whole backward: input and weight gradient */
    const double *input_s;    /* input gradients of split backwards; NULL: backward_s */
    const double *weight_s;   /* weight gradients of split backwards; may be NULL */
    const double
        *send_s; /* activations of model chunk i to i+1, read where i+1 exists; may be NULL */
    const double *send_back_s; /* gradients of model chunk i+1 to i; may be NULL */
    /* A transfer i to i+1, or i+1 to i, keeps its link for so long: the next over it begins no
     * earlier. NULL: a link carries any number at once. Without meaning where transfers block their
     * sender, which makes the next one later. */
    const double *queue_s;
    /* As boundary_find_lines. Transfers over one line, of whatever stages, go one after another in
     * the order in which they come to it: to the first of two lines as they are made, to the second
     * as they begin on the first. NULL: links share no line. */
    const uint32_t *lines;
    const double
        *release_s; /* no forward of model chunk i starts before (parameter gathers); may be NULL */
    bool send_blocks; /* the sender's next slot waits until its transfer is over */
    /* A pair lasts so many times its two slots together; 0 counts as 1. Its transfers begin as it
     * ends, one behind the other where they block. */
    double pair_frac;
};

/* One line of the sweep: it starts when both sources have ended (0 is the start of the step). */
struct replay_step {
    uint32_t previous; /* on the same stage */
    uint32_t source;   /* what comes from elsewhere */
    uint32_t cost; /* index of its duration and arrival delay: kind * model chunks + model chunk */
};

#define REPLAY_NO_SEND UINT32_MAX

/* The slots of a stream, each behind all it waits for. Built once per stream; read-only while
 * evaluated. Step 0 is the start; before the first forward of each model chunk stands a step
 * that waits for its release; before a pair stand two that wait for what its slots need, behind it
 * one that sends what the second makes. */
struct replay_plan {
    struct schedule_shape shape;
    uint32_t chunk_count; /* model chunks: stages * chunks */
    uint32_t chain_length; /* of them in one chain */
    uint32_t step_count;
    struct replay_step *steps;
    uint32_t *stage_last;  /* [stage] its last step */
    uint32_t *chunk_first; /* [model chunk] its first forward */
    uint32_t *chunk_last;  /* [model chunk] its last slot: from here on its gradients are whole */
    uint32_t *chunk_stage; /* [model chunk] */
    uint32_t *slot_counts[SLOT_KIND_COUNT]; /* [model chunk] slots of the kind */
    /* [stage] its first step and the end of its list; [step] the next in the list, or 0. */
    uint32_t *stage_first, *stage_tail, *next;
    uint32_t *sends; /* [step] transfer that begins as it ends, or REPLAY_NO_SEND: model chunk i for
                      * i to i+1, chunk_count + i for i+1 to i */
    uint32_t *links; /* [transfer] boundary_find_link of its stages */
    bool has_pairs, pairs_share; /* both transfers of some pair go over one link */
    uint32_t *pair_counts[SLOT_KIND_COUNT]; /* [model chunk] of them in pairs */
};

/* Pointers lead into the scratch and hold until it is used again. */
struct replay_result {
    double makespan_s;
    const double *stage_busy_s;  /* [stage] sum of its slots; transfers that block it not counted */
    const double *stage_start_s; /* [stage] its first slot starts */
    const double *stage_end_s;   /* [stage] its last slot has ended */
    const double *chunk_start_s; /* [model chunk] its first forward starts */
    const double *chunk_end_s;   /* [model chunk] its last slot has ended: gradients are whole */
};

/* Slots and transfers on one path through the step, as counts per model chunk. For any times the
 * makespan is at least replay_find_bound: each entry of a path is waited for in turn, whatever
 * it lasts. A cut found with send_blocks holds for times with send_blocks only. */
struct replay_cut {
    uint32_t chunk_count;
    uint32_t *slots[SLOT_KIND_COUNT]; /* [model chunk] */
    uint32_t *sends, *sends_back;     /* [model chunk i] transfers i to i+1, and i+1 to i */
    uint32_t *queued;   /* [model chunk i] times that a transfer waits for such a one before it */
    double lined_s;     /* waits for others' transfers over lines: other times may have none */
    uint32_t release;   /* model chunk whose release the path begins with, or chunk_count */
    bool send_blocks;
};

/* The stream must have passed stream_check. */
void replay_build(const struct stream *stream, struct arena *arena, struct replay_plan *out);
/* Bytes of scratch (aligned for double) that an evaluation needs. */
size_t replay_count_scratch(const struct replay_plan *plan);
/* One sweep, no allocation. */
void replay_find_times(const struct replay_plan *plan, const struct replay_times *times,
                       void *scratch, struct replay_result *out);

void replay_cut_init(uint32_t chunk_count, struct arena *arena, struct replay_cut *out);
/* One longest path for these times (pairs as long as their slots together); out is from
 * replay_cut_init. Overwrites the scratch. */
void replay_find_cut(const struct replay_plan *plan, const struct replay_times *times,
                     void *scratch, struct replay_cut *out);
/* The cut's length under any times, a lower bound; for those it was found with the makespan, less
 * lined_s. */
double replay_find_bound(const struct replay_cut *cut, const struct replay_times *times);

#endif

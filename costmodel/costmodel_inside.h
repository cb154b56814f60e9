/* What the files of the analytic judge share; nobody else includes it. */
#ifndef SHARDPLAN_COSTMODEL_COSTMODEL_INSIDE_H
#define SHARDPLAN_COSTMODEL_COSTMODEL_INSIDE_H

#include "costmodel/costmodel.h"
#include "costmodel/live.h"
#include "costmodel/replay.h"

#define CUT_MAX 8
#define NOTES_BUCKETS 1024

/* All that a stream's slots say about time and memory before any durations are known, with room
 * to evaluate. */
struct stream_notes {
    const struct stream *stream;
    struct stream_notes *next;
    bool replayable; /* replay and all below it are made: when first timed */
    struct replay_plan replay;
    void *scratch;
    struct live_sets live;
    double *saved_bytes, *logits_bytes; /* per local chunk, of the stage looked at last */
    struct replay_cut
        cuts[CUT_MAX]; /* paths that were longest before: each a lower bound for any durations */
    uint32_t cut_count, next_cut;
    double *forward_s, *backward_s, *input_s, *weight_s; /* per model chunk */
    double *send_s, *queue_s, *release_s;
};

struct price_table;

#define KERNEL_ENTRIES 8192

/* The matrix multiply priced last among those that share its place. */
struct kernel_entry {
    unsigned long long key; /* 0: none */
    double seconds;
    enum provenance origin;
};

struct costmodel_cache {
    struct price_table *messages;
    struct kernel_entry kernels[KERNEL_ENTRIES];
    struct arena streams_arena; /* notes, which can be forgotten */
    struct stream_notes *streams[NOTES_BUCKETS];
};

/* Notes of a stream, made when first asked for; what is needed for memory only, then what is
 * needed for time too. */
struct stream_notes *costmodel_notes(struct costmodel *model, const struct stream *stream);
struct stream_notes *costmodel_timed_notes(struct costmodel *model, const struct stream *stream);

/* Durations of every model chunk under the load, into the notes' arrays. */
struct replay_times costmodel_times(const struct load *load, struct stream_notes *notes);

/* How a stage's step ends after its last backward: seconds at which its gradients are summed. */
double costmodel_sync_end_s(const struct load *load, const struct stream_notes *notes,
                            const struct replay_result *result, uint32_t stage);

/* Blocks in the order in which a chunk runs them; their number. */
uint32_t costmodel_block_order(const struct work *work, uint32_t order[WORK_BLOCK_MAX]);

/* Memory of one stage by class, peaks and capacity. */
void costmodel_memory(const struct costmodel *model, const struct load *load,
                      const struct stream_notes *notes, uint32_t stage, struct stage_estimate *out);

/* Usable memory of the largest device. */
double costmodel_capacity_bytes(const struct problem *problem);

#endif

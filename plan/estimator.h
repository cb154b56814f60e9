/* One question, two judges: how long does a plan's step take, how much memory does it need?
 *
 * The planner sees only this interface. `piece` prices one block once; `combine` composes pieces
 * over a schedule; `bound` never exceeds what `combine` can give for any completion of a partial
 * load. */
#ifndef SHARDPLAN_PLAN_ESTIMATOR_H
#define SHARDPLAN_PLAN_ESTIMATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "plan/work.h"

/* What a second goes to. COST_DIM + i is exposed communication charged to dim_table[i]. */
enum cost {
    COST_COMPUTE,
    COST_RECOMPUTE,
    COST_OPTIMIZER,
    COST_OVERHEAD,
    COST_BUBBLE,
    COST_DIM,
    COST_HOST = COST_DIM + WORK_HOST, /* exposed copies to and from the host */
    COST_COUNT
};

/* Key of a breakdown: "compute_s", "tp_comm_s", ...; NULL for unused indices. */
const char *estimator_cost_key(uint32_t cost, struct arena *arena);

enum memory_class {
    MEMORY_PARAMETERS,
    MEMORY_GRADIENTS,
    MEMORY_OPTIMIZER,
    MEMORY_CACHE,       /* keys and values of sequences that are generated */
    MEMORY_ACTIVATIONS,
    MEMORY_LOGITS,
    MEMORY_BUFFERS,
    MEMORY_CONTEXT,
    MEMORY_CLASS_COUNT
};
const char *estimator_memory_key(enum memory_class class); /* "parameters_bytes", ... */

/* One block priced. Times of one layer and one micro-batch, by cost; exposed seconds, so the sum
 * is the duration. */
struct piece {
    double forward_s[COST_COUNT], backward_s[COST_COUNT];
    double forward_total_s, backward_total_s;
    double weight_s;         /* part of backward_total_s that is weight gradient, for split
                              * schedules */
    double gather_s, sync_s; /* once per step, alone on an idle network; rarer messages by their
                              * share */
    double stale_s;          /* sums that a later step waits for: they only have to end within a
                              * step */
    double update_s;
    double copy_s;           /* of copies to and from the host, hidden or not, per micro-batch */
    double update_copy_s;    /* part of update_s */
    const struct work_block *block;
};

/* What `combine` composes. counts as from work_count_blocks. */
struct load {
    const struct work *work;
    const struct stream *stream;
    const struct piece *pieces; /* [site * work->block_count + block] */
    const uint32_t *counts;     /* [model chunk * WORK_BLOCK_MAX + block] */
    double send_s;              /* one boundary message, priced; of several the fastest */
    const double *sends_s;      /* [stage] from it to the next one, the last: to the first; NULL:
                                 * all take send_s */
    double spread_s; /* part of every send_s in which receivers gather */
    /* A message keeps the links of a boundary for so long: the next over them, or over others that
     * share a line with them, arrives no earlier than so long behind it. */
    double queue_s;
    const double *queues_s;     /* [stage] as sends_s */
    const double *crowdings;    /* [stage] as boundary_find_crowding from its first rank; NULL: all
                                 * 1 */
    const uint32_t *lines;      /* as boundary_find_lines; NULL: links share none */
    double tied_s, norm_s;
};

/* Pieces of the blocks where the stage stands. */
static inline const struct piece *estimator_pieces(const struct load *load, uint32_t stage)
{
    return load->pieces + (size_t)work_find_site(load->work, stage) * load->work->block_count;
}

/* What the layers of a stage take once per step, all together, and their copies of one
 * micro-batch; of the pieces' fields of these names. */
struct stage_sums {
    double sync_s, stale_s, update_s, update_copy_s, copy_s;
};
struct stage_sums estimator_sum_stage(const struct load *load, uint32_t stage);

/* A boundary message between two stages, either way. */
double estimator_send_s(const struct load *load, uint32_t from, uint32_t to);
double estimator_queue_s(const struct load *load, uint32_t from, uint32_t to);
double estimator_crowding(const struct load *load, uint32_t from, uint32_t to);

struct stage_estimate {
    double cost_s[COST_COUNT]; /* along the step; sums to step_s */
    double memory_bytes[MEMORY_CLASS_COUNT];
    double peak_bytes, first_step_peak_bytes, capacity_bytes;
    double idle_bytes; /* held by a caching allocator beyond the peak, as tools of the driver see
                        * it, given back before it refuses: passing buffers of unlike sizes */
    double host_bytes, host_capacity_bytes; /* of one device in its host's memory */
    double host_copy_s; /* a step's copies to and from there; COST_HOST is what of it shows */
    double busy_s;
};

struct estimate {
    double step_s;
    uint32_t stage_count, slowest_stage, fullest_stage;
    struct stage_estimate *stages; /* NULL when not asked for */
    double peak_bytes;             /* of the fullest stage: the one with the least room */
    double capacity_bytes;         /* usable on one device there */
    bool fits;
};

/* Is there room for the stage on the device and on its host? */
bool estimator_fits(const struct stage_estimate *stage);
/* What is left of the scarcer of both. */
double estimator_room_bytes(const struct stage_estimate *stage);
/* The stage that lacks most, on its devices or on their hosts, the devices first. */
struct shortage {
    uint32_t stage;
    bool on_host;
    double needed_bytes, capacity_bytes; /* of one device */
};
/* Of an estimate with stages; false: nothing lacks. */
bool estimator_find_shortage(const struct estimate *estimate, struct shortage *out);
/* Has the stage less room than the fullest of the estimate so far? */
bool estimator_is_fuller(const struct stage_estimate *stage, const struct estimate *than);

struct estimator {
    const char *name;
    void *state;
    /* On a stage of the site. like: a piece whose block may have the same forward and backward
     * lists, whose times are then taken; or NULL. A list takes at least its kernels alone, without
     * messages, in any runs that keep joined ones together: their COST_COMPUTE adds up to no
     * more. */
    void (*piece)(void *state, const struct work *work, uint32_t block, uint32_t site,
                  const struct piece *like, struct piece *out);
    /* base: place of the group's first rank. */
    double (*message_s)(void *state, const struct work *work, const struct work_message *message,
                        uint32_t base);
    /* detail: fill out->stages from the arena; else allocates nothing that outlives the call. */
    void (*combine)(void *state, const struct load *load, bool detail, struct arena *arena,
                    struct estimate *out);
    /* Usable memory of one device of the largest kind. */
    double (*capacity_bytes)(void *state);
    /* Capacity minus peak of one stage, on the device or on its host, the less of both; depends on
     * that stage's counts only. */
    double (*room_bytes)(void *state, const struct load *load, uint32_t stage);
    /* Never above combine's step_s for the same load, and much cheaper. */
    double (*bound)(void *state, const struct load *load);
    /* Drops what was remembered of streams seen so far: they are about to go. NULL: nothing is. */
    void (*forget_streams)(void *state);
};

/* Pieces of all blocks on all sites, in the arena. */
const struct piece *estimator_price_blocks(const struct estimator *estimator,
                                           const struct work *work, struct arena *arena);
/* The fastest boundary message. */
double estimator_find_send_s(const struct estimator *estimator, const struct work *work,
                             struct arena *arena);
/* Messages between stages and over all, into the load; sends_s from the arena. */
void estimator_price_messages(const struct estimator *estimator, const struct work *work,
                              struct arena *arena, struct load *out);

#endif

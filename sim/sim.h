/* The event-driven judge: runs a step of a plan with one device for each pipeline stage. */
#ifndef SHARDPLAN_SIM_SIM_H
#define SHARDPLAN_SIM_SIM_H

#include "base/diag.h"
#include "plan/estimator.h"
#include "prices/prices.h"
#include "sim/lump.h"

enum sim_granularity {
    SIM_SLOTS, /* one task for each slot of the schedule */
    SIM_OPS    /* each kernel and message of it */
};

/* How many ranks of a stage are devices of their own. */
enum sim_fold {
    SIM_FOLDED,   /* one, which stands for all: they must be alike */
    SIM_RANKS,    /* each; those of a group meet for what they exchange, on their own ports */
    SIM_MESSAGES, /* each, and every message of a collective is on the links that it takes */
    SIM_FOLD_COUNT
};

/* What the simulator does that the analytic judge does not; with everything off and slots it
 * gives that judge's time. Turned off one after another they say where a difference comes from. */
struct sim_options {
    /* Messages share the ports of their device, on the ways their stage really has; off: each takes
     * what it takes alone between the first devices. */
    bool contention;
    /* Who exchanges waits for the last to arrive; off: for nobody but whom the schedule names. */
    bool arrival;
    /* Gradient sums start when their layer's gradients are there, rare ones in the step they are
     * due; off: as if whole backwards ended each chunk, rare ones by their share in every step. */
    bool overlap;
    bool rounding; /* times are rounded to picoseconds; off: to femtoseconds */
    enum sim_granularity granularity;
    enum sim_fold fold; /* not folded: with overlap */
    /* Steps to average over; 0: as many as the rarest message asks for, at least 1. */
    uint32_t iterations;
    /* A slot's kernels, or a message, take up to so much longer or shorter, triangular. */
    double compute_jitter_frac, network_jitter_frac;
    uint64_t seed;
    /* [stage] kernels take so many times longer, as behind a slow device that the others of its
     * stage wait for; NULL: 1. */
    const double *slowness;
    /* [place] kernels, beside it ports, of one rank are so many times slower; NULL: 1. Not
     * folded. */
    const double *rank_slowness, *port_slowness;
    bool spans; /* keep what ran when */
    bool chain; /* find what the step took as long as; with overlap */
};

/* All on, ops, no jitter. */
struct sim_options sim_full_options(void);

struct sim_span {
    uint32_t stage, rank; /* rank: its place; of a fold the first of the stage */
    const char *stream;   /* "slots", "compute", "tensor messages", ... */
    const char *name;
    double start_s, end_s;
    double bytes; /* of a message, over ports that are shared; else 0 */
};

/* What one stage sends and the slot of another that waits for it: spans by index. */
struct sim_arrow {
    uint32_t from, to;
};

/* One stage over the measured steps. */
struct sim_stage {
    double busy_s;         /* kernels, per step */
    double idle_frac;      /* share of the pipeline's time in which it runs no slot */
    double start_s, end_s; /* first slot starts, last slot ends, in the first measured step */
    /* The fullest moment. */
    double peak_bytes, peak_at_s;
    double live_micro_batches; /* held then; a chunk counts 1 / chunks */
    uint32_t peak_slot;        /* the forward that filled it: position in the stage's order */
    uint32_t peak_block;       /* block whose kept tensors take most of it, or NO_INDEX */
};

/* Bytes of one stage from an instant on. */
struct sim_level {
    uint32_t stage, rank; /* as in a span */
    double at_s, bytes;
};

/* Parts of a chain of tasks. */
enum sim_chain_part {
    SIM_CHAIN_KERNELS,
    SIM_CHAIN_HOST,   /* launches that the device waits for */
    SIM_CHAIN_TENSOR, /* messages that kernels wait for */
    SIM_CHAIN_PREFETCH,
    SIM_CHAIN_DATA, /* gathers of parameters, sums of gradients, once a step */
    SIM_CHAIN_SEND,
    SIM_CHAIN_SHARED, /* what messages lasted longer since others were on their links */
    SIM_CHAIN_UPDATE,
    SIM_CHAIN_OVERHEAD,
    SIM_CHAIN_COUNT
};

/* The longest chain of work of the measured steps: each task starts as the one before it ends, so
 * its parts, and its stages, sum to the step. */
struct sim_chain {
    double part_s[SIM_CHAIN_COUNT]; /* per step */
    double *stage_s;                /* [stage] per step */
    double crossings;               /* from one stage to another, per step */
};

const char *sim_chain_name(enum sim_chain_part part);

struct sim_result {
    struct estimate estimate; /* with its stages */
    struct sim_stage *stages;
    double bubble_frac; /* mean idle_frac */
    /* [2 * (stage * port_levels + level)] share of the time for which a device of the stage sends
     * at that level, beside it receives, at the full bandwidth of its port; the last level is for
     * graphs. All 0 without contention. */
    double *port_busy_frac;
    uint32_t port_levels;
    uint64_t events;
    uint32_t iterations;    /* measured */
    uint32_t lanes;         /* ranks of a stage that were devices of their own */
    struct sim_chain chain; /* with options.chain */
    struct sim_span *spans; /* with options.spans: slots, then tasks in the order they were made */
    uint32_t span_count;
    struct sim_arrow *arrows;
    uint32_t arrow_count;
    struct sim_level *levels; /* with options.spans: memory over the first measured step */
    uint32_t level_count;
};

struct sim {
    const struct problem *problem;
    const struct prices *prices;
    struct arena *arena;
    struct lump_book *book;
    struct sim_options options;
};

void sim_init(struct sim *sim, const struct problem *problem, const struct prices *prices,
              const struct sim_options *options, struct arena *arena);
/* Seconds of one message of a work program, alone on an idle cluster. */
double sim_message_s(struct sim *sim, const struct work *work, const struct work_message *message,
                     uint32_t base);
/* One block by running it alone; like as in struct estimator. */
void sim_piece(struct sim *sim, const struct work *work, uint32_t block, uint32_t site,
               const struct piece *like, struct piece *out);
/* Prices all that a load needs: pieces of every block, messages. layers as in work_count_blocks. */
void sim_build_load(struct sim *sim, const struct work *work, const struct stream *stream,
                    const uint32_t *layers, struct arena *arena, struct load *out);
/* A rank whose stage is not all alike. */
struct sim_unlike {
    uint32_t place;
    enum work_cause cause; /* of the messages that take another time there; CAUSE_COUNT: sends
                            * between stages */
};

/* Can one rank stand for all of its stage? Every group must exchange as the one that stands for its
 * site's, and every rank send to the next stage so. False: the first that does not, into out. */
bool sim_compare_ranks(struct sim *sim, const struct work *work, struct sim_unlike *out);
/* S802 when the step is longer than can be counted. */
bool sim_run(struct sim *sim, const struct load *load, struct arena *arena, struct sim_result *out,
             struct diag *diag);
/* The judge's interface; out->state is the simulator, which must outlive it. `bound` is the time
 * of the busiest stage. */
void sim_estimator(struct sim *sim, struct estimator *out);

/* Step times of `runs` runs with seeds seed, seed + 1, ..., ascending, in the arena. */
bool sim_run_many(struct sim *sim, const struct load *load, uint32_t runs, struct arena *arena,
                  double **step_s, struct diag *diag);

#endif

/* What the files of the event-driven judge share; nobody else includes it. */
#ifndef SHARDPLAN_SIM_SIM_INSIDE_H
#define SHARDPLAN_SIM_SIM_INSIDE_H

#include "base/random.h"
#include "plan/boundary.h"
#include "sim/emit.h"
#include "sim/sim.h"
#include "sim/slots.h"

/* Blocks in the order in which a chunk runs them; their number. */
uint32_t sim_block_order(const struct work *work, uint32_t order[WORK_BLOCK_MAX]);

/* What blocks do on the devices of one site. */
struct site_scripts {
    struct script forward[WORK_BLOCK_MAX], backward[WORK_BLOCK_MAX];
    struct move *gathers[WORK_BLOCK_MAX], *sums[WORK_BLOCK_MAX]; /* once per step */
};

/* Tasks of one slot in one step. */
struct slot_tasks {
    uint32_t entry; /* starts with the slot */
    uint32_t exit;  /* ends with it */
    uint32_t send;  /* transfer of what it makes, or ENGINE_NO_TASK */
    uint32_t first_segment, segment_count;
    double kernel_factor; /* of this slot's times */
};

/* How a step ends on one stage. Instants in seconds from the start of the simulation. */
struct stage_end {
    double pipeline_s; /* its last slot */
    double summed_s;   /* its gradients */
    double tied_start_s, tied_end_s;
    double update_s; /* duration */
};

struct step_end {
    double start_s, barrier_s, normed_s, updated_s, end_s;
    struct stage_end *stages; /* [device] */
};

/* Steps one after another as one graph of tasks. */
struct step_run {
    struct sim *sim;
    const struct load *load;
    struct arena *arena; /* lives as long as the run */
    struct slots slots;
    struct engine engine;
    uint32_t lanes;    /* ranks of a stage that are devices of their own: all, or 1 */
    uint32_t lane;     /* at hand */
    struct meet *meet; /* where they exchange; NULL: folded */
    struct emit emit;
    struct emit_ports ports;
    uint32_t *lines; /* [lane * lines + line] resources of lines that links share, made when first
                      * used */
    struct random dice;
    struct site_scripts *scripts; /* [site] */
    uint32_t gather_counts[WORK_BLOCK_MAX], sum_counts[WORK_BLOCK_MAX];
    uint32_t order[WORK_BLOCK_MAX];
    uint32_t order_count;
    uint32_t exchange_dim;                  /* charged for gathers and sums */
    uint32_t warm_steps, step_count;        /* the first are not measured */
    uint32_t forward_peers, backward_peers; /* ranks that go in step inside a slot */
    struct slot_tasks *tasks;               /* [(step * lanes + lane) * slots.count + slot] */
    struct step_end *ends;                  /* [step] */
    uint32_t last_task;                     /* with which the last step ends */
};

/* Names of tasks that are no kernels. */
#define SIM_UPDATE "update"
#define SIM_OVERHEAD "step overhead"

/* Tasks with which a step ends. */
struct step_tail {
    uint32_t *pipeline, *summed, *tied_start, *tied_end, *updated; /* [device] */
    uint32_t *stale; /* [device] sums that the next step's end waits for, or ENGINE_NO_TASK */
    uint32_t barrier, normed, all_updated, end;
};

/* Devices of the simulation, lane by lane the stages. */
static inline uint32_t sim_find_device(const struct step_run *run, uint32_t stage, uint32_t lane)
{
    return lane * run->load->work->shape.stages + stage;
}

static inline uint32_t sim_count_devices(const struct step_run *run)
{
    return run->lanes * run->load->work->shape.stages;
}

/* [slot] of one lane in one step. */
static inline struct slot_tasks *sim_find_tasks(const struct step_run *run, uint32_t step,
                                                uint32_t lane)
{
    return &run->tasks[((size_t)step * run->lanes + lane) * run->slots.count];
}

/* Turns to a device: what is pushed next is its work. */
void sim_turn_to(struct step_run *run, uint32_t stage, uint32_t lane);
/* Scripts of the site on which the stage stands. */
const struct site_scripts *sim_find_scripts(const struct step_run *run, uint32_t stage);
/* Model chunk at (stage, local chunk). */
uint32_t sim_find_chunk(const struct step_run *run, uint32_t stage, uint32_t local);
/* How many times longer the kernels of the lane at hand take there. */
double sim_find_slowness(const struct step_run *run, uint32_t stage);
/* New jitter for the messages that are pushed next. */
void sim_draw_messages(struct step_run *run);
/* Tasks of one stage's lane at hand in one step, which begins when the task `begin` ends; into
 * tail: pipeline, summed, stale. */
void sim_push_stage(struct step_run *run, uint32_t step, uint32_t stage, uint32_t begin,
                    struct step_tail *tail);
/* What the slot makes on its way to who gets it, behind all at the cursor; its last task, or
 * ENGINE_NO_TASK where it goes nowhere. sent: [link of the stage] last task that kept it, or
 * ENGINE_NO_TASK. */
uint32_t sim_push_send(struct step_run *run, uint32_t *sent, uint32_t slot);
/* How often each block sits in the chunk. */
const uint32_t *sim_find_counts(const struct load *load, uint32_t chunk);
/* Builds the graph and runs it, then fills the ends of its steps. */
bool sim_run_steps(struct step_run *run, struct diag *diag);
/* Ends of the only step when gradient sums are not part of the graph: from when its chunks
 * ended. */
bool sim_run_sums(struct step_run *run, struct diag *diag);
/* The chain of the measured steps, when gradient sums are part of the graph. */
void sim_find_chain(const struct step_run *run, struct arena *arena, struct sim_chain *out);
/* Rows of the estimate, by what each second of a stage went to. */
void sim_account(const struct step_run *run, struct sim_result *out);
/* Memory of all stages into the estimate and the stages of the result; levels when asked for. */
void sim_fill_memory(const struct step_run *run, struct arena *arena, struct sim_result *out);
/* The same of one stage, without times. */
void sim_find_memory(const struct load *load, uint32_t stage, struct stage_estimate *out,
                     struct sim_stage *moment);

#endif

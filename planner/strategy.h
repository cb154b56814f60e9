/* A published planning method by name: what plan would it have chosen?
 *
 * A strategy proposes whole plans (mesh, order of devices, schedule, policies, mostly layers too)
 * by its own rule or model. All are judged by one estimator, and the best that fits is its answer;
 * a search may take such answers as seeds. */
#ifndef SHARDPLAN_PLANNER_STRATEGY_H
#define SHARDPLAN_PLANNER_STRATEGY_H

#include "planner/planner.h"
#include "planner/replica_partition.h"

/* What a strategy plans for. */
struct strategy_case {
    const struct problem *problem;
    const struct estimator *estimator;
    const struct planner_pins *pins;    /* what breaks them is not counted as an answer */
    struct arena *arena;                /* of proposals */
    struct strategy_answer *answer;     /* of those offered so far */
};

struct strategy {
    const char *name;                   /* "dapple" */
    const char *summary;                /* one line: its rule */
    const char *source;                 /* publication */
    const char *lacks;                  /* what it decides that a plan cannot be costed with here;
                                         * NULL: nothing */
    void (*propose)(const struct strategy_case *of);
};

struct strategy_answer {
    const struct strategy *strategy;
    struct plan *plan;                  /* with layers; NULL: none of its plans fits */
    struct estimate estimate;
    uint32_t offered, legal, fitting;   /* distinct plans are not told apart */
};

extern const struct strategy *const strategy_table[];
extern const uint32_t strategy_table_count;
const struct strategy *strategy_find(const char *name);     /* NULL if none */
const char *const *strategy_names(void);                    /* NULL-terminated */

/* The strategy's best plan. out->plan is NULL where none is legal under the pins and fits. */
void strategy_ask(const struct strategy *strategy, const struct problem *problem,
                  const struct estimator *estimator, const struct planner_pins *pins,
                  struct arena *arena, struct strategy_answer *out);
/* Answers with a plan as seeds of a search, fastest first; their number. */
uint32_t strategy_list_seeds(const struct strategy_answer *answers, uint32_t count,
                             struct arena *arena, struct ranked_plan **out);

/* --- for members ------------------------------------------------------------------------------ */

/* A degree of the dimension of that name; folds that are on or off: any degree above 1. */
struct strategy_degree {
    const char *dim;
    uint32_t degree;
};

/* A plan with those degrees above 1, the first innermost, `count` of them, and the usual schedule;
 * layers and policies empty. */
struct plan *strategy_build_plan(const struct strategy_case *of,
                                 const struct strategy_degree *degrees, uint32_t count,
                                 uint32_t micro_batch);

/* Adds the policy's own index-th choice; false where it has none for that plan. */
bool strategy_push_use(const struct strategy_case *of, struct plan *plan, const char *policy,
                       uint32_t index);
/* Ranks take the devices in that order, `count` of them. */
void strategy_place(const struct strategy_case *of, struct plan *plan, const uint32_t *devices,
                    uint32_t count);
/* Judges one proposal: does it fit? The layers may be left to the planner. A fold that makes it
 * illegal is left out. */
bool strategy_offer(const struct strategy_case *of, struct plan *plan);

/* The policy's last choice: most is recomputed. */
bool strategy_push_last_use(const struct strategy_case *of, struct plan *plan, const char *policy);

/* A plan of equal stages as a chain of layers on a row of places. */
struct strategy_line {
    struct replica_chain chain;
    struct replica_row row;             /* each place is `unit` devices in that order */
    uint32_t unit, stages, replicas;    /* places of a stage */
};
/* Of a plan with stages and replicas on those devices, measured by its mesh and policies. False: it
 * is not legal. */
bool strategy_build_line(const struct strategy_case *of, const struct plan *plan,
                         const uint32_t *devices, struct strategy_line *out);
/* Of the slowest device of a stage. */
double strategy_find_stage_speed(const struct strategy_line *line, uint32_t stage);
/* Layers of the plan from those of its stages. */
void strategy_set_layers(const struct strategy_case *of, struct plan *plan,
                         const struct replica_stage *stages, uint32_t count);

/* Devices that plans use. */
uint32_t strategy_count_devices(const struct strategy_case *of);
/* Devices that a server holds: the innermost level that joins several; of a graph, the largest
 * divisor of the devices up to 8. */
uint32_t strategy_count_server(const struct strategy_case *of);
/* Devices of the domains of the outermost level but one: those that the slowest network joins. */
uint32_t strategy_count_island(const struct strategy_case *of);
/* Devices by kind, `fastest_first` or last, kinds in their first order where equal. */
uint32_t *strategy_sort_kinds(const struct strategy_case *of, bool fastest_first);
/* Per micro-batch 1, 2, 4, ... up to 8 of those that divide a replica's share of the batch, their
 * number. */
#define STRATEGY_MICRO_MAX 4u
uint32_t strategy_list_micro(const struct strategy_case *of, uint32_t replicas,
                             uint32_t out[STRATEGY_MICRO_MAX]);

#endif

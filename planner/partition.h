/* Layers onto stages, exactly. */
#ifndef SHARDPLAN_PLANNER_PARTITION_H
#define SHARDPLAN_PLANNER_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* A chain of `layers` goes to `stages` stages in order, at least `least` layers each. For a step
 * of m micro-batches the objective is sum(t) + (m - 1) max(t). Where the sum is the same for all
 * partitions the smallest bottleneck is the optimum: when a layer costs the same on every stage
 * and wherever in its stage it sits. Where stages differ in speed the sum counts, with `weight`
 * m - 1 (like layers only). Where the first layers of each chunk are recomputed and some chunk may
 * have fewer than those, the sums differ too: the objective is above its optimum by that
 * difference at most. stage_s must not decrease, fits must not become true as layers are added at a
 * stage's end; in front they may: what is computed again moves on by one there, so that with more
 * layers a stage may take less. Then range_s, which must not decrease either way, keeps the search
 * of unlike layers exact. */
struct partition_problem {
    uint32_t stages, layers, least;
    double floor_s;             /* no partition has a smaller bottleneck (0 will do, only slower) */
    bool weighs;                /* the sum counts too: */
    double weight;              /* of the bottleneck against it */
    double ceiling_s;           /* of unlike layers: larger ones are of no interest; 0: all are */
    bool alike;                 /* stage_s and fits do not look at `first` */
    /* Seconds of layers first .. first+count-1 on a stage, its fixed extras included. */
    double (*stage_s)(void *state, uint32_t stage, uint32_t first, uint32_t count);
    double (*range_s)(void *state, uint32_t stage, uint32_t first, uint32_t count);     /* never
                                                 * above stage_s; NULL: stage_s itself */
    bool (*fits)(void *state, uint32_t stage, uint32_t first, uint32_t count);   /* NULL: always */
    void *state;
};

/* Smallest bottleneck, or least weighted objective; of equal ones that which fills stages from the
 * last. counts:
 * per stage. False when no partition fits (within the ceiling). The arena is scratch. */
bool partition_find(const struct partition_problem *problem, struct arena *arena, uint32_t *counts,
                    double *bottleneck_s);

/* partition_weighted.c: from the counts of the smallest bottleneck to those of the least weighted
 * objective. Like layers. */
void partition_weigh(const struct partition_problem *problem, struct arena *arena,
                     uint32_t *counts);
/* partition_climb.c: from those counts on, layer by layer to a smaller max over the stages of what
 * runs before the stage once, and in it for every micro-batch. False: none is smaller. */
bool partition_climb(const struct partition_problem *problem, uint32_t *counts);

/* Told of one partition, counts per stage; false ends the walk. */
struct partition_visitor {
    double most_s;              /* no stage takes longer; may fall while the walk lasts */
    /* What passes at a stage before one behind it may begin or after that has ended, as a share of
     * the times that most_s is for; NULL: nothing. With it a stage takes no longer than what is
     * left. */
    double (*pass_s)(void *state, uint32_t stage, uint32_t first, uint32_t count);
    double most_ways;           /* with more partitions within that time none is told of */
    bool (*visit)(void *state, const uint32_t *counts);
    void *state;
};
/* partition_each.c: every partition that fits, first stages short ones first. False: there are too
 * many, or the visitor ended it. The arena is scratch. */
bool partition_each(const struct partition_problem *problem,
                    const struct partition_visitor *visitor, struct arena *arena);

#endif

/* Layers onto stages, exactly. */
#ifndef SHARDPLAN_PLANNER_PARTITION_H
#define SHARDPLAN_PLANNER_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

/* A chain of `layers` goes to `stages` stages in order, at least `least` layers each. For a step of m micro-batches the
 * objective is sum(t) + (m - 1) max(t); the sum does not depend on the partition when every layer costs the same
 * wherever it is, so the smallest bottleneck is the optimum. stage_s and fits must not decrease / not become true as
 * layers are added to a stage. */
struct partition_problem {
    uint32_t stages, layers, least;
    double floor_s;             /* no partition has a smaller bottleneck (0 will do, only slower) */
    /* Seconds of layers first .. first+count-1 on a stage, its fixed extras included. */
    double (*stage_s)(void *state, uint32_t stage, uint32_t first, uint32_t count);
    bool (*fits)(void *state, uint32_t stage, uint32_t first, uint32_t count);   /* NULL: always */
    void *state;
};

/* Smallest bottleneck; among those partitions the one that fills stages from the last. counts: per stage. False when no
 * partition fits. */
bool partition_find(const struct partition_problem *problem, uint32_t *counts, double *bottleneck_s);

#endif

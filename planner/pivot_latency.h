/* How long a pipeline takes by DAPPLE's closed form (PPoPP 2021, arXiv 2007.01045): from the stage
 * that is never idle between its micro-batches. */
#ifndef SHARDPLAN_PLANNER_PIVOT_LATENCY_H
#define SHARDPLAN_PLANNER_PIVOT_LATENCY_H

#include "planner/replica_partition.h"

struct pivot_latency {
    double pipeline_s;      /* until the last backward of the stage with the latest sum begins it */
    double total_s;         /* its sum too */
};

/* Joints count as stages without a sum. Equal to 1F1B of balanced stages without joints, else a
 * little low (of random pipelines by 1 to 2.5 % at the median, 23.5 % at most), never high. */
void pivot_latency_find(const struct replica_times *times, uint32_t micro_batches,
                        struct pivot_latency *out);

#endif

/* In which order do stages and the joints between them take the blocks of the micro-batches? The
 * execution planner PE of SPP (INFOCOM 2022), with bounds that hold of it. */
#ifndef SHARDPLAN_PLANNER_BLOCK_ORDER_H
#define SHARDPLAN_PLANNER_BLOCK_ORDER_H

#include "planner/replica_partition.h"

/* A micro-batch is a chain of 4 stages - 3 blocks: forward and joint by turns to the last stage,
 * forward and backward in one there, and back; a stage or a joint does one block at a time. */
enum block_rule {
    BLOCK_CYCLIC,       /* by micro-batch + place in the chain: one window per bottleneck period */
    BLOCK_FURTHEST,     /* whatever is ready, the furthest along its chain first */
    BLOCK_OLDEST,       /* whatever is ready, the oldest micro-batch first */
    BLOCK_RULE_COUNT
};

/* Until all stages have summed their gradients, each after its last backward. */
double block_order_run(const struct replica_times *times, uint32_t micro_batches,
                       enum block_rule rule, struct arena *arena);
/* The best of the rules. */
double block_order_find(const struct replica_times *times, uint32_t micro_batches,
                        struct arena *arena);
/* No order takes less: a stage's head, its micro-batches, then its sum or its tail with the first
 * stage's sum. */
double block_order_least_s(const struct replica_times *times, uint32_t micro_batches);
/* The cyclic order takes no more: max over stages n from 1 of (M + 4N - 2n - 2) C + its sum, where
 * C is the longest of F + B and of a joint both ways. In window w, as long as C, a stage has one
 * forward and one backward of different micro-batches at most; its last backward is block 4N - 3 -
 * 2 (n - 1) of the last micro-batch. */
double block_order_most_s(const struct replica_times *times, uint32_t micro_batches);

#endif

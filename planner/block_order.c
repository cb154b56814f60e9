/* Blocks are placed one by one, each at the later of its resource and its predecessor. */
#include "planner/block_order.h"

#include "base/number.h"

struct blocks {
    const struct replica_times *times;
    uint32_t micro_batches, chain; /* blocks of a micro-batch */
    double *free_s;                /* [resource]: stages and joints by turns */
    double *ready_s;               /* [micro-batch]: its last block's end */
    uint32_t *next;                /* [micro-batch]: its next block */
    double *backward_end_s;        /* [stage] */
};

/* Stage n is resource 2 n, the joint behind it 2 n + 1. */
static uint32_t resource_of(const struct blocks *blocks, uint32_t block)
{
    const uint32_t turn = (blocks->chain - 1) / 2;
    return block <= turn ? block : 2 * turn - block;
}

static double block_s(const struct blocks *blocks, uint32_t block)
{
    const struct replica_times *times = blocks->times;
    const uint32_t turn = (blocks->chain - 1) / 2, resource = resource_of(blocks, block);
    if (block == turn) {
        return times->forward_s[times->stages - 1] + times->backward_s[times->stages - 1];
    }
    if (resource % 2 == 0) {
        return block < turn ? times->forward_s[resource / 2] : times->backward_s[resource / 2];
    }
    return block < turn ? times->send_s[resource / 2] : times->send_back_s[resource / 2];
}

static double start_s(const struct blocks *blocks, uint32_t micro_batch)
{
    const uint32_t resource = resource_of(blocks, blocks->next[micro_batch]);
    return number_larger(blocks->free_s[resource], blocks->ready_s[micro_batch]);
}

static void place(struct blocks *blocks, uint32_t micro_batch)
{
    const uint32_t block = blocks->next[micro_batch]++;
    const uint32_t resource = resource_of(blocks, block), turn = (blocks->chain - 1) / 2;
    const double end_s = number_larger(blocks->free_s[resource], blocks->ready_s[micro_batch]) +
                         block_s(blocks, block);
    blocks->free_s[resource] = blocks->ready_s[micro_batch] = end_s;
    if (block >= turn && resource % 2 == 0) {
        blocks->backward_end_s[resource / 2] = end_s;
    }
}

/* Windows in turn; in a window the smaller micro-batch first. */
static void run_cyclic(struct blocks *blocks)
{
    for (uint32_t window = 0; window < blocks->micro_batches + blocks->chain - 1; window++) {
        for (uint32_t m = 0; m < blocks->micro_batches && m <= window; m++) {
            if (window - m < blocks->chain) {
                place(blocks, m);
            }
        }
    }
}

/* The block that can start first; of those the one that the rule prefers, so that no resource waits
 * for what comes later. */
static uint32_t pick(const struct blocks *blocks, enum block_rule rule)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t m = 0; m < blocks->micro_batches; m++) {
        if (blocks->next[m] == blocks->chain) {
            continue;
        }
        const double at_s = start_s(blocks, m);
        const double best_s = best == UINT32_MAX ? 0.0 : start_s(blocks, best);
        if (best == UINT32_MAX || at_s < best_s ||
            (at_s == best_s && rule == BLOCK_FURTHEST && blocks->next[m] > blocks->next[best])) {
            best = m;
        }
    }
    return best;
}

static void run_greedy(struct blocks *blocks, enum block_rule rule)
{
    for (uint32_t m = pick(blocks, rule); m != UINT32_MAX; m = pick(blocks, rule)) {
        place(blocks, m);
    }
}

double block_order_run(const struct replica_times *times, uint32_t micro_batches,
                       enum block_rule rule, struct arena *arena)
{
    const struct arena_mark mark = arena_find_mark(arena);
    struct blocks blocks = {.times = times,
                            .micro_batches = micro_batches,
                            .chain = 4 * times->stages - 3,
                            .free_s = ARENA_PUSH(arena, double, 2 * times->stages),
                            .ready_s = ARENA_PUSH(arena, double, micro_batches),
                            .next = ARENA_PUSH(arena, uint32_t, micro_batches),
                            .backward_end_s = ARENA_PUSH(arena, double, times->stages)};
    double end_s = 0.0;
    if (rule == BLOCK_CYCLIC) {
        run_cyclic(&blocks);
    } else {
        run_greedy(&blocks, rule);
    }
    for (uint32_t i = 0; i < times->stages; i++) {
        end_s = number_larger(end_s, blocks.backward_end_s[i] + times->sum_s[i]);
    }
    arena_pop(arena, mark);
    return end_s;
}

/* Greedy orders look at every micro-batch for every block. */
#define GREEDY_LOOKS_MAX 4000000u

double block_order_find(const struct replica_times *times, uint32_t micro_batches,
                        struct arena *arena)
{
    double best_s = block_order_run(times, micro_batches, BLOCK_CYCLIC, arena);
    const uint64_t looks = (uint64_t)micro_batches * micro_batches * times->stages * 4;
    for (uint32_t rule = BLOCK_FURTHEST; rule < BLOCK_RULE_COUNT && looks <= GREEDY_LOOKS_MAX;
         rule++) {
        best_s = number_smaller(
            best_s, block_order_run(times, micro_batches, (enum block_rule)rule, arena));
    }
    return best_s;
}

double block_order_least_s(const struct replica_times *times, uint32_t micro_batches)
{
    double least_s = 0.0, head_s = 0.0, tail_s = 0.0;
    for (uint32_t i = 0; i < times->stages; i++) {
        const double own_s = micro_batches * (times->forward_s[i] + times->backward_s[i]);
        const double after_s = number_larger(times->sum_s[i], tail_s + times->sum_s[0]);
        least_s = number_larger(least_s, head_s + own_s + after_s);
        if (i + 1 < times->stages) {
            head_s += times->forward_s[i] + times->send_s[i];
            tail_s += times->backward_s[i] + times->send_back_s[i];
        }
    }
    return least_s;
}

double block_order_most_s(const struct replica_times *times, uint32_t micro_batches)
{
    const uint32_t stages = times->stages;
    double period_s = 0.0, most_s = 0.0;
    for (uint32_t i = 0; i < stages; i++) {
        period_s = number_larger(period_s, times->forward_s[i] + times->backward_s[i]);
        if (i + 1 < stages) {
            period_s = number_larger(period_s, times->send_s[i] + times->send_back_s[i]);
        }
    }
    for (uint32_t i = 0; i < stages; i++) {
        most_s = number_larger(most_s, (micro_batches + 4 * stages - 2 * (i + 1) - 2) * period_s +
                                           times->sum_s[i]);
    }
    return most_s;
}

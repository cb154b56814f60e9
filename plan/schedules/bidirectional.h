/* The eight phases of a stage that is fed from two ends, forwards of one side overlapped with
 * backwards of the other (DeepSeek-AI 2024, DualPipe, and its one-copy form). */
#ifndef SHARDPLAN_PLAN_SCHEDULES_BIDIRECTIONAL_H
#define SHARDPLAN_PLAN_SCHEDULES_BIDIRECTIONAL_H

#include "plan/schedule.h"

/* The stage lies `rank` steps from the near end, `ranks` of them lead to the middle; each of its
 * two chunks runs `total` micro-batches, numbered from first[chunk]. Sides: 0 is the chunk that
 * the near end feeds. */
struct bidirectional {
    uint32_t rank, ranks, total;
    uint32_t chunk_of[2], first[2];
    struct slot *out;
    uint32_t count;
    uint32_t forwards[2], backwards[2]; /* [side] done so far */
    uint32_t splits, weights;           /* input gradients and weight gradients done so far */
    uint32_t oldest;                    /* in out: from here on look for the next to be finished */
};

static inline void bidirectional_push(struct bidirectional *order, enum slot_kind kind,
                                      uint32_t side, uint32_t index)
{
    const uint32_t chunk = order->chunk_of[side];
    order->out[order->count++] =
        (struct slot){.kind = kind, .micro_batch = order->first[chunk] + index, .chunk = chunk};
}

static inline void bidirectional_forward(struct bidirectional *order, uint32_t side)
{
    bidirectional_push(order, SLOT_FORWARD, side, order->forwards[side]++);
}

static inline void bidirectional_backward(struct bidirectional *order, uint32_t side, bool split)
{
    bidirectional_push(order, split ? SLOT_INPUT_GRADIENT : SLOT_BACKWARD, side,
                       order->backwards[side]++);
    order->splits += split;
}

/* The weight gradient that has been due for longest. */
static inline void bidirectional_weight(struct bidirectional *order)
{
    while (order->out[order->oldest].kind != SLOT_INPUT_GRADIENT) {
        order->oldest++;
    }
    order->out[order->count] = order->out[order->oldest++];
    order->out[order->count++].kind = SLOT_WEIGHT_GRADIENT;
    order->weights++;
}

static inline void bidirectional_pair(struct bidirectional *order, uint32_t side)
{
    bidirectional_forward(order, side);
    order->out[order->count - 1].paired = true;
    bidirectional_backward(order, 1 - side, false);
}

/* Up to where forwards and backwards alternate. */
static inline void bidirectional_warm_up(struct bidirectional *order)
{
    const uint32_t after = order->ranks - order->rank - 1;
    for (uint32_t i = 0; i < 2 * after; i++) {
        bidirectional_forward(order, 0);
    }
    for (uint32_t i = 0; i < order->rank + 1; i++) {
        bidirectional_forward(order, 0);
        bidirectional_forward(order, 1);
    }
    for (uint32_t i = 0; i < after; i++) {
        bidirectional_backward(order, 1, true);
        bidirectional_weight(order);
        bidirectional_forward(order, 1);
    }
}

/* In the middle the first forward does not wait for a backward to share its time with. */
static inline void bidirectional_steady(struct bidirectional *order)
{
    const uint32_t after = order->ranks - order->rank - 1;
    const uint32_t rounds = order->total - 2 * order->ranks + order->rank + 1;
    for (uint32_t i = 0; i < rounds; i++) {
        if (i == 0 && after == 0) {
            bidirectional_forward(order, 0);
            bidirectional_backward(order, 1, false);
        } else {
            bidirectional_pair(order, 0);
        }
        bidirectional_pair(order, 1);
    }
    for (uint32_t i = 0; i < after; i++) {
        bidirectional_backward(order, 1, false);
        bidirectional_pair(order, 1);
    }
}

/* The second half of the last backwards is split, so that others need not wait for it. */
static inline void bidirectional_cool_down(struct bidirectional *order)
{
    const uint32_t after = order->ranks - order->rank - 1, rounds = order->rank + 1;
    const bool odd = order->rank % 2 == 1;
    for (uint32_t i = 0; i < rounds; i++) {
        const bool begins = i == rounds / 2;
        bidirectional_backward(order, 1, i > rounds / 2 || (begins && odd));
        bidirectional_backward(order, 0, i > rounds / 2 || begins);
    }
    for (uint32_t i = 0; i < after; i++) {
        bidirectional_weight(order);
        bidirectional_backward(order, 0, true);
    }
    while (order->weights < order->splits) {
        bidirectional_weight(order);
    }
}

/* The stage's slots; total must be at least 2 * ranks. Their number. */
static inline uint32_t bidirectional_order(struct bidirectional *order)
{
    bidirectional_warm_up(order);
    bidirectional_steady(order);
    bidirectional_cool_down(order);
    return order->count;
}

#endif

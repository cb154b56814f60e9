/* A block's list of work as bars: a kernel with the messages that travel under it, or a message
 * that is waited for. */
#ifndef SHARDPLAN_SIM_SCRIPT_H
#define SHARDPLAN_SIM_SCRIPT_H

#include "plan/estimator.h"
#include "prices/prices.h"
#include "sim/lump.h"

#define BAR_MOVE_MAX 8
/* Per kind of weights a gather, a sum, two copies; what a layer keeps. */
#define UNDER_MOVE_MAX (4 * WORK_WEIGHTS_MAX + 1)

struct move {
    const struct lump_list *lumps;
    double share;   /* of the message: 1 / period */
    double seconds; /* alone, times the share */
    const struct work_message *message;
};

struct bar {
    const char *name;
    bool is_kernel, is_weight; /* weight: part of a weight gradient */
    enum cost cost;            /* of the kernel */
    double kernel_s;
    uint32_t pieces; /* in which kernel and moves feed each other, >= 1 */
    struct move moves[BAR_MOVE_MAX];
    uint32_t move_count;
};

struct script {
    struct bar *bars;
    uint32_t bar_count;
    struct move under[UNDER_MOVE_MAX]; /* that travel under all of it */
    uint32_t under_count;
    double host_s;    /* that launching all of it takes */
    double loss_frac; /* of the shorter of compute and messages that run at once */
};

/* Where a list of work runs: on the devices of a site. */
struct script_place {
    struct lump_book *book;
    const struct prices *prices;
    const struct work *work;
    uint32_t site;
};

/* Between the groups that stand for the site's: the slowest of them. */
struct move script_find_move(const struct script_place *place, const struct work_message *message);
void script_build(const struct script_place *place, const struct work_items *list,
                  struct arena *arena, struct script *out);

#endif

/* Seconds of one collective alone on an idle cluster, from the prices of its messages. */
#ifndef SHARDPLAN_COSTMODEL_COLLECTIVE_COST_H
#define SHARDPLAN_COSTMODEL_COLLECTIVE_COST_H

#include "costmodel/collective_book.h"
#include "prices/prices.h"

/* Largest group that an algorithm of `ranks` sends per round is considered for without being asked
 * for by name. */
#define COLLECTIVE_DENSE_RANKS 128

struct collective_request {
    const struct cluster *cluster;
    const struct prices *prices;
    enum collective_kind kind;
    const struct rank_group *group;
    uint32_t base; /* device of rank 0 */
    double bytes;
    struct rank_crowd crowd;
    const struct collective *member; /* NULL: the cheapest that accepts the group */
};

struct collective_choice {
    const struct collective *member; /* NULL: none accepts the group */
    uint32_t protocol, pipeline;
    double seconds;
};

/* Cheapest member, protocol, pipelining; ties go to the earlier member, protocol, smaller pipeline.
 * A group of one rank takes no time. */
struct collective_choice collective_cost_find(struct collective_book *book,
                                              const struct collective_request *request);

#endif

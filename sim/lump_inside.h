/* What lump_look.c tells lump.c; nobody else includes it. */
#ifndef SHARDPLAN_SIM_LUMP_INSIDE_H
#define SHARDPLAN_SIM_LUMP_INSIDE_H

#include "plan/collective_group.h"
#include "sim/lump.h"

/* Messages of a round with the same terms. */
struct sort {
    uint32_t level;
    enum collective_kind kind;
    const struct link_kind *link;
    double latency_s;
    double shared_Bps;              /* of the way, shared with the round's other messages */
    double alone_Bps;               /* not shared */
    double port_Bps;                /* what the sender can send in all, there */
    double bytes_frac;
    double messages;                /* such at once on the ports of the busiest rank */
    bool in_network;
};

struct stretch {
    uint32_t repeat, sort_count, sort_capacity;
    struct sort *sorts;
};

/* What a member does on a group, whatever the size. */
struct survey {
    struct survey *next;
    unsigned long long key;
    const struct collective *member;
    struct collective_group shape;
    bool is_usable;
    double base_s;
    uint32_t protocol_count, stretch_count, stretch_capacity;
    struct stretch *stretches;
};

struct lump_look_request {
    const struct cluster *cluster;
    const struct prices *prices;
    enum collective_kind kind;
    const struct rank_group *group;
    uint32_t base;                  /* place of rank 0 */
    struct rank_crowd crowd;
    const double *port_Bps;         /* graphs: [device] sum of its links; else NULL */
    /* Only what the first so many ranks send: no round takes longer than with all of them. 0: all.
     * Not for staggered members. */
    uint32_t ranks_max;
};

/* The member takes the shape. Fills stretches, base, protocols, whether its rounds can be added
 * up at all. */
void lump_look(const struct lump_look_request *request, const struct collective *member,
               const struct collective_group *shape, struct arena *arena, struct survey *out);

#endif

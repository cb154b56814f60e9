/* Tables of messages per (nest of ranks, kind, member): what the rounds of a program send where,
 * before anything is priced. */
#ifndef SHARDPLAN_COSTMODEL_COLLECTIVE_BOOK_H
#define SHARDPLAN_COSTMODEL_COLLECTIVE_BOOK_H

#include "base/arena.h"
#include "plan/collective.h"
#include "plan/collective_group.h"

/* Messages of a round that have the same terms; the slowest decides, which one depends on size
 * and protocol. */
struct path_class {
    const char *link;
    double latency_s;
    double bandwidth_Bps; /* already shared among the round's messages over the same port */
    double alone_Bps;     /* not shared */
    double bytes_frac;    /* of the whole buffer */
    bool in_network;
};

struct collective_phase {
    uint32_t repeat;
    uint32_t class_count, class_capacity;
    struct path_class *classes;
};

/* One member's program on groups that nest alike. */
struct collective_page {
    unsigned long long key;
    struct collective_page *next;
    bool accepted;
    uint32_t phase_count, capacity;
    struct collective_phase *phases;
};

/* A group of devices: rank 0 sits on base. Messages of its crowd take their share of the links
 * where those are not the devices' own; the slowest message is that of any group like this one. */
struct collective_place {
    const struct cluster *cluster;
    const struct rank_group *group;
    uint32_t base;
    struct rank_crowd crowd;
};

/* Of one cluster; grows in its arena. */
struct collective_book;
struct collective_book *collective_book_init(struct arena *arena);

/* As collective_group_find, found once for groups that nest alike. */
struct collective_group collective_book_find_group(struct collective_book *book,
                                                   const struct collective_place *place);
/* A member's program: shape.pipeline says in how many pieces. */
struct collective_topic {
    const struct collective_place *place;
    enum collective_kind kind;
    const struct collective *member;
    struct collective_group shape;
    /* Only what the first so many ranks send: no round takes longer than with all of them. 0: all.
     * Not for staggered members. */
    uint32_t ranks_max;
};
/* Holds as long as the book. */
const struct collective_page *collective_book_find_page(struct collective_book *book,
                                                        const struct collective_topic *topic);

#endif

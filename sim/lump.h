/* A collective as one device of it sees it: a few flows one after another, on its ports of some
 * levels.
 *
 * A step is simulated with one device for each stage, so a collective is not run rank by rank.
 * Rounds that are alike are one flow of as many times the bytes and the latency, with the terms
 * of the slowest message of a round; alone it takes what the collective takes alone. Messages
 * that the busiest rank sends at once are one flow of their bytes together: ports are shared
 * between streams of a device, not between a collective's own messages. */
#ifndef SHARDPLAN_SIM_LUMP_H
#define SHARDPLAN_SIM_LUMP_H

#include "plan/collective.h"
#include "plan/rank_group.h"
#include "prices/prices.h"

struct lump {
    uint32_t level; /* level_count for graphs */
    double latency_s;
    double bytes;    /* of all messages that a rank sends at once */
    double cap_Bps;  /* their rate alone; finite, above 0 */
    double weight;   /* bytes of the ports' capacity per byte */
    double port_Bps; /* what the sender can send in all, at that level */
};

struct lump_list {
    const struct collective *member; /* NULL: nothing is sent */
    uint32_t protocol, pipeline;
    double seconds; /* alone on an idle cluster */
    uint32_t count;
    const struct lump *lumps;
};

struct lump_book;
struct lump_book *lump_book_init(const struct cluster *cluster, const struct prices *prices,
                                 struct arena *arena);
/* A group of ranks, the first on place `base`, that exchanges bytes. */
struct lump_request {
    enum collective_kind kind;
    const struct rank_group *group;
    uint32_t base;
    double bytes;
    struct rank_crowd crowd; /* all its groups take their share of links that are nobody's own */
};

/* Cheapest member, pipelining and protocol for so many bytes. Kept in the book. */
const struct lump_list *lump_find(struct lump_book *book, const struct lump_request *request);
/* One message between two devices, different ones, under the cheapest protocol. Not kept. */
/* Is a way between the devices as wide as the narrower of their ports? */
bool lump_is_port_wide(const struct lump_book *book, uint32_t from, uint32_t to);
struct lump lump_find_pair(const struct lump_book *book, uint32_t from, uint32_t to, double bytes);

#endif

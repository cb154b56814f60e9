/* How fast flows go that share resources: max-min fair.
 *
 * A flow goes over a set of resources at one rate; per byte it takes `weight` bytes of capacity on
 * each (a protocol that reaches a share f of the bandwidth has weight 1 / f; one that stands for n
 * like flows has n times that). No flow goes faster than its cap. Rates are max-min fair: a flow is
 * at its cap, or has a resource that is full on which no other flow goes faster. */
#ifndef SHARDPLAN_SIM_SHARE_H
#define SHARDPLAN_SIM_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/heap.h"

struct share_flow {
    /* Different ones; must outlive the flow. Flows with the same pointer, count, weight and cap are
     * known to be alike, which makes them cheap. */
    const uint32_t *resources;
    uint32_t resource_count;
    double weight, cap_Bps; /* cap: finite, above 0 */
    double bytes;
    uint32_t owner;         /* the caller's */
};

struct share_item;
struct share_class;
struct share_group;
struct share_fill;
struct share_resource;
struct share_end;

struct share {
    struct arena *arena;
    double ticks_per_s;
    struct share_item *items;      /* flows */
    struct share_class *classes;   /* flows that are alike */
    struct share_group *alone;     /* groups of one class */
    struct share_resource *resources;
    struct share_fill *fills;      /* [resource] */
    uint32_t item_count, item_capacity, free_item;
    uint32_t class_count, class_capacity, free_class;
    uint32_t alone_count, alone_capacity;
    uint32_t resource_count, resource_capacity, fill_capacity;
    uint32_t *places; /* of classes among the guests of their resources */
    uint32_t place_count, place_capacity;
    uint32_t *table; /* of classes in use, by what makes flows alike; chains */
    uint32_t table_size, kept_class_count, idle_class_count; /* idle: without flows */
    uint32_t *dirty; /* resources whose rates are to be found anew */
    uint32_t dirty_count, dirty_capacity;
    struct share_end *ends; /* of groups, the first first: a heap */
    uint32_t end_count, end_capacity;
    uint32_t *ended;
    uint32_t ended_capacity;
    struct heap heap;
    double restart_Bps; /* flows slower than this keep their rate at the next solve */
    bool has_changed;   /* flows came or went since the last solve */
    uint32_t sequence;  /* of the next flow */
    uint64_t solves;
};

void share_init(struct share *share, double ticks_per_s, struct arena *arena);
/* Returns its number: 0, 1, ... */
uint32_t share_push_resource(struct share *share, double capacity_Bps);
/* A flow under way from now on; its rate comes with the next solve. */
void share_push_flow(struct share *share, const struct share_flow *flow, uint64_t now_ticks);
/* Is there anything to solve? */
bool share_is_dirty(const struct share *share);
/* New rates of all that those that came or went can change. */
void share_solve(struct share *share, uint64_t now_ticks);
/* When the next flows end, if no rates change before: rounded half up; UINT64_MAX: there are none.
 * Above UINT64_MAX / 2: later than can be counted. */
uint64_t share_find_end(const struct share *share);
/* The instant has come: takes out the flows that end by it; their owners, in the share until the
 * next call. */
uint32_t share_pop_ended(struct share *share, uint64_t now_ticks, const uint32_t **owners);
/* Are the rates max-min fair? After a solve; looks at all flows and resources. */
bool share_check(const struct share *share);
/* Rate of the flows of this owner; 0 if there is none. For tests: looks at all. */
double share_find_rate(const struct share *share, uint32_t owner);

#endif

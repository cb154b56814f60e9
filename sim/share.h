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
    const uint32_t *resources; /* different ones; must outlive the flow */
    uint32_t resource_count;
    double weight, cap_Bps;    /* cap: finite, above 0 */
    double left_bytes, rate_Bps; /* as of since_ticks */
    uint64_t since_ticks;
    uint32_t version;          /* changes with the rate */
    uint32_t owner;            /* the caller's */
    /* share.c's */
    uint32_t first_link, next_free;
    bool is_frozen, is_seen;
};

struct share_link;
struct share_resource;

struct share {
    struct arena *arena;
    struct share_flow *flows;
    struct share_link *links;
    struct share_resource *resources;
    uint32_t flow_count, flow_capacity, free_flow;
    uint32_t link_count, link_capacity, free_link;
    uint32_t resource_count, resource_capacity;
    struct heap heap;
    uint32_t *dirty; /* resources whose flows changed since the last solve */
    uint32_t dirty_count;
    uint32_t *changed; /* flows whose rate the last solve changed */
    uint32_t changed_count, changed_capacity;
    double ticks_per_s;
    uint64_t solves;
};

void share_init(struct share *share, double ticks_per_s, struct arena *arena);
/* Returns its number: 0, 1, ... */
uint32_t share_push_resource(struct share *share, double capacity_Bps);
/* A flow under way from now on; its rate comes with the next solve. The slot's number; valid until
 * the next push. */
uint32_t share_push_flow(struct share *share, const struct share_flow *flow, uint64_t now_ticks);
void share_pop_flow(struct share *share, uint32_t flow);
/* Is there anything to solve? */
bool share_is_dirty(const struct share *share);
/* New rates of all flows that share resources, directly or through others, with those that came or
 * went. */
void share_solve(struct share *share, uint64_t now_ticks);
/* Ticks until the flow ends at its present rate, rounded half up. */
double share_find_ticks(const struct share *share, uint32_t flow);

#endif

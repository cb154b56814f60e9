/* Progressive filling: all rates rise together until a resource is full or a cap is reached; who is
 * stopped stays. */
#include "sim/share.h"

#include <assert.h>
#include <string.h>

#define NONE UINT32_MAX
/* Entries of the heap: resources by number, flows that may reach their cap above. */
#define IS_FLOW 0x80000000u
/* Sums of rates are as good as this, relative. */
#define SLACK_FRAC 1e-9

/* A flow on a resource. */
struct share_link {
    uint32_t flow, resource;
    uint32_t next, previous; /* on the resource */
    uint32_t next_of_flow;   /* or next free */
};

struct share_resource {
    double capacity_Bps;
    double taken_Bps;     /* by flows that have stopped rising */
    double rising_weight; /* of those that have not */
    uint32_t rising_count;
    uint32_t first_link, flow_count;
    bool is_dirty;
};

void share_init(struct share *share, double ticks_per_s, struct arena *arena)
{
    memset(share, 0, sizeof *share);
    share->arena = arena;
    share->ticks_per_s = ticks_per_s;
    share->flow_capacity = share->link_capacity = share->resource_capacity = 64;
    share->changed_capacity = 64;
    share->flows = ARENA_PUSH(arena, struct share_flow, share->flow_capacity);
    share->links = ARENA_PUSH(arena, struct share_link, share->link_capacity);
    share->resources = ARENA_PUSH(arena, struct share_resource, share->resource_capacity);
    share->dirty = ARENA_PUSH(arena, uint32_t, share->resource_capacity);
    share->changed = ARENA_PUSH(arena, uint32_t, share->changed_capacity);
    share->free_flow = share->free_link = NONE;
    heap_init(&share->heap, arena, 64);
}

static void *grow(struct share *share, void *items, uint32_t *capacity, size_t size_bytes)
{
    void *grown = arena_push(share->arena, (size_t)2 * *capacity, size_bytes);
    memcpy(grown, items, *capacity * size_bytes);
    *capacity *= 2;
    return grown;
}

uint32_t share_push_resource(struct share *share, double capacity_Bps)
{
    assert(capacity_Bps > 0.0);
    if (share->resource_count == share->resource_capacity) {
        uint32_t capacity = share->resource_capacity;
        share->dirty = grow(share, share->dirty, &capacity, sizeof *share->dirty);
        share->resources =
            grow(share, share->resources, &share->resource_capacity, sizeof *share->resources);
    }
    share->resources[share->resource_count] =
        (struct share_resource){.capacity_Bps = capacity_Bps, .first_link = NONE};
    return share->resource_count++;
}

/* --- who is where ----------------------------------------------------------------------------- */

static void mark_dirty(struct share *share, uint32_t resource)
{
    if (!share->resources[resource].is_dirty) {
        share->resources[resource].is_dirty = true;
        share->dirty[share->dirty_count++] = resource;
    }
}

static void mark_changed(struct share *share, uint32_t flow)
{
    if (share->changed_count == share->changed_capacity) {
        share->changed =
            grow(share, share->changed, &share->changed_capacity, sizeof *share->changed);
    }
    share->changed[share->changed_count++] = flow;
}

static uint32_t new_flow(struct share *share)
{
    if (share->free_flow != NONE) {
        const uint32_t flow = share->free_flow;
        share->free_flow = share->flows[flow].next_free;
        return flow;
    }
    if (share->flow_count == share->flow_capacity) {
        share->flows = grow(share, share->flows, &share->flow_capacity, sizeof *share->flows);
    }
    share->flows[share->flow_count].version = 0;
    return share->flow_count++;
}

static uint32_t new_link(struct share *share)
{
    if (share->free_link != NONE) {
        const uint32_t link = share->free_link;
        share->free_link = share->links[link].next_of_flow;
        return link;
    }
    if (share->link_count == share->link_capacity) {
        share->links = grow(share, share->links, &share->link_capacity, sizeof *share->links);
    }
    return share->link_count++;
}

static void push_link(struct share *share, uint32_t flow, uint32_t resource)
{
    assert(resource < share->resource_count);
    const uint32_t link = new_link(share);
    struct share_resource *where = &share->resources[resource];
    share->links[link] =
        (struct share_link){flow, resource, where->first_link, NONE, share->flows[flow].first_link};
    if (where->first_link != NONE) {
        share->links[where->first_link].previous = link;
    }
    where->first_link = link;
    where->flow_count++;
    share->flows[flow].first_link = link;
    mark_dirty(share, resource);
}

uint32_t share_push_flow(struct share *share, const struct share_flow *flow, uint64_t now_ticks)
{
    assert(flow->cap_Bps > 0.0 && flow->weight > 0.0 && flow->left_bytes >= 0.0);
    const uint32_t index = new_flow(share);
    const uint32_t version = share->flows[index].version + 1;
    share->flows[index] = *flow;
    struct share_flow *pushed = &share->flows[index];
    pushed->version = version;
    pushed->since_ticks = now_ticks;
    pushed->rate_Bps = 0.0;
    pushed->first_link = NONE;
    pushed->is_frozen = pushed->is_seen = false;
    if (flow->resource_count == 0) {
        pushed->rate_Bps = flow->cap_Bps;
        mark_changed(share, index);
    }
    for (uint32_t i = 0; i < flow->resource_count; i++) {
        push_link(share, index, flow->resources[i]);
    }
    return index;
}

void share_pop_flow(struct share *share, uint32_t flow)
{
    assert(flow < share->flow_count);
    struct share_flow *popped = &share->flows[flow];
    for (uint32_t link = popped->first_link; link != NONE;) {
        struct share_link *which = &share->links[link];
        const uint32_t next_of_flow = which->next_of_flow;
        struct share_resource *where = &share->resources[which->resource];
        if (which->previous == NONE) {
            where->first_link = which->next;
        } else {
            share->links[which->previous].next = which->next;
        }
        if (which->next != NONE) {
            share->links[which->next].previous = which->previous;
        }
        where->flow_count--;
        mark_dirty(share, which->resource);
        which->next_of_flow = share->free_link;
        share->free_link = link;
        link = next_of_flow;
    }
    popped->version++;
    popped->next_free = share->free_flow;
    share->free_flow = flow;
}

bool share_is_dirty(const struct share *share)
{
    return share->dirty_count > 0 || share->changed_count > 0;
}

/* --- rates ------------------------------------------------------------------------------------ */

static void set_rate(struct share *share, uint32_t flow, double rate_Bps, uint64_t now_ticks)
{
    struct share_flow *which = &share->flows[flow];
    if (which->rate_Bps == rate_Bps) {
        return;
    }
    const double passed_s = (double)(now_ticks - which->since_ticks) / share->ticks_per_s;
    const double left_bytes = which->left_bytes - which->rate_Bps * passed_s;
    which->left_bytes = left_bytes > 0.0 ? left_bytes : 0.0;
    which->since_ticks = now_ticks;
    which->rate_Bps = rate_Bps;
    which->version++;
    mark_changed(share, flow);
}

/* The dirty list grows to all resources that flows join to it: a flow that changes may change
 * others. */
static void spread(struct share *share)
{
    for (uint32_t i = 0; i < share->dirty_count; i++) {
        const uint32_t resource = share->dirty[i];
        for (uint32_t a = share->resources[resource].first_link; a != NONE;
             a = share->links[a].next) {
            struct share_flow *flow = &share->flows[share->links[a].flow];
            if (flow->is_seen) {
                continue;
            }
            flow->is_seen = true;
            flow->is_frozen = false;
            for (uint32_t b = flow->first_link; b != NONE; b = share->links[b].next_of_flow) {
                mark_dirty(share, share->links[b].resource);
            }
        }
    }
}

static uint64_t key_of(double rate_Bps)
{
    uint64_t bits;
    memcpy(&bits, &rate_Bps, sizeof bits); /* bits of positive doubles are in their order */
    return bits;
}

/* Rate at which the resource is full when all that still rise reach it. */
static double full_at(const struct share_resource *resource)
{
    const double free_Bps = resource->capacity_Bps - resource->taken_Bps;
    return free_Bps > 0.0 ? free_Bps / resource->rising_weight : 0.0;
}

static void push_rates(struct share *share)
{
    for (uint32_t i = 0; i < share->dirty_count; i++) {
        struct share_resource *resource = &share->resources[share->dirty[i]];
        resource->taken_Bps = resource->rising_weight = 0.0;
        resource->rising_count = resource->flow_count;
        for (uint32_t a = resource->first_link; a != NONE; a = share->links[a].next) {
            struct share_flow *flow = &share->flows[share->links[a].flow];
            resource->rising_weight += flow->weight;
            if (flow->is_seen) { /* once for each flow */
                flow->is_seen = false;
                heap_push(&share->heap, (struct heap_entry){key_of(flow->cap_Bps), 0,
                                                            share->links[a].flow | IS_FLOW});
            }
        }
        if (resource->first_link != NONE) {
            heap_push(&share->heap,
                      (struct heap_entry){key_of(full_at(resource)), 1, share->dirty[i]});
        }
    }
}

static void freeze(struct share *share, uint32_t flow, double rate_Bps, uint64_t now_ticks)
{
    struct share_flow *which = &share->flows[flow];
    assert(rate_Bps > 0.0);
    which->is_frozen = true;
    for (uint32_t a = which->first_link; a != NONE; a = share->links[a].next_of_flow) {
        struct share_resource *resource = &share->resources[share->links[a].resource];
        resource->taken_Bps += which->weight * rate_Bps;
        resource->rising_weight -= which->weight;
        resource->rising_count--;
    }
    set_rate(share, flow, rate_Bps, now_ticks);
}

/* Flows still rising on the resource stop at the rate at which it is full. */
static void fill(struct share *share, uint32_t resource, double rate_Bps, uint64_t now_ticks)
{
    for (uint32_t a = share->resources[resource].first_link; a != NONE; a = share->links[a].next) {
        if (!share->flows[share->links[a].flow].is_frozen) {
            freeze(share, share->links[a].flow, rate_Bps, now_ticks);
        }
    }
}

/* A resource's entry may be out of date: as flows stop, it is full at a higher rate than was
 * thought. */
static void fill_all(struct share *share, uint64_t now_ticks)
{
    struct heap_entry entry;
    while (heap_pop(&share->heap, &entry)) {
        double rate_Bps;
        memcpy(&rate_Bps, &entry.key, sizeof rate_Bps);
        if ((entry.value & IS_FLOW) != 0) {
            if (!share->flows[entry.value & ~IS_FLOW].is_frozen) {
                freeze(share, entry.value & ~IS_FLOW, rate_Bps, now_ticks);
            }
            continue;
        }
        if (share->resources[entry.value].rising_count == 0) {
            continue;
        }
        const double full_Bps = full_at(&share->resources[entry.value]);
        if (full_Bps > rate_Bps * (1.0 + 1e-14)) {
            heap_push(&share->heap, (struct heap_entry){key_of(full_Bps), 1, entry.value});
        } else {
            fill(share, entry.value, rate_Bps, now_ticks);
        }
    }
}

/* A flow alone on all its resources needs no heap. */
static bool solve_single(struct share *share, uint64_t now_ticks)
{
    uint32_t flow = NONE;
    for (uint32_t i = 0; i < share->dirty_count; i++) {
        const struct share_resource *resource = &share->resources[share->dirty[i]];
        if (resource->flow_count > 1) {
            return false;
        }
    }
    for (uint32_t i = 0; i < share->dirty_count; i++) {
        const uint32_t link = share->resources[share->dirty[i]].first_link;
        flow = link == NONE ? NONE : share->links[link].flow;
        if (flow == NONE || !share->flows[flow].is_seen) {
            continue;
        }
        struct share_flow *which = &share->flows[flow];
        double rate_Bps = which->cap_Bps;
        for (uint32_t a = which->first_link; a != NONE; a = share->links[a].next_of_flow) {
            const double most_Bps =
                share->resources[share->links[a].resource].capacity_Bps / which->weight;
            rate_Bps = most_Bps < rate_Bps ? most_Bps : rate_Bps;
        }
        which->is_seen = false;
        set_rate(share, flow, rate_Bps, now_ticks);
    }
    return true;
}

#ifndef NDEBUG
/* The certificate of max-min fairness, with the rates as they are. */
static void check_rates(struct share *share)
{
    for (uint32_t i = 0; i < share->dirty_count; i++) {
        struct share_resource *resource = &share->resources[share->dirty[i]];
        double load_Bps = 0.0, fastest_Bps = 0.0;
        for (uint32_t a = resource->first_link; a != NONE; a = share->links[a].next) {
            const struct share_flow *flow = &share->flows[share->links[a].flow];
            load_Bps += flow->rate_Bps * flow->weight;
            fastest_Bps = flow->rate_Bps > fastest_Bps ? flow->rate_Bps : fastest_Bps;
        }
        assert(load_Bps <= resource->capacity_Bps * (1.0 + SLACK_FRAC));
        resource->taken_Bps = load_Bps;
        resource->rising_weight = fastest_Bps; /* scratch between solves */
    }
    for (uint32_t i = 0; i < share->dirty_count; i++) {
        uint32_t a = share->resources[share->dirty[i]].first_link;
        for (; a != NONE; a = share->links[a].next) {
            const struct share_flow *flow = &share->flows[share->links[a].flow];
            bool is_held = flow->rate_Bps >= flow->cap_Bps * (1.0 - SLACK_FRAC);
            for (uint32_t b = flow->first_link; b != NONE; b = share->links[b].next_of_flow) {
                const struct share_resource *where = &share->resources[share->links[b].resource];
                is_held =
                    is_held || (where->taken_Bps >= where->capacity_Bps * (1.0 - SLACK_FRAC) &&
                                where->rising_weight <= flow->rate_Bps * (1.0 + SLACK_FRAC));
            }
            assert(is_held);
        }
    }
}
#endif

void share_solve(struct share *share, uint64_t now_ticks)
{
    spread(share);
    if (!solve_single(share, now_ticks)) {
        push_rates(share);
        fill_all(share, now_ticks);
#ifndef NDEBUG
        check_rates(share);
#endif
    }
    for (uint32_t i = 0; i < share->dirty_count; i++) {
        share->resources[share->dirty[i]].is_dirty = false;
    }
    share->dirty_count = 0;
    share->solves++;
}

double share_find_ticks(const struct share *share, uint32_t flow)
{
    const struct share_flow *which = &share->flows[flow];
    return which->left_bytes / which->rate_Bps * share->ticks_per_s + 0.5;
}

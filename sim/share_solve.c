/* Progressive filling: all rates rise together until a resource is full or a cap is reached; who is
 * stopped stays.
 *
 * Filling goes the same way as the last time up to the slowest rate of what came or went: one that
 * left did not matter below the rate it had; one that came will have at least an equal share of
 * each of its resources, or its cap. So flows slower than that keep their rates, and of the others
 * only those are touched that resources join to what came or went. */
#include <assert.h>
#include <string.h>

#include "sim/share_inside.h"

#define NONE SHARE_NONE
/* Entries of the heap: resources by number, classes that may reach their cap above. */
#define IS_CLASS 0x80000000u
/* Sums of rates are as good as this, relative. */
#define SLACK_FRAC 1e-9

static double rate_of(const struct share *share, const struct share_class *class)
{
    return share_find_group(share, class->group)->rate_Bps;
}

/* Flows slower than this keep their rates. */
static double find_restart(const struct share *share)
{
    double restart_Bps = share->restart_Bps;
    for (uint32_t i = 0; i < share->dirty_count; i++) {
        const struct share_resource *resource = &share->resources[share->dirty[i]];
        if (resource->has_grown && resource->class_count > 0) {
            const double equal_Bps = resource->capacity_Bps / resource->weight;
            restart_Bps = equal_Bps < restart_Bps ? equal_Bps : restart_Bps;
        }
    }
    return restart_Bps * (1.0 - SLACK_FRAC);
}

static uint64_t key_of(double rate_Bps)
{
    uint64_t bits;
    memcpy(&bits, &rate_Bps, sizeof bits); /* bits of positive doubles are in their order */
    return bits;
}

/* A cap that a whole resource cannot feed is never reached. */
static bool may_reach_cap(const struct share *share, const struct share_class *class)
{
    for (uint32_t b = class->first_link; b != NONE; b = share->links[b].next_of_class) {
        const struct share_resource *where = &share->resources[share->links[b].resource];
        if (class->cap_Bps * class->load >= where->capacity_Bps) {
            return false;
        }
    }
    return true;
}

/* The dirty list grows to all resources that rising classes join to it. */
static void spread(struct share *share)
{
    const double restart_Bps = find_restart(share);
    for (uint32_t i = 0; i < share->dirty_count; i++) {
        struct share_resource *resource = &share->resources[share->dirty[i]];
        resource->taken_Bps = resource->rising_weight = 0.0;
        resource->rising_count = 0;
        for (uint32_t a = resource->first_link; a != NONE; a = share->links[a].next) {
            struct share_class *class = &share->classes[share->links[a].class];
            if (!class->is_rising && class->group != NONE && rate_of(share, class) < restart_Bps) {
                resource->taken_Bps += class->load * rate_of(share, class);
                continue;
            }
            resource->rising_weight += class->load;
            resource->rising_count++;
            if (class->is_rising) {
                continue;
            }
            class->is_rising = true;
            if (may_reach_cap(share, class)) {
                heap_push(&share->heap, (struct heap_entry){key_of(class->cap_Bps), 0,
                                                            share->links[a].class | IS_CLASS});
            }
            for (uint32_t b = class->first_link; b != NONE; b = share->links[b].next_of_class) {
                share_mark_dirty(share, share->links[b].resource);
            }
        }
    }
}

/* Rate at which the resource is full when all that still rise reach it. */
static double full_at(const struct share_resource *resource)
{
    const double free_Bps = resource->capacity_Bps - resource->taken_Bps;
    return free_Bps > 0.0 ? free_Bps / resource->rising_weight : 0.0;
}

/* Into the group that stops it, at the group's rate. */
static void stop(struct share *share, uint32_t class, uint32_t group, double rate_Bps,
                 uint64_t now_ticks)
{
    struct share_class *which = &share->classes[class];
    assert(rate_Bps > 0.0 && which->is_rising);
    which->is_rising = false;
    for (uint32_t a = which->first_link; a != NONE; a = share->links[a].next_of_class) {
        struct share_resource *resource = &share->resources[share->links[a].resource];
        resource->taken_Bps += which->load * rate_Bps;
        resource->rising_weight -= which->load;
        resource->rising_count--;
    }
    if (which->group != group) {
        share_group_push(share, class, group, now_ticks);
    }
}

static void stop_at_cap(struct share *share, uint32_t class, uint64_t now_ticks)
{
    const double cap_Bps = share->classes[class].cap_Bps;
    share_group_set_rate(share, class | SHARE_OWN, cap_Bps, now_ticks);
    stop(share, class, class | SHARE_OWN, cap_Bps, now_ticks);
    share_group_note(share, class | SHARE_OWN);
}

/* Does no other class rise on any of its resources? Then its rate is plain. */
static bool is_alone(const struct share *share, const struct share_class *class)
{
    for (uint32_t b = class->first_link; b != NONE; b = share->links[b].next_of_class) {
        if (share->resources[share->links[b].resource].rising_count > 1) {
            return false;
        }
    }
    return true;
}

static void stop_alone(struct share *share, uint32_t class, uint64_t now_ticks)
{
    const struct share_class *which = &share->classes[class];
    double rate_Bps = which->cap_Bps;
    uint32_t group = class | SHARE_OWN;
    for (uint32_t b = which->first_link; b != NONE; b = share->links[b].next_of_class) {
        const double full_Bps = full_at(&share->resources[share->links[b].resource]);
        if (full_Bps < rate_Bps) {
            rate_Bps = full_Bps;
            group = share->links[b].resource;
        }
    }
    share_group_set_rate(share, group, rate_Bps, now_ticks);
    stop(share, class, group, rate_Bps, now_ticks);
    if ((group & SHARE_OWN) != 0) {
        share_group_note(share, group);
    }
}

static void push_rates(struct share *share, uint64_t now_ticks)
{
    for (uint32_t i = 0; i < share->dirty_count; i++) {
        const uint32_t link = share->resources[share->dirty[i]].first_link;
        const uint32_t class = link == NONE ? NONE : share->links[link].class;
        if (class != NONE && share->classes[class].is_rising &&
            is_alone(share, &share->classes[class])) {
            stop_alone(share, class, now_ticks);
        }
    }
    for (uint32_t i = 0; i < share->dirty_count; i++) {
        const struct share_resource *resource = &share->resources[share->dirty[i]];
        if (resource->rising_count > 0) {
            heap_push(&share->heap,
                      (struct heap_entry){key_of(full_at(resource)), 1, share->dirty[i]});
        }
    }
}

/* Classes still rising on the resource stop at the rate at which it is full. */
static void fill(struct share *share, uint32_t resource, double rate_Bps, uint64_t now_ticks)
{
    share_group_set_rate(share, resource, rate_Bps, now_ticks);
    for (uint32_t a = share->resources[resource].first_link; a != NONE; a = share->links[a].next) {
        if (share->classes[share->links[a].class].is_rising) {
            stop(share, share->links[a].class, resource, rate_Bps, now_ticks);
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
        if ((entry.value & IS_CLASS) != 0) {
            if (share->classes[entry.value & ~IS_CLASS].is_rising) {
                stop_at_cap(share, entry.value & ~IS_CLASS, now_ticks);
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

/* --- the certificate of max-min fairness ------------------------------------------------------ */

/* Loads and fastest rates of all resources; false when one carries more than it can. */
static bool find_loads(const struct share *share, double *loads_Bps, double *fastest_Bps)
{
    for (uint32_t i = 0; i < share->resource_count; i++) {
        const struct share_resource *resource = &share->resources[i];
        loads_Bps[i] = fastest_Bps[i] = 0.0;
        for (uint32_t a = resource->first_link; a != NONE; a = share->links[a].next) {
            const struct share_class *class = &share->classes[share->links[a].class];
            const double rate_Bps = rate_of(share, class);
            loads_Bps[i] += rate_Bps * class->load;
            fastest_Bps[i] = rate_Bps > fastest_Bps[i] ? rate_Bps : fastest_Bps[i];
        }
        if (loads_Bps[i] > resource->capacity_Bps * (1.0 + SLACK_FRAC)) {
            return false;
        }
    }
    return true;
}

/* Is the class at its cap, or is one of its resources full on which no flow is faster? */
static bool is_stopped(const struct share *share, const struct share_class *class,
                       const double *loads_Bps, const double *fastest_Bps)
{
    const double rate_Bps = rate_of(share, class);
    bool stopped = rate_Bps >= class->cap_Bps * (1.0 - SLACK_FRAC);
    for (uint32_t i = 0; i < class->resource_count; i++) {
        const uint32_t resource = class->resources[i];
        stopped = stopped || (loads_Bps[resource] >=
                                  share->resources[resource].capacity_Bps * (1.0 - SLACK_FRAC) &&
                              fastest_Bps[resource] <= rate_Bps * (1.0 + SLACK_FRAC));
    }
    return stopped && rate_Bps <= class->cap_Bps * (1.0 + SLACK_FRAC);
}

bool share_check(const struct share *share)
{
    struct arena scratch;
    arena_init(&scratch);
    double *loads_Bps = ARENA_PUSH(&scratch, double, share->resource_count);
    double *fastest_Bps = ARENA_PUSH(&scratch, double, share->resource_count);
    bool good = find_loads(share, loads_Bps, fastest_Bps);
    for (uint32_t i = 0; good && i < share->class_count; i++) {
        good = share->classes[i].flow_count == 0 ||
               is_stopped(share, &share->classes[i], loads_Bps, fastest_Bps);
    }
    arena_release(&scratch);
    return good;
}

void share_solve(struct share *share, uint64_t now_ticks)
{
    spread(share);
    push_rates(share, now_ticks);
    fill_all(share, now_ticks);
#ifndef __OPTIMIZE__ /* of a debug build; optimised ones are too slow to be checked each time */
    assert(share_check(share));
#endif
    for (uint32_t i = 0; i < share->dirty_count; i++) {
        struct share_resource *resource = &share->resources[share->dirty[i]];
        resource->is_dirty = resource->has_grown = false;
        share_group_note(share, share->dirty[i]);
    }
    share->dirty_count = 0;
    share->restart_Bps = SHARE_UNLIMITED_BPS;
    share->has_changed = false;
    share->solves++;
}

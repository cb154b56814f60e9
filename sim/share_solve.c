/* Progressive filling: all rates rise together until a resource is full or a cap is reached; who is
 * stopped stays.
 *
 * Filling goes the same way as the last time up to the slowest rate of what came or went: one that
 * left did not matter below the rate it had; one that came will have at least an equal share of
 * each of its resources, or its cap. So flows slower than that keep their rates, and of the others
 * only those are touched that resources join to what came or went.
 *
 * While rates are found, a class rises if its group has no new rate yet: those of a group are all
 * own classes of one resource, so when that is full, they are read off its array. Guests that still
 * rise then become its own. */
#include <assert.h>
#include <string.h>

#include "sim/share_inside.h"

#define NONE SHARE_NONE
/* Entries of the heap: resources by number, classes that may reach their cap with this. */
#define IS_CLASS 0x80000000u
/* Sums of rates are as good as this, relative. */
#define SLACK_FRAC 1e-9
#define PASSED_AT_ONCE 16u

static double rate_of_group(const struct share *share, uint32_t group)
{
    return (group & SHARE_OWN) != 0
               ? share->alone[share->classes[group & ~SHARE_OWN].alone].rate_Bps
               : share->fills[group].rate_Bps;
}

/* Flows slower than this keep their rates. */
static double find_restart(const struct share *share)
{
    double restart_Bps = share->restart_Bps;
    for (uint32_t i = 0; i < share->dirty_count; i++) {
        const struct share_resource *resource = &share->resources[share->dirty[i]];
        if (resource->has_grown && resource->weight > 0.0) {
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

static double rate_of(uint64_t key)
{
    double rate_Bps;
    memcpy(&rate_Bps, &key, sizeof rate_Bps);
    return rate_Bps;
}

/* Is the rate found, below the one from which all are found anew? */
static bool keeps(uint64_t rate, uint64_t restart)
{
    return rate - 1 < restart - 1;
}

/* --- what rises ------------------------------------------------------------------------------- */

static void mark_all(struct share *share, const struct share_class *class)
{
    for (uint32_t i = 0; i < class->resource_count; i++) {
        share_mark_dirty(share, class->resources[i]);
    }
}

static void push_cap(struct share *share, uint32_t class)
{
    heap_push(&share->heap,
              (struct heap_entry){key_of(share->classes[class].cap_Bps), 0, class | IS_CLASS});
}

static void weigh(struct share_group *group)
{
    group->weight = 0.0;
    group->reach_count = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        group->weight += group->entries[i].load;
        group->reach_count += (group->entries[i].class & SHARE_REACHES) != 0 ? 1 : 0;
    }
    group->is_weighed = true;
}

static void spread_own(struct share *share, uint32_t resource, double restart_Bps, bool may_mark)
{
    struct share_fill *fill = &share->fills[resource];
    struct share_group *group = &share->resources[resource].group;
    if (!group->is_weighed) {
        weigh(group);
    }
    fill->keeps = fill->rate_Bps > 0.0 && fill->rate_Bps < restart_Bps;
    fill->taken_Bps = fill->keeps ? group->weight * fill->rate_Bps : 0.0;
    fill->rising_weight = fill->keeps ? 0.0 : group->weight;
    fill->rising_count = fill->keeps ? 0 : group->count;
    for (uint32_t i = 0; i < fill->rising_count && (may_mark || group->reach_count > 0); i++) {
        const struct share_entry *entry = &group->entries[i];
        if (entry->other < SHARE_MANY) {
            share_mark_dirty(share, entry->other);
        } else if (entry->other == SHARE_MANY) {
            mark_all(share, &share->classes[entry->class & ~SHARE_REACHES]);
        }
        if ((entry->class & SHARE_REACHES) != 0) {
            push_cap(share, entry->class & ~SHARE_REACHES);
        }
    }
}

static void raise_guest(struct share *share, const struct share_entry *entry)
{
    if ((entry->other & SHARE_OWN) == 0) {
        share_mark_dirty(share, entry->other);
    } else if (!share->classes[entry->class].is_rising) { /* it had stopped at its cap */
        share->classes[entry->class].is_rising = true;
        mark_all(share, &share->classes[entry->class]);
        push_cap(share, entry->class);
    }
}

/* Most of the time of finding rates goes here: no branch of the loop depends on rates. */
static void spread_guests(struct share *share, uint32_t resource, double restart_Bps, bool may_mark)
{
    const struct share_resource *which = &share->resources[resource];
    if (which->guest_count == 0) {
        return;
    }
    const uint64_t restart = key_of(restart_Bps);
    double taken_Bps = 0.0, weight = 0.0;
    uint32_t count = 0, capped_count = 0;
    for (uint32_t i = 0; i < which->guest_count; i++) {
        const struct share_entry *entry = &which->guests[i];
        const uint64_t rate = key_of(rate_of_group(share, entry->other));
        const uint64_t kept = keeps(rate, restart) ? UINT64_MAX : 0;
        taken_Bps += entry->load * rate_of(rate & kept);
        weight += rate_of(key_of(entry->load) & ~kept);
        count += 1 + (uint32_t)kept;
        capped_count += entry->other >> 31;
    }
    for (uint32_t i = 0; i < which->guest_count && (may_mark || capped_count > 0) && count > 0;
         i++) {
        if (!keeps(key_of(rate_of_group(share, which->guests[i].other)), restart)) {
            raise_guest(share, &which->guests[i]);
        }
    }
    share->fills[resource].taken_Bps += taken_Bps;
    share->fills[resource].rising_weight += weight;
    share->fills[resource].rising_count += count;
}

/* Can a class that rises join the resource to the dirty ones, on which it is not yet? */
static bool may_join(const struct share *share, uint32_t resource, double restart_Bps)
{
    const struct share_fill *fill = &share->fills[resource];
    const struct share_resource *which = &share->resources[resource];
    return !fill->is_dirty && which->guest_count + which->group.count > 0 &&
           !keeps(key_of(fill->rate_Bps), key_of(restart_Bps));
}

/* The dirty list grows to all resources that rising classes join to it. While their classes are
 * gone through, so are all resources, some for each: once none is left that may join, there is
 * nothing to mark. */
static void spread(struct share *share)
{
    const double restart_Bps = find_restart(share);
    uint32_t passed = 0;
    for (uint32_t i = 0; i < share->dirty_count; i++) {
        for (uint32_t step = 0; step < PASSED_AT_ONCE && passed < share->resource_count &&
                                !may_join(share, passed, restart_Bps);
             step++) {
            passed++;
        }
        const bool may_mark = passed < share->resource_count;
        share->fills[share->dirty[i]].is_full = false;
        spread_own(share, share->dirty[i], restart_Bps, may_mark);
        spread_guests(share, share->dirty[i], restart_Bps, may_mark);
    }
}

/* --- what stops ------------------------------------------------------------------------------- */

/* Rate at which the resource is full when all that still rise reach it. */
static double full_at(const struct share *share, uint32_t resource)
{
    const struct share_fill *fill = &share->fills[resource];
    const double free_Bps = share->resources[resource].capacity_Bps - fill->taken_Bps;
    return free_Bps > 0.0 ? free_Bps / fill->rising_weight : 0.0;
}

static void stop_on(struct share *share, uint32_t resource, double load, double rate_Bps)
{
    struct share_fill *fill = &share->fills[resource];
    fill->taken_Bps += load * rate_Bps;
    fill->rising_weight -= load;
    fill->rising_count--;
}

static void stop_on_all(struct share *share, uint32_t class, double rate_Bps)
{
    const struct share_class *which = &share->classes[class];
    for (uint32_t i = 0; i < which->resource_count; i++) {
        stop_on(share, which->resources[i], which->load, rate_Bps);
    }
}

static void move_to(struct share *share, uint32_t class, uint32_t group, uint64_t now_ticks)
{
    if (share->classes[class].group != group) {
        share_link_move(share, class, group, now_ticks);
    }
}

static void stop_at_cap(struct share *share, uint32_t class, uint64_t now_ticks)
{
    const double cap_Bps = share->classes[class].cap_Bps;
    share->classes[class].is_rising = false;
    move_to(share, class, class | SHARE_OWN, now_ticks);
    share_group_set_rate(share, class | SHARE_OWN, cap_Bps, now_ticks);
    share_group_note(share, class | SHARE_OWN);
    stop_on_all(share, class, cap_Bps);
}

/* Does no other class rise on any of its resources? Then its rate is plain. */
static bool is_alone(const struct share *share, const struct share_class *class)
{
    for (uint32_t i = 0; i < class->resource_count; i++) {
        if (share->fills[class->resources[i]].rising_count > 1) {
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
    for (uint32_t i = 0; i < which->resource_count; i++) {
        const double full_Bps = full_at(share, which->resources[i]);
        if (full_Bps <= rate_Bps) {
            rate_Bps = full_Bps;
            group = which->resources[i];
        }
    }
    assert(rate_Bps > 0.0);
    if ((group & SHARE_OWN) != 0) {
        stop_at_cap(share, class, now_ticks);
        return;
    }
    move_to(share, class, group, now_ticks);
    share_group_set_rate(share, group, rate_Bps, now_ticks);
    share->fills[group].is_full = true;
    stop_on_all(share, class, rate_Bps);
}

static void push_rates(struct share *share, uint64_t now_ticks)
{
    for (uint32_t i = 0; i < share->dirty_count; i++) {
        const uint32_t resource = share->dirty[i];
        const struct share_fill *fill = &share->fills[resource];
        const struct share_group *group = &share->resources[resource].group;
        if (fill->rising_count == 1 && group->count == 1 && !fill->keeps && !fill->is_full) {
            const uint32_t class = group->entries[0].class & ~SHARE_REACHES;
            if (is_alone(share, &share->classes[class])) {
                stop_alone(share, class, now_ticks);
            }
        }
    }
    for (uint32_t i = 0; i < share->dirty_count; i++) {
        if (share->fills[share->dirty[i]].rising_count > 0) {
            heap_push(&share->heap, (struct heap_entry){key_of(full_at(share, share->dirty[i])), 1,
                                                        share->dirty[i]});
        }
    }
}

/* Does a class of the group still rise? */
static bool is_rising(const struct share *share, uint32_t class, uint32_t group)
{
    return (group & SHARE_OWN) != 0
               ? share->classes[class].is_rising
               : share->fills[group].is_dirty && !share->fills[group].is_full &&
                     !share->fills[group].keeps;
}

/* Guests that still rise stop here too. */
static void adopt_guests(struct share *share, uint32_t resource, uint32_t count, uint64_t now_ticks)
{
    const struct share_resource *which = &share->resources[resource];
    for (uint32_t i = which->guest_count; i-- > 0 && count > 0;) {
        const struct share_entry entry = which->guests[i];
        if (is_rising(share, entry.class, entry.other)) {
            share->classes[entry.class].is_rising = false;
            share_link_move(share, entry.class, resource, now_ticks);
            count--;
        }
    }
    assert(count == 0);
}

/* Classes still rising on the resource stop at the rate at which it is full. */
static void fill(struct share *share, uint32_t resource, double rate_Bps, uint64_t now_ticks)
{
    struct share_fill *which = &share->fills[resource];
    const struct share_group *group = &share->resources[resource].group;
    const uint32_t kept = which->keeps ? group->count : 0, own = group->count - kept;
    if (which->rising_count > own) {
        adopt_guests(share, resource, which->rising_count - own, now_ticks);
    }
    assert(rate_Bps > 0.0);
    share_group_set_rate(share, resource, rate_Bps, now_ticks);
    which->is_full = true;
    for (uint32_t i = 0; i < group->count && kept == 0; i++) {
        const struct share_entry *entry = &group->entries[i];
        if (entry->other < SHARE_MANY) {
            stop_on(share, entry->other, entry->load, rate_Bps);
        } else if (entry->other == SHARE_MANY) {
            stop_on_all(share, entry->class & ~SHARE_REACHES, rate_Bps);
        }
    }
    which->rising_count = 0;
}

/* A resource's entry may be out of date: as flows stop, it is full at a higher rate than was
 * thought. */
static void fill_all(struct share *share, uint64_t now_ticks)
{
    const struct heap_entry *first;
    struct heap_entry entry;
    while ((first = heap_find_first(&share->heap)) != NULL) {
        double rate_Bps;
        entry = *first;
        memcpy(&rate_Bps, &entry.key, sizeof rate_Bps);
        if ((entry.value & IS_CLASS) != 0) {
            const uint32_t class = entry.value & ~IS_CLASS;
            heap_pop(&share->heap, &entry);
            if (is_rising(share, class, share->classes[class].group)) {
                stop_at_cap(share, class, now_ticks);
            }
            continue;
        }
        const bool rises = share->fills[entry.value].rising_count > 0;
        const double full_Bps = rises ? full_at(share, entry.value) : 0.0;
        if (full_Bps > rate_Bps * (1.0 + 1e-14)) {
            heap_replace(&share->heap, (struct heap_entry){key_of(full_Bps), 1, entry.value});
            continue;
        }
        heap_pop(&share->heap, &entry);
        if (rises) {
            fill(share, entry.value, rate_Bps, now_ticks);
        }
    }
}

/* --- the certificate of max-min fairness ------------------------------------------------------ */

static void add_load(const struct share *share, const struct share_entry *entry, double *load_Bps,
                     double *fastest_Bps)
{
    const struct share_class *class = &share->classes[entry->class & ~SHARE_REACHES];
    const double rate_Bps = rate_of_group(share, class->group);
    *load_Bps += rate_Bps * class->load;
    *fastest_Bps = rate_Bps > *fastest_Bps ? rate_Bps : *fastest_Bps;
}

/* Loads and fastest rates of all resources; false when one carries more than it can. */
static bool find_loads(const struct share *share, double *loads_Bps, double *fastest_Bps)
{
    for (uint32_t i = 0; i < share->resource_count; i++) {
        const struct share_resource *resource = &share->resources[i];
        loads_Bps[i] = fastest_Bps[i] = 0.0;
        for (uint32_t a = 0; a < resource->group.count; a++) {
            add_load(share, &resource->group.entries[a], &loads_Bps[i], &fastest_Bps[i]);
        }
        for (uint32_t a = 0; a < resource->guest_count; a++) {
            add_load(share, &resource->guests[a], &loads_Bps[i], &fastest_Bps[i]);
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
    const double rate_Bps = rate_of_group(share, class->group);
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
        const uint32_t resource = share->dirty[i];
        share->fills[resource].is_dirty = share->fills[resource].is_full = false;
        share->resources[resource].has_grown = false;
        share_group_note(share, resource);
    }
    share->dirty_count = 0;
    share->restart_Bps = SHARE_UNLIMITED_BPS;
    share->has_changed = false;
    share->solves++;
}

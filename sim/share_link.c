/* Each class in one array of each of its resources: its group's own classes, or the guests. */
#include <assert.h>
#include <string.h>

#include "sim/share_inside.h"

#define NONE SHARE_NONE

static void push_guest(struct share *share, uint32_t class, uint32_t index, uint32_t group)
{
    const struct share_class *which = &share->classes[class];
    struct share_resource *resource = &share->resources[which->resources[index]];
    ARENA_MAKE_ROOM(share->arena, resource->guests, resource->guest_count,
                    resource->guest_capacity);
    share->places[which->first_place + index] = resource->guest_count;
    resource->guests[resource->guest_count++] =
        (struct share_entry){.load = which->load, .class = class, .other = group};
}

static uint32_t find_index(const struct share_class *class, uint32_t resource)
{
    uint32_t index = 0;
    while (class->resources[index] != resource) {
        index++;
        assert(index < class->resource_count);
    }
    return index;
}

/* The last guest takes its place. */
static void pop_guest(struct share *share, uint32_t class, uint32_t index)
{
    const struct share_class *which = &share->classes[class];
    const uint32_t number = which->resources[index];
    struct share_resource *resource = &share->resources[number];
    const uint32_t place = share->places[which->first_place + index];
    assert(resource->guests[place].class == class);
    resource->guests[place] = resource->guests[--resource->guest_count];
    if (place < resource->guest_count) {
        const struct share_class *moved = &share->classes[resource->guests[place].class];
        share->places[moved->first_place + find_index(moved, number)] = place;
    }
}

/* Can the cap be reached before any of its resources is full with the class alone? */
static bool may_reach_cap(const struct share *share, const struct share_class *class)
{
    for (uint32_t i = 0; i < class->resource_count; i++) {
        if (class->cap_Bps * class->load >= share->resources[class->resources[i]].capacity_Bps) {
            return false;
        }
    }
    return true;
}

/* What its group's array says of the class. */
static void fill_own(struct share *share, uint32_t class)
{
    const struct share_class *which = &share->classes[class];
    if ((which->group & SHARE_OWN) != 0) {
        return;
    }
    struct share_group *group = &share->resources[which->group].group;
    struct share_entry *entry = &group->entries[which->place];
    group->is_weighed = false;
    entry->load = which->load;
    entry->class = may_reach_cap(share, which) ? class | SHARE_REACHES : class;
    entry->other = which->resource_count == 1            ? NONE
                   : which->resource_count > 2           ? SHARE_MANY
                   : which->resources[0] == which->group ? which->resources[1]
                                                         : which->resources[0];
}

void share_link_push(struct share *share, uint32_t class, uint32_t group, uint64_t now_ticks)
{
    const struct share_class *which = &share->classes[class];
    for (uint32_t i = 0; i < which->resource_count; i++) {
        if (which->resources[i] != group) {
            push_guest(share, class, i, group);
        }
    }
    share_group_push(share, class, group, now_ticks);
    fill_own(share, class);
}

void share_link_move(struct share *share, uint32_t class, uint32_t group, uint64_t now_ticks)
{
    const struct share_class *which = &share->classes[class];
    const uint32_t left = which->group;
    assert(left != group);
    for (uint32_t i = 0; i < which->resource_count; i++) {
        if (which->resources[i] == group) {
            pop_guest(share, class, i);
        } else if (which->resources[i] == left) {
            push_guest(share, class, i, group);
        } else {
            struct share_resource *resource = &share->resources[which->resources[i]];
            resource->guests[share->places[which->first_place + i]].other = group;
        }
    }
    share_group_push(share, class, group, now_ticks);
    fill_own(share, class);
}

void share_link_pop(struct share *share, uint32_t class)
{
    const struct share_class *which = &share->classes[class];
    for (uint32_t i = 0; i < which->resource_count; i++) {
        struct share_resource *resource = &share->resources[which->resources[i]];
        if (which->resources[i] != which->group) {
            pop_guest(share, class, i);
        }
        const bool is_last = resource->guest_count + resource->group.count ==
                             (which->resources[i] == which->group ? 1u : 0u);
        resource->weight = is_last ? 0.0 : resource->weight;
    }
    share_group_pop(share, class);
}

void share_link_set_load(struct share *share, uint32_t class, double load)
{
    struct share_class *which = &share->classes[class];
    which->load = load;
    for (uint32_t i = 0; i < which->resource_count; i++) {
        struct share_resource *resource = &share->resources[which->resources[i]];
        if (which->resources[i] != which->group) {
            resource->guests[share->places[which->first_place + i]].load = load;
        }
    }
    fill_own(share, class);
}

/* Flows that come and go, each into its class. */
#include "sim/share.h"

#include <assert.h>
#include <string.h>

#include "sim/share_inside.h"

#define NONE SHARE_NONE
#define IDLE_CLASSES_MAX 4096u

void *share_grow(struct share *share, void *items, uint32_t *capacity, size_t size_bytes)
{
    void *grown = arena_push(share->arena, (size_t)2 * *capacity, size_bytes);
    memcpy(grown, items, *capacity * size_bytes);
    *capacity *= 2;
    return grown;
}

#define FIRST_CAPACITY 64u

void share_init(struct share *share, double ticks_per_s, struct arena *arena)
{
    memset(share, 0, sizeof *share);
    share->arena = arena;
    share->ticks_per_s = ticks_per_s;
    share->item_capacity = share->class_capacity = share->alone_capacity = FIRST_CAPACITY;
    share->resource_capacity = share->fill_capacity = share->dirty_capacity = FIRST_CAPACITY;
    share->place_capacity = share->end_capacity = share->ended_capacity = FIRST_CAPACITY;
    share->table_size = FIRST_CAPACITY;
    share->items = ARENA_PUSH(arena, struct share_item, FIRST_CAPACITY);
    share->classes = ARENA_PUSH(arena, struct share_class, FIRST_CAPACITY);
    share->alone = ARENA_PUSH(arena, struct share_group, FIRST_CAPACITY);
    share->resources = ARENA_PUSH(arena, struct share_resource, FIRST_CAPACITY);
    share->fills = ARENA_PUSH(arena, struct share_fill, FIRST_CAPACITY);
    share->places = ARENA_PUSH(arena, uint32_t, FIRST_CAPACITY);
    share->dirty = ARENA_PUSH(arena, uint32_t, FIRST_CAPACITY);
    share->ends = ARENA_PUSH(arena, struct share_end, FIRST_CAPACITY);
    share->ended = ARENA_PUSH(arena, uint32_t, FIRST_CAPACITY);
    share->table = ARENA_PUSH(arena, uint32_t, share->table_size);
    memset(share->table, 0xff, share->table_size * sizeof *share->table);
    share->free_item = share->free_class = NONE;
    share->restart_Bps = SHARE_UNLIMITED_BPS;
    heap_init(&share->heap, arena, FIRST_CAPACITY);
}

uint32_t share_push_resource(struct share *share, double capacity_Bps)
{
    assert(capacity_Bps > 0.0);
    if (share->resource_count == share->resource_capacity) {
        share->dirty =
            share_grow(share, share->dirty, &share->dirty_capacity, sizeof *share->dirty);
        share->fills = share_grow(share, share->fills, &share->fill_capacity, sizeof *share->fills);
        share->resources = share_grow(share, share->resources, &share->resource_capacity,
                                      sizeof *share->resources);
    }
    share->resources[share->resource_count] =
        (struct share_resource){.capacity_Bps = capacity_Bps, .group = {.end_place = NONE}};
    return share->resource_count++;
}

/* --- flows of a class: a pairing heap by (mark, sequence) ------------------------------------- */

static bool ends_first(const struct share_item *a, const struct share_item *b)
{
    return a->mark != b->mark ? a->mark < b->mark : a->sequence < b->sequence;
}

static uint32_t meld(struct share *share, uint32_t a, uint32_t b)
{
    if (a == NONE || b == NONE) {
        return a == NONE ? b : a;
    }
    if (ends_first(&share->items[b], &share->items[a])) {
        const uint32_t swapped = a;
        a = b;
        b = swapped;
    }
    share->items[b].sibling = share->items[a].child;
    share->items[a].child = b;
    return a;
}

/* Children two by two, then all from the last to the first. */
static uint32_t meld_children(struct share *share, uint32_t first)
{
    uint32_t pairs = NONE;
    while (first != NONE) {
        const uint32_t second = share->items[first].sibling;
        const uint32_t rest = second == NONE ? NONE : share->items[second].sibling;
        const uint32_t pair = meld(share, first, second);
        share->items[pair].sibling = pairs;
        pairs = pair;
        first = rest;
    }
    uint32_t root = NONE;
    while (pairs != NONE) {
        const uint32_t next = share->items[pairs].sibling;
        root = meld(share, root, pairs);
        pairs = next;
    }
    return root;
}

static uint32_t new_item(struct share *share)
{
    if (share->free_item != NONE) {
        const uint32_t item = share->free_item;
        share->free_item = share->items[item].sibling;
        return item;
    }
    if (share->item_count == share->item_capacity) {
        share->items = share_grow(share, share->items, &share->item_capacity, sizeof *share->items);
    }
    return share->item_count++;
}

/* --- classes ---------------------------------------------------------------------------------- */

static uint32_t *find_chain(const struct share *share, const struct share_flow *flow)
{
    uint64_t bits[2];
    memcpy(&bits[0], &flow->weight, sizeof bits[0]);
    memcpy(&bits[1], &flow->cap_Bps, sizeof bits[1]);
    uint64_t mixed = (uint64_t)(uintptr_t)flow->resources ^ bits[0] ^ bits[1] << 7 ^ bits[1] >> 9;
    mixed *= 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio (Knuth 6.4) */
    return &share->table[(uint32_t)(mixed >> 32) & (share->table_size - 1)];
}

static struct share_flow key_of(const struct share_class *class)
{
    return (struct share_flow){
        .resources = class->resources, .weight = class->weight, .cap_Bps = class->cap_Bps};
}

static void grow_table(struct share *share)
{
    share->table_size *= 2;
    share->table = ARENA_PUSH(share->arena, uint32_t, share->table_size);
    memset(share->table, 0xff, share->table_size * sizeof *share->table);
    for (uint32_t i = 0; i < share->class_count; i++) {
        if (share->classes[i].is_kept) {
            const struct share_flow key = key_of(&share->classes[i]);
            uint32_t *chain = find_chain(share, &key);
            share->classes[i].next = *chain;
            *chain = i;
        }
    }
}

/* Room for a class, with the places that its last use left. */
static uint32_t new_slot(struct share *share)
{
    const uint32_t class = share->free_class;
    if (class != NONE) {
        share->free_class = share->classes[class].next;
        return class;
    }
    if (share->class_count == share->class_capacity) {
        share->classes =
            share_grow(share, share->classes, &share->class_capacity, sizeof *share->classes);
    }
    share->classes[share->class_count].alone = NONE;
    return share->class_count++;
}

static void reserve_places(struct share *share, struct share_class *class, uint32_t count)
{
    if (class->place_capacity >= count) {
        return;
    }
    while (share->place_count + count > share->place_capacity) {
        share->places =
            share_grow(share, share->places, &share->place_capacity, sizeof *share->places);
    }
    class->first_place = share->place_count;
    class->place_capacity = count;
    share->place_count += count;
}

static uint32_t new_class(struct share *share, const struct share_flow *flow)
{
    if (share->kept_class_count == share->table_size) {
        grow_table(share);
    }
    const uint32_t class = new_slot(share);
    uint32_t *chain = find_chain(share, flow);
    struct share_class *which = &share->classes[class];
    *which = (struct share_class){.is_kept = true,
                                  .resources = flow->resources,
                                  .resource_count = flow->resource_count,
                                  .first_place = which->first_place,
                                  .place_capacity = which->place_capacity,
                                  .weight = flow->weight,
                                  .cap_Bps = flow->cap_Bps,
                                  .root = NONE,
                                  .group = NONE,
                                  .alone = which->alone,
                                  .next = *chain};
    reserve_places(share, which, flow->resource_count);
    *chain = class;
    share->kept_class_count++;
    return class;
}

static uint32_t find_class(struct share *share, const struct share_flow *flow)
{
    for (uint32_t i = *find_chain(share, flow); i != NONE; i = share->classes[i].next) {
        const struct share_class *class = &share->classes[i];
        if (class->resources == flow->resources && class->resource_count == flow->resource_count &&
            class->weight == flow->weight && class->cap_Bps == flow->cap_Bps) {
            return i;
        }
    }
    share->idle_class_count++;
    return new_class(share, flow);
}

/* A class has its first flow: it takes its place on its resources, as one of those stopped by the
 * one with the least for each. */
static void wake_class(struct share *share, uint32_t class, uint64_t now_ticks)
{
    const struct share_class *which = &share->classes[class];
    double least_Bps = SHARE_UNLIMITED_BPS;
    uint32_t group = class | SHARE_OWN;
    share->idle_class_count--;
    for (uint32_t i = 0; i < which->resource_count; i++) {
        const struct share_resource *resource = &share->resources[which->resources[i]];
        assert(which->resources[i] < share->resource_count);
        const double equal_Bps = resource->capacity_Bps / (resource->weight + which->weight);
        if (equal_Bps < least_Bps) {
            group = which->resources[i];
            least_Bps = equal_Bps;
        }
    }
    share_link_push(share, class, group, now_ticks);
}

static void drop_class(struct share *share, uint32_t class)
{
    const struct share_flow key = key_of(&share->classes[class]);
    uint32_t *chain = find_chain(share, &key);
    while (*chain != class) {
        chain = &share->classes[*chain].next;
    }
    *chain = share->classes[class].next;
    share->classes[class].is_kept = false;
    share->classes[class].next = share->free_class;
    share->free_class = class;
    share->kept_class_count--;
}

/* A class has lost its last flow. Like flows often come again, so some idle classes are kept. */
static void rest_class(struct share *share, uint32_t class)
{
    share_link_pop(share, class);
    share->classes[class].offset_bytes = 0.0;
    if (share->idle_class_count == IDLE_CLASSES_MAX) {
        drop_class(share, class);
    } else {
        share->idle_class_count++;
    }
}

/* --- coming and going ------------------------------------------------------------------------- */

/* Flows came to the class or went. */
static void touch_resources(struct share *share, uint32_t class, double weight)
{
    const struct share_class *which = &share->classes[class];
    for (uint32_t i = 0; i < which->resource_count; i++) {
        struct share_resource *resource = &share->resources[which->resources[i]];
        resource->weight += weight;
        resource->has_grown = resource->has_grown || weight > 0.0;
        share_mark_dirty(share, which->resources[i]);
    }
    share->has_changed = true;
}

void share_push_flow(struct share *share, const struct share_flow *flow, uint64_t now_ticks)
{
    assert(flow->cap_Bps > 0.0 && flow->weight > 0.0 && flow->bytes >= 0.0);
    const uint32_t class = find_class(share, flow), item = new_item(share);
    struct share_class *which = &share->classes[class];
    const bool wakes = which->flow_count == 0;
    share->items[item] =
        (struct share_item){.mark = share_find_got(share, class, now_ticks) + flow->bytes,
                            .owner = flow->owner,
                            .sequence = share->sequence++,
                            .child = NONE,
                            .sibling = NONE};
    which->root = meld(share, which->root, item);
    which->flow_count++;
    if (wakes) {
        which->load = which->weight;
        wake_class(share, class, now_ticks);
    } else {
        share_link_set_load(share, class, which->load + which->weight);
        share_group_sift(share, class);
    }
    touch_resources(share, class, flow->weight);
    if (flow->resource_count == 0) {
        share_group_set_rate(share, class | SHARE_OWN, flow->cap_Bps, now_ticks);
    }
    share_group_note(share, share->classes[class].group);
    share->restart_Bps = flow->cap_Bps < share->restart_Bps ? flow->cap_Bps : share->restart_Bps;
}

bool share_is_dirty(const struct share *share)
{
    return share->has_changed;
}

/* The first flow of a class has ended. */
static void pop_item(struct share *share, uint32_t class)
{
    struct share_class *which = &share->classes[class];
    const uint32_t item = which->root;
    const double rate_Bps = share_find_group(share, which->group)->rate_Bps;
    which->root = meld_children(share, share->items[item].child);
    share->items[item].sibling = share->free_item;
    share->free_item = item;
    which->flow_count--;
    touch_resources(share, class, -which->weight);
    share->restart_Bps = rate_Bps < share->restart_Bps ? rate_Bps : share->restart_Bps;
    if (which->flow_count == 0) {
        rest_class(share, class);
    } else {
        share_link_set_load(share, class, which->weight * (double)which->flow_count);
        share_group_sift(share, class);
    }
}

uint64_t share_find_end(const struct share *share)
{
    return share->end_count == 0 ? UINT64_MAX : share->ends[0].ticks;
}

uint32_t share_pop_ended(struct share *share, uint64_t now_ticks, const uint32_t **owners)
{
    uint32_t count = 0;
    while (share_find_end(share) <= now_ticks) {
        const uint32_t group = share->ends[0].group;
        const uint32_t class =
            (group & SHARE_OWN) != 0
                ? group & ~SHARE_OWN
                : share->resources[group].group.entries[0].class & ~SHARE_REACHES;
        if (count == share->ended_capacity) {
            share->ended =
                share_grow(share, share->ended, &share->ended_capacity, sizeof *share->ended);
        }
        share->ended[count++] = share->items[share->classes[class].root].owner;
        pop_item(share, class);
        share_group_note(share, group);
    }
    *owners = share->ended;
    return count;
}

static bool has_owner(const struct share *share, uint32_t item, uint32_t owner)
{
    for (; item != NONE; item = share->items[item].sibling) {
        if (share->items[item].owner == owner ||
            has_owner(share, share->items[item].child, owner)) {
            return true;
        }
    }
    return false;
}

double share_find_rate(const struct share *share, uint32_t owner)
{
    for (uint32_t i = 0; i < share->class_count; i++) {
        const struct share_class *class = &share->classes[i];
        if (class->flow_count > 0 && class->group != NONE && has_owner(share, class->root, owner)) {
            return share_find_group(share, class->group)->rate_Bps;
        }
    }
    return 0.0;
}

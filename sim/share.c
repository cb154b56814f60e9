/* Flows that come and go: each into its class, each class onto its resources. */
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

void share_init(struct share *share, double ticks_per_s, struct arena *arena)
{
    memset(share, 0, sizeof *share);
    share->arena = arena;
    share->ticks_per_s = ticks_per_s;
    share->item_capacity = share->class_capacity = share->link_capacity = 64;
    share->resource_capacity = share->changed_capacity = share->ended_capacity = 64;
    share->table_size = 64;
    share->items = ARENA_PUSH(arena, struct share_item, share->item_capacity);
    share->classes = ARENA_PUSH(arena, struct share_class, share->class_capacity);
    share->links = ARENA_PUSH(arena, struct share_link, share->link_capacity);
    share->resources = ARENA_PUSH(arena, struct share_resource, share->resource_capacity);
    share->dirty = ARENA_PUSH(arena, uint32_t, share->resource_capacity);
    share->changed = ARENA_PUSH(arena, uint32_t, share->changed_capacity);
    share->ended = ARENA_PUSH(arena, uint32_t, share->ended_capacity);
    share->table = ARENA_PUSH(arena, uint32_t, share->table_size);
    memset(share->table, 0xff, share->table_size * sizeof *share->table);
    share->free_item = share->free_class = share->free_link = NONE;
    share->restart_Bps = SHARE_UNLIMITED_BPS;
    heap_init(&share->heap, arena, 64);
}

uint32_t share_push_resource(struct share *share, double capacity_Bps)
{
    assert(capacity_Bps > 0.0);
    if (share->resource_count == share->resource_capacity) {
        uint32_t capacity = share->resource_capacity;
        share->dirty = share_grow(share, share->dirty, &capacity, sizeof *share->dirty);
        share->resources = share_grow(share, share->resources, &share->resource_capacity,
                                      sizeof *share->resources);
    }
    share->resources[share->resource_count] = (struct share_resource){
        .capacity_Bps = capacity_Bps, .first_link = NONE, .group = {.end_ticks = UINT64_MAX}};
    return share->resource_count++;
}

void share_mark_dirty(struct share *share, uint32_t resource)
{
    if (!share->resources[resource].is_dirty) {
        share->resources[resource].is_dirty = true;
        share->dirty[share->dirty_count++] = resource;
    }
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

static uint32_t new_link(struct share *share)
{
    if (share->free_link != NONE) {
        const uint32_t link = share->free_link;
        share->free_link = share->links[link].next_of_class;
        return link;
    }
    if (share->link_count == share->link_capacity) {
        share->links = share_grow(share, share->links, &share->link_capacity, sizeof *share->links);
    }
    return share->link_count++;
}

static void push_link(struct share *share, uint32_t class, uint32_t resource)
{
    assert(resource < share->resource_count);
    const uint32_t link = new_link(share);
    struct share_resource *where = &share->resources[resource];
    share->links[link] = (struct share_link){class, resource, where->first_link, NONE,
                                             share->classes[class].first_link};
    if (where->first_link != NONE) {
        share->links[where->first_link].previous = link;
    }
    where->first_link = link;
    where->class_count++;
    share->classes[class].first_link = link;
}

static void pop_links(struct share *share, uint32_t class)
{
    for (uint32_t link = share->classes[class].first_link; link != NONE;) {
        struct share_link *which = &share->links[link];
        const uint32_t next_of_class = which->next_of_class;
        struct share_resource *where = &share->resources[which->resource];
        if (which->previous == NONE) {
            where->first_link = which->next;
        } else {
            share->links[which->previous].next = which->next;
        }
        if (which->next != NONE) {
            share->links[which->next].previous = which->previous;
        }
        where->class_count--;
        where->weight = where->class_count == 0 ? 0.0 : where->weight;
        which->next_of_class = share->free_link;
        share->free_link = link;
        link = next_of_class;
    }
}

static uint32_t new_class(struct share *share, const struct share_flow *flow)
{
    uint32_t class = share->free_class;
    if (share->kept_class_count == share->table_size) {
        grow_table(share);
    }
    if (class != NONE) {
        share->free_class = share->classes[class].next;
    } else {
        if (share->class_count == share->class_capacity) {
            share->classes =
                share_grow(share, share->classes, &share->class_capacity, sizeof *share->classes);
        }
        class = share->class_count++;
        share->classes[class].own = (struct share_group){0};
    }
    uint32_t *chain = find_chain(share, flow);
    const uint32_t version =
        share->classes[class].own.version + 1; /* ends of former classes are void */
    share->classes[class] =
        (struct share_class){.is_kept = true,
                             .resources = flow->resources,
                             .resource_count = flow->resource_count,
                             .weight = flow->weight,
                             .cap_Bps = flow->cap_Bps,
                             .root = NONE,
                             .group = NONE,
                             .first_link = NONE,
                             .next = *chain,
                             .own = {.end_ticks = UINT64_MAX, .version = version}};
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

/* A class has its first flow: it takes its place on its resources. */
static void wake_class(struct share *share, uint32_t class)
{
    const struct share_class *which = &share->classes[class];
    share->idle_class_count--;
    for (uint32_t i = 0; i < which->resource_count; i++) {
        push_link(share, class, which->resources[i]);
    }
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
    pop_links(share, class);
    share_group_pop(share, class);
    share->classes[class].first_link = NONE;
    share->classes[class].offset_bytes = 0.0;
    if (share->idle_class_count == IDLE_CLASSES_MAX) {
        drop_class(share, class);
    } else {
        share->idle_class_count++;
    }
}

/* --- coming and going ------------------------------------------------------------------------- */

void share_push_flow(struct share *share, const struct share_flow *flow, uint64_t now_ticks)
{
    assert(flow->cap_Bps > 0.0 && flow->weight > 0.0 && flow->bytes >= 0.0);
    const uint32_t class = find_class(share, flow), item = new_item(share);
    if (share->classes[class].flow_count == 0) {
        wake_class(share, class);
    }
    const double got_bytes = share_find_got(share, class, now_ticks);
    struct share_class *which = &share->classes[class];
    share->items[item] = (struct share_item){.mark = got_bytes + flow->bytes,
                                             .owner = flow->owner,
                                             .sequence = share->sequence++,
                                             .child = NONE,
                                             .sibling = NONE};
    which->root = meld(share, which->root, item);
    which->flow_count++;
    which->load += which->weight;
    for (uint32_t i = 0; i < flow->resource_count; i++) {
        struct share_resource *where = &share->resources[flow->resources[i]];
        where->weight += flow->weight;
        where->has_grown = true;
        share_mark_dirty(share, flow->resources[i]);
    }
    if (which->group != NONE) {
        share_group_sift(share, class);
        share_group_note(share, which->group);
    } else if (flow->resource_count == 0) {
        share_group_push(share, class, class | SHARE_OWN, now_ticks);
        share_group_set_rate(share, class | SHARE_OWN, flow->cap_Bps, now_ticks);
        share_group_note(share, class | SHARE_OWN);
    }
    share->restart_Bps = flow->cap_Bps < share->restart_Bps ? flow->cap_Bps : share->restart_Bps;
    share->has_changed = true;
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
    which->load = which->weight * (double)which->flow_count;
    for (uint32_t i = 0; i < which->resource_count; i++) {
        share->resources[which->resources[i]].weight -= which->weight;
        share_mark_dirty(share, which->resources[i]);
    }
    share->restart_Bps = rate_Bps < share->restart_Bps ? rate_Bps : share->restart_Bps;
    share->has_changed = true;
    if (which->flow_count == 0) {
        rest_class(share, class);
    } else {
        share_group_sift(share, class);
    }
}

bool share_pop_change(struct share *share, struct share_end *out)
{
    while (share->changed_count > 0) {
        const uint32_t group = share->changed[--share->changed_count];
        struct share_group *which = share_find_group(share, group);
        which->is_noted = false;
        if (which->end_ticks != UINT64_MAX) {
            *out = (struct share_end){group, which->version, which->end_ticks};
            return true;
        }
    }
    return false;
}

uint32_t share_pop_ended(struct share *share, const struct share_end *end, const uint32_t **owners)
{
    uint32_t count = 0;
    while (share_find_group(share, end->group)->version == end->version || count > 0) {
        const struct share_group *group = share_find_group(share, end->group);
        if (group->end_ticks > end->ticks) {
            break;
        }
        const uint32_t class =
            (end->group & SHARE_OWN) != 0 ? end->group & ~SHARE_OWN : group->classes[0];
        if (count == share->ended_capacity) {
            share->ended =
                share_grow(share, share->ended, &share->ended_capacity, sizeof *share->ended);
        }
        share->ended[count++] = share->items[share->classes[class].root].owner;
        pop_item(share, class);
        share_group_note(share, end->group);
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

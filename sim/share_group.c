/* Classes of a group in a heap by mark, and when the first flow of the group ends. */
#include <assert.h>
#include <string.h>

#include "sim/share_inside.h"

#define NONE SHARE_NONE
#define LAST_TICKS (UINT64_MAX / 2)

static double got_by(const struct share *share, const struct share_group *group, uint64_t now_ticks)
{
    assert(now_ticks >= group->since_ticks);
    return group->got_bytes +
           group->rate_Bps * ((double)(now_ticks - group->since_ticks) / share->ticks_per_s);
}

double share_find_got(const struct share *share, uint32_t class, uint64_t now_ticks)
{
    const struct share_class *which = &share->classes[class];
    return which->group == NONE ? which->offset_bytes
                                : got_by(share, share_find_group(share, which->group), now_ticks) +
                                      which->offset_bytes;
}

void share_group_set_rate(struct share *share, uint32_t group, double rate_Bps, uint64_t now_ticks)
{
    struct share_group *which = share_find_group(share, group);
    if (which->rate_Bps == rate_Bps) {
        return;
    }
    which->got_bytes = got_by(share, which, now_ticks);
    which->since_ticks = now_ticks;
    which->rate_Bps = rate_Bps;
    if ((group & SHARE_OWN) == 0) {
        share->fills[group].rate_Bps = rate_Bps;
    }
}

/* --- classes of a group ----------------------------------------------------------------------- */

/* Count of the group at which the class's first flow ends. */
static double mark_of(const struct share *share, uint32_t class)
{
    const struct share_class *which = &share->classes[class];
    return share->items[which->root].mark - which->offset_bytes;
}

/* Of equal marks neither is before the other: many flows end at once, and moving among equals would
 * be for nothing. */
static bool is_before(const struct share *share, uint32_t a, uint32_t b)
{
    return mark_of(share, a) < mark_of(share, b);
}

static uint32_t class_at(const struct share_group *group, uint32_t place)
{
    return group->entries[place].class & ~SHARE_REACHES;
}

static void put(struct share *share, struct share_group *group, uint32_t place,
                struct share_entry entry)
{
    group->entries[place] = entry;
    share->classes[entry.class & ~SHARE_REACHES].place = place;
}

static void sift_up(struct share *share, struct share_group *group, uint32_t place)
{
    const struct share_entry entry = group->entries[place];
    const uint32_t class = entry.class & ~SHARE_REACHES;
    while (place > 0 && is_before(share, class, class_at(group, (place - 1) / 2))) {
        put(share, group, place, group->entries[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(share, group, place, entry);
}

static void sift_down(struct share *share, struct share_group *group, uint32_t place)
{
    const struct share_entry entry = group->entries[place];
    const uint32_t class = entry.class & ~SHARE_REACHES;
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child + 1 < group->count &&
            is_before(share, class_at(group, child + 1), class_at(group, child))) {
            child++;
        }
        if (child >= group->count || !is_before(share, class_at(group, child), class)) {
            break;
        }
        put(share, group, place, group->entries[child]);
        place = child;
    }
    put(share, group, place, entry);
}

void share_group_sift(struct share *share, uint32_t class)
{
    const struct share_class *which = &share->classes[class];
    struct share_group *group = share_find_group(share, which->group);
    if ((which->group & SHARE_OWN) == 0) {
        sift_up(share, group, which->place);
        sift_down(share, group, share->classes[class].place);
    }
}

static uint32_t first_of(const struct share *share, uint32_t group)
{
    return (group & SHARE_OWN) != 0 ? group & ~SHARE_OWN
                                    : class_at(&share->resources[group].group, 0);
}

static void push_class(struct share *share, struct share_group *group, uint32_t class)
{
    ARENA_MAKE_ROOM(share->arena, group->entries, group->count, group->capacity);
    group->entries[group->count++] = (struct share_entry){.class = class};
    sift_up(share, group, group->count - 1);
}

static void make_alone(struct share *share, uint32_t class)
{
    if (share->classes[class].alone != NONE) {
        return;
    }
    if (share->alone_count == share->alone_capacity) {
        share->alone =
            share_grow(share, share->alone, &share->alone_capacity, sizeof *share->alone);
    }
    share->classes[class].alone = share->alone_count;
    share->alone[share->alone_count++] = (struct share_group){.end_place = NONE};
}

void share_group_push(struct share *share, uint32_t class, uint32_t group, uint64_t now_ticks)
{
    struct share_class *which = &share->classes[class];
    const double got_bytes = share_find_got(share, class, now_ticks);
    if (which->group != NONE) {
        share_group_pop(share, class);
    }
    if ((group & SHARE_OWN) != 0) {
        make_alone(share, class);
    }
    struct share_group *joined = share_find_group(share, group);
    if (joined->count == 0) { /* counting anew keeps the count small, so exact */
        joined->got_bytes = 0.0;
        joined->since_ticks = now_ticks;
    }
    which->group = group;
    which->offset_bytes = got_bytes - got_by(share, joined, now_ticks);
    if ((group & SHARE_OWN) != 0) {
        joined->count = 1;
    } else {
        push_class(share, joined, class);
    }
}

void share_group_pop(struct share *share, uint32_t class)
{
    struct share_class *which = &share->classes[class];
    const uint32_t place = which->place, left = which->group;
    struct share_group *group = share_find_group(share, left);
    which->group = NONE;
    group->count--;
    group->is_weighed = false;
    if ((left & SHARE_OWN) == 0 && place < group->count) {
        put(share, group, place, group->entries[group->count]);
        sift_up(share, group, place);
        sift_down(share, group, share->classes[class_at(group, place)].place);
    }
    if (group->count == 0) {
        group->rate_Bps = 0.0;
        if ((left & SHARE_OWN) == 0) {
            share->fills[left].rate_Bps = 0.0;
        }
    }
    if ((left & SHARE_OWN) != 0) { /* those of resources are looked at behind each solve */
        share_group_note(share, left);
    }
}

/* --- first ends ------------------------------------------------------------------------------- */

static uint64_t end_of(const struct share *share, uint32_t group)
{
    const struct share_group *which = share_find_group(share, group);
    if (which->count == 0 || which->rate_Bps <= 0.0) {
        return UINT64_MAX;
    }
    const double left_bytes = mark_of(share, first_of(share, group)) - which->got_bytes;
    const double ticks =
        (left_bytes > 0.0 ? left_bytes : 0.0) / which->rate_Bps * share->ticks_per_s + 0.5;
    return ticks < (double)(LAST_TICKS - which->since_ticks) ? which->since_ticks + (uint64_t)ticks
                                                             : LAST_TICKS + 1;
}

/* --- the heap of ends ------------------------------------------------------------------------- */

static bool ends_before(const struct share_end *a, const struct share_end *b)
{
    return a->ticks < b->ticks;
}

static void put_end(struct share *share, uint32_t place, const struct share_end *end)
{
    share->ends[place] = *end;
    share_find_group(share, end->group)->end_place = place;
}

/* Into its place, up or down from a free one. */
static void place_end(struct share *share, uint32_t place, const struct share_end *end)
{
    while (place > 0 && ends_before(end, &share->ends[(place - 1) / 2])) {
        put_end(share, place, &share->ends[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    for (uint32_t child = 2 * place + 1; child < share->end_count; child = 2 * place + 1) {
        if (child + 1 < share->end_count &&
            ends_before(&share->ends[child + 1], &share->ends[child])) {
            child++;
        }
        if (!ends_before(&share->ends[child], end)) {
            break;
        }
        put_end(share, place, &share->ends[child]);
        place = child;
    }
    put_end(share, place, end);
}

static void pop_end(struct share *share, struct share_group *group)
{
    const uint32_t place = group->end_place;
    group->end_place = NONE;
    share->end_count--;
    if (place < share->end_count) {
        const struct share_end moved = share->ends[share->end_count];
        place_end(share, place, &moved);
    }
}

void share_group_note(struct share *share, uint32_t group)
{
    struct share_group *which = share_find_group(share, group);
    const struct share_end end = {end_of(share, group), group};
    if (which->end_place == NONE) {
        if (end.ticks == UINT64_MAX) {
            return;
        }
        if (share->end_count == share->end_capacity) {
            share->ends = share_grow(share, share->ends, &share->end_capacity, sizeof *share->ends);
        }
        place_end(share, share->end_count++, &end);
    } else if (end.ticks == UINT64_MAX) {
        pop_end(share, which);
    } else if (share->ends[which->end_place].ticks != end.ticks) {
        place_end(share, which->end_place, &end);
    }
}

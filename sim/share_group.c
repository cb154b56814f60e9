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
}

/* --- classes of a group ----------------------------------------------------------------------- */

/* Count of the group at which the class's first flow ends. */
static double mark_of(const struct share *share, uint32_t class)
{
    const struct share_class *which = &share->classes[class];
    return share->items[which->root].mark - which->offset_bytes;
}

static bool is_before(const struct share *share, uint32_t a, uint32_t b)
{
    const double mark_a = mark_of(share, a), mark_b = mark_of(share, b);
    return mark_a != mark_b ? mark_a < mark_b : a < b;
}

static void put(struct share *share, struct share_group *group, uint32_t place, uint32_t class)
{
    group->classes[place] = class;
    share->classes[class].place = place;
}

static void sift_up(struct share *share, struct share_group *group, uint32_t place)
{
    const uint32_t class = group->classes[place];
    while (place > 0 && is_before(share, class, group->classes[(place - 1) / 2])) {
        put(share, group, place, group->classes[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(share, group, place, class);
}

static void sift_down(struct share *share, struct share_group *group, uint32_t place)
{
    const uint32_t class = group->classes[place];
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child + 1 < group->count &&
            is_before(share, group->classes[child + 1], group->classes[child])) {
            child++;
        }
        if (child >= group->count || !is_before(share, group->classes[child], class)) {
            break;
        }
        put(share, group, place, group->classes[child]);
        place = child;
    }
    put(share, group, place, class);
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
    return (group & SHARE_OWN) != 0 ? group & ~SHARE_OWN : share->resources[group].group.classes[0];
}

static void push_class(struct share *share, struct share_group *group, uint32_t class)
{
    if (group->count == group->capacity) {
        const uint32_t capacity = group->capacity == 0 ? 4 : 2 * group->capacity;
        uint32_t *grown = ARENA_PUSH(share->arena, uint32_t, capacity);
        if (group->count > 0) {
            memcpy(grown, group->classes, group->count * sizeof *grown);
        }
        group->classes = grown;
        group->capacity = capacity;
    }
    group->classes[group->count++] = class;
    sift_up(share, group, group->count - 1);
}

void share_group_push(struct share *share, uint32_t class, uint32_t group, uint64_t now_ticks)
{
    struct share_class *which = &share->classes[class];
    const double got_bytes = share_find_got(share, class, now_ticks);
    if (which->group != NONE) {
        share_group_pop(share, class);
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
    struct share_group *group = share_find_group(share, which->group);
    const uint32_t place = which->place, left = which->group;
    which->group = NONE;
    group->count--;
    if ((left & SHARE_OWN) == 0 && place < group->count) {
        put(share, group, place, group->classes[group->count]);
        sift_up(share, group, place);
        sift_down(share, group, share->classes[group->classes[place]].place);
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

void share_group_note(struct share *share, uint32_t group)
{
    struct share_group *which = share_find_group(share, group);
    const uint64_t end_ticks = end_of(share, group);
    if (end_ticks == which->end_ticks) {
        return;
    }
    which->end_ticks = end_ticks;
    which->version++;
    if (which->is_noted || end_ticks == UINT64_MAX) {
        return;
    }
    if (share->changed_count == share->changed_capacity) {
        share->changed =
            share_grow(share, share->changed, &share->changed_capacity, sizeof *share->changed);
    }
    which->is_noted = true;
    share->changed[share->changed_count++] = group;
}

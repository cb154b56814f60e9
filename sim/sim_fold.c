/* Whether one rank can stand for all of its stage: the messages of every group cost the same. */
#include <string.h>

#include "sim/sim_inside.h"

struct comparison {
    struct sim *sim;
    const struct work *work;
    struct sim_unlike *out;
};

static bool same_lump(const struct lump *a, const struct lump *b)
{
    return a->level == b->level && a->latency_s == b->latency_s && a->bytes == b->bytes &&
           a->cap_Bps == b->cap_Bps && a->weight == b->weight && a->port_Bps == b->port_Bps;
}

static bool same_lumps(const struct lump_list *a, const struct lump_list *b)
{
    bool same = a->count == b->count && a->seconds == b->seconds;
    for (uint32_t i = 0; i < a->count && same; i++) {
        same = same_lump(&a->lumps[i], &b->lumps[i]);
    }
    return same;
}

static bool tell(struct comparison *comparison, uint32_t place, enum work_cause cause)
{
    *comparison->out = (struct sim_unlike){place, cause, false};
    return false;
}

/* Of all groups of the nest against the one that stands for them. */
static bool compare_message(struct comparison *comparison, const struct work_message *message)
{
    const struct work *work = comparison->work;
    if (message->group == NO_INDEX) {
        return true;
    }
    const struct rank_group *group = &work->groups[message->group];
    const uint32_t places = work_count_lanes(work) * work->shape.stages;
    struct lump_request request = {message->kind, group, 0, message->bytes,
                                   work_find_crowd(work, message)};
    if (message->bytes == 0.0 || group->ranks < 2) {
        return true;
    }
    const struct lump_list *first = lump_find(comparison->sim->book, &request);
    for (uint32_t place = 1; place < places; place++) {
        uint32_t rank;
        if (rank_group_find(group, place, &request.base, &rank) && rank == 0 &&
            !same_lumps(lump_find(comparison->sim->book, &request), first)) {
            return tell(comparison, place, message->cause);
        }
    }
    return true;
}

static bool compare_items(struct comparison *comparison, const struct work_items *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].is_message && !compare_message(comparison, &list->items[i].message)) {
            return false;
        }
    }
    return true;
}

static uint32_t device_of(const struct work *work, uint32_t stage, uint32_t lane)
{
    const uint32_t place = work_find_place(work, stage, lane);
    return work->sites.map == NULL ? place : work->sites.map->devices[place];
}

/* From a stage to the next, the last to the first, either way. */
static bool compare_sends(struct comparison *comparison, uint32_t stage)
{
    const struct work *work = comparison->work;
    const uint32_t next = (stage + 1) % work->shape.stages;
    for (uint32_t way = 0; way < 2 && next != stage; way++) {
        const uint32_t from = way == 0 ? stage : next, to = way == 0 ? next : stage;
        const struct lump first = lump_find_pair(comparison->sim->book, device_of(work, from, 0),
                                                 device_of(work, to, 0), work->send.bytes);
        for (uint32_t lane = 1; lane < work_count_lanes(work); lane++) {
            const struct lump own =
                lump_find_pair(comparison->sim->book, device_of(work, from, lane),
                               device_of(work, to, lane), work->send.bytes);
            if (!same_lump(&own, &first)) {
                *comparison->out =
                    (struct sim_unlike){work_find_place(work, from, lane), CAUSE_COUNT, false};
                return false;
            }
        }
    }
    return true;
}

bool sim_compare_ranks(struct sim *sim, const struct work *work, struct sim_unlike *out)
{
    struct comparison comparison = {sim, work, out};
    if (work->sites.count > 1 || (work->sites.count == 1 && work->sites.items[0].kind_count > 1)) {
        *out = (struct sim_unlike){0, CAUSE_COUNT, true};
        return false;
    }
    for (uint32_t b = 0; b < work->block_count; b++) {
        const struct work_block *block = &work->blocks[b];
        if (!compare_items(&comparison, &block->forward) ||
            !compare_items(&comparison, &block->backward) ||
            !compare_items(&comparison, &block->gather) ||
            !compare_items(&comparison, &block->sync)) {
            return false;
        }
    }
    if (work->shape.stages > 1 && !compare_message(&comparison, &work->tied)) {
        return false;
    }
    for (uint32_t stage = 0; stage < work->shape.stages && work->send.bytes > 0.0; stage++) {
        if (!compare_sends(&comparison, stage)) {
            return false;
        }
    }
    return true;
}

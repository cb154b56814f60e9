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
    *comparison->out = (struct sim_unlike){place, cause};
    return false;
}

/* --- strides ---------------------------------------------------------------------------------- */

/* Places that differ in one digit, from the lowest on: is what they cross at a border of so many
 * devices the same whatever their other digits are? */
static bool is_even(uint64_t stride, uint64_t size, uint64_t domain)
{
    const uint64_t reach = stride * size;
    return size < 2 || stride % domain == 0 || domain % reach == 0 ||
           (domain % stride == 0 && reach % domain == 0);
}

static bool is_even_everywhere(const struct cluster *cluster, uint64_t stride, uint64_t size)
{
    uint64_t domain = 1;
    bool even = true;
    for (uint32_t level = 0; level < cluster->level_count; level++) {
        domain *= cluster->levels[level].degree;
        even = even && is_even(stride, size, domain);
    }
    return even;
}

/* Devices of one kind behind switches, numbered as the places: only strides tell them apart. */
static bool are_only_strides(const struct work *work)
{
    const struct cluster *cluster = work->problem->cluster;
    return cluster->accelerator_count == 1 && work->sites.map == NULL &&
           cluster_has_own_ports(cluster);
}

/* Without looking at each: sure when true. */
static bool are_groups_alike(const struct work *work, const struct rank_group *group)
{
    bool alike = are_only_strides(work);
    for (uint32_t i = 0; i < group->step_count && alike; i++) {
        alike = group->steps[i].skip <= 1 &&
                is_even_everywhere(work->problem->cluster, group->steps[i].stride,
                                   group->steps[i].size);
    }
    return alike;
}

/* --- one by one ------------------------------------------------------------------------------- */

/* Of all groups of the nest against the one that stands for those of its site. */
static bool compare_message(struct comparison *comparison, const struct work_message *message)
{
    const struct work *work = comparison->work;
    if (message->group == NO_INDEX || message->bytes == 0.0 ||
        work->groups[message->group].ranks < 2) {
        return true;
    }
    const struct rank_group *group = &work->groups[message->group];
    const uint32_t places = work_count_lanes(work) * work->shape.stages;
    struct lump_request request = {message->kind, group, 0, message->bytes,
                                   work_find_crowd(work, message)};
    if (are_groups_alike(work, group)) {
        return true;
    }
    for (uint32_t place = 0; place < places; place++) {
        const uint32_t stage = place / work->sites.stride % work->shape.stages;
        const struct script_place site = {comparison->sim->book, comparison->sim->prices, work,
                                          work_find_site(work, stage)};
        request.base = place;
        if (rank_group_begins(group, place) &&
            !same_lumps(lump_find(comparison->sim->book, &request),
                        script_find_move(&site, message).lumps)) {
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

static uint32_t device_at(const struct work *work, uint32_t place)
{
    return work->sites.map == NULL ? place : work->sites.map->devices[place];
}

/* Of a lane; of the one that stands for all: NO_INDEX. */
static struct lump find_send(const struct comparison *comparison, uint32_t from, uint32_t to,
                             uint32_t lane)
{
    const struct work *work = comparison->work;
    const uint32_t ends[2] = {from, to};
    uint32_t devices[2];
    for (uint32_t i = 0; i < 2; i++) {
        devices[i] = device_at(work, lane == NO_INDEX ? work_find_pair(work, ends[i], 0)
                                                      : work_find_place(work, ends[i], lane));
    }
    return lump_find_pair(comparison->sim->book, devices[0], devices[1], work->send.bytes);
}

/* From a stage to the next, the last to the first, either way. */
static bool compare_sends(struct comparison *comparison, uint32_t stage)
{
    const struct work *work = comparison->work;
    const uint32_t next = (stage + 1) % work->shape.stages;
    for (uint32_t way = 0; way < 2 && next != stage; way++) {
        const uint32_t from = way == 0 ? stage : next, to = way == 0 ? next : stage;
        const struct lump first = find_send(comparison, from, to, NO_INDEX);
        for (uint32_t lane = 0; lane < work_count_lanes(work); lane++) {
            const struct lump own = find_send(comparison, from, to, lane);
            if (!same_lump(&own, &first)) {
                return tell(comparison, work_find_place(work, from, lane), CAUSE_COUNT);
            }
        }
    }
    return true;
}

bool sim_compare_ranks(struct sim *sim, const struct work *work, struct sim_unlike *out)
{
    struct comparison comparison = {sim, work, out};
    const bool sends =
        work->send.bytes > 0.0 &&
        !(are_only_strides(work) &&
          is_even_everywhere(work->problem->cluster, work->sites.stride, work->shape.stages));
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
    for (uint32_t stage = 0; stage < work->shape.stages && sends; stage++) {
        if (!compare_sends(&comparison, stage)) {
            return false;
        }
    }
    return true;
}

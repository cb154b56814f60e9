/* How many of the messages between two pipeline stages meet on one link. */
#include "plan/boundary.h"

#include "base/diag.h"
#include "base/number.h"
#include "plan/work.h"

/* The ways of a boundary, from all places of its stage. */
struct boundary {
    const struct work *work;
    uint32_t stage;
    uint32_t *crossing; /* [resource] messages */
};

static uint32_t device_at(const struct work *work, uint32_t place)
{
    return work->sites.map == NULL ? place : work->sites.map->devices[place];
}

static void find_way(const struct boundary *boundary, uint32_t place, struct path *out)
{
    const struct work *work = boundary->work;
    const uint32_t stages = work->shape.stages, stride = work->sites.stride;
    const uint32_t to =
        boundary->stage + 1 == stages ? place - stride * (stages - 1) : place + stride;
    if (!cluster_find_path(work->problem->cluster, device_at(work, place), device_at(work, to),
                           out)) {
        BUG("no way from device %u to device %u: the cluster was not checked",
            device_at(work, place), device_at(work, to));
    }
}

static bool is_sender(const struct boundary *boundary, uint32_t place)
{
    const struct work *work = boundary->work;
    return place / work->sites.stride % work->shape.stages == boundary->stage;
}

static void count_crossings(const struct boundary *boundary, uint32_t places)
{
    struct path path;
    for (uint32_t place = 0; place < places; place++) {
        if (!is_sender(boundary, place)) {
            continue;
        }
        find_way(boundary, place, &path);
        for (uint32_t i = 0; i < path.hop_count; i++) {
            boundary->crossing[path.hops[i].resource]++;
        }
    }
}

/* Per byte of a message, until all have arrived. */
static double slowest_s(const struct boundary *boundary, uint32_t places)
{
    struct path path;
    double slowest_s = 0.0;
    for (uint32_t place = 0; place < places; place++) {
        if (!is_sender(boundary, place)) {
            continue;
        }
        find_way(boundary, place, &path);
        for (uint32_t i = 0; i < path.hop_count; i++) {
            const double messages = boundary->crossing[path.hops[i].resource];
            slowest_s = number_larger(slowest_s, messages / path.hops[i].bandwidth_Bps);
        }
    }
    return slowest_s;
}

double boundary_find_crowding(const struct work *work, uint32_t stage, uint32_t from,
                              struct arena *arena)
{
    const struct cluster *cluster = work->problem->cluster;
    if (cluster->level_count > 0) {
        return 1.0;
    }
    const struct arena_mark mark = arena_find_mark(arena);
    const struct boundary boundary = {
        work, stage, ARENA_PUSH(arena, uint32_t, cluster_count_resources(cluster))};
    const uint32_t places = (uint32_t)plan_count_devices(work->plan);
    struct path path;
    count_crossings(&boundary, places);
    find_way(&boundary, from, &path);
    const double crowding = slowest_s(&boundary, places) * path.bandwidth_Bps;
    arena_pop(arena, mark);
    return number_larger(crowding, 1.0);
}

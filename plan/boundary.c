/* How many of the messages between two pipeline stages meet on one link. */
#include "plan/boundary.h"

#include "base/diag.h"
#include "base/number.h"
#include "plan/work.h"

/* What a resource of the cluster carries between two stages. */
struct crossing {
    uint32_t messages[2]; /* there, back */
    double bandwidth_Bps;
};

static uint32_t device_at(const struct work *work, uint32_t place)
{
    return work->sites.map == NULL ? place : work->sites.map->devices[place];
}

static void find_way(const struct work *work, uint32_t from, uint32_t to, struct path *out)
{
    if (!cluster_find_path(work->problem->cluster, device_at(work, from), device_at(work, to),
                           out)) {
        BUG("no way from device %u to device %u: the cluster was not checked",
            device_at(work, from), device_at(work, to));
    }
}

/* Of one rank of the stage, to the next stage or back. */
static void find_lane_way(const struct work *work, uint32_t stage, uint32_t lane, uint32_t back,
                          struct path *out)
{
    const uint32_t next = (stage + 1) % work->shape.stages;
    find_way(work, work_find_place(work, back ? next : stage, lane),
             work_find_place(work, back ? stage : next, lane), out);
}

static void count_crossings(const struct work *work, uint32_t stage, struct crossing *crossings)
{
    struct path path;
    for (uint32_t i = 0; i < 2 * work_count_lanes(work); i++) {
        find_lane_way(work, stage, i / 2, i % 2, &path);
        for (uint32_t hop = 0; hop < path.hop_count; hop++) {
            struct crossing *crossing = &crossings[path.hops[hop].resource];
            crossing->messages[i % 2]++;
            crossing->bandwidth_Bps = path.hops[hop].bandwidth_Bps;
        }
    }
}

/* Seconds per byte of all that goes over the resource. */
static double load_s(const struct crossing *crossing)
{
    return ((double)crossing->messages[0] + (double)crossing->messages[1]) /
           crossing->bandwidth_Bps;
}

static void find_narrowest(const struct work *work, uint32_t stage,
                           const struct crossing *crossings, double most_s[2], double *byte_s)
{
    struct path path;
    *byte_s = most_s[0] = most_s[1] = 0.0;
    for (uint32_t i = 0; i < 2 * work_count_lanes(work); i++) {
        find_lane_way(work, stage, i / 2, i % 2, &path);
        for (uint32_t hop = 0; hop < path.hop_count; hop++) {
            const struct crossing *crossing = &crossings[path.hops[hop].resource];
            *byte_s =
                number_larger(*byte_s, (double)crossing->messages[i % 2] / crossing->bandwidth_Bps);
            most_s[i % 2] = number_larger(most_s[i % 2], load_s(crossing));
        }
    }
}

/* On the way of the first rank that crosses one. */
static void find_busiest(const struct work *work, uint32_t stage, const struct crossing *crossings,
                         struct boundary *out)
{
    double most_s[2];
    struct path path;
    find_narrowest(work, stage, crossings, most_s, &out->byte_s);
    for (uint32_t i = 2 * work_count_lanes(work); i-- > 0;) {
        bool found = false;
        find_lane_way(work, stage, i / 2, i % 2, &path);
        for (uint32_t hop = 0; hop < path.hop_count; hop++) {
            const uint32_t resource = path.hops[hop].resource;
            if (load_s(&crossings[resource]) >= most_s[i % 2] * (1.0 - 1e-9)) {
                out->busiest[i % 2][0] = found ? out->busiest[i % 2][0] : resource;
                out->busiest[i % 2][1] = resource;
                found = true;
            }
        }
    }
}

static uint32_t find_slowest(const struct work *work, uint32_t stage)
{
    uint32_t slowest = 0;
    double most_s = -1.0;
    struct path path;
    for (uint32_t lane = 0; lane < work_count_lanes(work); lane++) {
        find_lane_way(work, stage, lane, 0, &path);
        const double seconds = path.latency_s + work->send.bytes / path.bandwidth_Bps;
        slowest = seconds > most_s ? lane : slowest;
        most_s = number_larger(most_s, seconds);
    }
    return work_find_place(work, stage, slowest);
}

void boundary_find(const struct work *work, uint32_t stage, struct arena *arena,
                   struct boundary *out)
{
    const struct cluster *cluster = work->problem->cluster;
    *out = (struct boundary){.busiest = {{NO_INDEX, NO_INDEX}, {NO_INDEX, NO_INDEX}},
                             .slowest = work_find_place(work, stage, 0)};
    if (cluster->level_count > 0) {
        return;
    }
    const struct arena_mark mark = arena_find_mark(arena);
    struct crossing *crossings =
        ARENA_PUSH(arena, struct crossing, cluster_count_resources(cluster));
    count_crossings(work, stage, crossings);
    find_busiest(work, stage, crossings, out);
    out->slowest = find_slowest(work, stage);
    arena_pop(arena, mark);
}

double boundary_find_crowding(const struct work *work, uint32_t stage, uint32_t from, double byte_s)
{
    struct path path;
    if (byte_s == 0.0) {
        return 1.0;
    }
    find_way(work, from,
             work_find_place(work, (stage + 1) % work->shape.stages, work_find_lane(work, from)),
             &path);
    return number_larger(byte_s * path.bandwidth_Bps, 1.0);
}

/* Of the boundary behind a stage, there or back. */
static uint32_t find_link(const struct work *work, uint32_t stage, uint32_t back)
{
    const uint32_t next = (stage + 1) % work->shape.stages;
    return back ? boundary_find_link(next, stage) : boundary_find_link(stage, next);
}

bool boundary_find_lines(const struct work *work, const struct boundary *boundaries, uint32_t *out)
{
    const uint32_t stages = work->shape.stages;
    bool shared = false;
    for (uint32_t i = 0; i < BOUNDARY_LINES * stages; i++) {
        const uint32_t resource = boundaries[i / 4].busiest[i / 2 % 2][i % 2];
        const uint32_t link = find_link(work, i / 4, i / 2 % 2);
        uint32_t first = 0;
        while (boundaries[first / 4].busiest[first / 2 % 2][first % 2] != resource) {
            first++;
        }
        out[2 * link + i % 2] = first;
        shared = shared || find_link(work, first / 4, first / 2 % 2) != link;
    }
    return shared;
}

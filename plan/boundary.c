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

/* The ways of the ranks of a stage, one after another. */
struct walk {
    const struct work *work;
    uint32_t stage, lanes;
    struct crossing *crossings; /* [resource] all 0 between two walks */
    uint32_t *crossed;          /* resources that are not 0 */
    uint32_t crossed_count;
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
static void find_lane_way(const struct walk *walk, uint32_t lane, uint32_t back, struct path *out)
{
    const struct work *work = walk->work;
    const uint32_t next = (walk->stage + 1) % work->shape.stages;
    find_way(work, work_find_place(work, back ? next : walk->stage, lane),
             work_find_place(work, back ? walk->stage : next, lane), out);
}

static void count_path(struct walk *walk, const struct path *path, uint32_t back)
{
    for (uint32_t i = 0; i < path->hop_count; i++) {
        const uint32_t resource = path->hops[i].resource;
        struct crossing *crossing = &walk->crossings[resource];
        if (crossing->messages[0] + crossing->messages[1] == 0) {
            walk->crossed[walk->crossed_count++] = resource;
            crossing->bandwidth_Bps = path->hops[i].bandwidth_Bps;
        }
        crossing->messages[back]++;
    }
}

/* The longest way there is the slowest. */
static void count_crossings(struct walk *walk, struct boundary *out)
{
    double most_s = -1.0;
    struct path path;
    for (uint32_t lane = 0; lane < walk->lanes; lane++) {
        find_lane_way(walk, lane, 1, &path);
        count_path(walk, &path, 1);
        find_lane_way(walk, lane, 0, &path);
        count_path(walk, &path, 0);
        const double seconds = path.latency_s + walk->work->send.bytes / path.bandwidth_Bps;
        out->slowest =
            seconds > most_s ? work_find_place(walk->work, walk->stage, lane) : out->slowest;
        most_s = number_larger(most_s, seconds);
    }
}

/* Seconds per byte of all that goes over the resource. */
static double load_s(const struct crossing *crossing)
{
    return ((double)crossing->messages[0] + (double)crossing->messages[1]) /
           crossing->bandwidth_Bps;
}

static void find_narrowest(const struct walk *walk, double most_s[2], double *byte_s)
{
    *byte_s = most_s[0] = most_s[1] = 0.0;
    for (uint32_t i = 0; i < walk->crossed_count; i++) {
        const struct crossing *crossing = &walk->crossings[walk->crossed[i]];
        for (uint32_t back = 0; back < 2; back++) {
            if (crossing->messages[back] > 0) {
                *byte_s = number_larger(*byte_s,
                                        (double)crossing->messages[back] / crossing->bandwidth_Bps);
                most_s[back] = number_larger(most_s[back], load_s(crossing));
            }
        }
    }
}

/* On the way of the first rank that crosses one. */
static void find_busiest(const struct walk *walk, uint32_t back, double most_s, uint32_t busiest[2])
{
    struct path path;
    for (uint32_t lane = 0; lane < walk->lanes && busiest[0] == NO_INDEX; lane++) {
        find_lane_way(walk, lane, back, &path);
        for (uint32_t hop = 0; hop < path.hop_count; hop++) {
            const uint32_t resource = path.hops[hop].resource;
            if (load_s(&walk->crossings[resource]) >= most_s * (1.0 - 1e-9)) {
                busiest[0] = busiest[0] == NO_INDEX ? resource : busiest[0];
                busiest[1] = resource;
            }
        }
    }
}

static void find_stage(struct walk *walk, struct boundary *out)
{
    double most_s[2];
    count_crossings(walk, out);
    find_narrowest(walk, most_s, &out->byte_s);
    for (uint32_t back = 0; back < 2; back++) {
        find_busiest(walk, back, most_s[back], out->busiest[back]);
    }
    while (walk->crossed_count > 0) {
        walk->crossings[walk->crossed[--walk->crossed_count]] = (struct crossing){0};
    }
}

void boundary_find(const struct work *work, struct arena *arena, struct boundary *out)
{
    const struct cluster *cluster = work->problem->cluster;
    const struct arena_mark mark = arena_find_mark(arena);
    const uint32_t resources = cluster->level_count > 0 ? 0 : cluster_count_resources(cluster);
    struct walk walk = {.work = work,
                        .lanes = work_count_lanes(work),
                        .crossings = ARENA_PUSH(arena, struct crossing, resources),
                        .crossed = ARENA_PUSH(arena, uint32_t, resources)};
    for (walk.stage = 0; walk.stage < work->shape.stages; walk.stage++) {
        out[walk.stage] = (struct boundary){.busiest = {{NO_INDEX, NO_INDEX}, {NO_INDEX, NO_INDEX}},
                                            .slowest = work_find_place(work, walk.stage, 0)};
        if (resources > 0) {
            find_stage(&walk, &out[walk.stage]);
        }
    }
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

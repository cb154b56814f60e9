/* What every cluster keeps: it loads, is written as read, its ways are the best. */
#include <float.h>
#include <string.h>

#include "base/data_folder.h"
#include "base/random.h"
#include "tests/fresh.h"
#include "topologies/cluster.h"

/* --- clusters of the zoo ---------------------------------------------------------------------- */

static const char *dump_cluster(const struct cluster *cluster)
{
    struct text text;
    struct json_writer writer;
    text_init(&text, &arena);
    json_writer_init(&writer, &text, false);
    cluster_dump(cluster, &writer);
    return text.bytes;
}

static void is_written_as_read(const struct cluster *cluster)
{
    struct json *document;
    struct cluster again;
    const char *first = dump_cluster(cluster);
    ck_assert_msg(json_open_text("dump", first, strlen(first), false, &arena, &document, &diag),
                  "%s", messages());
    ck_assert_msg(cluster_read_json(json_root(document), "dump", &arena, &again, &diag), "%s",
                  messages());
    json_close(document);
    ck_assert_str_eq(dump_cluster(&again), first);
    ck_assert_uint_eq(again.digest, cluster->digest);
}

/* By its number of nodes, where it has levels. */
static void grow_zoo_cluster(const char *file, void (*law)(const struct cluster *))
{
    static const uint32_t nodes[] = {1, 2, 3, 16};
    for (uint32_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        const struct arena_mark mark = arena_find_mark(&arena);
        struct cluster cluster;
        const char *name = text_build(&arena, "%s:%u", file, nodes[i]);
        ck_assert_msg(cluster_read(name, &arena, &cluster, &diag), "%s", messages());
        ck_assert_msg(cluster_check(&cluster, &diag), "%s", messages());
        ck_assert_uint_eq(cluster.levels[cluster.level_count - 1].degree, nodes[i]);
        law(&cluster);
        arena_pop(&arena, mark);
    }
}

static void each_zoo_cluster(void (*law)(const struct cluster *))
{
    begin();
    const char *const *files = data_folder_each("topologies/zoo", ".json", &arena);
    uint32_t count = 0;
    for (; files[count] != NULL; count++) {
        struct cluster as_written;
        ck_assert_msg(cluster_read(files[count], &arena, &as_written, &diag), "%s", messages());
        ck_assert_str_eq(as_written.name, files[count]);
        law(&as_written);
        if (as_written.level_count > 0) {
            grow_zoo_cluster(files[count], law);
        }
    }
    ck_assert_uint_ge(count, 30);
    arena_release(&arena);
}

START_TEST(zoo_cluster_is_written_as_read)
{
    each_zoo_cluster(is_written_as_read);
}
END_TEST

static bool share_a_resource(const struct path *a, const struct path *b)
{
    for (uint32_t i = 0; i < a->hop_count; i++) {
        for (uint32_t j = 0; j < b->hop_count; j++) {
            if (a->hops[i].resource == b->hops[j].resource) {
                return true;
            }
        }
    }
    return false;
}

static void is_sound(const struct cluster *cluster, const struct path *path)
{
    double least_Bps = DBL_MAX;
    ck_assert_uint_ge(path->hop_count, 1);
    for (uint32_t i = 0; i < path->hop_count; i++) {
        const struct hop *hop = &path->hops[i];
        ck_assert_uint_lt(hop->resource, cluster_count_resources(cluster));
        least_Bps = hop->bandwidth_Bps < least_Bps ? hop->bandwidth_Bps : least_Bps;
    }
    ck_assert_double_eq(least_Bps, path->bandwidth_Bps);
}

/* There and back are alike and disjoint; nothing is faster than the level that it crosses. */
static void pair_is_symmetric(const struct cluster *cluster, uint32_t a, uint32_t b)
{
    struct path there, back;
    ck_assert(cluster_find_path(cluster, a, b, &there));
    ck_assert(cluster_find_path(cluster, b, a, &back));
    is_sound(cluster, &there);
    ck_assert_double_eq(there.bandwidth_Bps, back.bandwidth_Bps);
    ck_assert_double_eq(there.latency_s, back.latency_s);
    if (cluster->level_count > 0) {
        ck_assert_uint_eq(there.level, cluster_find_level(cluster, a, b));
        ck_assert_double_le(there.bandwidth_Bps, cluster->levels[there.level].bandwidth_Bps);
    }
    ck_assert(!share_a_resource(&there, &back));
}

static void pairs_are_symmetric(const struct cluster *cluster)
{
    const uint32_t count = cluster->device_count;
    const uint32_t stride = count < 64 ? 1 : count / 23;
    for (uint32_t a = 0; a < count; a += stride) {
        for (uint32_t b = 0; b < count; b += stride) {
            if (a != b) {
                pair_is_symmetric(cluster, a, b);
            }
        }
    }
}

START_TEST(pairs_of_zoo_clusters_are_symmetric)
{
    each_zoo_cluster(pairs_are_symmetric);
}
END_TEST

/* --- levels of all kinds ---------------------------------------------------------------------- */

static struct accelerator any_kind;

static void begin_building(void)
{
    begin();
    ck_assert(accelerator_read("A100-SXM4-80GB", (struct diag_place){.file = NULL}, &arena,
                               &any_kind, &diag));
}

/* Two axes where the degree has a divisor, else one. */
static void give_shape(struct level *level)
{
    uint32_t first = 2;
    while (first < level->degree && level->degree % first != 0) {
        first++;
    }
    level->wraps_at = level->degree % 5 == 0 ? 4 : 1;
    level->axis_count = first < level->degree ? 2 : 1;
    level->shape[0] = first < level->degree ? first : level->degree;
    level->shape[1] = first < level->degree ? level->degree / first : 0;
}

static struct cluster build_levels(uint32_t count, const enum level_kind *kinds,
                                   const uint32_t *degrees)
{
    struct cluster cluster = {.name = "built",
                              .accelerators = &any_kind,
                              .accelerator_count = 1,
                              .level_count = count,
                              .device_count = 1};
    for (uint32_t i = 0; i < count; i++) {
        cluster.levels[i] = (struct level){.name = "l",
                                           .kind = kinds[i],
                                           .degree = degrees[i],
                                           .bandwidth_Bps = 6e9 / (i + 1),
                                           .latency_s = 1e-6,
                                           .link = LINK_RAW};
        if (kinds[i] >= LEVEL_MESH) {
            give_shape(&cluster.levels[i]);
        }
        cluster.device_count *= degrees[i];
    }
    ck_assert_msg(cluster_build(&cluster, &arena, &diag), "%s", messages());
    return cluster;
}

START_TEST(pairs_of_all_levels_are_symmetric)
{
    struct random dice;
    begin_building();
    random_init(&dice, 11);
    for (uint32_t round = 0; round < 60; round++) {
        const struct arena_mark mark = arena_find_mark(&arena);
        enum level_kind kinds[3];
        uint32_t degrees[3];
        const uint32_t count = 1 + random_pop_below(&dice, 3);
        for (uint32_t i = 0; i < count; i++) {
            kinds[i] = (enum level_kind)random_pop_below(&dice, LEVEL_KIND_COUNT);
            degrees[i] = 1 + random_pop_below(&dice, 12);
        }
        const struct cluster cluster = build_levels(count, kinds, degrees);
        pairs_are_symmetric(&cluster);
        is_written_as_read(&cluster);
        arena_pop(&arena, mark);
    }
    arena_release(&arena);
}
END_TEST

/* All devices of a ring of n send to all: no link carries more than n^2/8 ways, the least
 * possible. */
START_TEST(ring_is_loaded_evenly)
{
    begin_building();
    for (uint32_t degree = 2; degree <= 17; degree++) {
        const enum level_kind kind = LEVEL_RING;
        const struct cluster cluster = build_levels(1, &kind, &degree);
        uint32_t *load = ARENA_PUSH(&arena, uint32_t, cluster_count_resources(&cluster));
        for (uint32_t pair = 0; pair < degree * degree; pair++) {
            struct path path;
            if (pair / degree == pair % degree) {
                continue;
            }
            ck_assert(cluster_find_path(&cluster, pair / degree, pair % degree, &path));
            for (uint32_t i = 0; i < path.hop_count; i++) {
                const uint32_t ways = ++load[path.hops[i].resource];
                ck_assert_uint_le(ways, (degree * degree + 7) / 8);
            }
        }
    }
    arena_release(&arena);
}
END_TEST

/* The rates of all ways out of one device together are what it can send at that level. */
START_TEST(fullmesh_and_ring_split_the_bandwidth)
{
    begin_building();
    for (uint32_t degree = 2; degree <= 9; degree++) {
        for (enum level_kind kind = LEVEL_FULLMESH; kind <= LEVEL_RING; kind++) {
            const struct cluster cluster = build_levels(1, &kind, &degree);
            double *rate = ARENA_PUSH(&arena, double, cluster_count_resources(&cluster));
            double total = 0;
            for (uint32_t to = 1; to < degree; to++) {
                struct path path;
                ck_assert(cluster_find_path(&cluster, 0, to, &path));
                total += path.hops[0].bandwidth_Bps - rate[path.hops[0].resource];
                rate[path.hops[0].resource] = path.hops[0].bandwidth_Bps;
            }
            ck_assert_double_eq_tol(total, cluster.levels[0].bandwidth_Bps, 1);
        }
    }
    arena_release(&arena);
}
END_TEST

/* --- grids ------------------------------------------------------------------------------------ */

static uint32_t axis_distance(const struct level *level, uint32_t axis, uint32_t a, uint32_t b)
{
    const uint32_t straight = a > b ? a - b : b - a;
    const uint32_t size = level->shape[axis];
    return cluster_wraps(level, axis) && size - straight < straight ? size - straight : straight;
}

static void way_is_shortest(const struct cluster *cluster, uint32_t from, uint32_t to)
{
    const struct level *level = &cluster->levels[0];
    struct path path;
    uint32_t distance = 0;
    uint32_t stride = 1;
    for (uint32_t axis = 0; axis < level->axis_count; axis++) {
        distance += axis_distance(level, axis, from / stride % level->shape[axis],
                                  to / stride % level->shape[axis]);
        stride *= level->shape[axis];
    }
    ck_assert(cluster_find_path(cluster, from, to, &path));
    ck_assert_uint_eq(path.hop_count, distance);
    ck_assert_double_eq_tol(path.latency_s, distance * level->latency_s, 1e-15);
    ck_assert_double_eq(path.bandwidth_Bps, level->bandwidth_Bps / (2 * level->axis_count));
    uint32_t lowest_axis = 0;
    for (uint32_t i = 0; i < path.hop_count; i++) {
        const uint32_t device = path.hops[i].resource / (2 * level->axis_count);
        const uint32_t axis = path.hops[i].resource % (2 * level->axis_count) / 2;
        ck_assert(i > 0 || device == from);
        ck_assert_uint_ge(axis, lowest_axis);
        lowest_axis = axis;
    }
}

/* The sum of the distances along the axes, in dimension order, for every pair. */
START_TEST(ways_over_grids_are_shortest)
{
    static const struct level shapes[] = {
        {.kind = LEVEL_MESH, .axis_count = 2, .shape = {7, 5}, .wraps_at = 1},
        {.kind = LEVEL_TORUS, .axis_count = 2, .shape = {4, 6}, .wraps_at = 1},
        {.kind = LEVEL_TORUS, .axis_count = 2, .shape = {4, 6}, .wraps_at = 4},
        {.kind = LEVEL_TORUS, .axis_count = 3, .shape = {3, 1, 5}, .wraps_at = 1},
        {.kind = LEVEL_TORUS, .axis_count = 3, .shape = {2, 4, 3}, .wraps_at = 1},
        {.kind = LEVEL_MESH, .axis_count = 1, .shape = {9}, .wraps_at = 1},
        {.kind = LEVEL_TORUS, .axis_count = 4, .shape = {2, 3, 2, 3}, .wraps_at = 1},
    };
    begin_building();
    for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const uint32_t degree = 1;
        const enum level_kind kind = LEVEL_SWITCH;
        struct cluster cluster = build_levels(1, &kind, &degree);
        cluster.levels[0] = shapes[i];
        cluster.levels[0].name = "grid";
        cluster.levels[0].link = LINK_RAW;
        cluster.levels[0].bandwidth_Bps = 12e9;
        cluster.levels[0].latency_s = 1e-6;
        cluster.device_count = 1;
        for (uint32_t axis = 0; axis < shapes[i].axis_count; axis++) {
            cluster.device_count *= shapes[i].shape[axis];
        }
        cluster.levels[0].degree = cluster.device_count;
        ck_assert_msg(cluster_build(&cluster, &arena, &diag), "%s", messages());
        is_written_as_read(&cluster);
        pairs_are_symmetric(&cluster);
        for (uint32_t pair = 0; pair < cluster.device_count * cluster.device_count; pair++) {
            if (pair / cluster.device_count != pair % cluster.device_count) {
                way_is_shortest(&cluster, pair / cluster.device_count, pair % cluster.device_count);
            }
        }
    }
    arena_release(&arena);
}
END_TEST

/* --- graphs ----------------------------------------------------------------------------------- */

#define NODE_LIMIT 24u

/* Fewest hops and, among those ways, the widest, by Floyd and Warshall. */
struct oracle {
    uint32_t hops[NODE_LIMIT][NODE_LIMIT];
    double width_Bps[NODE_LIMIT][NODE_LIMIT];
};

static void offer(struct oracle *oracle, uint32_t a, uint32_t b, uint32_t hops, double width_Bps)
{
    if (hops < oracle->hops[a][b] ||
        (hops == oracle->hops[a][b] && width_Bps > oracle->width_Bps[a][b])) {
        oracle->hops[a][b] = hops;
        oracle->width_Bps[a][b] = width_Bps;
    }
}

static void solve(const struct cluster *cluster, struct oracle *out)
{
    const uint32_t count = cluster->node_count;
    for (uint32_t i = 0; i < NODE_LIMIT * NODE_LIMIT; i++) {
        const bool same = i / NODE_LIMIT == i % NODE_LIMIT;
        out->hops[i / NODE_LIMIT][i % NODE_LIMIT] = same ? 0 : 1000;
        out->width_Bps[i / NODE_LIMIT][i % NODE_LIMIT] = same ? DBL_MAX : 0;
    }
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        const struct link *link = &cluster->links[i];
        offer(out, link->from, link->to, 1, link->bandwidth_Bps);
        offer(out, link->to, link->from, 1, link->bandwidth_Bps);
    }
    for (uint32_t i = 0; i < count * count * count; i++) {
        const uint32_t via = i / (count * count), a = i / count % count, b = i % count;
        const double left = out->width_Bps[a][via], right = out->width_Bps[via][b];
        offer(out, a, b, out->hops[a][via] + out->hops[via][b], left < right ? left : right);
    }
}

/* Devices and switches in a random tree, which joins them all, with some links more. */
static struct cluster build_graph(struct random *dice)
{
    const enum level_kind kind = LEVEL_SWITCH;
    const uint32_t degree = 1;
    struct cluster cluster = build_levels(1, &kind, &degree);
    cluster.level_count = 0;
    cluster.device_count = 1 + random_pop_below(dice, 12);
    cluster.node_count = cluster.device_count + random_pop_below(dice, NODE_LIMIT - 12);
    cluster.nodes = ARENA_PUSH(&arena, struct node, cluster.node_count);
    const uint32_t extra = cluster.node_count < 2 ? 0 : random_pop_below(dice, 20);
    cluster.links = ARENA_PUSH(&arena, struct link, cluster.node_count + extra);
    for (uint32_t i = 0; i < cluster.node_count; i++) {
        const bool device = i < cluster.device_count;
        cluster.nodes[i] = (struct node){.id = text_build(&arena, device ? "d%u" : "s%u", i),
                                         .kind = device ? NODE_DEVICE : NODE_SWITCH,
                                         .device = device ? i : 0};
    }
    for (uint32_t i = 1; i < cluster.node_count + extra; i++) {
        const uint32_t from =
            i < cluster.node_count ? i : random_pop_below(dice, cluster.node_count);
        const uint32_t below = i < cluster.node_count ? i : cluster.node_count;
        const uint32_t to = random_pop_below(dice, below);
        if (from != to) {
            cluster.links[cluster.link_count++] =
                (struct link){.from = from,
                              .to = to,
                              .bandwidth_Bps = 1e9 * (1 + random_pop_below(dice, 4)),
                              .latency_s = 1e-6,
                              .link = LINK_RAW,
                              .half_duplex = random_pop_below(dice, 4) == 0};
        }
    }
    ck_assert_msg(cluster_build(&cluster, &arena, &diag), "%s", messages());
    return cluster;
}

/* Each hop starts where the one before ended. */
static void leads_there(const struct cluster *cluster, const struct path *path, uint32_t from,
                        uint32_t to)
{
    uint32_t node = from;
    for (uint32_t i = 0; i < path->hop_count; i++) {
        const struct link *link = &cluster->links[path->hops[i].resource / 2];
        const bool back = path->hops[i].resource % 2 == 1;
        ck_assert(!back || !link->half_duplex);
        ck_assert_uint_eq(node, link->half_duplex && node == link->to ? link->to
                                : back                                ? link->to
                                                                      : link->from);
        node = node == link->from ? link->to : link->from;
    }
    ck_assert_uint_eq(node, to);
}

static void ways_are_best(const struct cluster *cluster)
{
    struct oracle oracle;
    solve(cluster, &oracle);
    for (uint32_t a = 0; a < cluster->device_count; a++) {
        for (uint32_t b = 0; b < cluster->device_count; b++) {
            struct path path;
            if (a == b) {
                continue;
            }
            ck_assert(cluster_find_path(cluster, a, b, &path));
            is_sound(cluster, &path);
            leads_there(cluster, &path, a, b);
            ck_assert_uint_eq(path.hop_count, oracle.hops[a][b]);
            ck_assert_double_eq(path.bandwidth_Bps, oracle.width_Bps[a][b]);
            ck_assert_double_eq_tol(path.latency_s, path.hop_count * 1e-6, 1e-12);
        }
    }
}

START_TEST(ways_through_graphs_are_shortest_then_widest)
{
    struct random dice;
    begin_building();
    random_init(&dice, 5);
    for (uint32_t round = 0; round < 400; round++) {
        const struct arena_mark mark = arena_find_mark(&arena);
        const struct cluster cluster = build_graph(&dice);
        ways_are_best(&cluster);
        is_written_as_read(&cluster);
        arena_pop(&arena, mark);
    }
    arena_release(&arena);
}
END_TEST

TAP_MAIN("clusters", zoo_cluster_is_written_as_read, pairs_of_zoo_clusters_are_symmetric,
         pairs_of_all_levels_are_symmetric, ring_is_loaded_evenly,
         fullmesh_and_ring_split_the_bandwidth, ways_over_grids_are_shortest,
         ways_through_graphs_are_shortest_then_widest)

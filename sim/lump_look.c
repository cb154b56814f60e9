/* One look at the rounds of a member on a group: which kinds of message each has. */
#include <assert.h>
#include <string.h>

#include "base/diag.h"
#include "sim/lump_inside.h"

/* Larger groups of one level are taken to be even without a look at every pair. */
#define LOOK_RANKS 256u

/* A message of the round at hand. */
struct seen {
    uint32_t rank, chunk_count;
    uint32_t level;
    uint32_t first_hop,
        hop_count; /* none through a switch that reduces: it takes nobody's bandwidth twice */
    const struct link_kind *link;
    double latency_s, bandwidth_Bps;
    bool in_network, reduces;
};

struct seen_hop {
    size_t load; /* its place in the loads */
    double bandwidth_Bps;
};

/* What all ways of a switched level have in common. */
struct level_way {
    bool is_known;
    const struct link_kind *link;
    double latency_s, bandwidth_Bps, hop_Bps[2];
};

struct look {
    const struct lump_look_request *request;
    struct arena *arena;
    struct survey *survey;
    uint32_t chunk_count;
    uint32_t *devices; /* [rank] */
    uint32_t
        *loads; /* per port of a rank and level, then per hop of the cluster; zero between rounds */
    uint32_t *sends; /* [rank] in the round */
    struct level_way ways[LEVEL_MAX];
    struct seen *seen;
    struct seen_hop *hops;
    uint32_t seen_count, seen_capacity, hop_count, hop_capacity;
};

/* --- ways ------------------------------------------------------------------------------------- */

static void find_way(const struct look *look, uint32_t a, uint32_t b, struct path *out)
{
    if (!cluster_find_path(look->request->cluster, a, b, out)) {
        BUG("no way from device %u to device %u: the cluster was not checked", a, b);
    }
}

static void find_path(const struct look *look, uint32_t from, uint32_t to, struct path *out)
{
    find_way(look, look->devices[from], look->devices[to], out);
}

static void push_hop(struct look *look, size_t load, double bandwidth_Bps)
{
    ARENA_MAKE_ROOM(look->arena, look->hops, look->hop_count, look->hop_capacity);
    look->hops[look->hop_count++] = (struct seen_hop){load, bandwidth_Bps};
    look->loads[load]++;
}

/* Ports of a switched level belong to the ranks at the ends, so one path serves all. */
static void find_switched(struct look *look, uint32_t to, struct seen *seen)
{
    const uint32_t levels = look->request->cluster->level_count;
    struct level_way *way = &look->ways[seen->level];
    if (!way->is_known) {
        struct path path;
        find_path(look, seen->rank, to, &path);
        assert(path.hop_count == 2);
        *way = (struct level_way){true,
                                  prices_find_link(look->request->prices, path.link),
                                  path.latency_s,
                                  path.bandwidth_Bps,
                                  {path.hops[0].bandwidth_Bps, path.hops[1].bandwidth_Bps}};
    }
    seen->link = way->link;
    seen->latency_s = way->latency_s;
    seen->bandwidth_Bps = way->bandwidth_Bps;
    if (!seen->in_network) {
        push_hop(look, 2 * ((size_t)seen->rank * levels + seen->level), way->hop_Bps[0]);
        push_hop(look, 2 * ((size_t)to * levels + seen->level) + 1, way->hop_Bps[1]);
    }
}

static void push_hops(struct look *look, const struct path *path)
{
    const size_t ports =
        (size_t)2 * look->request->group->ranks * look->request->cluster->level_count;
    for (uint32_t i = 0; i < path->hop_count; i++) {
        push_hop(look, ports + path->hops[i].resource, path->hops[i].bandwidth_Bps);
    }
}

static void find_any(struct look *look, uint32_t to, struct seen *seen)
{
    struct path path;
    find_path(look, seen->rank, to, &path);
    seen->level = path.level;
    seen->link = prices_find_link(look->request->prices, path.link);
    seen->latency_s = path.latency_s;
    seen->bandwidth_Bps = path.bandwidth_Bps;
    if (!seen->in_network) {
        push_hops(look, &path);
    }
}

static void see(struct look *look, uint32_t rank, const struct collective_step *step)
{
    const struct cluster *cluster = look->request->cluster;
    const bool in_network = step->to == COLLECTIVE_SWITCH;
    const uint32_t to = in_network ? (rank == 0 ? 1 : 0) : step->to;
    struct seen seen = {.rank = rank,
                        .chunk_count = step->chunk_count,
                        .first_hop = look->hop_count,
                        .in_network = in_network,
                        .reduces = step->reduce};
    if (cluster->level_count > 0) {
        seen.level = cluster_find_level(cluster, look->devices[rank], look->devices[to]);
    }
    if (cluster->level_count > 0 && cluster->levels[seen.level].kind == LEVEL_SWITCH) {
        find_switched(look, to, &seen);
    } else {
        find_any(look, to, &seen);
    }
    seen.hop_count = look->hop_count - seen.first_hop;
    look->sends[rank]++;
    ARENA_MAKE_ROOM(look->arena, look->seen, look->seen_count, look->seen_capacity);
    look->seen[look->seen_count++] = seen;
}

/* --- sorts ------------------------------------------------------------------------------------ */

static bool same_sort(const struct sort *a, const struct sort *b)
{
    return a->level == b->level && a->link == b->link && a->latency_s == b->latency_s &&
           a->port_Bps == b->port_Bps && a->shared_Bps == b->shared_Bps &&
           a->alone_Bps == b->alone_Bps && a->bytes_frac == b->bytes_frac &&
           a->messages == b->messages && a->in_network == b->in_network;
}

static void push_sort(struct look *look, struct stretch *stretch, const struct sort *sort)
{
    for (uint32_t i = 0; i < stretch->sort_count; i++) {
        if (same_sort(&stretch->sorts[i], sort)) {
            return;
        }
    }
    ARENA_MAKE_ROOM(look->arena, stretch->sorts, stretch->sort_count, stretch->sort_capacity);
    stretch->sorts[stretch->sort_count++] = *sort;
    struct survey *survey = look->survey;
    survey->base_s = sort->link->base_s > survey->base_s ? sort->link->base_s : survey->base_s;
    survey->protocol_count = sort->link->protocol_count > survey->protocol_count
                                 ? sort->link->protocol_count
                                 : survey->protocol_count;
}

static struct sort sort_of(const struct look *look, const struct seen *seen)
{
    const struct cluster *cluster = look->request->cluster;
    const uint32_t ranks = look->request->group->ranks;
    const uint32_t parts = look->request->kind == COLLECTIVE_ALL_TO_ALL ? ranks : look->chunk_count;
    const bool has_one_port =
        cluster->level_count > 0 && cluster->levels[seen->level].kind == LEVEL_SWITCH;
    double shared_Bps = seen->bandwidth_Bps;
    for (uint32_t i = seen->first_hop; i < seen->first_hop + seen->hop_count; i++) {
        const double share_Bps =
            look->hops[i].bandwidth_Bps / (double)look->loads[look->hops[i].load];
        shared_Bps = share_Bps < shared_Bps ? share_Bps : shared_Bps;
    }
    /* down from a switch comes one sum, or what all others sent */
    const double times = seen->in_network && !seen->reduces ? (double)(ranks - 1) : 1.0;
    return (struct sort){.level = seen->level,
                         .kind = look->request->kind,
                         .link = seen->link,
                         .latency_s = seen->in_network ? 2.0 * seen->latency_s : seen->latency_s,
                         .shared_Bps = shared_Bps,
                         .alone_Bps = seen->bandwidth_Bps,
                         .port_Bps = cluster->level_count == 0
                                         ? look->request->port_Bps[look->devices[seen->rank]]
                                         : cluster->levels[seen->level].bandwidth_Bps,
                         .bytes_frac = (double)seen->chunk_count / (double)parts * times,
                         .messages = seen->in_network ? 1.0
                                     : has_one_port   ? seen->bandwidth_Bps / shared_Bps
                                                      : (double)look->sends[seen->rank],
                         .in_network = seen->in_network};
}

/* Sorts of all messages seen, which are forgotten. */
static void sort_seen(struct look *look, struct stretch *stretch)
{
    for (uint32_t i = 0; i < look->seen_count; i++) {
        const struct sort sort = sort_of(look, &look->seen[i]);
        push_sort(look, stretch, &sort);
    }
    for (uint32_t i = 0; i < look->hop_count; i++) {
        look->loads[look->hops[i].load] = 0;
    }
    for (uint32_t i = 0; i < look->seen_count; i++) {
        look->sends[look->seen[i].rank] = 0;
    }
    look->seen_count = look->hop_count = 0;
}

/* --- rounds ----------------------------------------------------------------------------------- */

static struct stretch *push_stretch(struct look *look, uint32_t repeat)
{
    struct survey *survey = look->survey;
    ARENA_MAKE_ROOM(look->arena, survey->stretches, survey->stretch_count,
                    survey->stretch_capacity);
    struct stretch *stretch = &survey->stretches[survey->stretch_count++];
    *stretch = (struct stretch){.repeat = repeat};
    return stretch;
}

/* How many ranks show what the round is like: the first block of those that do alike, or two,
 * four, ... of them, where all lie alike. */
static uint32_t count_shown(const struct look *look, uint32_t round)
{
    const struct lump_look_request *request = look->request;
    const struct survey *survey = look->survey;
    const uint32_t ranks = survey->shape.ranks;
    uint32_t shown = ranks;
    if (survey->member->block != NULL) {
        shown = survey->member->block(request->kind, &survey->shape, round);
    }
    while (shown < ranks &&
           !collective_group_repeats(request->cluster, request->group, request->base, shown)) {
        shown = ranks % (2 * shown) == 0 ? 2 * shown : ranks;
    }
    return request->ranks_max > 0 && request->ranks_max < shown ? request->ranks_max : shown;
}

/* What another group of the nest sends in the round is only in the way. */
static void pass_group(struct look *look, uint32_t base, uint32_t round)
{
    const struct survey *survey = look->survey;
    const struct rank_group *group = look->request->group;
    struct collective_step step;
    for (uint32_t rank = 0; rank < group->ranks; rank++) {
        const uint32_t from = rank_group_find_device(group, base, rank);
        for (uint32_t i = 0;
             survey->member->step(look->request->kind, &survey->shape, round, rank, i, &step);
             i++) {
            struct path path;
            if (step.to != COLLECTIVE_SWITCH) {
                find_way(look, from, rank_group_find_device(group, base, step.to), &path);
                push_hops(look, &path);
            }
        }
    }
}

static void pass_crowd(struct look *look, uint32_t round)
{
    const struct lump_look_request *request = look->request;
    for (uint32_t base = 0; base < request->crowd.places; base++) {
        if (base != request->base && rank_group_begins(request->group, base)) {
            pass_group(look, base, round);
        }
    }
}

static void look_at_all(struct look *look)
{
    const struct survey *survey = look->survey;
    const struct collective *member = survey->member;
    const enum collective_kind kind = look->request->kind;
    const uint32_t rounds = member->round_count(kind, &survey->shape);
    for (uint32_t round = 0; round < rounds;) {
        struct stretch *stretch = push_stretch(
            look, member->alike == NULL ? 1 : member->alike(kind, &survey->shape, round));
        const uint32_t shown = count_shown(look, round);
        struct collective_step step;
        for (uint32_t rank = 0; rank < shown; rank++) {
            for (uint32_t i = 0; member->step(kind, &survey->shape, round, rank, i, &step); i++) {
                see(look, rank, &step);
            }
        }
        pass_crowd(look, round);
        sort_seen(look, stretch);
        round += stretch->repeat;
    }
}

/* --- members whose ranks do not go in step ---------------------------------------------------- */

/* Ranks of a staggered program wait for each other only along chains; where all messages have
 * the same terms the longest chain has every round (a law of the members), elsewhere rounds
 * would not add up. */
static bool is_even(const struct survey *survey)
{
    const struct sort *first = NULL;
    for (uint32_t i = 0; i < survey->stretch_count; i++) {
        const struct stretch *stretch = &survey->stretches[i];
        if (stretch->sort_count > 1) {
            return false;
        }
        if (stretch->sort_count == 0) {
            continue;
        }
        first = first == NULL ? &stretch->sorts[0] : first;
        if (!same_sort(first, &stretch->sorts[0])) {
            return false;
        }
    }
    return true;
}

static bool is_one_level(const struct look *look)
{
    const struct cluster *cluster = look->request->cluster;
    if (cluster->level_count == 0) {
        return false;
    }
    const uint32_t *devices = look->devices;
    const uint32_t level = cluster_find_level(cluster, devices[0], devices[1]);
    for (uint32_t rank = 1; rank < look->request->group->ranks; rank++) {
        if (cluster_find_level(cluster, devices[0], devices[rank]) != level ||
            cluster_find_level(cluster, devices[rank - 1], devices[rank]) != level) {
            return false;
        }
    }
    return cluster->levels[level].kind == LEVEL_SWITCH;
}

/* All rounds from one message: the first there is. */
static void look_at_one(struct look *look)
{
    const struct survey *survey = look->survey;
    const enum collective_kind kind = look->request->kind;
    const uint32_t rounds = survey->member->round_count(kind, &survey->shape);
    struct stretch *stretch = push_stretch(look, rounds);
    struct collective_step step;
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t rank = 0; rank < survey->shape.ranks; rank++) {
            if (survey->member->step(kind, &survey->shape, round, rank, 0, &step)) {
                see(look, rank, &step);
                sort_seen(look, stretch);
                return;
            }
        }
    }
}

static void look_at_staggered(struct look *look)
{
    struct survey *survey = look->survey;
    const uint32_t pipeline = survey->shape.pipeline;
    const struct lump_look_request *request = look->request;
    if (collective_group_meets(request->cluster, request->group, &request->crowd, look->arena)) {
        survey->is_usable = false; /* what the crowd leaves of a link differs from round to round */
    } else if (survey->shape.ranks > LOOK_RANKS) {
        survey->is_usable = is_one_level(look);
    } else {
        /* the same pairs talk to each other in every pipelining */
        survey->shape.pipeline = 1;
        look_at_all(look);
        survey->is_usable = is_even(survey);
        survey->shape.pipeline = pipeline;
        survey->stretch_count = 0;
    }
    if (survey->is_usable) {
        look_at_one(look);
    }
}

void lump_look(const struct lump_look_request *request, const struct collective *member,
               const struct collective_group *shape, struct arena *arena, struct survey *out)
{
    const struct cluster *cluster = request->cluster;
    const uint32_t ranks = request->group->ranks;
    const size_t loads =
        (size_t)2 * ranks * cluster->level_count + cluster_count_resources(cluster);
    assert(ranks > 1 && collective_accepts(member, request->kind, shape));
    out->member = member;
    out->shape = *shape;
    out->is_usable = true;
    out->protocol_count = 1;
    struct look look = {.request = request,
                        .arena = arena,
                        .survey = out,
                        .chunk_count = member->chunk_count(request->kind, shape),
                        .devices = ARENA_PUSH(arena, uint32_t, ranks),
                        .sends = ARENA_PUSH(arena, uint32_t, ranks),
                        .loads = ARENA_PUSH(arena, uint32_t, loads)};
    for (uint32_t rank = 0; rank < ranks; rank++) {
        look.devices[rank] = rank_group_find_device(request->group, request->base, rank);
    }
    if (member->staggered) {
        assert(request->ranks_max == 0);
        look_at_staggered(&look);
    } else {
        look_at_all(&look);
    }
}

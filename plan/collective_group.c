/* Where in the cluster the ranks of a group lie close together. */
#include "plan/collective_group.h"

#include <assert.h>

static uint32_t gcd(uint32_t a, uint32_t b)
{
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* --- levels ----------------------------------------------------------------------------------- */

/* blocks[l]: the largest block of consecutive ranks that no border of a level-l domain cuts. A
 * border lies before rank i where the ranks i-1 and i share no domain of the level, so blocks
 * divide all such i. Gives the highest level that neighbours cross, which is the lowest that
 * holds all. */
static uint32_t find_blocks(const struct cluster *cluster, const struct rank_group *group,
                            uint32_t base, uint32_t blocks[LEVEL_MAX])
{
    uint32_t highest = 0;
    uint32_t before = rank_group_find_device(group, base, 0);
    for (uint32_t l = 0; l < cluster->level_count; l++) {
        blocks[l] = group->ranks;
    }
    for (uint32_t i = 1; i < group->ranks; i++) {
        const uint32_t device = rank_group_find_device(group, base, i);
        const uint32_t level = cluster_find_level(cluster, before, device);
        for (uint32_t l = 0; l < level; l++) {
            blocks[l] = i % blocks[l] == 0 ? blocks[l] : gcd(i, blocks[l]);
        }
        highest = level > highest ? level : highest;
        before = device;
    }
    return highest;
}

static uint32_t choose_level(const struct cluster *cluster, uint32_t ranks,
                             const uint32_t blocks[LEVEL_MAX])
{
    uint32_t innermost = 0;
    while (innermost + 1 < cluster->level_count && cluster->levels[innermost].degree == 1) {
        innermost++;
    }
    for (uint32_t l = innermost; l < cluster->level_count; l++) {
        if (blocks[l] > 1) {
            return blocks[l] < ranks || l == innermost ? blocks[l] : 1;
        }
    }
    return 1;
}

/* Places of a group on the grid of one level. */
struct grid {
    const struct level *level;
    uint32_t inner; /* devices per place */
    uint32_t origin[LEVEL_AXIS_MAX], sizes[LEVEL_AXIS_MAX], strides[LEVEL_AXIS_MAX];
};

static void find_place(const struct grid *grid, uint32_t device, uint32_t out[LEVEL_AXIS_MAX])
{
    uint32_t index = device / grid->inner % grid->level->degree;
    for (uint32_t axis = 0; axis < grid->level->axis_count; axis++) {
        out[axis] = index % grid->level->shape[axis];
        index /= grid->level->shape[axis];
    }
}

/* How many ranks lie along each axis and how far apart, if they do: as the ranks count, so do the
 * axes. `stride` ranks on, the coordinate is one size further. */
static void measure(const struct rank_group *group, uint32_t base, struct grid *grid)
{
    uint32_t stride = 1;
    find_place(grid, rank_group_find_device(group, base, 0), grid->origin);
    for (uint32_t axis = 0; axis < grid->level->axis_count; axis++) {
        uint32_t place[LEVEL_AXIS_MAX];
        uint32_t size = 1;
        grid->strides[axis] = 0;
        while (stride * size < group->ranks) {
            find_place(grid, rank_group_find_device(group, base, stride * size), place);
            if (place[axis] <= grid->origin[axis] ||
                (size > 1 && place[axis] - grid->origin[axis] != size * grid->strides[axis])) {
                break;
            }
            grid->strides[axis] =
                size == 1 ? place[axis] - grid->origin[axis] : grid->strides[axis];
            size++;
        }
        grid->sizes[axis] = size;
        stride *= size;
    }
}

/* Every rank stands where its digits say, each in a domain of its own, and no corner is empty. */
static bool is_box(const struct rank_group *group, uint32_t base, const struct grid *grid)
{
    uint64_t places = 1;
    for (uint32_t axis = 0; axis < grid->level->axis_count; axis++) {
        places *= grid->sizes[axis];
    }
    if (places != group->ranks) {
        return false;
    }
    const uint32_t offset = rank_group_find_device(group, base, 0) % grid->inner;
    for (uint32_t rank = 0; rank < group->ranks; rank++) {
        const uint32_t device = rank_group_find_device(group, base, rank);
        uint32_t place[LEVEL_AXIS_MAX];
        uint32_t rest = rank;
        find_place(grid, device, place);
        for (uint32_t axis = 0; axis < grid->level->axis_count; axis++) {
            if (place[axis] !=
                grid->origin[axis] + rest % grid->sizes[axis] * grid->strides[axis]) {
                return false;
            }
            rest /= grid->sizes[axis];
        }
        if (rest > 0 || device % grid->inner != offset) {
            return false;
        }
    }
    return true;
}

static void find_axes(const struct cluster *cluster, const struct rank_group *group, uint32_t base,
                      uint32_t index, struct collective_group *out)
{
    struct grid grid = {.level = &cluster->levels[index],
                        .inner =
                            index == 0 ? 1 : (uint32_t)cluster_count_domain(cluster, index - 1)};
    if (grid.level->axis_count == 0) {
        return;
    }
    measure(group, base, &grid);
    if (!is_box(group, base, &grid)) {
        return;
    }
    for (uint32_t axis = 0; axis < grid.level->axis_count; axis++) {
        if (grid.sizes[axis] > 1) {
            out->axes[out->axis_count] = grid.sizes[axis];
            out->closes[out->axis_count++] =
                cluster_wraps(grid.level, axis) &&
                grid.sizes[axis] * grid.strides[axis] == grid.level->shape[axis];
        }
    }
}

static void find_in_levels(const struct cluster *cluster, const struct rank_group *group,
                           uint32_t base, struct collective_group *out)
{
    uint32_t blocks[LEVEL_MAX];
    const uint32_t highest = find_blocks(cluster, group, base, blocks);
    out->inner = choose_level(cluster, group->ranks, blocks);
    out->reduces = group->ranks > 1 && cluster->levels[highest].reduces;
    find_axes(cluster, group, base, highest, out);
}

/* --- graph ------------------------------------------------------------------------------------ */

/* Bandwidth of the way between two devices alone; 0 where none leads. */
static double find_width_Bps(const struct cluster *cluster, uint32_t from, uint32_t to)
{
    struct path path;
    return cluster_find_path(cluster, from, to, &path) ? path.bandwidth_Bps : 0;
}

/* Blocks cut where the way from one rank to the next is narrower than from rank 0 to rank 1. If
 * a later one is wider, those two are cut apart too, and nothing but 1 divides their border. */
static uint32_t find_inner(const struct cluster *cluster, const struct rank_group *group,
                           uint32_t base)
{
    uint32_t inner = group->ranks;
    double widest_Bps = 0;
    uint32_t before = rank_group_find_device(group, base, 0);
    for (uint32_t i = 1; i < group->ranks && inner > 1; i++) {
        const uint32_t device = rank_group_find_device(group, base, i);
        const double width_Bps = find_width_Bps(cluster, before, device);
        widest_Bps = i == 1 ? width_Bps : widest_Bps;
        if (width_Bps > widest_Bps) {
            return 1;
        }
        if (width_Bps < widest_Bps) {
            inner = gcd(i, inner);
        }
        before = device;
    }
    return inner;
}

/* A direct link is the shortest way, so the route to a neighbour is the link itself. */
static bool are_linked(const struct cluster *cluster, uint32_t device, uint32_t node)
{
    uint32_t index = cluster->leaf_link[device];
    if (index == UINT32_MAX) {
        index = cluster->leaf_link[node];
    }
    if (index == UINT32_MAX) {
        const size_t row = (size_t)cluster->core[device] * cluster->core_count;
        index = cluster->next_hop[row + cluster->core[node]];
    }
    if (index == UINT32_MAX) {
        return false;
    }
    const struct link *link = &cluster->links[index];
    return (link->from == device && link->to == node) || (link->from == node && link->to == device);
}

static bool links_all(const struct cluster *cluster, const struct rank_group *group, uint32_t base,
                      uint32_t node)
{
    for (uint32_t i = 0; i < group->ranks; i++) {
        if (!are_linked(cluster, rank_group_find_device(group, base, i), node)) {
            return false;
        }
    }
    return true;
}

static void find_in_graph(const struct cluster *cluster, const struct rank_group *group,
                          uint32_t base, struct collective_group *out)
{
    out->inner = find_inner(cluster, group, base);
    out->reduces = false;
    for (uint32_t i = 0; i < cluster->node_count && group->ranks > 1 && !out->reduces; i++) {
        const struct node *node = &cluster->nodes[i];
        out->reduces =
            node->kind == NODE_SWITCH && node->reduces && links_all(cluster, group, base, i);
    }
}

/* --- blocks that lie alike -------------------------------------------------------------------- */

/* How a group's aligned blocks of ranks lie: `shift` devices from one to the next, `span` from the
 * first device of one to its last. */
struct lie {
    uint32_t shift, span;
    uint32_t digit; /* the last of the steps that reach into a block */
};

/* False where the block ends inside a digit or a stride is smaller than one before it. */
static bool find_lie(const struct rank_group *group, uint32_t block, struct lie *out)
{
    uint32_t left = block;
    *out = (struct lie){.shift = 1};
    for (uint32_t s = 0; s < group->step_count; s++) {
        const uint32_t size = group->steps[s].size, stride = group->steps[s].stride;
        if (s > 0 && stride < group->steps[s - 1].stride) {
            return false;
        }
        if (left > 1 || s == 0) {
            const uint32_t taken = left < size ? left : size;
            if (left % taken != 0 || size % taken != 0) {
                return false;
            }
            out->span += (taken - 1) * stride;
            out->shift = taken < size ? taken * stride : 0;
            out->digit = s;
            left /= taken;
        } else if (out->shift == 0) {
            out->shift = stride;
            out->digit = s;
        }
    }
    return left == 1 && out->shift > 0;
}

/* Do blocks move over whole domains, or, behind switches, lie each inside one? */
static bool fits_domains(const struct cluster *cluster, uint32_t level,
                         const struct rank_group *group, const struct lie *lie, uint32_t base)
{
    const uint64_t domain = cluster_count_domain(cluster, level);
    bool moves_whole = lie->shift % domain == 0;
    bool stays_inside = cluster->levels[level].kind == LEVEL_SWITCH && domain % lie->shift == 0 &&
                        (uint64_t)base % lie->shift + lie->span < lie->shift;
    for (uint32_t s = lie->digit + 1; s < group->step_count; s++) {
        moves_whole = moves_whole && group->steps[s].stride % domain == 0;
        stays_inside = stays_inside && group->steps[s].stride % lie->shift == 0;
    }
    return moves_whole || stays_inside;
}

bool collective_group_repeats(const struct cluster *cluster, const struct rank_group *group,
                              uint32_t base, uint32_t block)
{
    struct lie lie;
    assert(block > 0 && group->ranks % block == 0);
    if (cluster->level_count == 0 || group->map != NULL || !find_lie(group, block, &lie)) {
        return block == group->ranks;
    }
    bool repeats = true;
    for (uint32_t level = 0; level < cluster->level_count; level++) {
        repeats = repeats && fits_domains(cluster, level, group, &lie, base);
    }
    return repeats || block == group->ranks;
}

void collective_group_find(const struct cluster *cluster, const struct rank_group *group,
                           uint32_t base, struct collective_group *out)
{
    assert(rank_group_check(group));
    assert(rank_group_find_device(group, base, group->ranks - 1) < cluster->device_count);
    *out = (struct collective_group){.ranks = group->ranks, .pipeline = 1};
    if (cluster->level_count > 0) {
        find_in_levels(cluster, group, base, out);
    } else {
        find_in_graph(cluster, group, base, out);
    }
}

/* Groups of a crowd on the links that they cross. */
struct meeting {
    const struct cluster *cluster;
    const struct rank_group *group;
    uint32_t *users; /* [resource] base of the group that crosses it and 1 */
};

/* False: another group crosses a link of the way. */
static bool cross(const struct meeting *meeting, uint32_t base, uint32_t from, uint32_t to)
{
    struct path path;
    if (!cluster_find_path(meeting->cluster, rank_group_find_device(meeting->group, base, from),
                           rank_group_find_device(meeting->group, base, to), &path)) {
        BUG("no way from rank %u to rank %u: the cluster was not checked", from, to);
    }
    for (uint32_t i = 0; i < path.hop_count; i++) {
        uint32_t *user = &meeting->users[path.hops[i].resource];
        if (*user != 0 && *user != base + 1) {
            return false;
        }
        *user = base + 1;
    }
    return true;
}

static bool is_apart(const struct meeting *meeting, uint32_t base)
{
    bool apart = true;
    for (uint32_t rank = 1; rank < meeting->group->ranks && apart; rank++) {
        apart = cross(meeting, base, 0, rank) && cross(meeting, base, rank, 0) &&
                cross(meeting, base, rank - 1, rank);
    }
    return apart;
}

bool collective_group_meets(const struct cluster *cluster, const struct rank_group *group,
                            const struct rank_crowd *crowd, struct arena *arena)
{
    if (crowd->places == 0) {
        return false;
    }
    const struct arena_mark mark = arena_find_mark(arena);
    const struct meeting meeting = {cluster, group,
                                    ARENA_PUSH(arena, uint32_t, cluster_count_resources(cluster))};
    bool apart = true;
    for (uint32_t base = 0; base < crowd->places && apart; base++) {
        apart = !rank_group_begins(group, base) || is_apart(&meeting, base);
    }
    arena_pop(arena, mark);
    return !apart;
}

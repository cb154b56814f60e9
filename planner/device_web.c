/* The minimum cut of the graph of bandwidths, again and again. */
#include "planner/device_web.h"

#include <string.h>

#include "base/number.h"

static double way_Bps(const struct cluster *cluster, uint32_t from, uint32_t to)
{
    struct path path;
    return from == to || !cluster_find_path(cluster, from, to, &path) ? 0.0 : path.bandwidth_Bps;
}

void device_web_build(const struct cluster *cluster, const uint32_t *devices, uint32_t count,
                      uint32_t unit, struct arena *arena, struct device_web *out)
{
    out->count = count / unit;
    out->bandwidth_Bps = ARENA_PUSH(arena, double, (size_t)out->count * out->count);
    for (uint32_t a = 0; a < out->count; a++) {
        for (uint32_t b = 0; b < a; b++) {
            const uint32_t from = devices[a * unit], to = devices[b * unit];
            const double least =
                number_smaller(way_Bps(cluster, from, to), way_Bps(cluster, to, from));
            out->bandwidth_Bps[(size_t)a * out->count + b] = least;
            out->bandwidth_Bps[(size_t)b * out->count + a] = least;
        }
    }
}

static double between(const struct device_web *web, uint32_t a, uint32_t b)
{
    return web->bandwidth_Bps[(size_t)a * web->count + b];
}

/* --- minimum cut ------------------------------------------------------------------------------ */

struct cutter {
    uint32_t count, left;  /* vertices, those not merged away */
    double *weights;       /* [a * count + b] */
    uint32_t *vertices;    /* those left */
    uint32_t *merged_into; /* [member] vertex that holds it */
};

/* Vertices one after another, always the one most tightly joined to those before: the last two,
 * and what joins the last to all others. */
static double order_tightly(const struct cutter *cutter, struct arena *arena, uint32_t *last,
                            uint32_t *before)
{
    double *joined = ARENA_PUSH(arena, double, cutter->count);
    bool *taken = ARENA_PUSH(arena, bool, cutter->count);
    double tightest = 0.0;
    *last = cutter->vertices[0];
    for (uint32_t step = 0; step < cutter->left; step++) {
        uint32_t next = UINT32_MAX;
        for (uint32_t i = 0; i < cutter->left; i++) {
            const uint32_t vertex = cutter->vertices[i];
            if (!taken[vertex] && (next == UINT32_MAX || joined[vertex] > joined[next])) {
                next = vertex;
            }
        }
        taken[next] = true;
        *before = *last;
        *last = next;
        tightest = joined[next];
        for (uint32_t i = 0; i < cutter->left; i++) {
            joined[cutter->vertices[i]] +=
                cutter->weights[(size_t)next * cutter->count + cutter->vertices[i]];
        }
    }
    return tightest;
}

static void merge(struct cutter *cutter, uint32_t gone, uint32_t into)
{
    const size_t count = cutter->count;
    uint32_t place = 0;
    for (uint32_t v = 0; v < count; v++) {
        cutter->weights[into * count + v] += cutter->weights[gone * count + v];
        cutter->weights[v * count + into] = cutter->weights[into * count + v];
        cutter->merged_into[v] = cutter->merged_into[v] == gone ? into : cutter->merged_into[v];
    }
    cutter->weights[into * count + into] = 0.0;
    while (cutter->vertices[place] != gone) {
        place++;
    }
    cutter->left--;
    memmove(&cutter->vertices[place], &cutter->vertices[place + 1],
            (cutter->left - place) * sizeof *cutter->vertices);
}

static struct cutter open_cutter(const struct device_web *web, const uint32_t *members,
                                 uint32_t count, struct arena *arena)
{
    struct cutter cutter = {.count = count,
                            .left = count,
                            .weights = ARENA_PUSH(arena, double, (size_t)count *count),
                            .vertices = ARENA_PUSH(arena, uint32_t, count),
                            .merged_into = ARENA_PUSH(arena, uint32_t, count)};
    for (uint32_t a = 0; a < count; a++) {
        cutter.vertices[a] = cutter.merged_into[a] = a;
        for (uint32_t b = 0; b < count; b++) {
            cutter.weights[(size_t)a * count + b] =
                a == b ? 0.0 : between(web, members[a], members[b]);
        }
    }
    return cutter;
}

double device_web_find_cut(const struct device_web *web, const uint32_t *members, uint32_t count,
                           struct arena *arena, bool *side)
{
    const struct arena_mark mark = arena_find_mark(arena);
    struct cutter cutter = open_cutter(web, members, count, arena);
    double best = 1e300;
    while (cutter.left > 1) {
        uint32_t last, before;
        const double cut = order_tightly(&cutter, arena, &last, &before);
        for (uint32_t i = 0; i < count && cut < best; i++) {
            side[i] = cutter.merged_into[i] == last;
        }
        best = number_smaller(best, cut);
        merge(&cutter, last, before);
    }
    arena_pop(arena, mark);
    return best;
}

/* --- the order -------------------------------------------------------------------------------- */

static void turn(uint32_t *members, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        const uint32_t swapped = members[i];
        members[i] = members[count - 1 - i];
        members[count - 1 - i] = swapped;
    }
}

/* Which side goes first changes nothing but the direction of the whole: four joints. */
static void join(const struct device_web *web, uint32_t *left, uint32_t left_count,
                 uint32_t right_count)
{
    uint32_t *right = left + left_count;
    double widest = -1.0;
    bool turn_left = false, turn_right = false;
    for (uint32_t way = 0; way < 4; way++) {
        const uint32_t end = (way & 1) != 0 ? left[0] : left[left_count - 1];
        const uint32_t start = (way & 2) != 0 ? right[right_count - 1] : right[0];
        if (between(web, end, start) > widest) {
            widest = between(web, end, start);
            turn_left = (way & 1) != 0;
            turn_right = (way & 2) != 0;
        }
    }
    if (turn_left) {
        turn(left, left_count);
    }
    if (turn_right) {
        turn(right, right_count);
    }
}

static void sort(const struct device_web *web, uint32_t *members, uint32_t count,
                 struct arena *arena)
{
    if (count < 2) {
        return;
    }
    bool *side = ARENA_PUSH(arena, bool, count);
    uint32_t *sorted = ARENA_PUSH(arena, uint32_t, count), left = 0, right = count;
    device_web_find_cut(web, members, count, arena, side);
    for (uint32_t i = 0; i < count; i++) {
        left += side[i] == side[0] ? 1 : 0;
    }
    right = left;
    uint32_t start = 0;
    for (uint32_t i = 0; i < count; i++) {
        sorted[side[i] == side[0] ? start++ : right++] = members[i];
    }
    memcpy(members, sorted, count * sizeof *members);
    sort(web, members, left, arena);
    sort(web, members + left, count - left, arena);
    join(web, members, left, count - left);
}

void device_web_sort(const struct device_web *web, struct arena *arena, uint32_t *order)
{
    const struct arena_mark mark = arena_find_mark(arena);
    for (uint32_t i = 0; i < web->count; i++) {
        order[i] = i;
    }
    sort(web, order, web->count, arena);
    arena_pop(arena, mark);
}

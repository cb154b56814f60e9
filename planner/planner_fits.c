/* Does any plan of a space have room? Nothing is timed. */
#include <stdlib.h>

#include "planner/planner_inside.h"

static int by_floor(const void *a, const void *b)
{
    const struct mesh_node *left = *(struct mesh_node *const *)a;
    const struct mesh_node *right = *(struct mesh_node *const *)b;
    if (left->floor_bytes != right->floor_bytes) {
        return left->floor_bytes < right->floor_bytes ? -1 : 1;
    }
    return left->index < right->index ? -1 : left->index > right->index ? 1 : 0;
}

static void find_floor(struct search *search, struct mesh_node *node)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    struct order_work order = node_start(search, node, node->mesh->first_order);
    probe_floor(search, node, &order);
    arena_pop(&search->scratch, mark);
}

/* Unlike layers are placed by their times, which need prices. */
static bool form_fits(struct search *search, struct order_work *order, struct leaf leaf)
{
    uint32_t *caps = ARENA_PUSH(&search->scratch, uint32_t, search->layers);
    for (uint32_t left = leaf.alternatives->count; left > 0; left--) {
        leaf.alternative = left - 1;
        struct variant *variant =
            variant_find(search, order, leaf.alternatives,
                         space_find_class(leaf.alternatives, leaf.alternative));
        if (!layout_is_alike(search->problem->model)) {
            variant_price(search, variant);
        }
        if (leaf_caps(search, variant, &leaf, caps)) {
            return true;
        }
    }
    return false;
}

static bool node_fits(struct search *search, const struct mesh_node *node)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    struct order_work order = node_start(search, node, node->mesh->first_order);
    const struct forms *forms = space_forms(search, node);
    bool fits = false;
    for (uint32_t i = 0; i < forms->count && !fits; i++) {
        const struct leaf leaf = {.node = node->index,
                                  .order = node->mesh->first_order,
                                  .form = forms->items[i],
                                  .alternatives =
                                      space_alternatives(search, node, &forms->items[i])};
        fits = form_fits(search, &order, leaf);
    }
    arena_pop(&search->scratch, mark);
    stream_cache_trim(search);
    return fits;
}

bool planner_fits(const struct problem *problem, const struct estimator *estimator,
                  const struct planner_options *options, struct arena *arena)
{
    struct search search;
    planner_open(&search, problem, estimator, options, arena);
    search.fits_only = true;
    space_enumerate(&search);
    const uint32_t count = search.nodes.count;
    struct mesh_node **nodes = ARENA_PUSH(arena, struct mesh_node *, count);
    for (uint32_t i = 0; i < count; i++) {
        nodes[i] = space_find_node(&search, i);
        find_floor(&search, nodes[i]);
    }
    if (count > 0) {
        qsort(nodes, count, sizeof *nodes, by_floor);
    }
    bool fits = false;
    for (uint32_t i = 0; i < count && !nodes[i]->unfit && !fits; i++) {
        fits = node_fits(&search, nodes[i]);
    }
    planner_close(&search);
    return fits;
}

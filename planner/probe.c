/* Good leaves found cheaply, so that the search proper can prune from the start. */
#include "planner/planner_inside.h"

/* Where nothing fits, so many nodes are looked at for the plan that lacks least. */
#define SHORTAGE_NODES 128

static bool is_probed(const struct forms *forms, uint32_t form)
{
    return form == 0 || form + 1 == forms->count || forms->items[form].chunks == 2 ||
           forms->items[form].chunks == 4;
}

/* Alternatives in their order, which begins with using no policy, a few of them: the first that
 * fits is taken. */
static void probe_form(struct search *search, struct order_work *order, struct leaf *leaf)
{
    const uint32_t count = leaf->alternatives->count;
    uint32_t step = 1;
    const uint64_t first = leaf->index;
    bool fits = false;
    for (uint32_t i = 0; i < count && !fits; i += step) {
        struct variant *variant = variant_find(search, order, leaf->alternatives,
                                               space_find_class(leaf->alternatives, i));
        leaf->alternative = i;
        leaf->index = first + i;
        step = i < 8 ? 1 : (count + 15) / 16;
        if (variant_may_fit(search, variant)) {
            variant_price(search, variant);
            fits = node_form_passes(search, &variant->terms, &leaf->form) &&
                   leaf_probe(search, variant, leaf);
        }
    }
    leaf->index = first;
}

/* Of the last shape with which what is pinned is legal: the node has leaves. */
static const struct alternatives *find_alternatives(struct search *search,
                                                    const struct mesh_node *node)
{
    const struct forms *forms = space_forms(search, node);
    const struct alternatives *alternatives = NULL;
    for (uint32_t i = forms->count; i > 0 && (alternatives == NULL || alternatives->count == 0);
         i--) {
        alternatives = space_alternatives(search, node, &forms->items[i - 1]);
    }
    return alternatives;
}

/* Weights, their states, one micro-batch must fit whatever policies are used; shapes differ in
 * none of them. */
void probe_floor(struct search *search, struct mesh_node *node, struct order_work *order)
{
    const struct alternatives *alternatives = find_alternatives(search, node);
    double least = -1.0;
    for (uint32_t class = 0; class < alternatives->class_count; class ++) {
        const double bytes = variant_least_bytes(variant_find(search, order, alternatives, class));
        least = least < 0.0 || bytes < least ? bytes : least;
    }
    node->floor_bytes = least;
    node->unfit = least * ROUNDING > search->estimator->capacity_bytes(search->estimator->state);
}

void probe_node(struct search *search, struct mesh_node *node)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    const struct forms *forms = space_forms(search, node);
    if (node->mesh->order_count > 1 && !node_passes(search, node, node->mesh->first_order)) {
        arena_pop(&search->scratch, mark);
        return;
    }
    struct order_work order = node_start(search, node, node->mesh->first_order);
    struct leaf leaf = {.node = node->index, .order = node->mesh->first_order};
    probe_floor(search, node, &order);
    if (!node->unfit) {
        node_price(search, &order);
    }
    for (uint32_t i = 0; i < forms->count && !node->unfit; i++) {
        leaf.form = forms->items[i];
        leaf.alternatives = space_alternatives(search, node, &leaf.form);
        if (is_probed(forms, i) && node_form_passes(search, &order.terms, &leaf.form)) {
            probe_form(search, &order, &leaf);
        }
        leaf.index += leaf.alternatives->count;
    }
    arena_pop(&search->scratch, mark);
    stream_cache_trim(search);
}

/* --- nothing fits: what lacks least ----------------------------------------------------------- */

/* The next node by the least that its devices hold, behind (floor, index) of `before`. */
static const struct mesh_node *find_next(const struct search *search,
                                         const struct mesh_node *before)
{
    const struct mesh_node *next = NULL;
    for (uint32_t i = 0; i < search->nodes.count; i++) {
        const struct mesh_node *node = space_find_node(search, i);
        const bool behind =
            before == NULL || node->floor_bytes > before->floor_bytes ||
            (node->floor_bytes == before->floor_bytes && node->index > before->index);
        if (behind && (next == NULL || node->floor_bytes < next->floor_bytes)) {
            next = node;
        }
    }
    return next;
}

/* From the leanest alternative. */
static void note_form(struct search *search, struct order_work *order, struct leaf leaf)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    uint32_t *caps = ARENA_PUSH(&search->scratch, uint32_t, search->layers);
    const uint64_t first = leaf.index;
    for (uint32_t left = leaf.alternatives->count; left > 0; left--) {
        leaf.alternative = left - 1;
        leaf.index = first + leaf.alternative;
        const uint32_t class = space_find_class(leaf.alternatives, leaf.alternative);
        (void)leaf_caps(search, variant_find(search, order, leaf.alternatives, class), &leaf, caps);
    }
    arena_pop(&search->scratch, mark);
}

/* More chunks only hold more: of each schedule the shape with the fewest. */
static void note_node(struct search *search, const struct mesh_node *node)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    struct order_work order = node_start(search, node, node->mesh->first_order);
    const struct forms *forms = space_forms(search, node);
    struct leaf leaf = {.node = node->index, .order = node->mesh->first_order};
    for (uint32_t i = 0; i < forms->count; i++) {
        leaf.form = forms->items[i];
        leaf.alternatives = space_alternatives(search, node, &leaf.form);
        for (uint32_t class = 0; class < leaf.alternatives->class_count; class ++) {
            variant_price(search, variant_find(search, &order, leaf.alternatives, class));
        }
        if (i == 0 || leaf.form.schedule != forms->items[i - 1].schedule) {
            note_form(search, &order, leaf);
        }
        leaf.index += leaf.alternatives->count;
    }
    arena_pop(&search->scratch, mark);
    stream_cache_trim(search);
}

void probe_shortage(struct search *search)
{
    const struct mesh_node *node = find_next(search, NULL);
    for (uint32_t i = 0; i < SHORTAGE_NODES && node != NULL; i++) {
        if (ranking_wants_shortage(search, node->floor_bytes)) {
            note_node(search, node);
        }
        node = find_next(search, node);
    }
}

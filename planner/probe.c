/* Good leaves found cheaply, so that the search proper can prune from the start. */
#include "planner/planner_inside.h"

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
        variant_price(search, order, variant);
        leaf->alternative = i;
        leaf->index = first + i;
        step = i < 8 ? 1 : (count + 15) / 16;
        fits = node_form_passes(search, &variant->terms, &leaf->form) &&
               leaf_probe(search, variant, leaf);
    }
    leaf->index = first;
}

/* Weights and their states must fit whatever policies are used; shapes differ in nothing that
 * stays on the device. */
static void find_unfit(struct search *search, struct mesh_node *node, struct order_work *order)
{
    const struct forms *forms = space_forms(search, node);
    const struct alternatives *alternatives =
        space_alternatives(search, node, &forms->items[forms->count - 1]);
    double least = -1.0;
    for (uint32_t class = 0; class < alternatives->class_count; class ++) {
        const double bytes = variant_find(search, order, alternatives, class)->resident_bytes;
        least = least < 0.0 || bytes < least ? bytes : least;
    }
    node->resident_bytes = least;
    node->unfit = least > search->estimator->capacity_bytes(search->estimator->state);
}

void probe_node(struct search *search, struct mesh_node *node)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    const struct forms *forms = space_forms(search, node);
    struct order_work order = node_start(search, node, node->first_order, false);
    node->terms = order.terms;
    if (!node_passes(search, node, &order.terms)) {
        arena_pop(&search->scratch, mark);
        return;
    }
    order = node_start(search, node, node->first_order, true);
    struct leaf leaf = {.node = node->index, .order = node->first_order};
    find_unfit(search, node, &order);
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

/* From the node with the least on its devices. */
void probe_shortage(struct search *search)
{
    const struct mesh_nodes *nodes = &search->nodes;
    const struct mesh_node *least = &nodes->items[0];
    for (uint32_t i = 1; i < nodes->count; i++) {
        least = nodes->items[i].resident_bytes < least->resident_bytes ? &nodes->items[i] : least;
    }
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    uint32_t *caps = ARENA_PUSH(&search->scratch, uint32_t, search->layers);
    struct order_work order = node_start(search, least, least->first_order, true);
    const struct forms *forms = space_forms(search, least);
    struct leaf leaf = {.node = least->index, .order = least->first_order};
    for (uint32_t i = 0; i < forms->count; i++) {
        leaf.form = forms->items[i];
        leaf.alternatives = space_alternatives(search, least, &leaf.form);
        for (leaf.alternative = 0; leaf.alternative < leaf.alternatives->count;
             leaf.alternative++) {
            struct variant *variant =
                variant_find(search, &order, leaf.alternatives,
                             space_find_class(leaf.alternatives, leaf.alternative));
            variant_price(search, &order, variant);
            (void)leaf_caps(search, variant, &leaf, caps);
            leaf.index++;
        }
    }
    arena_pop(&search->scratch, mark);
    stream_cache_trim(search);
}

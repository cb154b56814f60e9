/* One schedule shape of a node: its alternatives class by class, in all rank orders at once. */
#include "planner/planner_inside.h"

static double piece_s(const struct piece *piece)
{
    return piece->forward_total_s + piece->backward_total_s;
}

/* What the cheapest layer in its other form takes more than as it is. */
static double least_again_s(const struct work *work, const struct piece *pieces)
{
    double least = -1.0;
    for (uint32_t b = 0; b < work->block_count; b++) {
        const uint32_t plain = work_find_block(work, work->blocks[b].part, KEEP_ALL);
        const double more = piece_s(&pieces[b]) - piece_s(&pieces[plain]);
        if (work->blocks[b].keep == work->keep && b != work->first_block && b != work->last_block &&
            (least < 0.0 || more < least)) {
            least = more;
        }
    }
    return least > 0.0 ? least : 0.0;
}

/* Alternatives of a form for which memory has no room, whatever the rank order. */
struct misfits {
    uint32_t *alternatives;
    uint32_t count;
};

static bool is_misfit(const struct search *search, const struct leaf *leaf,
                      const struct misfits *misfits)
{
    for (uint32_t i = 0; i < misfits->count && !search->options->no_prune; i++) {
        if (space_is_fatter(leaf->alternatives, leaf->alternative, misfits->alternatives[i])) {
            return true;
        }
    }
    return false;
}

/* Of one class, in the rank orders that are left. */
struct class_orders {
    struct variant **variants;
    uint32_t *numbers; /* of the orders */
    uint32_t count;
};

/* What the alternative's recomputed layers add to the bound, order by order; how many still
 * pass. */
static uint64_t pass_keeping(struct search *search, const struct class_orders *orders,
                             const struct leaf *leaf, bool *passes)
{
    uint64_t passing = 0;
    for (uint32_t i = 0; i < orders->count; i++) {
        struct variant *variant = orders->variants[i];
        variant_keep(search, variant, leaf);
        const uint32_t again = variant->work->recompute_layers;
        struct pipeline_terms terms = variant->terms;
        terms.again_layers = again < search->layers ? again : search->layers;
        terms.again_s = least_again_s(variant->work, variant->least);
        if (terms.uneven && again > 0) {
            pipeline_add_again(&terms, variant->work, variant->least, leaf->form.chunks,
                               ranking_threshold_s(search));
        }
        passes[i] = node_form_passes(search, &terms, &leaf->form);
        passing += passes[i];
    }
    return passing;
}

static bool is_spent(const struct search *search)
{
    return search->options->budget > 0 && search->certificate.evaluated >= search->options->budget;
}

/* In the orders that pass; a misfit where memory has no room in any of them. */
static void judge_unlike(struct search *search, const struct class_orders *orders,
                         const bool *passes, struct misfits *misfits, struct leaf *leaf)
{
    bool may = false, any = false;
    for (uint32_t i = 0; i < orders->count && !search->stopped; i++) {
        if (passes[i]) {
            leaf->order = orders->numbers[i];
            may = leaf_judge_unlike(search, orders->variants[i], leaf) || may;
            any = true;
            search->stopped = is_spent(search);
        }
    }
    if (any && !may && !search->options->no_prune) {
        misfits->alternatives[misfits->count++] = leaf->alternative;
    }
}

/* Orders that place stages on the same devices share their room. False: memory has none. */
static bool judge_alike(struct search *search, const struct class_orders *orders,
                        const bool *passes, struct leaf *leaf)
{
    uint32_t *caps =
        ARENA_PUSH(&search->scratch, uint32_t, orders->variants[0]->work->shape.stages);
    leaf->order = orders->numbers[0];
    const bool fits = leaf_caps(search, orders->variants[0], leaf, caps);
    const bool prunes = !fits && !search->options->no_prune;
    for (uint32_t i = 0; i < orders->count && !search->stopped; i++) {
        if (!passes[i]) {
            continue;
        }
        if (prunes) {
            search->certificate.pruned[BOUND_MEMORY]++;
            continue;
        }
        leaf->order = orders->numbers[i];
        leaf_judge(search, orders->variants[i], leaf, fits ? caps : NULL);
        search->stopped = is_spent(search);
    }
    return fits;
}

/* Where kinds of device differ, a rank order says which stage has which room. */
static void judge_orders(struct search *search, const struct class_orders *orders,
                         const bool *passes, struct misfits *misfits, struct leaf *leaf)
{
    const bool differ = orders->variants[0]->work->sites.count > 0;
    const uint32_t step = differ ? 1 : orders->count;
    bool any = false;
    for (uint32_t i = 0; i < orders->count && !search->stopped; i += step) {
        const struct class_orders some = {&orders->variants[i], &orders->numbers[i], step};
        if (!differ || passes[i]) {
            any = judge_alike(search, &some, &passes[i], leaf) || any;
        } else {
            any = true; /* not known */
        }
    }
    if (!any && !search->options->no_prune) {
        misfits->alternatives[misfits->count++] = leaf->alternative;
    }
}

static void judge_alternative(struct search *search, const struct class_orders *orders,
                              struct misfits *misfits, struct leaf *leaf)
{
    if (is_misfit(search, leaf, misfits)) {
        search->certificate.pruned[BOUND_MEMORY] += orders->count;
        return;
    }
    bool *passes = ARENA_PUSH(&search->scratch, bool, orders->count);
    const uint64_t passing = pass_keeping(search, orders, leaf, passes);
    search->certificate.pruned[BOUND_PIPELINE] += orders->count - passing;
    if (passing == 0) {
        return;
    }
    if (layout_is_alike(search->problem->model)) {
        judge_orders(search, orders, passes, misfits, leaf);
    } else {
        judge_unlike(search, orders, passes, misfits, leaf);
    }
    leaf->order = orders->numbers[0];
}

/* Orders in which the class may still be fast enough, among those that it fits; nothing is priced
 * for the others. */
static void pass_class(struct search *search, struct orders *all, const bool *before,
                       const struct leaf *leaf, uint32_t class, struct class_orders *out)
{
    uint64_t *const pruned = search->certificate.pruned;
    const uint64_t keepings = space_count_keepings(leaf->alternatives, class);
    out->count = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        if (!before[i]) {
            continue;
        }
        struct variant *variant = variant_find(search, &all->items[i], leaf->alternatives, class);
        if (!variant_may_fit(search, variant)) {
            pruned[BOUND_MEMORY] += keepings;
            continue;
        }
        variant_price(search, variant);
        if (node_form_passes(search, &variant->terms, &leaf->form)) {
            out->numbers[out->count] = all->items[i].order;
            out->variants[out->count++] = variant;
        } else {
            pruned[BOUND_PIPELINE] += keepings;
        }
    }
}

/* From the leanest: where that has no room, fatter ones have none either. */
static void search_class(struct search *search, const struct class_orders *orders, uint32_t class,
                         struct misfits *misfits, struct leaf leaf)
{
    const uint64_t first = leaf.index;
    leaf.order = orders->numbers[0];
    for (uint32_t left = space_count_keepings(leaf.alternatives, class);
         left > 0 && !search->stopped; left--) {
        const struct arena_mark mark = arena_find_mark(&search->scratch);
        leaf.alternative = space_find_alternative(leaf.alternatives, class, left - 1);
        leaf.index = first + leaf.alternative;
        judge_alternative(search, orders, misfits, &leaf);
        arena_pop(&search->scratch, mark);
    }
}

void form_search(struct search *search, struct orders *orders, const struct form *form,
                 struct leaf leaf)
{
    const struct alternatives *alternatives =
        space_alternatives(search, orders->items[0].node, form);
    struct certificate *certificate = &search->certificate;
    bool *passes = ARENA_PUSH(&search->scratch, bool, orders->count);
    uint64_t passing = 0;
    for (uint32_t i = 0; i < orders->count; i++) {
        passes[i] = node_form_passes(search, &orders->items[i].terms, form);
        passing += passes[i];
    }
    certificate->pruned[BOUND_PIPELINE] += alternatives->count * (orders->count - passing);
    if (passing == 0 || alternatives->count == 0) {
        return;
    }
    leaf.form = *form;
    leaf.alternatives = alternatives;
    struct misfits misfits = {ARENA_PUSH(&search->scratch, uint32_t, alternatives->count), 0};
    struct class_orders left = {ARENA_PUSH(&search->scratch, struct variant *, orders->count),
                                ARENA_PUSH(&search->scratch, uint32_t, orders->count), 0};
    for (uint32_t i = alternatives->class_count; i > 0 && !search->stopped; i--) {
        pass_class(search, orders, passes, &leaf, i - 1, &left);
        if (left.count > 0) {
            search_class(search, &left, i - 1, &misfits, leaf);
        }
    }
}

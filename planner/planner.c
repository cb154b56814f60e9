/* Best-first search: nodes by their lower bound, leaves cut off by the best so far. */
#include "planner/planner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "planner/planner_inside.h"

const char *planner_bound_name(enum planner_bound bound)
{
    static const char *const names[BOUND_COUNT] = {"compute", "pipeline", "memory", "path"};
    return names[bound];
}

static double piece_s(const struct piece *piece)
{
    return piece->forward_total_s + piece->backward_total_s;
}

static struct order_work start_order(struct search *search, const struct mesh_node *node,
                                     uint32_t order, bool all_forms)
{
    const struct estimator *estimator = search->estimator;
    struct order_work out = {.node = node, .order = order};
    out.plan = space_plan(node, order, &search->scratch);
    out.started = ARENA_PUSH(&search->scratch, struct work, 1);
    work_start(search->problem, out.plan, all_forms, &search->scratch, out.started);
    out.pieces = ARENA_PUSH(&search->scratch, struct piece, out.started->block_count);
    for (uint32_t b = 0; b < out.started->block_count; b++) {
        estimator->piece(estimator->state, out.started, b, NULL, &out.pieces[b]);
    }
    out.terms = pipeline_terms_find(out.started, out.pieces, false);
    return out;
}

/* Compute on one device hangs on what is cut from a micro-batch: not on stages, nor on dims that
 * only cut the batch. */
static unsigned long long compute_key(const struct model *model, const struct mesh_node *node)
{
    unsigned long long key =
        text_digest(TEXT_DIGEST_SEED, &node->micro_batch, sizeof node->micro_batch);
    const uint32_t batch = model_find_axis(model, "batch");
    for (uint32_t i = 0; i < dim_table_count; i++) {
        const struct dim_variant *variant = &dim_table[i]->variants[node->variants[i]];
        const bool only_batch =
            variant->cut_count == 1 && model_find_axis(model, variant->cuts[0].axis) == batch;
        if (!dim_table[i]->cuts_chain && !only_batch) {
            key = text_digest(key, &node->degrees[i], sizeof node->degrees[i]);
            key = text_digest(key, &node->variants[i], sizeof node->variants[i]);
        }
    }
    return key;
}

struct compute_entry {
    unsigned long long key;
    struct pipeline_terms terms;
    struct compute_entry *next;
};

static const struct compute_entry *find_compute(struct search *search, const struct mesh_node *node)
{
    const unsigned long long key = compute_key(search->problem->model, node);
    struct compute_entry **bucket = &search->computes[key % TABLE_BUCKETS];
    for (const struct compute_entry *entry = *bucket; entry != NULL; entry = entry->next) {
        if (entry->key == key) {
            return entry;
        }
    }
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    const struct order_work order = start_order(search, node, node->first_order, false);
    const struct pipeline_terms terms = pipeline_terms_find(order.started, order.pieces, true);
    arena_pop(&search->scratch, mark);
    struct compute_entry *entry = ARENA_PUSH(search->arena, struct compute_entry, 1);
    *entry = (struct compute_entry){key, terms, *bucket};
    *bucket = entry;
    return entry;
}

static void bound_node(struct search *search, struct mesh_node *node)
{
    const struct forms *forms = space_forms(search, node);
    struct pipeline_terms terms = find_compute(search, node)->terms;
    terms.layers = search->layers;
    terms.stages = forms->stages;
    terms.micro_batches = forms->micro_batches;
    terms.chunks = forms->most_chunks;
    terms.splits = forms->splits;
    node->bound_s = pipeline_bound_s(&terms);
}

static int by_bound(const void *a, const void *b)
{
    const struct mesh_node *left = a, *right = b;
    if (left->bound_s != right->bound_s) {
        return left->bound_s < right->bound_s ? -1 : 1;
    }
    return left->index < right->index ? -1 : left->index > right->index ? 1 : 0;
}

static bool cuts(const struct search *search, double bound_s)
{
    return !search->options->no_prune && bound_s * ROUNDING > ranking_threshold_s(search);
}

/* All rank orders of a node, started. */
struct orders {
    struct order_work *items;
    uint32_t count;
};

static struct pipeline_terms terms_of(const struct search *search, const struct order_work *order,
                                      uint32_t chunks, bool splits)
{
    struct pipeline_terms terms = order->terms;
    terms.layers = search->layers;
    terms.chunks = chunks;
    terms.splits = splits;
    return terms;
}

static bool terms_pass(const struct search *search, const struct pipeline_terms *terms)
{
    return search->options->no_prune ||
           !pipeline_exceeds(terms, ranking_threshold_s(search) / ROUNDING);
}

static bool form_passes(const struct search *search, const struct order_work *order,
                        const struct form *form)
{
    const struct pipeline_terms terms =
        terms_of(search, order, form->chunks, form->schedule->splits);
    return terms_pass(search, &terms);
}

/* May the shape with the least bubble still be fast enough? */
static bool order_passes(struct search *search, const struct order_work *order)
{
    const struct forms *forms = space_forms(search, order->node);
    const struct pipeline_terms terms = terms_of(search, order, forms->most_chunks, forms->splits);
    return terms_pass(search, &terms);
}

static uint64_t count_passing(const bool *passes, uint32_t count)
{
    uint64_t passing = 0;
    for (uint32_t i = 0; i < count; i++) {
        passing += passes[i];
    }
    return passing;
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

/* What the alternative's recomputed layers add to the bound, order by order; how many still
 * pass. */
static uint64_t pass_alternative(const struct search *search, const struct orders *orders,
                                 const struct form *form, const struct work *work,
                                 const bool *before, bool *passes)
{
    uint64_t passing = 0;
    for (uint32_t i = 0; i < orders->count; i++) {
        const struct order_work *order = &orders->items[i];
        struct pipeline_terms terms = terms_of(search, order, form->chunks, form->schedule->splits);
        terms.again_layers =
            work->recompute_layers < search->layers ? work->recompute_layers : search->layers;
        terms.again_s = least_again_s(work, order->pieces);
        passes[i] = before[i] && terms_pass(search, &terms);
        passing += passes[i];
    }
    return passing;
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

static void judge_alternative(struct search *search, const struct orders *orders,
                              const bool *before, struct misfits *misfits, struct leaf *leaf)
{
    if (is_misfit(search, leaf, misfits)) {
        search->certificate.pruned[BOUND_MEMORY] += count_passing(before, orders->count);
        return;
    }
    uint32_t *caps = ARENA_PUSH(&search->scratch, uint32_t, search->layers);
    bool *passes = ARENA_PUSH(&search->scratch, bool, orders->count);
    struct trial trial;
    leaf_open(search, &orders->items[0], leaf, &trial);
    const uint64_t had = count_passing(before, orders->count);
    const uint64_t passing =
        pass_alternative(search, orders, &leaf->form, trial.work, before, passes);
    search->certificate.pruned[BOUND_PIPELINE] += had - passing;
    const bool fits = passing > 0 && leaf_caps(&trial, leaf, caps);
    if (!fits && !search->options->no_prune) {
        search->certificate.pruned[BOUND_MEMORY] += passing;
        if (passing > 0) {
            misfits->alternatives[misfits->count++] = leaf->alternative;
        }
        return;
    }
    for (uint32_t i = 0; i < orders->count && !search->stopped; i++) {
        if (!passes[i]) {
            continue;
        }
        leaf->order = orders->items[i].order;
        leaf_judge(search, &orders->items[i], leaf, fits ? caps : NULL);
        search->stopped =
            search->options->budget > 0 && search->certificate.evaluated >= search->options->budget;
    }
    leaf->order = orders->items[0].order;
}

static void search_form(struct search *search, const struct orders *orders, const struct form *form,
                        struct leaf leaf)
{
    const struct alternatives *alternatives =
        space_alternatives(search, orders->items[0].node, form);
    bool *passes = ARENA_PUSH(&search->scratch, bool, orders->count);
    uint64_t passing = 0;
    for (uint32_t i = 0; i < orders->count; i++) {
        passes[i] = form_passes(search, &orders->items[i], form);
        passing += passes[i];
    }
    search->certificate.pruned[BOUND_PIPELINE] += alternatives->count * (orders->count - passing);
    leaf.form = *form;
    leaf.alternatives = alternatives;
    leaf.order = orders->items[0].order;
    struct misfits misfits = {ARENA_PUSH(&search->scratch, uint32_t, alternatives->count), 0};
    const uint64_t first = leaf.index;
    /* from the leanest: where that has no room, fatter ones have none either */
    for (uint32_t left = alternatives->count; left > 0 && passing > 0 && !search->stopped; left--) {
        const struct arena_mark mark = arena_find_mark(&search->scratch);
        leaf.alternative = left - 1;
        leaf.index = first + leaf.alternative;
        judge_alternative(search, orders, passes, &misfits, &leaf);
        arena_pop(&search->scratch, mark);
    }
}

/* --- probes: good leaves found cheaply, so that the search proper can prune from the start ---- */

static bool is_probed(const struct forms *forms, uint32_t form)
{
    return form == 0 || form + 1 == forms->count || forms->items[form].chunks == 2 ||
           forms->items[form].chunks == 4;
}

/* Alternatives in their order, which begins with using no policy, a few of them: the first that
 * fits is taken. */
static void probe_form(struct search *search, const struct order_work *order, struct leaf *leaf)
{
    const uint32_t count = leaf->alternatives->count;
    uint32_t step = 1;
    const uint64_t first = leaf->index;
    bool fits = false;
    for (uint32_t i = 0; i < count && !fits; i += step) {
        leaf->alternative = i;
        leaf->index = first + i;
        step = i < 8 ? 1 : (count + 15) / 16;
        fits = leaf_probe(search, order, leaf);
    }
    leaf->index = first;
}

/* Weights and their states must fit whatever policies are used; the shape with most chunks has the
 * fewest alternatives, which differ in nothing that stays on the device. */
static void find_unfit(struct search *search, struct mesh_node *node,
                       const struct order_work *order)
{
    const struct forms *forms = space_forms(search, node);
    struct leaf leaf = {.node = node->index, .form = forms->items[forms->count - 1]};
    leaf.alternatives = space_alternatives(search, node, &leaf.form);
    node->resident_bytes = leaf_resident_bytes(search, order, &leaf);
    node->unfit =
        node->resident_bytes > search->estimator->capacity_bytes(search->estimator->state);
}

static void probe_node(struct search *search, struct mesh_node *node)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    const struct forms *forms = space_forms(search, node);
    struct order_work order = start_order(search, node, node->first_order, false);
    node->terms = order.terms;
    if (!order_passes(search, &order)) {
        arena_pop(&search->scratch, mark);
        return;
    }
    order = start_order(search, node, node->first_order, true);
    struct leaf leaf = {.node = node->index, .order = node->first_order};
    find_unfit(search, node, &order);
    for (uint32_t i = 0; i < forms->count && !node->unfit; i++) {
        leaf.form = forms->items[i];
        leaf.alternatives = space_alternatives(search, node, &leaf.form);
        if (is_probed(forms, i) && form_passes(search, &order, &leaf.form)) {
            probe_form(search, &order, &leaf);
        }
        leaf.index += leaf.alternatives->count;
    }
    arena_pop(&search->scratch, mark);
    leaf_trim_streams(search);
}

static bool quick_passes(struct search *search, const struct mesh_node *node, uint32_t order)
{
    if (node->terms.stages > 0 && order == node->first_order) {
        const struct order_work probed = {.node = node, .terms = node->terms};
        return order_passes(search, &probed);
    }
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    const struct order_work quick = start_order(search, node, order, false);
    arena_pop(&search->scratch, mark);
    return order_passes(search, &quick);
}

/* Orders in which the shape with most chunks, the least bubble, may still be fast enough. */
static void start_orders(struct search *search, const struct mesh_node *node, struct orders *orders)
{
    uint32_t numbers[SPACE_ORDER_MAX];
    const uint32_t all = space_orders(search, node, numbers);
    orders->items = ARENA_PUSH(&search->scratch, struct order_work, all);
    for (uint32_t i = 0; i < all; i++) {
        const bool passes = quick_passes(search, node, numbers[i]);
        if (passes) {
            orders->items[orders->count++] = start_order(search, node, numbers[i], true);
        }
    }
    search->certificate.pruned[BOUND_PIPELINE] += node->leaf_count * (all - orders->count);
}

static void search_node(struct search *search, const struct mesh_node *node)
{
    if (node->unfit && (search->best_count > 0 || search->probe_count > 0 ||
                        !ranking_wants_shortage(search, node->resident_bytes))) {
        search->certificate.pruned[BOUND_MEMORY] += node->leaf_count * node->order_count;
        return;
    }
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    struct orders orders = {.count = 0};
    start_orders(search, node, &orders);
    struct leaf leaf = {.node = node->index};
    const struct forms *forms = space_forms(search, node);
    for (uint32_t i = 0; i < forms->count && orders.count > 0 && !search->stopped; i++) {
        search_form(search, &orders, &forms->items[i], leaf);
        leaf.index += space_alternatives(search, node, &forms->items[i])->count;
    }
    arena_pop(&search->scratch, mark);
    leaf_trim_streams(search);
}

/* Nothing fitted so far: a first idea of the least that plans lack, from the node with the least on
 * its devices. */
static void seed_shortage(struct search *search)
{
    const struct mesh_nodes *nodes = &search->nodes;
    const struct mesh_node *least = &nodes->items[0];
    for (uint32_t i = 1; i < nodes->count; i++) {
        least = nodes->items[i].resident_bytes < least->resident_bytes ? &nodes->items[i] : least;
    }
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    uint32_t *caps = ARENA_PUSH(&search->scratch, uint32_t, search->layers);
    const struct order_work order = start_order(search, least, least->first_order, true);
    const struct forms *forms = space_forms(search, least);
    struct leaf leaf = {.node = least->index, .order = least->first_order};
    for (uint32_t i = 0; i < forms->count; i++) {
        leaf.form = forms->items[i];
        leaf.alternatives = space_alternatives(search, least, &leaf.form);
        for (leaf.alternative = 0; leaf.alternative < leaf.alternatives->count;
             leaf.alternative++) {
            const struct arena_mark each = arena_find_mark(&search->scratch);
            struct trial trial;
            leaf_open(search, &order, &leaf, &trial);
            (void)leaf_caps(&trial, &leaf, caps);
            leaf.index++;
            arena_pop(&search->scratch, each);
        }
    }
    arena_pop(&search->scratch, mark);
    leaf_trim_streams(search);
}

static void search_nodes(struct search *search)
{
    struct mesh_nodes *nodes = &search->nodes;
    for (uint32_t i = 0; i < nodes->count; i++) {
        bound_node(search, &nodes->items[i]);
    }
    qsort(nodes->items, nodes->count, sizeof *nodes->items, by_bound);
    struct certificate *certificate = &search->certificate;
    for (uint32_t i = 0; i < nodes->count && !search->options->no_prune; i++) {
        if (!cuts(search, nodes->items[i].bound_s)) {
            probe_node(search, &nodes->items[i]);
        }
    }
    if (!search->options->no_prune && search->probe_count == 0) {
        seed_shortage(search);
    }
    for (uint32_t i = 0; i < nodes->count; i++) {
        const struct mesh_node *node = &nodes->items[i];
        if (cuts(search, node->bound_s)) {
            certificate->pruned[BOUND_NODE] += node->leaf_count * node->order_count;
            continue;
        }
        search_node(search, node);
        if (search->stopped) {
            certificate->lower_bound_s =
                node->bound_s; /* it may be unfinished; those behind it are not below */
            ranking_add_probes(search);
            return;
        }
    }
    certificate->complete = true;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void open_search(struct search *search, const struct problem *problem,
                        const struct estimator *estimator, const struct planner_options *options,
                        struct arena *arena)
{
    memset(search, 0, sizeof *search);
    search->problem = problem;
    search->estimator = estimator;
    search->options = options;
    search->arena = arena;
    search->layers = plan_count_layers(problem->model);
    search->best = ARENA_PUSH(arena, struct leaf, options->top + 1);
    search->probes = ARENA_PUSH(arena, struct leaf, options->top + 1);
    search->trial_work = ARENA_PUSH(arena, struct work, 1);
    arena_init(&search->scratch);
    arena_init(&search->stream_arena);
}

static void close_search(struct search *search)
{
    if (search->estimator->forget_streams != NULL) {
        search->estimator->forget_streams(search->estimator->state);
    }
    arena_release(&search->scratch);
    arena_release(&search->stream_arena);
}

bool planner_search(const struct problem *problem, const struct estimator *estimator,
                    const struct planner_options *options, struct arena *arena,
                    struct planner_result *out, struct diag *diag)
{
    assert(options->top > 0);
    struct search search;
    open_search(&search, problem, estimator, options, arena);
    space_enumerate(&search);
    const bool any = search.nodes.count > 0;
    if (any) {
        search_nodes(&search);
        answer_fill(&search, out);
    } else {
        answer_refuse(&search, diag);
    }
    close_search(&search);
    return any;
}

/* Counts per block from the layers that the plan states. */
static void count_stated(const struct plan *plan, const struct work *work,
                         const struct stream *stream, uint32_t *layers, uint32_t *counts)
{
    for (uint32_t chunk = 0; chunk < work->shape.stages * work->shape.chunks; chunk++) {
        layers[chunk] = plan->schedule.layers[stream->chunk_place[chunk]];
    }
    work_count_blocks(work, layers, counts);
}

void planner_complete(const struct problem *problem, const struct estimator *estimator,
                      struct plan *plan, struct arena *arena, struct estimate *out)
{
    static const struct planner_options options = {.top = 1};
    struct search search;
    open_search(&search, problem, estimator, &options, arena);
    struct work *work = ARENA_PUSH(arena, struct work, 1);
    work_build(problem, plan, arena, work);
    struct piece *pieces = ARENA_PUSH(arena, struct piece, work->block_count);
    for (uint32_t b = 0; b < work->block_count; b++) {
        estimator->piece(estimator->state, work, b, NULL, &pieces[b]);
    }
    const uint32_t chunks = work->shape.stages * work->shape.chunks;
    uint32_t *layers = ARENA_PUSH(arena, uint32_t, chunks);
    uint32_t *counts = ARENA_PUSH(arena, uint32_t, (size_t)chunks * WORK_BLOCK_MAX);
    const struct form form = {plan->schedule.schedule, plan->schedule.chunks};
    struct load load = {.work = work,
                        .pieces = pieces,
                        .counts = counts,
                        .stream = leaf_stream(&search, &form, &work->shape),
                        .send_s = estimator->message_s(estimator->state, work, &work->send),
                        .tied_s = estimator->message_s(estimator->state, work, &work->tied),
                        .norm_s = estimator->message_s(estimator->state, work, &work->norm)};
    if (plan->schedule.layers != NULL) {
        count_stated(plan, work, load.stream, layers, counts);
    } else {
        if (!leaf_partition(&search, &load, (struct leaf_room){.limited = true}, layers, counts,
                            arena) &&
            !leaf_partition(&search, &load, (struct leaf_room){.limited = false}, layers, counts,
                            arena)) {
            BUG("%u layers do not go onto %u chunks: the plan was not checked", search.layers,
                chunks);
        }
        plan->schedule.stages = work->shape.stages;
        plan->schedule.layers = ARENA_PUSH(arena, uint32_t, chunks);
        for (uint32_t chunk = 0; chunk < chunks; chunk++) {
            plan->schedule.layers[load.stream->chunk_place[chunk]] = layers[chunk];
        }
    }
    estimator->combine(estimator->state, &load, true, arena, out);
    close_search(&search);
}

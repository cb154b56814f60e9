/* A node: its bound before anything is priced but kernels, its rank orders with their blocks
 * priced. */
#include <string.h>

#include "planner/planner_inside.h"

struct order_work node_start(struct search *search, const struct mesh_node *node, uint32_t order,
                             bool all_forms)
{
    struct order_work out = {.node = node, .order = order};
    out.plan = space_plan(search, node, order, &search->scratch);
    out.started = ARENA_PUSH(&search->scratch, struct work, 1);
    work_start(search->problem, out.plan, all_forms, &search->scratch, out.started);
    return out;
}

void node_price(struct search *search, struct order_work *order)
{
    if (order->pieces != NULL) {
        return;
    }
    const struct estimator *estimator = search->estimator;
    const struct work *started = order->started;
    order->pieces = estimator_price_blocks(estimator, started, &search->scratch);
    order->terms = pipeline_terms_of_sites(
        started, order->pieces, pipeline_fastest(started, order->pieces, &search->scratch),
        &search->scratch);
    order->terms.send_s = estimator_find_send_s(estimator, started, &search->scratch);
}

/* --- compute alone ---------------------------------------------------------------------------- */

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
    const double *kind_lags; /* NULL: one kind */
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
    struct order_work order = node_start(search, node, node->first_order, false);
    const double *lags;
    work_sites_split(order.started, &search->scratch);
    node_price(search, &order);
    const struct pipeline_terms terms =
        pipeline_terms_of_kinds(order.started, order.pieces, &search->scratch, &lags);
    struct compute_entry *entry = ARENA_PUSH(search->arena, struct compute_entry, 1);
    *entry = (struct compute_entry){.key = key, .terms = terms, .next = *bucket};
    if (lags != NULL) {
        const uint32_t kinds = search->problem->cluster->accelerator_count;
        double *kept = ARENA_PUSH(search->arena, double, kinds);
        memcpy(kept, lags, kinds * sizeof *kept);
        entry->kind_lags = kept;
    }
    arena_pop(&search->scratch, mark);
    *bucket = entry;
    return entry;
}

static struct pipeline_terms compute_terms(struct search *search, const struct mesh_node *node)
{
    const struct forms *forms = space_forms(search, node);
    struct pipeline_terms terms = find_compute(search, node)->terms;
    terms.layers = search->layers;
    terms.stages = forms->stages;
    terms.micro_batches = forms->micro_batches;
    terms.chunks = forms->most_chunks;
    terms.splits = forms->splits;
    return terms;
}

void node_bound(struct search *search, struct mesh_node *node)
{
    const struct pipeline_terms terms = compute_terms(search, node);
    node->bound_s = pipeline_bound_s(&terms);
}

/* --- what may still be fast enough ------------------------------------------------------------ */

static bool terms_pass(const struct search *search, const struct pipeline_terms *terms)
{
    return search->options->no_prune ||
           !pipeline_exceeds(terms, ranking_threshold_s(search) / ROUNDING);
}

bool node_form_passes(const struct search *search, const struct pipeline_terms *of,
                      const struct form *form)
{
    struct pipeline_terms terms = *of;
    terms.layers = search->layers;
    terms.chunks = form->chunks;
    terms.splits = form->schedule->splits;
    return terms_pass(search, &terms);
}

bool node_passes(struct search *search, const struct mesh_node *node,
                 const struct pipeline_terms *of)
{
    const struct forms *forms = space_forms(search, node);
    struct pipeline_terms terms = *of;
    terms.layers = search->layers;
    terms.chunks = forms->most_chunks;
    terms.splits = forms->splits;
    return terms_pass(search, &terms);
}

bool node_order_passes(struct search *search, const struct mesh_node *node, uint32_t order)
{
    const struct compute_entry *compute = find_compute(search, node);
    if (compute->kind_lags == NULL) {
        return true;
    }
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    struct pipeline_terms terms = compute_terms(search, node);
    struct work_sites sites;
    work_sites_build(search->problem, space_plan(search, node, order, &search->scratch),
                     &search->scratch, &sites);
    terms.stage_lags =
        pipeline_find_lags(&sites, compute->kind_lags, terms.stages, &search->scratch);
    const bool passes = terms_pass(search, &terms);
    arena_pop(&search->scratch, mark);
    return passes;
}

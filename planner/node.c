/* A node: its bound before anything is priced but kernels, its rank orders with their blocks
 * priced. */
#include "planner/planner_inside.h"

struct order_work node_start(struct search *search, const struct mesh_node *node, uint32_t order)
{
    struct order_work out = {.node = node, .order = order};
    out.plan = space_plan(search, node, order, &search->scratch);
    out.started = ARENA_PUSH(&search->scratch, struct work, 1);
    work_start(search->problem, out.plan, &search->scratch, out.started);
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
    order->terms.send_s =
        pipeline_find_send_s(started, estimator_find_send_s(estimator, started, &search->scratch));
}

/* Of the node's shape with the least bubble. */
static void fill_shape(struct search *search, const struct mesh_node *node,
                       struct pipeline_terms *terms)
{
    const struct forms *forms = space_forms(search, node);
    terms->layers = search->layers;
    terms->stages = forms->stages;
    terms->chunks = forms->most_chunks;
    terms->splits = forms->splits;
}

/* Of kernels alone; kind_lags: per kind of device. */
static struct pipeline_terms compute_terms(struct search *search, const struct mesh_node *node,
                                           double *kind_lags)
{
    const uint32_t kinds = search->problem->cluster->accelerator_count;
    struct part_times *times =
        ARENA_PUSH(&search->scratch, struct part_times, (size_t)kinds * WORK_BLOCK_MAX);
    for (uint32_t kind = 0; kind < kinds; kind++) {
        part_times_kernels(search, node, kind, &times[(size_t)kind * WORK_BLOCK_MAX]);
    }
    struct pipeline_terms terms = pipeline_terms_of_kinds(search->problem, times, kind_lags);
    terms.micro_batches = space_forms(search, node)->micro_batches;
    fill_shape(search, node, &terms);
    return terms;
}

/* A stage is no faster than the mean of its devices, so the stages together no faster than the mean
 * of all. */
static double lost_frac(struct search *search, const struct mesh_node *node,
                        const double *kind_lags)
{
    const struct plan *plan = space_plan(search, node, node->mesh->first_order, &search->scratch);
    const uint32_t *kinds = search->problem->cluster->device_kind;
    const uint32_t devices = (uint32_t)plan_count_devices(plan);
    double speed = 0.0;
    struct work_sites sites;
    work_sites_build(search->problem, plan, &search->scratch, &sites);
    for (uint32_t place = 0; place < devices; place++) {
        speed += 1.0 / kind_lags[kinds[sites.map == NULL ? place : sites.map->devices[place]]];
    }
    return 1.0 - speed / devices;
}

void node_bound(struct search *search, struct mesh_node *node)
{
    const uint32_t kinds = search->problem->cluster->accelerator_count;
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    double *kind_lags = ARENA_PUSH(&search->scratch, double, kinds);
    struct pipeline_terms terms = compute_terms(search, node, kind_lags);
    terms.lost_frac = kinds > 1 ? lost_frac(search, node, kind_lags) : 0.0;
    node->bound_s = pipeline_bound_s(&terms);
    arena_pop(&search->scratch, mark);
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

/* With its stages on these devices, by compute alone. */
static bool compute_passes(struct search *search, const struct mesh_node *node,
                           const struct plan *plan)
{
    double *kind_lags =
        ARENA_PUSH(&search->scratch, double, search->problem->cluster->accelerator_count);
    struct pipeline_terms terms = compute_terms(search, node, kind_lags);
    struct work_sites sites;
    work_sites_build(search->problem, plan, &search->scratch, &sites);
    terms.stage_lags = pipeline_find_lags(&sites, kind_lags, terms.stages, &search->scratch);
    return terms_pass(search, &terms);
}

/* Parts and messages priced apart, most of them before. */
static struct pipeline_terms terms_of_parts(struct search *search, const struct plan *plan)
{
    struct part_times times[WORK_BLOCK_MAX];
    part_times_whole(search, plan, times);
    struct pipeline_terms terms = pipeline_terms_find(search->problem->model, times);
    work_start_messages(search->problem, plan, &search->scratch, search->room);
    terms.micro_batches = search->room->shape.micro_batches;
    const double send_s = estimator_find_send_s(search->estimator, search->room, &search->scratch);
    terms.send_s = pipeline_find_send_s(search->room, send_s);
    return terms;
}

/* Cheaply, where messages of some dims do not hang on the others. */
static bool sure_passes(struct search *search, const struct mesh_node *node,
                        const struct plan *plan)
{
    struct part_times times[WORK_BLOCK_MAX];
    if (search->moves_count == 0) {
        return true;
    }
    part_times_sure(search, node, plan, times);
    struct pipeline_terms terms = pipeline_terms_find(search->problem->model, times);
    terms.micro_batches = space_forms(search, node)->micro_batches;
    fill_shape(search, node, &terms);
    return terms_pass(search, &terms);
}

static struct pipeline_terms terms_of_order(struct search *search, const struct mesh_node *node,
                                            uint32_t order)
{
    struct order_work whole = node_start(search, node, order);
    node_price(search, &whole);
    return whole.terms;
}

/* Of the node's shape with the least bubble. Devices of several kinds, or not in the cluster's
 * order, are priced as a whole. False: not fast enough. */
static bool time_order(struct search *search, const struct mesh_node *node, uint32_t order,
                       struct pipeline_terms *out)
{
    const struct plan *plan = space_plan(search, node, order, &search->scratch);
    const bool alike = search->problem->cluster->accelerator_count == 1;
    const bool as_parts = alike && plan->groups[0].slice_count == 0;
    if (as_parts ? !sure_passes(search, node, plan)
                 : !alike && !compute_passes(search, node, plan)) {
        return false;
    }
    *out = as_parts ? terms_of_parts(search, plan) : terms_of_order(search, node, order);
    fill_shape(search, node, out);
    return terms_pass(search, out);
}

bool node_passes(struct search *search, const struct mesh_node *node, uint32_t order)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    struct pipeline_terms terms;
    const bool passes = time_order(search, node, order, &terms);
    arena_pop(&search->scratch, mark);
    return passes;
}

bool node_time(struct search *search, struct mesh_node *node)
{
    double least_s = -1.0;
    for (uint32_t i = 0; i < node->mesh->order_count; i++) {
        const struct arena_mark mark = arena_find_mark(&search->scratch);
        struct pipeline_terms terms;
        if (time_order(search, node, node->mesh->orders[i], &terms)) {
            const double bound_s = pipeline_bound_s(&terms);
            least_s = least_s < 0.0 || bound_s < least_s ? bound_s : least_s;
        }
        arena_pop(&search->scratch, mark);
    }
    node->timed = true;
    node->bound_s = least_s > node->bound_s ? least_s : node->bound_s;
    return least_s >= 0.0;
}

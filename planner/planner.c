/* Best-first search: nodes by their lower bound, leaves cut off by the best so far. */
#include "planner/planner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan_rule.h"
#include "planner/planner_inside.h"

/* Plans that are found beforehand cut off the rest; where so many meshes brought none, the search
 * itself goes on from there. */
#define PROBE_PATIENCE 256

const char *planner_bound_name(enum planner_bound bound)
{
    static const char *const names[BOUND_COUNT] = {"compute", "pipeline", "memory", "path"};
    return names[bound];
}

/* Orders in which the shape with most chunks, the least bubble, may still be fast enough. */
static void start_orders(struct search *search, const struct mesh_node *node, struct orders *orders)
{
    orders->items = ARENA_PUSH(&search->scratch, struct order_work, node->mesh->order_count);
    for (uint32_t i = 0; i < node->mesh->order_count; i++) {
        if (node->mesh->order_count == 1 || node_passes(search, node, node->mesh->orders[i])) {
            struct order_work *left = &orders->items[orders->count++];
            *left = node_start(search, node, node->mesh->orders[i]);
        }
    }
    search->certificate.pruned[BOUND_PIPELINE] +=
        node->leaf_count * (node->mesh->order_count - orders->count);
}

/* False: some stage holds too much, whatever the rank order. */
static bool may_fit(struct search *search, struct mesh_node *node, const struct orders *orders)
{
    if (node->floor_bytes == 0.0 && orders->count > 0) {
        probe_floor(search, node, &orders->items[0]);
    }
    return !node->unfit || search->options->no_prune;
}

static void search_forms(struct search *search, const struct mesh_node *node, struct orders *orders)
{
    struct leaf leaf = {.node = node->index};
    const struct forms *forms = space_forms(search, node);
    for (uint32_t i = 0; i < orders->count; i++) {
        node_price(search, &orders->items[i]);
    }
    for (uint32_t i = 0; i < forms->count && orders->count > 0 && !search->stopped; i++) {
        form_search(search, orders, &forms->items[i], leaf);
        leaf.index += space_alternatives(search, node, &forms->items[i])->count;
    }
}

static void search_node(struct search *search, struct mesh_node *node)
{
    struct certificate *certificate = &search->certificate;
    if (ranking_cuts(search, node->bound_s)) {
        certificate->pruned[BOUND_PIPELINE] += node->leaf_count * node->mesh->order_count;
        return;
    }
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    struct orders orders = {.count = 0};
    start_orders(search, node, &orders);
    if (may_fit(search, node, &orders)) {
        search_forms(search, node, &orders);
    } else {
        certificate->pruned[BOUND_MEMORY] += node->leaf_count * orders.count;
    }
    arena_pop(&search->scratch, mark);
    stream_cache_trim(search);
}

static void tell(const struct search *search, const char *doing, uint32_t done)
{
    struct planner_progress at = {.doing = doing, .done = done, .total = search->nodes.count};
    at.best_s = search->best_count > 0 ? search->best[0].step_s : 0.0;
    if (search->probe_count > 0 && !(at.best_s > 0.0 && at.best_s <= search->probes[0].step_s)) {
        at.best_s = search->probes[0].step_s;
    }
    if (search->options->progress != NULL) {
        search->options->progress(search->options->progress_state, &at);
    }
}

static void bound_nodes(struct search *search)
{
    heap_init(&search->frontier, search->arena, search->nodes.count);
    for (uint32_t i = 0; i < search->nodes.count; i++) {
        tell(search, "bounded", i);
        frontier_push_node(search, space_find_node(search, i));
    }
}

/* Nodes that need no more looking at. */
static uint32_t count_settled(const struct search *search, uint32_t waiting)
{
    return search->nodes.count - search->frontier.count - waiting;
}

/* Nodes that were probed and are to be searched, by their bound. */
struct waiting {
    struct mesh_node **nodes;
    uint32_t count;
};

/* More probes than before, or better ones? */
static bool has_found(const struct search *search, uint32_t count, double threshold_s)
{
    return search->probe_count > count || ranking_threshold_s(search) < threshold_s;
}

/* Until so many probes in a row found nothing better. */
static void probe_nodes(struct search *search, struct waiting *out)
{
    uint32_t fruitless = 0;
    while (!search->options->no_prune && fruitless < PROBE_PATIENCE) {
        struct mesh_node *node = frontier_pop_node(search);
        if (node == NULL) {
            break;
        }
        const uint32_t count = search->probe_count;
        const double threshold_s = ranking_threshold_s(search);
        tell(search, "looked into", count_settled(search, 1));
        probe_node(search, node);
        out->nodes[out->count++] = node;
        const bool is_idle =
            search->probe_count == search->options->top && !has_found(search, count, threshold_s);
        fruitless = is_idle ? fruitless + 1 : 0;
    }
    if (!search->options->no_prune && search->probe_count == 0) {
        probe_shortage(search);
    }
}

/* Those behind a node have no smaller bound. */
static void search_nodes(struct search *search)
{
    struct waiting waiting = {ARENA_PUSH(search->arena, struct mesh_node *, search->nodes.count),
                              0};
    bound_nodes(search);
    probe_nodes(search, &waiting);
    for (uint32_t i = 0;; i++) {
        struct mesh_node *node = i < waiting.count ? waiting.nodes[i] : frontier_pop_node(search);
        if (node == NULL) {
            break;
        }
        tell(search, "searched", count_settled(search, i < waiting.count ? waiting.count - i : 1));
        search_node(search, node);
        if (search->stopped) {
            search->certificate.lower_bound_s = node->bound_s; /* it may be unfinished */
            ranking_add_probes(search);
            pending_leave(search);
            return;
        }
    }
    if (search->best_count == 0 && search->probe_count > 0 && search->options->seed_count == 0) {
        BUG("a plan of %g s was found beforehand, the search found none", search->probes[0].step_s);
    }
    pending_judge(search);
    search->certificate.complete = true;
}

/* --- answers ---------------------------------------------------------------------------------- */

void planner_open(struct search *search, const struct problem *problem,
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
    arena_init(&search->scratch);
    part_times_open(search);
    arena_init(&search->stream_arena);
}

void planner_close(struct search *search)
{
    if (search->estimator->forget_streams != NULL) {
        search->estimator->forget_streams(search->estimator->state);
    }
    arena_release(&search->scratch);
    arena_release(&search->stream_arena);
}

/* The devices and policies that are pinned. */
static bool can_be_asked(const struct problem *problem, const struct planner_pins *pins,
                         struct diag *diag)
{
    struct group group = {.slices = pins->slices, .slice_count = pins->slice_count};
    struct policy_use *uses = ARENA_PUSH(diag->arena, struct policy_use, pins->use_count);
    for (uint32_t i = 0; i < pins->use_count; i++) {
        uses[i] = pins->uses[i];
    }
    const struct plan plan = {
        .groups = &group, .group_count = 1, .policies = uses, .policy_count = pins->use_count};
    struct plan_rules rules = {.problem = problem, .plan = &plan, .diag = diag, .good = true};
    plan_rule_slices(&rules, &group);
    return plan_check_costed_question(problem, &plan, diag) && rules.good;
}

static bool search_space(const struct problem *problem, const struct estimator *estimator,
                         const struct planner_options *options, struct arena *arena,
                         struct planner_result *out, struct diag *diag)
{
    struct search search;
    planner_open(&search, problem, estimator, options, arena);
    search.certificate.schedules_left = space_schedules_left(&search);
    space_enumerate(&search);
    const bool any = search.nodes.count > 0;
    if (any) {
        search_nodes(&search);
        answer_fill(&search, out);
        seed_merge(options, arena, out);
    } else {
        answer_refuse(&search, diag);
    }
    planner_close(&search);
    return any;
}

/* Plans of the space. */
static uint64_t count_plans(const struct problem *problem, const struct estimator *estimator,
                            const struct planner_options *options, struct arena *arena)
{
    struct search search;
    planner_open(&search, problem, estimator, options, arena);
    space_enumerate(&search);
    const uint64_t plans = search.certificate.space_size;
    planner_close(&search);
    return plans;
}

/* Deeper models have more chunks per stage to choose from, with more slots in their streams, than
 * can be looked at. */
#define LAYERS_MAX 1024u

static bool is_searchable(const struct problem *problem, const struct planner_pins *pins,
                          struct diag *diag)
{
    const uint32_t layers = plan_count_layers(problem->model);
    if (layers <= LAYERS_MAX || pins->chunks != 0) {
        return true;
    }
    diag_push(diag, DIAG_P461, (struct diag_place){0},
              "--vpp 1, or another number of chunks per stage, leaves few enough plans",
              "model '%s' has %u layers: with more than %u the chunks per stage must be given",
              problem->model->name, layers, LAYERS_MAX);
    return false;
}

bool planner_search(const struct problem *problem, const struct estimator *estimator,
                    const struct planner_options *options, struct arena *arena,
                    struct planner_result *out, struct diag *diag)
{
    assert(options->top > 0);
    return can_be_asked(problem, &options->pins, diag) &&
           is_searchable(problem, &options->pins, diag) &&
           search_space(problem, estimator, options, arena, out, diag);
}

const struct ranked_plan *planner_search_on_demand(const struct problem *problem,
                                                   const struct estimator *estimator,
                                                   const struct planner_options *options,
                                                   uint64_t space_size, struct arena *arena)
{
    struct planner_options more = *options;
    struct planner_result *result = ARENA_PUSH(arena, struct planner_result, 1);
    struct diag quiet;
    diag_init(&quiet, arena);
    more.top = 1;
    for (uint32_t i = 0; i < policy_table_count; i++) {
        more.pins.policy_asked[i] = policy_table[i]->on_demand;
    }
    if (count_plans(problem, estimator, &more, arena) == space_size ||
        !search_space(problem, estimator, &more, arena, result, &quiet) || result->count == 0) {
        return NULL;
    }
    return &result->plans[0];
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

/* Layers as fast as memory allows; where it allows none, as if it were no limit. */
static struct layout_room place(const struct search *search, struct load *load, uint32_t *layers,
                                uint32_t *counts, struct arena *arena)
{
    struct layout_room room = {.limited = true};
    if (layout_partition(search, load, room, layers, counts, arena) == LAYOUT_FOUND) {
        return room;
    }
    room.limited = false;
    if (layout_partition(search, load, room, layers, counts, arena) != LAYOUT_FOUND) {
        BUG("%u layers do not go onto %u chunks: the plan was not checked", search->layers,
            load->work->shape.stages * load->work->shape.chunks);
    }
    return room;
}

/* The fastest placement; where none fits, one as if memory were no limit. */
static void choose_layers(const struct search *search, struct load *load, uint32_t *layers,
                          uint32_t *counts, struct arena *arena)
{
    const size_t chunks = (size_t)load->work->shape.stages * load->work->shape.chunks;
    uint32_t *first = ARENA_PUSH(arena, uint32_t, chunks);
    const struct layout_room room = place(search, load, layers, counts, arena);
    struct placing placing;
    memcpy(first, layers, chunks * sizeof *first);
    placement_init(search, load, layers, 1e300, arena, &placing);
    placing.splits = true; /* or not: what passes is less if it does */
    placement_try(&placing, room, counts);
    if (placing.open) {
        placement_walk(&placing, room);
    }
    memcpy(layers, placing.best_s < 1e300 ? placing.best_layers : first, chunks * sizeof *layers);
    load->counts = counts;
    work_count_blocks(load->work, layers, counts);
}

void planner_complete(const struct problem *problem, const struct estimator *estimator,
                      struct plan *plan, struct arena *arena, struct estimate *out)
{
    static const struct planner_options options = {.top = 1};
    struct search search;
    planner_open(&search, problem, estimator, &options, arena);
    struct work *work = ARENA_PUSH(arena, struct work, 1);
    work_build(problem, plan, arena, work);
    const uint32_t chunks = work->shape.stages * work->shape.chunks;
    uint32_t *layers = ARENA_PUSH(arena, uint32_t, chunks);
    uint32_t *counts = ARENA_PUSH(arena, uint32_t, (size_t)chunks * WORK_BLOCK_MAX);
    const struct form form = {plan->schedule.schedule, plan->schedule.chunks};
    struct load load = {.work = work,
                        .pieces = estimator_price_blocks(estimator, work, arena),
                        .counts = counts,
                        .stream = stream_cache_find(&search, &form, &work->shape)};
    estimator_price_messages(estimator, work, arena, &load);
    if (plan->schedule.layers != NULL) {
        count_stated(plan, work, load.stream, layers, counts);
    } else {
        choose_layers(&search, &load, layers, counts, arena);
        plan->schedule.stages = work->shape.stages;
        plan->schedule.layers = ARENA_PUSH(arena, uint32_t, chunks);
        for (uint32_t chunk = 0; chunk < chunks; chunk++) {
            plan->schedule.layers[load.stream->chunk_place[chunk]] = layers[chunk];
        }
    }
    estimator->combine(estimator->state, &load, true, arena, out);
    planner_close(&search);
}

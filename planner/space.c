/* What there is to choose from: meshes, micro-batches, rank orders, schedule shapes, uses of
 * policies. */
#include <assert.h>
#include <string.h>

#include "plan/plan_rule.h"
#include "planner/planner_inside.h"

/* --- nodes ------------------------------------------------------------------------------------ */

static bool model_has_cut(const struct model *model, const struct dim *dim, uint32_t variant)
{
    for (uint32_t i = 0; i < dim->variants[variant].cut_count; i++) {
        if (model_find_axis(model, dim->variants[variant].cuts[i].axis) != NO_INDEX) {
            return true;
        }
    }
    return dim->cuts_chain;
}

static uint32_t count_splittable(const struct mesh_node *node, uint32_t *dims)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < dim_table_count; i++) {
        if (dim_table[i]->kind == DIM_FACTOR && node->mesh->degrees[i] > 1) {
            dims[count++] = i;
        }
    }
    return count;
}

/* Factor dims of the node by their default places. */
static void sort_dims(uint32_t *dims, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        for (uint32_t k = i; k > 0 && dim_table[dims[k]]->order < dim_table[dims[k - 1]]->order;
             k--) {
            const uint32_t swapped = dims[k];
            dims[k] = dims[k - 1];
            dims[k - 1] = swapped;
        }
    }
}

/* The index-th permutation in the factorial number system. */
static void permute(uint32_t *dims, uint32_t count, uint32_t index)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t below = 1;
        for (uint32_t k = 2; k < count - i; k++) {
            below *= k;
        }
        const uint32_t pick = i + index / below;
        const uint32_t chosen = dims[pick];
        memmove(&dims[i + 1], &dims[i], (pick - i) * sizeof *dims);
        dims[i] = chosen;
        index %= below;
    }
}

struct plan *space_plan(const struct search *search, const struct mesh_node *node, uint32_t order,
                        struct arena *arena)
{
    const struct device_order *devices = &search->device_orders[order / SPACE_ORDER_MAX];
    struct plan *plan = ARENA_PUSH(arena, struct plan, 1);
    struct group *group = ARENA_PUSH(arena, struct group, 1);
    uint32_t dims[DIM_MAX];
    const uint32_t count = count_splittable(node, dims);
    sort_dims(dims, count);
    permute(dims, count, order % SPACE_ORDER_MAX);
    group->slices = devices->slices;
    group->slice_count = devices->count;
    for (uint32_t i = 0; i < count; i++) {
        group->mesh[group->mesh_count++] =
            (struct mesh_dim){.dim = dim_table[dims[i]],
                              .degree = node->mesh->degrees[dims[i]],
                              .variant = node->mesh->variants[dims[i]]};
    }
    for (uint32_t i = 0; i < dim_table_count; i++) {
        const struct dim *dim = dim_table[i];
        if (dim->kind != DIM_FACTOR && node->mesh->degrees[i] > 1) {
            group->folds[group->fold_count++] =
                (struct mesh_fold){.dim = dim, .degree = node->mesh->degrees[i]};
        }
    }
    plan->groups = group;
    plan->group_count = 1;
    plan->schedule.micro_batch = node->micro_batch;
    plan->schedule.chunks = 1;
    return plan;
}

static uint32_t factorial(uint32_t n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}

/* Ranks of a dim inside one domain of a level; the stride itself where they do not nest evenly,
 * so that nothing is taken for alike that is not. */
static unsigned long long crossing(unsigned long long key, uint32_t dim, uint64_t stride,
                                   uint32_t degree, uint64_t domain)
{
    uint64_t inside = domain <= stride ? 1 : domain / stride < degree ? domain / stride : degree;
    if (domain > stride ? domain % stride != 0 || degree % inside != 0 : stride % domain != 0) {
        inside = stride << 32 | domain;
    }
    key = text_digest(key, &dim, sizeof dim);
    return text_digest(key, &inside, sizeof inside);
}

static bool is_host(const struct mesh_node *node, const char *name)
{
    for (uint32_t i = 0; i < dim_table_count; i++) {
        for (uint32_t h = 0; node->mesh->degrees[i] > 1 && dim_table[i]->kind == DIM_FOLD_INSTEAD &&
                             h < 3 && dim_table[i]->hosts[h] != NULL;
             h++) {
            if (strcmp(dim_table[i]->hosts[h], name) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* In a ring or on a grid the neighbours of a dim that crosses it are as many steps apart as its
 * stride says. */
static uint64_t ring_stride(const struct cluster *cluster, uint32_t level, uint64_t stride,
                            uint32_t degree)
{
    const uint64_t inner = level == 0 ? 1 : cluster_count_domain(cluster, level - 1);
    const bool crosses = stride < cluster_count_domain(cluster, level) && stride * degree > inner;
    return cluster_is_stepped(&cluster->levels[level]) && crosses ? stride : 0;
}

/* Does it matter on which devices a group sits, beyond the levels that it crosses? */
static bool has_places(const struct search *search)
{
    const struct cluster *cluster = search->problem->cluster;
    return cluster->level_count == 0 || cluster->accelerator_count > 1 ||
           search->device_orders[0].count > 0;
}

/* Which levels every dim crosses; in what order the hosts of a fold come, since it takes the
 * innermost ranks. */
static unsigned long long order_key(const struct search *search, const struct mesh_node *node,
                                    uint32_t order)
{
    const struct cluster *cluster = search->problem->cluster;
    unsigned long long key = TEXT_DIGEST_SEED;
    uint32_t dims[DIM_MAX];
    const uint32_t count = count_splittable(node, dims);
    sort_dims(dims, count);
    permute(dims, count, order);
    uint64_t strides[DIM_MAX], stride = 1;
    for (uint32_t i = 0; i < count; i++) {
        strides[dims[i]] = stride;
        stride *= node->mesh->degrees[dims[i]];
        if (is_host(node, dim_table[dims[i]]->name) || has_places(search)) {
            key = text_digest(key, &dims[i], sizeof dims[i]);
        }
    }
    for (uint32_t dim = 0; dim < dim_table_count; dim++) {
        for (uint32_t level = 0; level < cluster->level_count; level++) {
            if (dim_table[dim]->kind == DIM_FACTOR && node->mesh->degrees[dim] > 1) {
                const uint64_t steps =
                    ring_stride(cluster, level, strides[dim], node->mesh->degrees[dim]);
                key = crossing(key, dim, strides[dim], node->mesh->degrees[dim],
                               cluster_count_domain(cluster, level));
                key = text_digest(key, &steps, sizeof steps);
            }
        }
    }
    return key;
}

static bool mesh_is_legal(struct search *search, const struct mesh_node *node, uint32_t order)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    const struct plan *plan = space_plan(search, node, order, &search->scratch);
    struct plan_rules rules = {
        .problem = search->problem, .plan = plan, .diag = NULL, .good = true};
    plan_rule_order(&rules);
    rules.good = rules.good && plan_rule_order_is_searched(search->problem, plan);
    if (rules.good) {
        plan_rule_mesh(&rules); /* a fold may nest in its hosts in one order only */
    }
    arena_pop(&search->scratch, mark);
    return rules.good;
}

static bool is_among(const unsigned long long *keys, uint32_t count, unsigned long long key)
{
    bool seen = false;
    for (uint32_t i = 0; i < count && !seen; i++) {
        seen = keys[i] == key;
    }
    return seen;
}

/* Legal permutations, those that are alike once. */
static uint32_t list_permutations(struct search *search, const struct mesh_node *node,
                                  uint32_t *out)
{
    uint32_t dims[DIM_MAX];
    const uint32_t all = factorial(count_splittable(node, dims));
    const uint32_t most =
        search->options->pins.order_pinned ? 1 : all; /* the first that is legal */
    assert(all <= SPACE_ORDER_MAX);
    unsigned long long keys[SPACE_ORDER_MAX];
    uint32_t count = 0;
    for (uint32_t order = 0; order < all && count < most; order++) {
        const unsigned long long key = order_key(search, node, order);
        if (!is_among(keys, count, key) && mesh_is_legal(search, node, order)) {
            keys[count] = key;
            out[count++] = order;
        }
    }
    return count;
}

/* Legal permutations on every order of the devices. */
static uint32_t list_orders(struct search *search, const struct mesh_node *node, uint32_t *out)
{
    const uint32_t permutations = list_permutations(search, node, out);
    const uint32_t devices = space_count_stages(node) > 1 ? search->device_order_count : 1;
    uint32_t count = permutations;
    for (uint32_t order = 1; order < devices; order++) {
        for (uint32_t i = 0; i < permutations && count < SPACE_ORDER_MAX; i++) {
            out[count++] = order * SPACE_ORDER_MAX + out[i];
        }
    }
    return count;
}

struct mesh_node *space_find_node(const struct search *search, uint32_t index)
{
    assert(index < search->nodes.count);
    return &search->nodes.blocks[index / NODE_BLOCK][index % NODE_BLOCK];
}

static void push_block(struct search *search)
{
    struct mesh_nodes *nodes = &search->nodes;
    const uint32_t blocks = nodes->count / NODE_BLOCK;
    if (blocks == nodes->block_capacity) {
        nodes->block_capacity = blocks == 0 ? 64 : 4 * blocks;
        struct mesh_node **grown =
            ARENA_PUSH(search->arena, struct mesh_node *, nodes->block_capacity);
        if (blocks > 0) {
            memcpy(grown, nodes->blocks, blocks * sizeof *grown);
        }
        nodes->blocks = grown;
    }
    nodes->blocks[blocks] = ARENA_PUSH(search->arena, struct mesh_node, NODE_BLOCK);
}

static void push_node(struct search *search, const struct mesh_node *node)
{
    const uint32_t index = search->nodes.count;
    if (index % NODE_BLOCK == 0) {
        push_block(search);
    }
    search->nodes.count++;
    *space_find_node(search, index) = *node;
    space_find_node(search, index)->index = index;
}

/* Keeps the node if any leaf under it is legal. */
static void close_node(struct search *search, struct mesh_node *node)
{
    node->leaf_count = 0;
    const struct forms *forms = space_forms(search, node);
    for (uint32_t i = 0; i < forms->count; i++) {
        node->leaf_count += space_alternatives(search, node, &forms->items[i])->count;
    }
    if (node->leaf_count > 0) {
        push_node(search, node);
        search->certificate.space_size += node->leaf_count * node->mesh->order_count;
    }
}

/* Of what does not hang on the order. */
static bool axes_are_legal(const struct search *search, const struct plan *plan)
{
    struct plan_rules rules = {
        .problem = search->problem, .plan = plan, .diag = NULL, .good = true};
    plan_rule_axes(&rules);
    return rules.good;
}

/* With its orders, for good. */
static struct mesh *keep_mesh(struct search *search, const struct mesh *mesh,
                              const uint32_t *orders)
{
    uint32_t *kept = ARENA_PUSH(search->arena, uint32_t, mesh->order_count);
    memcpy(kept, orders, mesh->order_count * sizeof *kept);
    struct mesh *out = ARENA_PUSH(search->arena, struct mesh, 1);
    *out = *mesh;
    out->orders = kept;
    return out;
}

static void each_micro_batch(struct search *search, struct mesh_node *node)
{
    uint32_t orders[SPACE_ORDER_MAX];
    node->micro_batch = 1;
    search->faults.meshes++;
    node->mesh->order_count = list_orders(search, node, orders);
    if (node->mesh->order_count == 0) {
        search->faults.mesh++;
        return;
    }
    node->mesh->first_order = orders[0];
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    const struct plan *plan = space_plan(search, node, node->mesh->first_order, &search->scratch);
    const bool legal = axes_are_legal(search, plan);
    const uint64_t replicas = plan_count_replicas(search->problem, plan);
    arena_pop(&search->scratch, mark);
    const uint64_t batch = search->problem->setup->global_batch;
    if (!legal || batch % replicas != 0) {
        search->faults.axes += legal ? 0 : 1;
        search->faults.batch += legal ? 1 : 0;
        return;
    }
    node->mesh->replicas = replicas;
    struct mesh_node own = {.mesh = keep_mesh(search, node->mesh, orders)};
    const uint64_t share = batch / replicas;
    const uint32_t pinned = search->options->pins.micro_batch;
    const uint32_t nodes = search->nodes.count;
    for (uint32_t i = 0; i < search->batch_divisor_count; i++) {
        const uint64_t micro_batch = search->batch_divisors[i];
        if (micro_batch <= UINT32_MAX && share % micro_batch == 0 &&
            (pinned == 0 || pinned == micro_batch)) {
            own.micro_batch = (uint32_t)micro_batch;
            close_node(search, &own);
        }
    }
    search->faults.shapes += search->nodes.count == nodes ? 1 : 0;
}

static uint32_t host_product(const struct mesh_node *node, const struct dim *fold)
{
    uint32_t product = 1;
    for (uint32_t i = 0; i < dim_table_count; i++) {
        for (uint32_t h = 0; h < 3 && fold->hosts[h] != NULL; h++) {
            product *= strcmp(dim_table[i]->name, fold->hosts[h]) == 0 ? node->mesh->degrees[i] : 1;
        }
    }
    return product;
}

/* Folds: degree 1 first, then those that divide the hosts' product (on_or_off: all of it). */
static void each_fold(struct search *search, struct mesh_node *node, uint32_t dim)
{
    while (dim < dim_table_count && dim_table[dim]->kind == DIM_FACTOR) {
        dim++;
    }
    if (dim == dim_table_count) {
        each_micro_batch(search, node);
        return;
    }
    const struct dim *fold = dim_table[dim];
    const uint32_t pin = search->options->pins.degrees[dim];
    const uint32_t product =
        model_has_cut(search->problem->model, fold, 0) ? host_product(node, fold) : 1;
    for (uint32_t i = 0; i < search->device_divisor_count; i++) {
        const uint32_t degree = (uint32_t)search->device_divisors[i];
        const bool possible =
            product % degree == 0 && (!fold->on_or_off || degree == 1 || degree == product);
        const bool wanted =
            pin == PIN_SEARCH || pin == degree || (pin == PIN_ON && degree == product);
        if (possible && wanted) {
            node->mesh->degrees[dim] = degree;
            each_fold(search, node, dim + 1);
        }
    }
    node->mesh->degrees[dim] = 1;
}

static void each_variant(struct search *search, struct mesh_node *node, uint32_t dim)
{
    if (dim == dim_table_count) {
        each_fold(search, node, 0);
        return;
    }
    const uint32_t pin = search->options->pins.variants[dim];
    const uint32_t count = node->mesh->degrees[dim] > 1 ? dim_table[dim]->variant_count : 1;
    for (uint32_t variant = 0; variant < count; variant++) {
        if (pin == PIN_ANY || pin == variant || node->mesh->degrees[dim] == 1) {
            node->mesh->variants[dim] = (uint8_t)variant;
            each_variant(search, node, dim + 1);
        }
    }
    node->mesh->variants[dim] = 0;
}

static void each_degree(struct search *search, struct mesh_node *node, uint32_t dim, uint32_t left)
{
    while (dim < dim_table_count && dim_table[dim]->kind != DIM_FACTOR) {
        node->mesh->degrees[dim++] = 1;
    }
    if (dim == dim_table_count) {
        if (left == 1) {
            each_variant(search, node, 0);
        }
        return;
    }
    const uint32_t pin = search->options->pins.degrees[dim];
    for (uint32_t i = 0; i < search->device_divisor_count; i++) {
        const uint32_t degree = (uint32_t)search->device_divisors[i];
        if (left % degree == 0 && (pin == PIN_SEARCH || pin == degree)) {
            node->mesh->degrees[dim] = degree;
            each_degree(search, node, dim + 1, left / degree);
        }
    }
}

/* Ascending. */
static uint64_t *divisors_of(uint64_t value, struct arena *arena, uint32_t *count)
{
    uint32_t low = 0, high = 0;
    for (uint64_t d = 1; d * d <= value; d++) {
        low += value % d == 0 ? 1 : 0;
        high += value % d == 0 && d * d != value ? 1 : 0;
    }
    uint64_t *out = ARENA_PUSH(arena, uint64_t, low + high);
    *count = low + high;
    uint32_t place = 0;
    for (uint64_t d = 1; d * d <= value; d++) {
        if (value % d == 0) {
            out[*count - 1 - place] = value / d;
            out[place++] = d;
        }
    }
    return out;
}

void space_enumerate(struct search *search)
{
    struct mesh mesh;
    memset(&mesh, 0, sizeof mesh);
    struct mesh_node node = {.mesh = &mesh};
    const struct problem *problem = search->problem;
    space_list_devices(search);
    const uint32_t devices = space_count_devices(search);
    search->device_divisors = divisors_of(devices, search->arena, &search->device_divisor_count);
    search->batch_divisors =
        divisors_of(problem->setup->global_batch, search->arena, &search->batch_divisor_count);
    each_degree(search, &node, 0, devices);
}

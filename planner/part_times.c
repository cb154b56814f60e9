/* Seconds of one layer of each part before any policy, priced once per setting of what can change
 * them: kernels alone by the dims that can cut them, messages among such ops by where the ranks of
 * those dims are, all together by the ranks that matter. */
#include "plan/rank_nest.h"
#include "plan/shard_rule.h"
#include "plan/work_kernels.h"
#include "planner/planner_inside.h"

#define FIRST_BUCKETS 1024

struct times_entry {
    unsigned long long key;
    struct part_times times;
    struct times_entry *next;
};

/* --- the table -------------------------------------------------------------------------------- */

static struct times_entry **bucket_of(const struct times_table *table, unsigned long long key)
{
    return &table->buckets[key % table->bucket_count];
}

static void grow(struct search *search, struct times_table *table)
{
    const struct times_table old = *table;
    table->bucket_count = old.bucket_count == 0 ? FIRST_BUCKETS : 4 * old.bucket_count;
    table->buckets = ARENA_PUSH(search->arena, struct times_entry *, table->bucket_count);
    for (uint32_t i = 0; i < old.bucket_count; i++) {
        for (struct times_entry *entry = old.buckets[i], *next; entry != NULL; entry = next) {
            struct times_entry **bucket = bucket_of(table, entry->key);
            next = entry->next;
            entry->next = *bucket;
            *bucket = entry;
        }
    }
}

/* NULL: not there yet. */
static const struct part_times *find(const struct times_table *table, unsigned long long key)
{
    if (table->bucket_count == 0) {
        return NULL;
    }
    for (const struct times_entry *entry = *bucket_of(table, key); entry != NULL;
         entry = entry->next) {
        if (entry->key == key) {
            return &entry->times;
        }
    }
    return NULL;
}

static const struct part_times *add(struct search *search, struct times_table *table,
                                    unsigned long long key, struct part_times times)
{
    if (table->count == table->bucket_count) {
        grow(search, table);
    }
    struct times_entry *entry = ARENA_PUSH(search->arena, struct times_entry, 1);
    struct times_entry **bucket = bucket_of(table, key);
    *entry = (struct times_entry){key, times, *bucket};
    *bucket = entry;
    table->count++;
    return &entry->times;
}

/* --- kernels alone ---------------------------------------------------------------------------- */

static unsigned long long kernels_key(const struct search *search, const struct mesh_node *node,
                                      uint32_t index, uint32_t kind)
{
    unsigned long long key = text_digest_word(text_digest_word(TEXT_DIGEST_SEED, kind),
                                              (uint64_t)index << 32 | node->micro_batch);
    for (uint32_t left = search->kernels[index].dims; left != 0; left &= left - 1) {
        const uint32_t dim = (uint32_t)__builtin_ctz(left);
        key = text_digest_word(key,
                               (uint64_t)node->mesh->degrees[dim] << 8 | node->mesh->variants[dim]);
    }
    return key;
}

static const struct part_times *find_kernels(struct search *search, const struct mesh_node *node,
                                             uint32_t index, uint32_t kind)
{
    const struct estimator *estimator = search->estimator;
    const unsigned long long key = kernels_key(search, node, index, kind);
    const struct part_times *known = find(&search->kernel_times, key);
    if (known != NULL) {
        return known;
    }
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    struct piece piece;
    work_kernels_build(search->problem,
                       space_plan(search, node, node->mesh->first_order, &search->scratch),
                       &search->kernels[index], &search->scratch, search->room);
    estimator->piece(estimator->state, search->room, 0, kind, NULL, &piece);
    arena_pop(&search->scratch, mark);
    return add(search, &search->kernel_times, key,
               (struct part_times){piece.forward_s[COST_COMPUTE], piece.backward_s[COST_COMPUTE],
                                   piece.weight_s});
}

void part_times_kernels(struct search *search, const struct mesh_node *node, uint32_t kind,
                        struct part_times out[WORK_BLOCK_MAX])
{
    for (uint32_t part = 0; part < search->problem->model->part_count; part++) {
        out[part] = (struct part_times){0.0, 0.0, 0.0};
    }
    for (uint32_t i = 0; i < search->kernels_count; i++) {
        const struct part_times *times = find_kernels(search, node, i, kind);
        struct part_times *sum = &out[search->kernels[i].part];
        sum->forward_s += times->forward_s;
        sum->backward_s += times->backward_s;
        sum->weight_s += times->weight_s;
    }
}

/* --- and the messages among ops that the same dims can cut ------------------------------------ */

static bool is_among(uint32_t dims, uint32_t dim)
{
    return dim != NO_INDEX && (dims >> dim & 1u) != 0;
}

/* Degrees and strides of the dims. */
static unsigned long long moves_key(const struct plan *plan, uint32_t dims, uint32_t index)
{
    const struct group *group = &plan->groups[0];
    unsigned long long key =
        text_digest_word(TEXT_DIGEST_SEED, (uint64_t)index << 32 | plan->schedule.micro_batch);
    uint32_t stride = 1;
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        const struct mesh_dim *factor = &group->mesh[i];
        const uint32_t dim = dim_find_index(factor->dim);
        if (is_among(dims, dim)) {
            key = text_digest_word(key, (uint64_t)factor->degree << 32 | stride);
            key = text_digest_word(key, (uint64_t)dim << 8 | factor->variant);
        }
        stride *= factor->degree;
    }
    for (uint32_t i = 0; i < group->fold_count; i++) {
        const uint32_t dim = dim_find_index(group->folds[i].dim);
        key = is_among(dims, dim)
                  ? text_digest_word(key, (uint64_t)dim << 32 | group->folds[i].degree)
                  : key;
    }
    return key;
}

/* Without the host's share: it waits for nothing but itself. */
static const struct part_times *find_moves(struct search *search, const struct plan *plan,
                                           uint32_t index)
{
    const struct estimator *estimator = search->estimator;
    const struct work_moves *moves = &search->moves[index];
    const unsigned long long key = moves_key(plan, moves->dims, index);
    const struct part_times *known = find(&search->moves_times, key);
    if (known != NULL) {
        return known;
    }
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    struct piece piece;
    work_moves_build(search->problem, plan, moves, &search->scratch, search->room);
    estimator->piece(estimator->state, search->room, 0, 0, NULL, &piece);
    arena_pop(&search->scratch, mark);
    return add(search, &search->moves_times, key,
               (struct part_times){piece.forward_total_s - piece.forward_s[COST_OVERHEAD],
                                   piece.backward_total_s - piece.backward_s[COST_OVERHEAD], 0.0});
}

void part_times_sure(struct search *search, const struct mesh_node *node, const struct plan *plan,
                     struct part_times out[WORK_BLOCK_MAX])
{
    part_times_kernels(search, node, 0, out);
    for (uint32_t i = 0; i < search->moves_count; i++) {
        const struct part_times *times = find_moves(search, plan, i);
        out[search->moves[i].part].forward_s += times->forward_s;
        out[search->moves[i].part].backward_s += times->backward_s;
    }
}

/* --- with messages ---------------------------------------------------------------------------- */

/* Where the ranks of every atom are, as far as it matters to the messages among them: how many are
 * crossed at each level of the cluster, and strides where that does not say it for all atoms. */
static void find_places(const struct search *search, const struct shard_mesh *mesh,
                        unsigned long long places[ATOM_MAX])
{
    const struct cluster *cluster = search->problem->cluster;
    bool nests = true;
    for (uint32_t i = 0; i < mesh->atom_count && nests; i++) {
        const struct shard_atom *atom = &mesh->atoms[i];
        const struct rank_group group = {
            .ranks = atom->size, .step_count = 1, .steps = {{atom->stride, atom->size, 1}}};
        uint64_t crossed[LEVEL_MAX];
        nests = rank_nest_find(cluster, &group, crossed);
        places[i] = TEXT_DIGEST_SEED;
        for (uint32_t level = 0; level < cluster->level_count; level++) {
            places[i] = text_digest_word(places[i], crossed[level]);
        }
    }
    for (uint32_t i = 0; i < mesh->atom_count && !nests; i++) {
        places[i] = mesh->atoms[i].stride;
    }
}

/* The ranks that can change the part: which, where, on whose behalf. */
static unsigned long long part_key(const struct search *search, const struct shard_mesh *mesh,
                                   const unsigned long long *places, uint64_t part_and_batch)
{
    const uint32_t dims = search->part_dims[part_and_batch >> 32];
    unsigned long long key = text_digest_word(TEXT_DIGEST_SEED, part_and_batch);
    for (uint32_t i = 0; i < mesh->atom_count; i++) {
        const struct shard_atom *atom = &mesh->atoms[i];
        const bool instead = is_among(dims, atom->instead), beside = is_among(dims, atom->beside);
        if (is_among(dims, atom->dim) || instead || beside) {
            key = text_digest_word(text_digest_word(key, atom->size), places[i]);
            key = text_digest_word(key, (uint64_t)atom->dim << 32 | atom->variant << 16 |
                                            (instead ? atom->instead + 1 : 0) << 8 |
                                            (beside ? atom->beside + 1 : 0));
        }
    }
    return key;
}

static const struct part_times *find_part(struct search *search, const struct plan *plan,
                                          unsigned long long key, uint32_t part)
{
    const struct estimator *estimator = search->estimator;
    const struct part_times *known = find(&search->part_times, key);
    if (known != NULL) {
        return known;
    }
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    struct piece piece;
    work_start_part(search->problem, plan, part, &search->scratch, search->room);
    estimator->piece(estimator->state, search->room, 0, 0, NULL, &piece);
    arena_pop(&search->scratch, mark);
    return add(search, &search->part_times, key,
               (struct part_times){piece.forward_total_s, piece.backward_total_s, piece.weight_s});
}

void part_times_whole(struct search *search, const struct plan *plan,
                      struct part_times out[WORK_BLOCK_MAX])
{
    struct shard_mesh mesh;
    unsigned long long places[ATOM_MAX];
    shard_mesh_build(search->problem, plan, &mesh);
    find_places(search, &mesh, places);
    for (uint32_t part = 0; part < search->problem->model->part_count; part++) {
        const uint64_t part_and_batch = (uint64_t)part << 32 | plan->schedule.micro_batch;
        const unsigned long long key = part_key(search, &mesh, places, part_and_batch);
        out[part] = *find_part(search, plan, key, part);
    }
}

void part_times_open(struct search *search)
{
    const struct model *model = search->problem->model;
    search->kernels_count = work_kernels_find(model, search->arena, &search->kernels);
    search->moves_count = work_moves_find(model, search->arena, &search->moves);
    search->part_dims = ARENA_PUSH(search->arena, uint32_t, model->part_count);
    for (uint32_t i = 0; i < search->kernels_count; i++) {
        search->part_dims[search->kernels[i].part] |= search->kernels[i].dims;
    }
    search->room = ARENA_PUSH(search->arena, struct work, 1);
}

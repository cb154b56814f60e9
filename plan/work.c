/* A work program from a problem with a plan: the sharding rule gives the blocks, policies rewrite
 * them, lowering turns weights into resident bytes with the messages of a step. */
#include "plan/work.h"

#include <assert.h>
#include <string.h>

#include "plan/rank_nest.h"
#include "plan/work_inside.h"
#include "plan/work_kernels.h"

#define SCALAR_BYTES 4.0

const char *work_cause_name(enum work_cause cause)
{
    static const char *const names[CAUSE_COUNT] = {
        "partial sum",      "gather",      "reshard",       "activation", "gradient",
        "parameter gather", "tied weight", "gradient norm", "host copy"};
    return names[cause];
}

static bool same_group(const struct rank_group *a, const struct rank_group *b)
{
    return a->ranks == b->ranks && a->step_count == b->step_count &&
           memcmp(a->steps, b->steps, a->step_count * sizeof a->steps[0]) == 0;
}

uint32_t work_group_index(struct work *work, const struct rank_group *group)
{
    for (uint32_t i = 0; i < work->group_count; i++) {
        if (same_group(&work->groups[i], group)) {
            return i;
        }
    }
    assert(work->group_count < WORK_GROUP_MAX);
    work->groups[work->group_count] = *group;
    work->groups[work->group_count].map = work->sites.map;
    work->nests[work->group_count] =
        rank_nest_digest(work->problem->cluster, &work->groups[work->group_count], 0);
    return work->group_count++;
}

uint32_t work_group_of_atoms(struct work *work, const struct shard_mesh *mesh, uint32_t atoms)
{
    struct rank_group group = {.ranks = 1, .step_count = 0};
    for (uint32_t i = 0; i < mesh->atom_count; i++) {
        if ((atoms >> i & 1u) == 0) {
            continue;
        }
        group.ranks *= mesh->atoms[i].size;
        group.steps[group.step_count].stride = mesh->atoms[i].stride;
        group.steps[group.step_count].size = mesh->atoms[i].size;
        group.step_count++;
    }
    return work_group_index(work, &group);
}

/* --- blocks ----------------------------------------------------------------------------------- */

struct work_block *work_push_block(struct work *work, uint32_t part)
{
    assert(work->block_count < WORK_BLOCK_MAX);
    struct work_block *block = &work->blocks[work->block_count++];
    memset(block, 0, sizeof *block);
    block->part = part;
    block->keep = KEEP_ALL;
    return block;
}

/* Blocks without a backward keep nothing for it. */
static void push_backward(struct work_builder *builder, struct work_block *block)
{
    block->backward = (struct work_items){.count = 0};
    if (builder->backward) {
        work_backward_build(builder, &block->backward);
    }
}

static struct work_block *push_plain(struct work_builder *builder, uint32_t part)
{
    struct work_block *block = work_push_block(builder->work, part);
    work_builder_enter(builder, part);
    work_forward_build(builder, &block->forward);
    push_backward(builder, block);
    return block;
}

static void push_block(struct work_builder *builder, uint32_t part)
{
    struct work_block *block = push_plain(builder, part);
    work_memory_build(builder, block);
    work_weights_build(builder, block);
}

/* Another form of the block just pushed: only its backward and what it saves differ. */
static void push_form(struct work_builder *builder, uint32_t plain, enum work_keep keep)
{
    struct work_block *block = work_push_block(builder->work, builder->work->blocks[plain].part);
    *block = builder->work->blocks[plain];
    block->keep = keep;
    if (!builder->backward) {
        return;
    }
    const struct work_items *backward = &builder->work->blocks[plain].backward;
    if (keep == KEEP_BOUNDARY) {
        block->backward = (struct work_items){.count = 0};
        work_push_again(&block->backward, builder->arena, &block->forward);
        work_push_items(&block->backward, builder->arena, backward->items, backward->count);
    } else if (keep != KEEP_SELECTIVE || work_core_is_dropped(builder)) {
        block->backward = (struct work_items){.count = 0};
        work_backward_remake(builder, keep, backward, &block->backward);
    }
    work_memory_build(builder, block);
}

/* Parts that run once at the ends of the chain are always kept whole; middle layers have their
 * other forms too. */
static void push_blocks(struct work_builder *builder)
{
    const struct model *model = builder->model;
    struct work *work = builder->work;
    for (uint32_t run = 0; run < model->run_count; run++) {
        const uint32_t part = model->chain[run].part;
        const bool middle = run > 0 && run + 1 < model->run_count;
        if (work_find_block(work, part, KEEP_ALL) != NO_INDEX) {
            continue;
        }
        const uint32_t block = work->block_count;
        push_block(builder, part);
        work->first_block = run == 0 ? block : work->first_block;
        work->last_block = run + 1 == model->run_count ? block : work->last_block;
        if (middle) {
            push_form(builder, block, KEEP_SELECTIVE);
            if (model_has_latents(model)) {
                push_form(builder, block, KEEP_LATENTS);
            }
            push_form(builder, block, KEEP_BOUNDARY);
        }
    }
}

/* --- messages between stages and over all devices --------------------------------------------- */

static uint32_t chain_dim(void)
{
    for (uint32_t i = 0; i < dim_table_count; i++) {
        if (dim_table[i]->cuts_chain) {
            return i;
        }
    }
    BUG("no dim cuts the chain");
}

/* A stage and the one so many behind it. */
static struct rank_group pair(const struct work *work, uint32_t stages)
{
    struct rank_group group = {.ranks = 2, .step_count = 1};
    group.steps[0].stride = work->sites.stride * stages;
    group.steps[0].size = 2;
    group.steps[0].skip = stages;
    return group;
}

static double boundary_bytes(const struct work_builder *builder, uint32_t tensor)
{
    if (tensor == NO_INDEX) {
        return 0.0;
    }
    const struct tensor *which = &builder->model->tensors[tensor];
    const struct shard_state state = work_boundary_state(builder, which);
    return shard_count_elements(builder->mesh, which, &state) *
           work_element_bytes(builder->problem, which);
}

/* One size serves all boundaries: the largest that any part of the chain expects, what travels
 * along included. */
static double largest_boundary_bytes(const struct work_builder *builder)
{
    const struct model *model = builder->model;
    double largest = 0.0;
    for (uint32_t run = 1; run < model->run_count; run++) {
        const struct part *part = &model->parts[model->chain[run].part];
        const double bytes =
            boundary_bytes(builder, part->input) + boundary_bytes(builder, part->carried);
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

/* Ranks that hold the same activation between stages. */
static uint32_t copied_atoms(const struct work_builder *builder)
{
    const struct model *model = builder->model;
    uint32_t copied = UINT32_MAX;
    for (uint32_t run = 1; run < model->run_count; run++) {
        const uint32_t tensor = model->parts[model->chain[run].part].input;
        if (tensor == NO_INDEX) {
            continue;
        }
        const struct shard_state state = work_boundary_state(builder, &model->tensors[tensor]);
        for (uint32_t i = 0; i < builder->mesh->atom_count; i++) {
            copied &= state.at[i] == STATE_WHOLE ? UINT32_MAX : ~(1u << i);
        }
    }
    return copied & (uint32_t)((UINT64_C(1) << builder->mesh->atom_count) - 1);
}

/* Each of them sends its part; those of the next stage gather. */
static void scatter_sends(struct work_builder *builder)
{
    struct work *work = builder->work;
    const uint32_t copied = copied_atoms(builder);
    if (!builder->problem->setup->runtime->scatters_sends || copied == 0) {
        return;
    }
    work->spread = work->send;
    work->spread.kind = COLLECTIVE_ALL_GATHER;
    work->spread.group = work_group_of_atoms(work, builder->mesh, copied);
    work->send.bytes /= work->groups[work->spread.group].ranks;
}

static void push_stage_messages(struct work_builder *builder)
{
    struct work *work = builder->work;
    if (work->shape.stages == 1) {
        return;
    }
    const struct rank_group next = pair(work, 1), ends = pair(work, work->shape.stages - 1);
    work->send = (struct work_message){.kind = COLLECTIVE_SEND,
                                       .group = work_group_index(work, &next),
                                       .bytes = largest_boundary_bytes(builder),
                                       .dim = chain_dim(),
                                       .cause = CAUSE_ACTIVATION,
                                       .pieces = 1,
                                       .period = 1};
    scatter_sends(builder);
    work->tied = (struct work_message){.kind = COLLECTIVE_ALL_REDUCE,
                                       .group = work_group_index(work, &ends),
                                       .bytes = 0.0,
                                       .dim = chain_dim(),
                                       .cause = CAUSE_TIED,
                                       .pieces = 1,
                                       .period = 1};
}

/* Over every device that holds parameters: one fp32 scalar, or a loss per forward. */
static void push_norm(struct work *work)
{
    const struct setup *setup = work->problem->setup;
    if (!task_trains(&setup->task)) {
        return;
    }
    const uint64_t devices = plan_count_devices(work->plan);
    if (devices < 2) {
        return;
    }
    struct rank_group all = {.ranks = (uint32_t)devices, .step_count = 1};
    all.steps[0].stride = 1;
    all.steps[0].size = (uint32_t)devices;
    const struct group *group = &work->plan->groups[0];
    uint32_t outermost = 0;
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        outermost = group->mesh[i].degree > 1 ? i : outermost;
    }
    work->norm = (struct work_message){
        .kind = COLLECTIVE_ALL_REDUCE,
        .group = work_group_index(work, &all),
        .bytes = SCALAR_BYTES * (setup->optimizer->forwards > 1 ? setup->optimizer->forwards : 1),
        .dim = dim_find_index(group->mesh[outermost].dim),
        .cause = CAUSE_NORM,
        .pieces = 1,
        .period = 1};
}

/* --- policies --------------------------------------------------------------------------------- */

/* In ascending order of kind, then list order; only_keeps: those of that sort alone. */
static void apply_policies(struct work *work, bool only_keeps)
{
    const struct plan *plan = work->plan;
    uint32_t last_order = 0;
    for (bool more = true; more;) {
        uint32_t next_order = UINT32_MAX;
        for (uint32_t i = 0; i < plan->policy_count; i++) {
            const struct policy *kind = plan->policies[i].kind;
            assert(kind->rewrite != NULL);
            if (kind->order == last_order && (kind->only_keeps || !only_keeps)) {
                kind->rewrite(&plan->policies[i], work);
            } else if (kind->order > last_order && kind->order < next_order) {
                next_order = kind->order;
            }
        }
        more = next_order != UINT32_MAX;
        last_order = next_order;
    }
}

void work_open(const struct problem *problem, const struct plan *plan, struct arena *arena,
               struct work *out)
{
    const size_t tail = offsetof(struct work, block_count);
    memset((char *)out + tail, 0, sizeof *out - tail);
    out->problem = problem;
    out->plan = plan;
    out->keep = KEEP_ALL;
    out->first_block = out->last_block = NO_INDEX;
    out->forward_only = !setup_has_backward(problem->setup);
    out->shape = (struct schedule_shape){.stages = plan_count_stages(plan),
                                         .chunks = plan->schedule.chunks,
                                         .micro_batches = plan_count_passes(problem, plan)};
    work_sites_build(problem, plan, arena, &out->sites);
}

void work_start(const struct problem *problem, const struct plan *plan, struct arena *arena,
                struct work *out)
{
    struct shard_mesh mesh;
    struct work_builder builder;
    work_open(problem, plan, arena, out);
    work_builder_start(&builder, out, arena, &mesh);
    push_blocks(&builder);
    push_stage_messages(&builder);
    push_norm(out);
}

void work_start_part(const struct problem *problem, const struct plan *plan, uint32_t part,
                     struct arena *arena, struct work *out)
{
    struct shard_mesh mesh;
    struct work_builder builder;
    work_open(problem, plan, arena, out);
    work_builder_start(&builder, out, arena, &mesh);
    push_plain(&builder, part);
}

/* The plan without the folds of other dims, which split ranks and change nothing else here. */
static const struct plan *keep_folds(const struct plan *plan, uint32_t dims, struct arena *arena)
{
    struct plan *kept = ARENA_PUSH(arena, struct plan, 1);
    struct group *group = ARENA_PUSH(arena, struct group, 1);
    *kept = *plan;
    *group = plan->groups[0];
    kept->groups = group;
    group->fold_count = 0;
    for (uint32_t i = 0; i < plan->groups[0].fold_count; i++) {
        const struct mesh_fold fold = plan->groups[0].folds[i];
        if ((dims >> dim_find_index(fold.dim) & 1u) != 0) {
            group->folds[group->fold_count++] = fold;
        }
    }
    return kept;
}

void work_moves_build(const struct problem *problem, const struct plan *plan,
                      const struct work_moves *moves, struct arena *arena, struct work *out)
{
    struct shard_mesh mesh;
    struct work_builder builder;
    work_open(problem, keep_folds(plan, moves->dims, arena), arena, out);
    work_builder_start(&builder, out, arena, &mesh);
    builder.moved = moves->tensors;
    push_plain(&builder, moves->part);
}

void work_start_messages(const struct problem *problem, const struct plan *plan,
                         struct arena *arena, struct work *out)
{
    struct shard_mesh mesh;
    struct work_builder builder;
    work_open(problem, plan, arena, out);
    work_builder_start(&builder, out, arena, &mesh);
    push_stage_messages(&builder);
}

/* Lists are shared with the started program: what is added later must not be written into its
 * room. */
static void seal(struct work_items *items)
{
    items->capacity = items->count;
}

/* A program has far more room for blocks than most models use. */
static void copy_used(const struct work *from, struct work *out)
{
    const size_t tail = offsetof(struct work, block_count);
    out->problem = from->problem;
    memcpy(out->blocks, from->blocks, from->block_count * sizeof from->blocks[0]);
    memcpy((char *)out + tail, (const char *)from + tail, sizeof *out - tail);
}

void work_rewrite(const struct work *started, const struct plan *plan, struct work *out)
{
    copy_used(started, out);
    out->plan = plan;
    out->shape.chunks = plan->schedule.chunks;
    out->shape.micro_batches = plan_count_passes(started->problem, plan);
    assert(out->shape.micro_batches > 0);
    for (uint32_t i = 0; i < out->block_count; i++) {
        seal(&out->blocks[i].forward);
        seal(&out->blocks[i].backward);
    }
    apply_policies(out, false);
}

void work_rekeep(struct work *work, const struct plan *plan)
{
    work->plan = plan;
    work->shape.chunks = plan->schedule.chunks;
    work->keep = KEEP_ALL;
    work->recompute_layers = 0;
    apply_policies(work, true);
}

void work_finish(const struct work *started, const struct plan *plan, struct arena *arena,
                 struct work *out)
{
    work_rewrite(started, plan, out);
    work_lower_memory(out);
    work_lower_lists(out, arena);
}

void work_build(const struct problem *problem, const struct plan *plan, struct arena *arena,
                struct work *out)
{
    struct work *started = ARENA_PUSH(arena, struct work, 1);
    work_start(problem, plan, arena, started);
    work_finish(started, plan, arena, out);
    assert(work_check(out));
}

uint32_t work_find_block(const struct work *work, uint32_t part, enum work_keep keep)
{
    for (uint32_t i = 0; i < work->block_count; i++) {
        if (work->blocks[i].part == part && work->blocks[i].keep == keep) {
            return i;
        }
    }
    return NO_INDEX;
}

/* The first layers of each chunk are in their second form, as many as the plan says. */
static void count_middle(const struct work *work, uint32_t part, uint32_t layers, uint32_t *left,
                         uint32_t *row)
{
    const uint32_t plain = work_find_block(work, part, KEEP_ALL);
    const uint32_t other =
        work->keep == KEEP_ALL ? NO_INDEX : work_find_block(work, part, work->keep);
    const uint32_t again = other == NO_INDEX ? 0 : layers < *left ? layers : *left;
    *left -= again;
    row[plain] += layers - again;
    if (other != NO_INDEX) {
        row[other] += again;
    }
}

void work_count_blocks(const struct work *work, const uint32_t *layers, uint32_t *out)
{
    const struct model *model = work->problem->model;
    const uint32_t chunks = work->shape.stages * work->shape.chunks;
    memset(out, 0, (size_t)chunks * WORK_BLOCK_MAX * sizeof *out);
    uint32_t run = 1, used = 0;
    for (uint32_t chunk = 0; chunk < chunks; chunk++) {
        uint32_t *row = &out[(size_t)chunk * WORK_BLOCK_MAX];
        uint32_t left = work->recompute_layers;
        for (uint32_t need = layers[chunk]; need > 0;) {
            assert(run + 1 < model->run_count);
            const uint32_t here = model->chain[run].count - used;
            const uint32_t take = need < here ? need : here;
            count_middle(work, model->chain[run].part, take, &left, row);
            need -= take;
            used = take == here ? 0 : used + take;
            run += take == here ? 1 : 0;
        }
    }
    out[work->first_block]++;
    out[(size_t)(chunks - 1) * WORK_BLOCK_MAX + work->last_block]++;
}

struct rank_crowd work_find_crowd(const struct work *work, const struct work_message *message)
{
    if (work->problem->cluster->level_count > 0 || message->kind == COLLECTIVE_SEND) {
        return (struct rank_crowd){0};
    }
    return (struct rank_crowd){.places = (uint32_t)plan_count_devices(work->plan),
                               .stride = work->sites.stride,
                               .stages = work->sites.count == 0 ? 1 : work->shape.stages};
}

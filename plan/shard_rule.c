/* The sharding rule: one place that knows how cuts of axes turn into traffic. */
#include "plan/shard_rule.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/number.h"

static bool has_axis(axis_set set, uint32_t axis)
{
    return (set >> axis & 1u) != 0;
}

/* Axes by name, once for all ops. */
static void resolve(const struct model *model, const struct dim_variant *variant,
                    struct shard_list *out)
{
    out->any = 0;
    out->count = 0;
    for (uint32_t i = 0; i < variant->cut_count; i++) {
        const char *const beside = variant->cuts[i].beside;
        const uint32_t axis = model_find_axis(model, variant->cuts[i].axis);
        const uint32_t beside_axis = beside == NULL ? axis : model_find_axis(model, beside);
        if (axis != NO_INDEX && beside_axis != NO_INDEX) {
            out->any |= (axis_set)1 << axis;
            out->axis[out->count] = (int8_t)axis;
            out->beside[out->count++] = (axis_set)1 << beside_axis;
        }
    }
}

/* First axis of the list that the domain has; STATE_WHOLE if none. */
static int8_t first_cut(const struct shard_list *list, axis_set domain)
{
    for (uint32_t i = 0; (list->any & domain) != 0 && i < list->count; i++) {
        if (has_axis(domain, (uint32_t)list->axis[i]) && (list->beside[i] & domain) != 0) {
            return list->axis[i];
        }
    }
    return STATE_WHOLE;
}

static bool hosts_dim(const struct dim *fold, const struct dim *dim)
{
    for (uint32_t i = 0; i < 3 && fold->hosts[i] != NULL; i++) {
        if (strcmp(fold->hosts[i], dim->name) == 0) {
            return true;
        }
    }
    return false;
}

static void split_atom(struct shard_mesh *mesh, uint32_t index, uint32_t inner_size)
{
    assert(mesh->atom_count < ATOM_MAX);
    assert(mesh->atoms[index].size % inner_size == 0);
    for (uint32_t i = mesh->atom_count; i > index + 1; i--) {
        mesh->atoms[i] = mesh->atoms[i - 1];
    }
    mesh->atom_count++;
    struct shard_atom outer = mesh->atoms[index];
    outer.size /= inner_size;
    outer.stride *= inner_size;
    mesh->atoms[index + 1] = outer;
    mesh->atoms[index].size = inner_size;
}

/* Gives the fold its ranks, innermost hosts first, splitting the host that it takes only in
 * part. */
static void take_ranks(struct shard_mesh *mesh, const struct mesh_fold *fold)
{
    uint32_t left = fold->degree;
    for (uint32_t i = 0; i < mesh->atom_count && left > 1; i++) {
        if (!hosts_dim(fold->dim, dim_table[mesh->atoms[i].dim])) {
            continue;
        }
        if (left < mesh->atoms[i].size) {
            split_atom(mesh, i, left);
        }
        assert(left % mesh->atoms[i].size == 0);
        left /= mesh->atoms[i].size;
        mesh->atoms[i].instead = dim_find_index(fold->dim);
    }
    assert(left == 1);
}

static void apply_fold(struct shard_mesh *mesh, const struct mesh_fold *fold)
{
    if (fold->degree <= 1) {
        return;
    }
    resolve(mesh->model, &fold->dim->variants[0], &mesh->lists[dim_find_index(fold->dim)]);
    if (fold->dim->kind == DIM_FOLD_INSTEAD) {
        take_ranks(mesh, fold);
        return;
    }
    for (uint32_t i = 0; i < mesh->atom_count; i++) {
        if (hosts_dim(fold->dim, dim_table[mesh->atoms[i].dim])) {
            mesh->atoms[i].beside = dim_find_index(fold->dim);
        }
    }
}

static void push_factors(struct shard_mesh *mesh, const struct group *group)
{
    uint32_t stride = 1;
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        const struct mesh_dim *factor = &group->mesh[i];
        if (factor->degree > 1 && !factor->dim->cuts_chain) {
            const uint32_t dim = dim_find_index(factor->dim);
            resolve(mesh->model, &factor->dim->variants[factor->variant], &mesh->lists[dim]);
            assert(mesh->atom_count < ATOM_MAX);
            mesh->atoms[mesh->atom_count++] = (struct shard_atom){.size = factor->degree,
                                                                  .stride = stride,
                                                                  .dim = dim,
                                                                  .variant = factor->variant,
                                                                  .beside = NO_INDEX,
                                                                  .instead = NO_INDEX};
        }
        stride *= factor->degree;
    }
}

static uint32_t ranks_that_cut(const struct shard_mesh *mesh, uint32_t axis)
{
    struct shard_cut cut;
    uint32_t ranks = 1;
    shard_cut_find(mesh, (axis_set)1 << axis, &cut);
    for (uint32_t i = 0; i < mesh->atom_count; i++) {
        ranks *= cut.axis[i] == (int8_t)axis ? mesh->atoms[i].size : 1;
    }
    return ranks;
}

/* Axes of size 0 take theirs from the setup: the batch of one micro-batch over all replicas, the
 * sequence. A padded axis grows to the runtime's multiple on every rank that cuts it. */
static void fill_sizes(struct shard_mesh *mesh, const struct problem *problem, uint32_t micro_batch)
{
    const struct model *model = problem->model;
    for (uint32_t i = 0; i < model->axis_count; i++) {
        const struct axis *axis = &model->axes[i];
        const struct axis *origin =
            axis->image_of == NO_INDEX ? axis : &model->axes[axis->image_of];
        mesh->sizes[i] = axis->size != 0 ? axis->size
                         : origin->size != 0
                             ? origin->size
                             : setup_count_positions(problem->setup, origin != axis);
        if (axis->padded) {
            const uint64_t multiple =
                (uint64_t)problem->setup->runtime->vocab_multiple * ranks_that_cut(mesh, i);
            mesh->sizes[i] = number_ceil_div(axis->size, multiple) * multiple;
        }
    }
    const uint32_t batch = model_find_axis(model, "batch");
    if (batch != NO_INDEX) {
        mesh->batch = (axis_set)1 << batch;
        mesh->sizes[batch] = (uint64_t)micro_batch * ranks_that_cut(mesh, batch);
    }
}

static void fill_axes(struct shard_mesh *mesh)
{
    const struct model *model = mesh->model;
    for (uint32_t i = 0; i < model->axis_count; i++) {
        mesh->padded |= model->axes[i].padded ? (axis_set)1 << i : 0;
        if (model->axes[i].image_of != NO_INDEX) {
            mesh->images[model->axes[i].image_of] |= (axis_set)1 << i;
        }
    }
}

void shard_mesh_build(const struct problem *problem, const struct plan *plan,
                      struct shard_mesh *out)
{
    assert(plan->group_count == 1);
    memset(out, 0, offsetof(struct shard_mesh, lists));
    memset(out->images, 0, sizeof out->images);
    out->batch = out->padded = 0;
    out->model = problem->model;
    const struct group *group = &plan->groups[0];
    fill_axes(out);
    push_factors(out, group);
    for (uint32_t i = 0; i < group->fold_count; i++) {
        apply_fold(out, &group->folds[i]);
    }
    fill_sizes(out, problem, plan->schedule.micro_batch);
    out->routed_load = problem->setup->expert_load > 1.0 ? problem->setup->expert_load : 1.0;
}

void shard_cut_find(const struct shard_mesh *mesh, axis_set domain, struct shard_cut *out)
{
    out->beside_atoms = 0;
    for (uint32_t i = 0; i < mesh->atom_count; i++) {
        const struct shard_atom *atom = &mesh->atoms[i];
        int8_t axis = STATE_WHOLE;
        out->dim[i] = atom->dim;
        if (atom->instead != NO_INDEX) {
            axis = first_cut(&mesh->lists[atom->instead], domain);
            out->dim[i] = axis >= 0 ? atom->instead : atom->dim;
        }
        if (axis < 0) {
            axis = first_cut(&mesh->lists[atom->dim], domain);
        }
        if (axis < 0 && atom->beside != NO_INDEX) {
            axis = first_cut(&mesh->lists[atom->beside], domain);
            out->beside_atoms |= axis >= 0 ? 1u << i : 0u;
        }
        out->axis[i] = axis;
    }
}

/* The tensor's own axis that a cut of `axis` in the op cuts too, else STATE_WHOLE: the axis itself,
 * unless the operand is read over its mirror (an axis of the same positions that the tensor lacks),
 * or an axis grouped under it (K and V heads under query heads). */
static int8_t aligned_axis(const struct shard_mesh *mesh, const struct tensor *tensor, int8_t axis,
                           bool mirrored)
{
    const axis_set images = mesh->images[axis];
    if (has_axis(tensor->axes, (uint32_t)axis)) {
        return mirrored && (images & ~tensor->axes) != 0 ? STATE_WHOLE : axis;
    }
    const axis_set grouped = tensor->axes & images;
    return grouped != 0 ? (int8_t)__builtin_ctz(grouped) : STATE_WHOLE;
}

static struct shard_state state_of(const struct shard_mesh *mesh, const struct shard_cut *cut,
                                   const struct tensor *tensor, bool mirrored,
                                   int8_t when_contracted)
{
    struct shard_state state;
    memset(state.at, STATE_WHOLE, sizeof state.at);
    for (uint32_t i = 0; i < mesh->atom_count; i++) {
        if (cut->axis[i] >= 0) {
            const int8_t axis = aligned_axis(mesh, tensor, cut->axis[i], mirrored);
            state.at[i] = axis >= 0 ? axis : when_contracted;
        }
    }
    return state;
}

struct shard_state shard_state_output(const struct shard_mesh *mesh, const struct shard_cut *cut,
                                      const struct tensor *tensor)
{
    return state_of(mesh, cut, tensor, false, STATE_PARTIAL);
}

struct shard_state shard_state_operand(const struct shard_mesh *mesh, const struct shard_cut *cut,
                                       const struct tensor *tensor, bool mirrored)
{
    return state_of(mesh, cut, tensor, mirrored, STATE_WHOLE);
}

struct shard_state shard_state_gradient(const struct shard_mesh *mesh, const struct shard_cut *cut,
                                        const struct tensor *tensor, bool mirrored)
{
    return state_of(mesh, cut, tensor, mirrored, STATE_PARTIAL);
}

double shard_routed_load(const struct shard_mesh *mesh, const struct tensor *tensor,
                         const int8_t at[ATOM_MAX])
{
    for (uint32_t i = 0; mesh->routed_load > 1.0 && i < mesh->atom_count; i++) {
        if (mesh->atoms[i].instead != NO_INDEX && at[i] >= 0 && tensor->density < 1.0 &&
            has_axis(tensor->axes, (uint32_t)at[i]) && mesh->model->axes[at[i]].size > 0) {
            return mesh->routed_load;
        }
    }
    return 1.0;
}

double shard_count_elements(const struct shard_mesh *mesh, const struct tensor *tensor,
                            const struct shard_state *state)
{
    double elements =
        (double)tensor->copies * tensor->density * shard_routed_load(mesh, tensor, state->at);
    for (axis_set left = tensor->axes; left != 0; left &= left - 1) {
        const uint32_t axis = (uint32_t)__builtin_ctz(left);
        uint64_t ranks = 1;
        for (uint32_t i = 0; i < mesh->atom_count; i++) {
            ranks *= state->at[i] == (int8_t)axis ? mesh->atoms[i].size : 1;
        }
        elements *=
            (double)(ranks == 1 ? mesh->sizes[axis] : number_ceil_div(mesh->sizes[axis], ranks));
    }
    return elements;
}

uint64_t shard_axis_size(const struct shard_mesh *mesh, const struct shard_cut *cut, uint32_t axis)
{
    uint64_t ranks = 1;
    for (uint32_t i = 0; i < mesh->atom_count; i++) {
        const int8_t cut_axis = cut->axis[i];
        const bool cuts =
            cut_axis == (int8_t)axis ||
            (cut_axis >= 0 && mesh->model->axes[axis].image_of == (uint32_t)cut_axis &&
             mesh->model->axes[axis].size != 0);
        ranks *= cuts ? mesh->atoms[i].size : 1;
    }
    return ranks == 1 ? mesh->sizes[axis] : number_ceil_div(mesh->sizes[axis], ranks);
}

static bool needs(enum shard_action action, int8_t from, int8_t to)
{
    switch (action) {
    case SHARD_REDUCE: return from == STATE_PARTIAL && to == STATE_WHOLE;
    case SHARD_REDUCE_SCATTER: return from == STATE_PARTIAL && to >= 0;
    case SHARD_EXCHANGE: return from >= 0 && to >= 0 && from != to;
    case SHARD_GATHER: return from >= 0 && to == STATE_WHOLE;
    case SHARD_ACTION_COUNT: break;
    }
    BUG("no action %d", (int)action);
}

/* A fold that takes ranks is charged when the move is to or from an axis that it cuts. */
static uint32_t charged_dim(const struct shard_mesh *mesh, uint32_t atom, int8_t from, int8_t to)
{
    const struct shard_atom *who = &mesh->atoms[atom];
    if (who->instead == NO_INDEX) {
        return who->dim;
    }
    const axis_set ends =
        (from >= 0 ? (axis_set)1 << from : 0u) | (to >= 0 ? (axis_set)1 << to : 0u);
    return first_cut(&mesh->lists[who->instead], ends) >= 0 ? who->instead : who->dim;
}

/* All atoms that need the action for the same dim move together, as one collective over their
 * product. */
static bool take_move(const struct shard_mesh *mesh, const struct tensor *tensor,
                      struct shard_state *now, const struct shard_state *to,
                      struct shard_move *move)
{
    move->atoms = 0;
    move->dim = NO_INDEX;
    for (uint32_t i = 0; i < mesh->atom_count; i++) {
        if (!needs(move->action, now->at[i], to->at[i])) {
            continue;
        }
        const uint32_t dim = charged_dim(mesh, i, now->at[i], to->at[i]);
        if (move->dim == NO_INDEX || move->dim == dim) {
            move->dim = dim;
            move->atoms |= 1u << i;
        }
    }
    if (move->atoms == 0) {
        return false;
    }
    const double before = shard_count_elements(mesh, tensor, now);
    for (uint32_t i = 0; i < mesh->atom_count; i++) {
        now->at[i] = has_axis(move->atoms, i) ? to->at[i] : now->at[i];
    }
    const double after = shard_count_elements(mesh, tensor, now);
    const bool loaded = mesh->routed_load > 1.0 && move->action == SHARD_EXCHANGE && after > before;
    move->elements = move->action == SHARD_GATHER || loaded ? after : before;
    return true;
}

uint32_t shard_moves_find(const struct shard_mesh *mesh, const struct tensor *tensor,
                          struct shard_state from, struct shard_state to,
                          struct shard_move out[SHARD_MOVE_MAX])
{
    struct shard_state now = from;
    bool differs = false;
    for (uint32_t i = 0; i < mesh->atom_count; i++) {
        assert(to.at[i] != STATE_PARTIAL);
        now.at[i] = now.at[i] == STATE_WHOLE ? to.at[i] : now.at[i]; /* slicing is free */
        differs = differs || now.at[i] != to.at[i];
    }
    uint32_t count = 0;
    for (uint32_t action = 0; differs && action < SHARD_ACTION_COUNT; action++) {
        assert(count < SHARD_MOVE_MAX);
        out[count].action = (enum shard_action)action;
        while (take_move(mesh, tensor, &now, &to, &out[count])) {
            count++;
            assert(count < SHARD_MOVE_MAX);
            out[count].action = (enum shard_action)action;
        }
    }
    return count;
}

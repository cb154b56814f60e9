/* Kernels of single ops, ops by the dims that can cut them. */
#include "plan/work_kernels.h"

#include <string.h>

#include "plan/work_inside.h"

static const struct op *op_at(const struct work_builder *builder, uint32_t op)
{
    return &builder->model->ops[builder->part->first_op + op];
}

bool work_has_gradient(const struct work_builder *builder, uint32_t tensor)
{
    const enum tensor_class class = builder->model->tensors[tensor].class;
    return (class == TENSOR_ACTIVATION || class == TENSOR_STATISTIC) &&
           (builder->producer[tensor] != NO_INDEX || tensor == builder->part->input ||
            tensor == builder->part->carried);
}

static bool wants_input_gradient(const struct work_builder *builder, uint32_t op)
{
    const struct op *which = op_at(builder, op);
    for (uint32_t i = 0; i < which->input_count; i++) {
        if (work_has_gradient(builder, which->inputs[i])) {
            return true;
        }
    }
    return which->kind != OP_CONTRACT; /* its one backward kernel carries that pass */
}

static bool has_pass(const struct work_builder *builder, uint32_t op, enum work_pass pass)
{
    const bool contracts = op_at(builder, op)->kind == OP_CONTRACT;
    switch (pass) {
    case PASS_FORWARD: return true;
    case PASS_INPUT_GRADIENT: return wants_input_gradient(builder, op);
    case PASS_WEIGHT_GRADIENT: return contracts && !work_weight_is_frozen(builder, op);
    case PASS_UPDATE:
    case PASS_COUNT: break;
    }
    BUG("no pass %d of an op", (int)pass);
}

static void push_quantise(struct work_builder *builder, struct work_unit unit, enum work_pass pass,
                          struct work_items *out)
{
    for (uint32_t op = unit.first; op <= unit.last && pass != PASS_WEIGHT_GRADIENT; op++) {
        struct work_compute quantise;
        if (work_quantises(builder, op, pass, &quantise)) {
            work_push_compute(out, builder->arena, quantise);
        }
    }
}

void work_kernels_push(struct work_builder *builder, struct work_unit unit, enum work_pass pass,
                       struct work_items *out)
{
    if (builder->moved != NULL) {
        return;
    }
    push_quantise(builder, unit, pass, out);
    bool first = pass != PASS_FORWARD; /* forward, a unit is one op, which may join the last */
    for (uint32_t op = unit.first; op <= unit.last; op++) {
        if (has_pass(builder, op, pass)) {
            struct work_compute amount = work_amount(builder, op, pass);
            amount.joined = amount.joined && !first;
            first = false;
            work_push_compute(out, builder->arena, amount);
        }
    }
}

/* --- which dims can cut an op ----------------------------------------------------------------- */

static axis_set axes_of(const struct model *model, const struct dim *dim)
{
    axis_set axes = 0;
    for (uint32_t variant = 0; variant < dim->variant_count; variant++) {
        for (uint32_t i = 0; i < dim->variants[variant].cut_count; i++) {
            const uint32_t axis = model_find_axis(model, dim->variants[variant].cuts[i].axis);
            axes |= axis != NO_INDEX ? (axis_set)1 << axis : 0;
        }
    }
    return axes;
}

static axis_set tensor_axes(const struct model *model, const struct op *op)
{
    axis_set axes = model->tensors[op->output].axes;
    for (uint32_t i = 0; i < op->input_count; i++) {
        axes |= model->tensors[op->inputs[i]].axes;
    }
    return axes;
}

/* Of the fold's hosts those that cut more than the batch. */
static uint32_t hosts_of(const struct dim *fold, const axis_set *cut, axis_set batch)
{
    uint32_t hosts = 0;
    for (uint32_t i = 0; i < 3 && fold->hosts[i] != NULL; i++) {
        for (uint32_t dim = 0; dim < dim_table_count; dim++) {
            const bool is_host = strcmp(dim_table[dim]->name, fold->hosts[i]) == 0;
            hosts |= is_host && cut[dim] != batch ? 1u << dim : 0;
        }
    }
    return hosts;
}

static axis_set batch_of(const struct model *model)
{
    const uint32_t axis = model_find_axis(model, "batch");
    return axis == NO_INDEX ? 0 : (axis_set)1 << axis;
}

/* cut: per dim, the axes that it can cut. */
static uint32_t dims_of_domain(axis_set domain, axis_set batch, bool takes_whole,
                               const axis_set *cut)
{
    uint32_t dims = 0;
    for (uint32_t dim = 0; dim < dim_table_count; dim++) {
        const bool only_batch = cut[dim] == batch && !takes_whole;
        if (!dim_table[dim]->cuts_chain && !only_batch &&
            (cut[dim] & (domain | (takes_whole ? batch : 0))) != 0) {
            dims |= 1u << dim | hosts_of(dim_table[dim], cut, batch);
        }
    }
    return dims;
}

/* Who only cuts the batch matters where an op takes whole what it has of that. */
static uint32_t dims_of(const struct model *model, const struct op *op, const axis_set *cut)
{
    const axis_set batch = batch_of(model);
    const bool takes_whole = (tensor_axes(model, op) & batch & ~op->domain) != 0;
    return dims_of_domain(op->domain, batch, takes_whole, cut);
}

static void fill_cut(const struct model *model, axis_set cut[DIM_MAX])
{
    for (uint32_t dim = 0; dim < dim_table_count; dim++) {
        cut[dim] = axes_of(model, dim_table[dim]);
    }
}

/* --- ops of a part by their dims -------------------------------------------------------------- */

struct grouping {
    const struct model *model;
    struct arena *arena;
    struct work_kernels *groups;
    uint32_t count, first; /* groups; the first of this part */
    axis_set cut[DIM_MAX];
};

static struct work_kernels *find_group(struct grouping *grouping, uint32_t part, uint32_t dims)
{
    for (uint32_t i = grouping->first; i < grouping->count; i++) {
        if (grouping->groups[i].dims == dims) {
            return &grouping->groups[i];
        }
    }
    struct work_kernels *group = &grouping->groups[grouping->count++];
    group->part = part;
    group->dims = dims;
    group->ops = ARENA_PUSH(grouping->arena, uint32_t, grouping->model->parts[part].op_count);
    return group;
}

/* Ops that are one kernel stay together. */
static void group_part(struct grouping *grouping, uint32_t part)
{
    const struct model *model = grouping->model;
    const struct part *which = &model->parts[part];
    grouping->first = grouping->count;
    for (uint32_t op = 0; op < which->op_count;) {
        uint32_t end = op, dims = 0;
        do {
            dims |= dims_of(model, &model->ops[which->first_op + end++], grouping->cut);
        } while (end < which->op_count && model->ops[which->first_op + end].joined);
        struct work_kernels *group = find_group(grouping, part, dims);
        while (op < end) {
            group->ops[group->op_count++] = op++;
        }
    }
}

uint32_t work_kernels_find(const struct model *model, struct arena *arena,
                           struct work_kernels **out)
{
    struct grouping grouping = {.model = model, .arena = arena};
    grouping.groups = ARENA_PUSH(arena, struct work_kernels, model->op_count);
    fill_cut(model, grouping.cut);
    for (uint32_t part = 0; part < model->part_count; part++) {
        group_part(&grouping, part);
    }
    *out = grouping.groups;
    return grouping.count;
}

/* --- tensors of a part by the dims of their ends ---------------------------------------------- */

/* dims: per tensor, of the ops of the part that write or read it, and of its own axes where it
 * comes from another part or goes there. Gives those of the whole part. */
static uint32_t fill_ends(const struct model *model, const struct part *part, const axis_set *cut,
                          uint32_t *dims)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < part->op_count; i++) {
        const struct op *op = &model->ops[part->first_op + i];
        const uint32_t own = dims_of(model, op, cut);
        dims[op->output] |= own;
        for (uint32_t input = 0; input < op->input_count; input++) {
            dims[op->inputs[input]] |= own;
        }
        all |= own;
    }
    const uint32_t ends[] = {part->input, part->carried, part->output};
    for (uint32_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (ends[i] != NO_INDEX) {
            dims[ends[i]] |=
                dims_of_domain(model->tensors[ends[i]].axes, batch_of(model), false, cut);
        }
    }
    return all;
}

static uint32_t push_moves(const struct model *model, struct work_moves moves, const uint32_t *dims,
                           struct arena *arena, struct work_moves *out)
{
    moves.tensors = ARENA_PUSH(arena, bool, model->tensor_count);
    for (uint32_t tensor = 0; tensor < model->tensor_count; tensor++) {
        moves.tensors[tensor] = dims[tensor] == moves.dims;
    }
    *out = moves;
    return 1;
}

uint32_t work_moves_find(const struct model *model, struct arena *arena, struct work_moves **out)
{
    axis_set cut[DIM_MAX];
    uint32_t count = 0;
    fill_cut(model, cut);
    *out = ARENA_PUSH(arena, struct work_moves, model->part_count * model->tensor_count);
    for (uint32_t part = 0; part < model->part_count; part++) {
        uint32_t *dims = ARENA_PUSH(arena, uint32_t, model->tensor_count);
        const uint32_t all = fill_ends(model, &model->parts[part], cut, dims), first = count;
        for (uint32_t tensor = 0; tensor < model->tensor_count; tensor++) {
            bool is_new =
                dims[tensor] != 0 && (dims[tensor] & all) == dims[tensor] && dims[tensor] != all;
            for (uint32_t i = first; i < count && is_new; i++) {
                is_new = (*out)[i].dims != dims[tensor];
            }
            count += is_new ? push_moves(model, (struct work_moves){part, dims[tensor], NULL}, dims,
                                         arena, &(*out)[count])
                            : 0;
        }
    }
    return count;
}

/* --- their kernels under a mesh --------------------------------------------------------------- */

/* The last unit of the first `count` ops: what is joined to one another. */
static struct work_unit last_unit(const struct work_builder *builder,
                                  const struct work_kernels *kernels, uint32_t count)
{
    struct work_unit unit = {kernels->ops[count - 1], kernels->ops[count - 1]};
    while (op_at(builder, unit.first)->joined) {
        unit.first--;
    }
    return unit;
}

static void push_backward(struct work_builder *builder, const struct work_kernels *kernels,
                          struct work_items *out)
{
    for (uint32_t left = kernels->op_count; left > 0 && builder->backward;) {
        const struct work_unit unit = last_unit(builder, kernels, left);
        work_kernels_push(builder, unit, PASS_INPUT_GRADIENT, out);
        work_kernels_push(builder, unit, PASS_WEIGHT_GRADIENT, out);
        left -= unit.last - unit.first + 1;
    }
}

void work_kernels_build(const struct problem *problem, const struct plan *plan,
                        const struct work_kernels *kernels, struct arena *arena, struct work *out)
{
    struct shard_mesh mesh;
    struct work_builder builder;
    work_open(problem, plan, arena, out);
    work_builder_start(&builder, out, arena, &mesh);
    work_builder_enter(&builder, kernels->part);
    struct work_block *block = work_push_block(out, kernels->part);
    for (uint32_t i = 0; i < kernels->op_count; i++) {
        const struct work_unit unit = {kernels->ops[i], kernels->ops[i]};
        work_kernels_push(&builder, unit, PASS_FORWARD, &block->forward);
    }
    push_backward(&builder, kernels, &block->backward);
    work_sites_split(out, arena);
}

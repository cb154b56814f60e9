/* What one block keeps on a device: weights by gradient group, saved activations, working space. */
#include <assert.h>
#include <string.h>

#include "plan/work_inside.h"

static const struct op *op_at(const struct work_builder *builder, uint32_t op)
{
    return &builder->model->ops[builder->part->first_op + op];
}

/* The state a kept tensor is in: as moved for its first reader, else as the op that keeps it left
 * it. */
static struct shard_state saved_state(const struct work_builder *builder, uint32_t op,
                                      uint32_t tensor)
{
    if (builder->known[tensor]) {
        return builder->stored[tensor];
    }
    struct shard_state state =
        shard_state_output(builder->mesh, &builder->cuts[op], &builder->model->tensors[tensor]);
    for (uint32_t i = 0; i < builder->mesh->atom_count; i++) {
        state.at[i] = state.at[i] == STATE_PARTIAL ? STATE_WHOLE : state.at[i];
    }
    return state;
}

static bool is_kept(const struct work_builder *builder, const struct tensor *tensor,
                    enum work_keep keep)
{
    const bool exists =
        tensor->only == ATTENTION_ANY || tensor->only == builder->problem->setup->attention;
    return exists && !(keep == KEEP_SELECTIVE && tensor->recomputable) &&
           !(keep == KEEP_LATENTS && tensor->remade);
}

bool work_over_vocabulary(const struct work_builder *builder, const struct tensor *tensor)
{
    return (tensor->axes & builder->mesh->padded) != 0;
}

static bool was_seen(const uint32_t *seen, uint32_t count, uint32_t tensor)
{
    for (uint32_t i = 0; i < count; i++) {
        if (seen[i] == tensor) {
            return true;
        }
    }
    return false;
}

bool work_weight_is_frozen(const struct work_builder *builder, uint32_t op)
{
    const struct op *which = op_at(builder, op);
    return which->weight_count > 0 && builder->model->tensors[which->weights[0]].frozen;
}

bool work_op_keeps(const struct work_builder *builder, uint32_t op)
{
    return builder->backward &&
           !(op_at(builder, op)->kind == OP_CONTRACT && work_weight_is_frozen(builder, op));
}

/* Tensors counted so far: as they are, and as a matmul's copy in its narrow format. */
struct seen {
    uint32_t tensors[64 * OP_KEEP_MAX];
    uint32_t count;
};

static bool is_new(struct seen *seen, uint32_t tensor)
{
    if (was_seen(seen->tensors, seen->count, tensor)) {
        return false;
    }
    assert(seen->count < sizeof seen->tensors / sizeof seen->tensors[0]);
    seen->tensors[seen->count++] = tensor;
    return true;
}

/* What a fused loss or weights applied inside the experts make superfluous. */
static bool is_spared(const struct work_builder *builder, uint32_t op, const struct tensor *tensor)
{
    const struct runtime *runtime = builder->problem->setup->runtime;
    return (runtime->fuses_loss && tensor->class == TENSOR_STATISTIC &&
            work_over_vocabulary(builder, tensor)) ||
           (runtime->weighs_inside && tensor->density < 1.0 && work_op_reorders(builder, op));
}

/* Bytes per element of what this op keeps of a tensor. */
static double kept_element_bytes(const struct work_builder *builder, uint32_t op, uint32_t tensor)
{
    const struct op *which = op_at(builder, op);
    const bool narrow = builder->problem->setup->runtime->saves_narrow &&
                        which->kind == OP_CONTRACT && which->inputs[0] == tensor;
    const double wide = work_element_bytes(builder->problem, &builder->model->tensors[tensor]);
    const enum dtype dtype = narrow ? work_contract_dtype(builder, which) : DTYPE_BF16;
    return dtype == DTYPE_FP8 || dtype == DTYPE_FP4 ? dtype_bytes(dtype) : wide;
}

double work_saved_bytes(const struct work_builder *builder, enum work_keep keep, bool vocabulary)
{
    const struct model *model = builder->model;
    struct seen wide = {.count = 0}, narrow = {.count = 0};
    double bytes = 0.0;
    for (uint32_t op = 0; op < builder->part->op_count; op++) {
        const struct op *which = op_at(builder, op);
        for (uint32_t i = 0; work_op_keeps(builder, op) && i < which->keep_count; i++) {
            const struct tensor *tensor = &model->tensors[which->keeps[i]];
            const double element = kept_element_bytes(builder, op, which->keeps[i]);
            const bool is_narrow = element < work_element_bytes(builder->problem, tensor);
            if (!is_kept(builder, tensor, keep) || is_spared(builder, op, tensor) ||
                work_over_vocabulary(builder, tensor) != vocabulary ||
                !is_new(is_narrow ? &narrow : &wide, which->keeps[i])) {
                continue;
            }
            const struct shard_state state = saved_state(builder, op, which->keeps[i]);
            bytes += shard_count_elements(builder->mesh, tensor, &state) * element;
        }
    }
    return bytes;
}

/* An op's operands and result in the form it wants them, with their gradients. */
static double op_working_bytes(const struct work_builder *builder, uint32_t op)
{
    /* kept for a backward they are a class of their own; who generates needs those of one token */
    const bool counts_logits = builder->backward || task_generates(&builder->problem->setup->task);
    const struct op *which = op_at(builder, op);
    double bytes = 0.0;
    for (uint32_t i = 0; i <= which->input_count; i++) {
        const uint32_t tensor = i < which->input_count ? which->inputs[i] : which->output;
        const struct tensor *what = &builder->model->tensors[tensor];
        if (work_over_vocabulary(builder, what) && counts_logits) {
            continue;
        }
        const bool mirrored = i < which->input_count && (which->mirrored >> i & 1u) != 0;
        const struct shard_state state =
            shard_state_operand(builder->mesh, &builder->cuts[op], what, mirrored);
        bytes += shard_count_elements(builder->mesh, what, &state) *
                 work_element_bytes(builder->problem, what);
    }
    return builder->backward ? 2.0 * bytes : bytes;
}

/* Of every token of every sequence of a replica; a window forgets older ones. */
static double op_cache_bytes(const struct work_builder *builder, uint32_t op)
{
    const struct setup *setup = builder->problem->setup;
    const struct op *which = op_at(builder, op);
    const double sequences =
        (double)plan_count_micro_batches(builder->problem, builder->work->plan);
    const uint64_t longest = which->density == DENSITY_WINDOW && which->window < setup->seq_length
                                 ? which->window
                                 : setup->seq_length;
    double elements = 0.0;
    for (uint32_t i = 0; i < which->input_count; i++) {
        const struct tensor *tensor = &builder->model->tensors[which->inputs[i]];
        const struct shard_state state =
            shard_state_operand(builder->mesh, &builder->cuts[op], tensor, false);
        elements += tensor->cached ? shard_count_elements(builder->mesh, tensor, &state) : 0.0;
    }
    elements *= (double)longest / (double)setup_count_positions(setup, false);
    return (elements + work_state_elements(builder, op)) * sequences *
           dtype_bytes(setup->cache_dtype);
}

/* The largest gradient of one weight on this device, as wide as what it is added to. */
static double widened_bytes(const struct work_builder *builder)
{
    const struct runtime *runtime = builder->problem->setup->runtime;
    double most = 0.0;
    for (uint32_t op = 0; op < builder->part->op_count && runtime->widens_gradients; op++) {
        if (!work_op_keeps(builder, op) || op_at(builder, op)->weight_count == 0) {
            continue;
        }
        const struct tensor *weight = &builder->model->tensors[op_at(builder, op)->weights[0]];
        const struct shard_state held =
            shard_state_operand(builder->mesh, &builder->cuts[op], weight, false);
        const double elements = shard_count_elements(builder->mesh, weight, &held);
        most = elements > most ? elements : most;
    }
    return most * runtime->gradient_copy_bytes;
}

/* Results that are partial sums, as the op leaves them. */
static double partial_bytes(const struct work_builder *builder)
{
    double bytes = 0.0;
    for (uint32_t op = 0; op < builder->part->op_count; op++) {
        const struct tensor *output = &builder->model->tensors[op_at(builder, op)->output];
        const struct shard_state state =
            shard_state_output(builder->mesh, &builder->cuts[op], output);
        bool partial = false;
        for (uint32_t i = 0; i < builder->mesh->atom_count; i++) {
            partial = partial || state.at[i] == STATE_PARTIAL;
        }
        bytes += partial ? shard_count_elements(builder->mesh, output, &state) *
                               work_element_bytes(builder->problem, output)
                         : 0.0;
    }
    return bytes;
}

void work_memory_build(struct work_builder *builder, struct work_block *block)
{
    const double saved_factor = builder->problem->setup->runtime->saved_factor;
    block->saved_bytes =
        work_saved_bytes(builder, block->keep, false) * (saved_factor > 1.0 ? saved_factor : 1.0);
    block->logits_bytes = work_saved_bytes(builder, block->keep, true);
    if (builder->problem->setup->runtime->holds_partials && builder->backward) {
        block->saved_bytes += partial_bytes(builder);
    }
    block->widened_bytes = widened_bytes(builder);
    block->working_bytes = 0.0;
    block->cache_bytes = 0.0;
    const bool generates = task_generates(&builder->problem->setup->task);
    for (uint32_t op = 0; op < builder->part->op_count; op++) {
        const double bytes = op_working_bytes(builder, op);
        block->working_bytes = bytes > block->working_bytes ? bytes : block->working_bytes;
        block->cache_bytes += generates ? op_cache_bytes(builder, op) : 0.0;
    }
    if (block->keep == KEEP_BOUNDARY) {
        const uint32_t input = builder->part->input;
        const struct tensor *boundary = &builder->model->tensors[input];
        const struct shard_state state = work_boundary_state(builder, boundary);
        block->working_bytes +=
            block->saved_bytes; /* one recomputed layer is whole while its backward runs */
        block->saved_bytes = shard_count_elements(builder->mesh, boundary, &state) *
                             work_element_bytes(builder->problem, boundary);
        block->working_bytes = block->working_bytes > block->saved_bytes
                                   ? block->working_bytes - block->saved_bytes
                                   : 0.0;
    }
}

static void add_weights(struct work_block *block, struct work_weights weights)
{
    for (uint32_t i = 0; i < block->weights_count; i++) {
        struct work_weights *have = &block->weights[i];
        if (have->group == weights.group && have->side_group == weights.side_group &&
            have->tied == weights.tied && have->frozen == weights.frozen &&
            have->is_matrix == weights.is_matrix) {
            have->elements += weights.elements;
            have->orthogonal_flops += weights.orthogonal_flops;
            have->orthogonal_per_row += weights.orthogonal_per_row;
            return;
        }
    }
    assert(block->weights_count < WORK_WEIGHTS_MAX);
    block->weights[block->weights_count++] = weights;
}

/* A matrix is cut as its op is. A bias is added to the finished result: it is cut as that is, not
 * by what was contracted before. */
static struct shard_cut weight_cut(const struct work_builder *builder, uint32_t op, uint32_t weight)
{
    struct shard_cut cut = builder->cuts[op];
    if (weight > 0) {
        const uint32_t output = op_at(builder, op)->output;
        shard_cut_find(builder->mesh, builder->model->tensors[output].axes, &cut);
    }
    return cut;
}

/* A Newton-Schulz step on m x n, m the shorter side: X X^T, its square, their product with X, each
 * multiplication with its addition 2 (arXiv 2502.16982 section 2). The device does it on its own
 * cut of the matrix, gate and up or K and V as one. */
static void set_matrix(const struct work_builder *builder, uint32_t op, struct work_weights *out)
{
    const struct op *which = op_at(builder, op);
    const struct model *model = builder->model;
    const struct tensor *weight = &model->tensors[which->weights[0]];
    const struct tensor *output = &model->tensors[which->output];
    const axis_set input = model->tensors[which->inputs[0]].axes;
    double rows = 1.0, columns = weight->copies, matrices = 1.0;
    for (uint32_t i = 0; i < model->axis_count; i++) {
        const double size = (double)shard_axis_size(builder->mesh, &builder->cuts[op], i);
        if ((weight->axes >> i & 1u) == 0) {
            continue;
        }
        const bool in = (input >> i & 1u) != 0, out_too = (output->axes >> i & 1u) != 0;
        *(in && out_too ? &matrices : in ? &rows : &columns) *= size;
    }
    const double m = rows < columns ? rows : columns, n = rows < columns ? columns : rows;
    const double flops = matrices * (4.0 * m * m * n + 2.0 * m * m * m) *
                         builder->problem->setup->optimizer->matrix_steps;
    out->is_matrix = true;
    out->orthogonal_flops = flops;
    out->orthogonal_per_row = flops / m;
}

/* Of matrix multiplies, but for those over the vocabulary. */
static bool is_matrix(const struct work_builder *builder, uint32_t op, uint32_t weight)
{
    const struct op *which = op_at(builder, op);
    return builder->problem->setup->optimizer->matrix_steps > 0 && weight == 0 &&
           which->kind == OP_CONTRACT &&
           !work_over_vocabulary(builder, &builder->model->tensors[which->weights[0]]);
}

/* Gradients of a weight are partial sums over every atom that cuts an axis which the weight
 * lacks. */
static struct work_weights weights_of(struct work_builder *builder, uint32_t op, uint32_t index)
{
    const struct shard_mesh *mesh = builder->mesh;
    const struct tensor *weight = &builder->model->tensors[op_at(builder, op)->weights[index]];
    const struct shard_cut own = weight_cut(builder, op, index), *cut = &own;
    const struct shard_state held = shard_state_operand(mesh, cut, weight, false);
    const struct shard_state gradient = shard_state_gradient(mesh, cut, weight, false);
    uint32_t main_atoms = 0, side_atoms = 0, dim = 0;
    for (uint32_t i = 0; i < mesh->atom_count; i++) {
        if (gradient.at[i] != STATE_PARTIAL) {
            continue;
        }
        if ((cut->beside_atoms >> i & 1u) != 0) {
            side_atoms |= 1u << i;
        } else {
            main_atoms |= 1u << i;
            dim = cut->dim[i];
        }
    }
    struct work_weights weights = {
        .group = main_atoms == 0 ? NO_INDEX : work_group_of_atoms(builder->work, mesh, main_atoms),
        .side_group =
            side_atoms == 0 ? NO_INDEX : work_group_of_atoms(builder->work, mesh, side_atoms),
        .dim = dim,
        .elements = (uint64_t)(shard_count_elements(mesh, weight, &held) + 0.5),
        .frozen = weight->frozen,
        .tied = weight->tied_to != NO_INDEX,
        .parameter_shards = 1,
        .gradient_shards = 1,
        .optimizer_shards = 1,
        .parameter_group = NO_INDEX,
        .gradient_group = NO_INDEX,
        .optimizer_group = NO_INDEX,
        .period = 1};
    if (is_matrix(builder, op, index)) {
        set_matrix(builder, op, &weights);
    }
    return weights;
}

/* A weight that an earlier op of the part has too is there once. */
static bool is_shared(const struct work_builder *builder, uint32_t op, uint32_t weight)
{
    for (uint32_t before = 0; before < op; before++) {
        const struct op *which = op_at(builder, before);
        if (was_seen(which->weights, which->weight_count, weight)) {
            return true;
        }
    }
    return false;
}

void work_weights_build(struct work_builder *builder, struct work_block *block)
{
    block->weights_count = 0;
    for (uint32_t op = 0; op < builder->part->op_count; op++) {
        for (uint32_t i = 0; i < op_at(builder, op)->weight_count; i++) {
            if (!is_shared(builder, op, op_at(builder, op)->weights[i])) {
                add_weights(block, weights_of(builder, op, i));
            }
        }
    }
}

/* How much one op is on one device: local shapes, FLOPs, bytes. */
#include <assert.h>
#include <string.h>

#include "plan/work_inside.h"

static bool has_axis(axis_set set, uint32_t axis)
{
    return (set >> axis & 1u) != 0;
}

double work_element_bytes(const struct problem *problem, const struct tensor *tensor)
{
    switch (tensor->class) {
    case TENSOR_WEIGHT:
        if (!task_trains(&problem->setup->task)) {
            return dtype_bytes(problem->setup->dtype);
        }
        return problem->setup->dtype == DTYPE_FP32 || problem->setup->dtype == DTYPE_TF32 ? 4.0
                                                                                          : 2.0;
    case TENSOR_ACTIVATION:
        return problem->setup->dtype == DTYPE_FP32 || problem->setup->dtype == DTYPE_TF32 ? 4.0
                                                                                          : 2.0;
    case TENSOR_STATISTIC: return 4.0;
    case TENSOR_MASK: return 1.0;
    case TENSOR_INDEX: return 8.0;
    case TENSOR_CLASS_COUNT: break;
    }
    BUG("tensor '%s' is of no class", tensor->name);
}

static uint64_t product(const struct work_builder *builder, const struct shard_cut *cut,
                        axis_set axes)
{
    uint64_t size = 1;
    for (axis_set left = axes; left != 0; left &= left - 1) {
        size *= shard_axis_size(builder->mesh, cut, (uint32_t)__builtin_ctz(left));
    }
    return size;
}

/* A mirrored operand is read over the positions of the images of its axes: while tokens are
 * generated they are more than those of the step. */
static double image_ratio(const struct work_builder *builder, axis_set axes)
{
    const struct model *model = builder->model;
    double ratio = 1.0;
    for (uint32_t i = 0; i < model->axis_count; i++) {
        const uint32_t origin = model->axes[i].image_of;
        if (origin != NO_INDEX && model->axes[i].size == 0 && has_axis(axes, origin)) {
            ratio *= (double)builder->mesh->sizes[i] / (double)builder->mesh->sizes[origin];
        }
    }
    return ratio;
}

/* Elements of the tensor that the op touches on this device. */
static double touched(const struct work_builder *builder, const struct shard_cut *cut,
                      uint32_t tensor, bool mirrored)
{
    const struct tensor *which = &builder->model->tensors[tensor];
    const struct shard_state state = shard_state_operand(builder->mesh, cut, which, mirrored);
    return shard_count_elements(builder->mesh, which, &state) *
           (mirrored ? image_ratio(builder, which->axes) : 1.0);
}

static double touched_bytes(const struct work_builder *builder, const struct shard_cut *cut,
                            uint32_t tensor, bool mirrored)
{
    return touched(builder, cut, tensor, mirrored) *
           work_element_bytes(builder->problem, &builder->model->tensors[tensor]);
}

/* Share of queries x keys: causal counts the diagonal, (s + 1) / 2s; a window keeps `window` keys
 * of each query. Queries fewer than the keys are the last of them: q of s have
 * (2 s - q + 1) / 2s. */
static double attention_density(const struct op *op, uint64_t queries, uint64_t keys)
{
    const double s = (double)keys, q = (double)queries;
    const double causal = (2.0 * s - q + 1.0) / (2.0 * s);
    switch (op->density) {
    case DENSITY_FULL:
    case DENSITY_ROUTED: return 1.0;
    case DENSITY_CAUSAL: return causal;
    case DENSITY_WINDOW: {
        const double w = (double)op->window;
        const double short_of = w - 1.0 - (s - q); /* queries with fewer keys than the window */
        const double missing = short_of > 0.0 ? short_of * (short_of + 1.0) / 2.0 : 0.0;
        return w >= s ? causal : (w * q - missing) / (s * q);
    }
    case DENSITY_BLOCK:
        return (double)op->window >= s ? causal : ((double)op->window + 1.0) / (2.0 * s);
    case DENSITY_KIND_COUNT: break;
    }
    BUG("op '%s' has no density", op->name);
}

/* Rows of several sequences: each meets its own keys alone. By the share of tokens that have that
 * length, how many keys a token meets of those in the row. */
static double row_density(const struct setup *setup, const struct op *op, uint64_t queries,
                          uint64_t keys)
{
    const bool rows =
        setup->packing == PACKING_PACK && queries == setup->seq_length && keys == queries;
    double density = 0.0;
    for (uint32_t i = 0; rows && i < setup->length_count; i++) {
        const uint64_t length = setup->lengths[i].length;
        density += setup_length_frac(setup, i) * (double)length / (double)keys *
                   attention_density(op, length, length);
    }
    return rows ? density : attention_density(op, queries, keys);
}

/* Forward: X[m,k] W[k,n]. Axes in both and the result are groups. */
static struct work_contract find_contract(const struct work_builder *builder, const struct op *op,
                                          const struct shard_cut *cut)
{
    const struct tensor *x = &builder->model->tensors[op->inputs[0]];
    const struct tensor *w = &builder->model->tensors[op->weights[0]];
    const struct tensor *y = &builder->model->tensors[op->output];
    const axis_set groups = x->axes & w->axes & y->axes;
    const uint64_t n = product(builder, cut, w->axes & y->axes & ~groups) * w->copies;
    const uint64_t k = product(builder, cut, op->domain & ~y->axes);
    const double rows = (double)product(builder, cut, x->axes & y->axes & ~groups) * x->density *
                        shard_routed_load(builder->mesh, x, cut->axis);
    const uint64_t m = rows < 1.0 ? 1 : (uint64_t)(rows + 0.5);
    const uint64_t group_count = product(builder, cut, groups);
    return (struct work_contract){.known = true,
                                  .m = m,
                                  .n = n,
                                  .k = k,
                                  .groups = group_count,
                                  .flops = 2.0 * rows * (double)n * (double)k * (double)group_count,
                                  .bytes = touched_bytes(builder, cut, op->inputs[0], false) +
                                           touched_bytes(builder, cut, op->weights[0], false) +
                                           touched_bytes(builder, cut, op->output, false)};
}

/* The same three matrices in every pass: input gradient dY[m,n] W^T; weight gradient X^T dY. */
static void fill_contract(const struct work_builder *builder, uint32_t op, struct work_compute *out)
{
    struct work_contract *const forward = &builder->contracts[op];
    if (!forward->known) {
        *forward = find_contract(builder, &builder->model->ops[builder->part->first_op + op],
                                 &builder->cuts[op]);
    }
    const enum work_pass pass = out->pass;
    out->groups = forward->groups;
    out->m = pass == PASS_WEIGHT_GRADIENT ? forward->k : forward->m;
    out->n = pass == PASS_INPUT_GRADIENT ? forward->k : forward->n;
    out->k = pass == PASS_WEIGHT_GRADIENT  ? forward->m
             : pass == PASS_INPUT_GRADIENT ? forward->n
                                           : forward->k;
    out->flops = forward->flops;
    out->bytes = forward->bytes;
}

static uint32_t first_axis(axis_set axes)
{
    return axes == 0 ? NO_INDEX : (uint32_t)__builtin_ctz(axes);
}

static uint64_t local_size(const struct work_builder *builder, const struct shard_cut *cut,
                           uint32_t axis, uint64_t without)
{
    return axis == NO_INDEX ? without : shard_axis_size(builder->mesh, cut, axis);
}

/* The axes of an attention by what they do: keys are an image without a size of the queries,
 * grouped heads an image with one of the heads. */
struct attention_axes {
    uint32_t queries, keys, heads, kv_heads;
};

static struct attention_axes find_axes(const struct model *model, const struct op *op)
{
    struct attention_axes out = {NO_INDEX, NO_INDEX, NO_INDEX, NO_INDEX};
    for (uint32_t i = 0; i < model->axis_count; i++) {
        const struct axis *axis = &model->axes[i];
        if (!has_axis(op->domain, i) || axis->image_of == NO_INDEX) {
            continue;
        }
        if (axis->size == 0) {
            out.keys = i;
            out.queries = axis->image_of;
        } else {
            out.kv_heads = i;
            out.heads = axis->image_of;
        }
    }
    return out;
}

/* Axes that scores contract are the query's alone; what scores and values both have besides queries
 * and batch, or what the keys group, are heads. */
static void fill_attention(const struct work_builder *builder, const struct op *op,
                           const struct shard_cut *cut, struct work_compute *out)
{
    const struct model *model = builder->model;
    const struct attention_axes axes = find_axes(model, op);
    const axis_set q = model->tensors[op->inputs[0]].axes, y = model->tensors[op->output].axes;
    const axis_set batch = builder->mesh->batch;
    const axis_set rows = batch | (axis_set)1 << axes.queries;
    const uint32_t heads = axes.heads != NO_INDEX ? axes.heads : first_axis(q & y & ~rows);
    const axis_set inner = ~(rows | (heads == NO_INDEX ? 0 : (axis_set)1 << heads));
    out->batch = product(builder, cut, batch);
    out->heads = local_size(builder, cut, heads, 1);
    out->kv_heads = local_size(builder, cut, axes.kv_heads, out->heads);
    out->queries = shard_axis_size(builder->mesh, cut, axes.queries);
    out->keys = shard_axis_size(builder->mesh, cut, axes.keys);
    out->head_dim = product(builder, cut, q & inner);
    out->value_dim = product(builder, cut, y & inner);
    out->density_frac =
        row_density(builder->problem->setup, op, builder->mesh->sizes[axes.queries], out->keys);
    out->flash = builder->problem->setup->attention == ATTENTION_FLASH;
    const double pairs = (double)out->batch * (double)out->heads * (double)out->queries *
                         (double)out->keys * out->density_frac;
    const double scores = 2.0 * pairs * (double)out->head_dim;
    const double values = 2.0 * pairs * (double)out->value_dim;
    /* backward: the gradients of each matmul's two operands; flash recomputes the scores, plain
     * attention keeps them */
    out->flops = out->pass == PASS_FORWARD ? scores + values
                 : out->flash              ? 3.0 * scores + 2.0 * values
                                           : 2.0 * (scores + values);
    out->bytes = touched_bytes(builder, cut, op->output, false);
    for (uint32_t i = 0; i < op->input_count; i++) {
        out->bytes += touched_bytes(builder, cut, op->inputs[i], (op->mirrored >> i & 1u) != 0);
    }
    out->bytes *= out->pass == PASS_FORWARD ? 1.0 : 2.0;
}

bool work_op_reorders(const struct work_builder *builder, uint32_t index)
{
    const struct op *op = &builder->model->ops[builder->part->first_op + index];
    const struct tensor *output = &builder->model->tensors[op->output];
    bool changes = false;
    for (uint32_t i = 0; i < op->input_count; i++) {
        const struct tensor *input = &builder->model->tensors[op->inputs[i]];
        changes = changes || (input->class == output->class && input->density != output->density);
    }
    return changes;
}

double work_state_elements(const struct work_builder *builder, uint32_t op)
{
    const struct op *which = &builder->model->ops[builder->part->first_op + op];
    const struct tensor state = {
        .axes = which->state, .copies = which->state_copies, .density = 1.0};
    const struct shard_state held =
        shard_state_operand(builder->mesh, &builder->cuts[op], &state, false);
    return which->state == 0 ? 0.0 : shard_count_elements(builder->mesh, &state, &held);
}

/* The loss by one kernel (hardware_costs of the project's references, section 5.5: 4 to 6 bytes per
 * logit): logits read for their sum, read again, overwritten by their gradient; nothing is left for
 * the backward. */
#define FUSED_LOSS_FORWARD_BYTES 6.0
#define FUSED_LOSS_BACKWARD_BYTES 0.0

static bool is_loss(const struct work_builder *builder, const struct op *op)
{
    bool kept = false;
    for (uint32_t i = 0; i < op->keep_count; i++) {
        const struct tensor *tensor = &builder->model->tensors[op->keeps[i]];
        kept = kept || (tensor->class == TENSOR_STATISTIC && work_over_vocabulary(builder, tensor));
    }
    return kept;
}

static double traffic_bytes(const struct work_builder *builder, const struct op *op,
                            enum work_pass pass)
{
    const bool forward = pass == PASS_FORWARD;
    if (builder->problem->setup->runtime->fuses_loss && is_loss(builder, op)) {
        return forward ? FUSED_LOSS_FORWARD_BYTES : FUSED_LOSS_BACKWARD_BYTES;
    }
    return forward ? op->forward_bytes : op->backward_bytes;
}

/* mirrored: which inputs are read over the images of their axes. */
static void fill_traffic(const struct work_builder *builder, const struct op *op, uint32_t mirrored,
                         const struct shard_cut *cut, struct work_compute *out)
{
    double elements = touched(builder, cut, op->output, false);
    for (uint32_t i = 0; i < op->input_count; i++) {
        const double read = touched(builder, cut, op->inputs[i], (mirrored >> i & 1u) != 0);
        elements = read > elements ? read : elements;
    }
    out->bytes = elements * traffic_bytes(builder, op, out->pass);
}

enum dtype work_contract_dtype(const struct work_builder *builder, const struct op *op)
{
    const enum dtype dtype = builder->problem->setup->dtype;
    const struct tensor *output = &builder->model->tensors[op->output];
    const bool exact =
        output->class == TENSOR_STATISTIC || (output->axes & builder->mesh->padded) != 0;
    return exact && (dtype == DTYPE_FP8 || dtype == DTYPE_FP4) ? DTYPE_BF16 : dtype;
}

bool work_quantises(const struct work_builder *builder, uint32_t op, enum work_pass pass,
                    struct work_compute *out)
{
    const struct op *which = &builder->model->ops[builder->part->first_op + op];
    const struct runtime *runtime = builder->problem->setup->runtime;
    if (which->kind != OP_CONTRACT || which->joined) {
        return false;
    }
    const enum dtype dtype = work_contract_dtype(builder, which);
    if (runtime->quantise_bytes == 0.0 || (dtype != DTYPE_FP8 && dtype != DTYPE_FP4)) {
        return false;
    }
    const struct shard_cut *cut = &builder->cuts[op];
    const uint32_t tensor = pass == PASS_FORWARD ? which->inputs[0] : which->output;
    memset(out, 0, sizeof *out);
    out->name = "quantise";
    out->converts = true;
    out->kind = OP_STREAM;
    out->pass = pass;
    out->density_frac = 1.0;
    out->dtype = dtype;
    out->bytes = touched(builder, cut, tensor, false) * runtime->quantise_bytes;
    return true;
}

static void fill_stream(const struct work_builder *builder, const struct op *op,
                        const struct shard_cut *cut, struct work_compute *out)
{
    fill_traffic(builder, op, op->mirrored, cut, out);
}

/* FLOPs per element that it writes here, and traffic: of what it fetches from other ranks it
 * reads no more than its own share's size (a state, in the end). */
static void fill_kernel(const struct work_builder *builder, const struct op *op,
                        const struct shard_cut *cut, struct work_compute *out)
{
    fill_traffic(builder, op, 0, cut, out);
    out->flops = touched(builder, cut, op->output, false) *
                 (out->pass == PASS_FORWARD ? op->forward_flops : op->backward_flops);
}

struct work_compute work_amount(const struct work_builder *builder, uint32_t op,
                                enum work_pass pass)
{
    const struct op *which = &builder->model->ops[builder->part->first_op + op];
    const struct shard_cut *cut = &builder->cuts[op];
    struct work_compute out;
    memset(&out, 0, sizeof out);
    out.name = which->name;
    out.kind = which->kind;
    out.pass = pass;
    out.joined = which->joined;
    out.dtype = builder->problem->setup->dtype;
    out.density_frac = 1.0;
    switch (which->kind) {
    case OP_CONTRACT:
        fill_contract(builder, op, &out);
        out.dtype = work_contract_dtype(builder, which);
        break;
    case OP_ATTENTION: fill_attention(builder, which, cut, &out); break;
    case OP_STREAM:
    case OP_LOOKUP:
        fill_stream(builder, which, cut, &out);
        out.reorders = work_op_reorders(builder, op);
        out.counts = out.reorders && pass == PASS_FORWARD &&
                     builder->model->tensors[which->output].density < 1.0;
        out.permutes = out.reorders;
        break;
    case OP_KERNEL: fill_kernel(builder, which, cut, &out); break;
    case OP_KIND_COUNT: BUG("op '%s' is of no kind", which->name);
    }
    if (builder->problem->setup->task.kind == TASK_DECODE) {
        out.bytes += 2.0 * work_state_elements(builder, op) *
                     dtype_bytes(builder->problem->setup->cache_dtype);
    }
    return out;
}

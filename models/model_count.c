/* Parameters, cached numbers and FLOPs of a model, counted over its ops. */
#include "models/model.h"

#include <string.h>

/* Forward, gradient of the input, gradient of the weights (or of the other operand): each as
 * large. */
#define PASSES 3.0
#define CONTRACT_FLOPS 2.0 /* a multiplication and an addition per point */
#define TOKENS "seq"

/* Sums and products stop at UINT64_MAX, which no count reaches. */
static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t count_elements(const struct model *model, const struct tensor *tensor)
{
    uint64_t elements = tensor->copies;
    for (uint32_t i = 0; i < model->axis_count; i++) {
        if ((tensor->axes >> i & 1u) != 0) {
            elements = multiply(elements, model->axes[i].size);
        }
    }
    return elements;
}

/* The nearest whole number, in integers where the count is beyond what a double can hold. */
static uint64_t take_share(uint64_t count, double frac)
{
    if (frac >= 1.0 || count == UINT64_MAX) {
        return count;
    }
    return (uint64_t)((double)count * frac + 0.5);
}

/* Is the weight one of an earlier op of the part, too? */
static bool is_shared(const struct model *model, const struct part *part, const struct op *op,
                      uint32_t weight)
{
    for (const struct op *before = &model->ops[part->first_op]; before < op; before++) {
        for (uint32_t i = 0; i < before->weight_count; i++) {
            if (before->weights[i] == weight) {
                return true;
            }
        }
    }
    return false;
}

static uint64_t count_op(const struct model *model, const struct part *part, const struct op *op,
                         bool active)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < op->weight_count; i++) {
        const struct tensor *weight = &model->tensors[op->weights[i]];
        const bool routed = active && op->density == DENSITY_ROUTED;
        if (weight->tied_to == NO_INDEX && !is_shared(model, part, op, op->weights[i])) {
            sum =
                add(sum, take_share(count_elements(model, weight), routed ? op->routed_frac : 1.0));
        }
    }
    return sum;
}

static uint64_t count_part(const struct model *model, uint32_t index, bool active)
{
    const struct part *part = &model->parts[index];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < part->op_count; i++) {
        sum = add(sum, count_op(model, part, &model->ops[part->first_op + i], active));
    }
    return sum;
}

/* How often the part runs in the chain. */
static uint64_t count_runs(const struct model *model, uint32_t part)
{
    uint64_t runs = 0;
    for (uint32_t i = 0; i < model->run_count; i++) {
        runs += model->chain[i].part == part ? model->chain[i].count : 0;
    }
    return runs;
}

static uint64_t count_chain(const struct model *model, bool active)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < model->part_count; i++) {
        sum = add(sum, multiply(count_runs(model, i), count_part(model, i, active)));
    }
    return sum;
}

uint64_t model_count_part_parameters(const struct model *model, uint32_t part)
{
    return count_part(model, part, false);
}

bool model_has_latents(const struct model *model)
{
    bool has = false;
    for (uint32_t i = 0; i < model->tensor_count; i++) {
        has = has || model->tensors[i].remade;
    }
    return has;
}

uint64_t model_count_parameters(const struct model *model)
{
    return count_chain(model, false);
}

uint64_t model_count_active_parameters(const struct model *model)
{
    return count_chain(model, true);
}

/* Keys that one query meets, on average, of `all` keys. */
static double count_keys(const struct op *op, double all, bool causal)
{
    const double window = (double)op->window;
    if (!causal || op->density == DENSITY_FULL) {
        return all;
    }
    if (op->density == DENSITY_WINDOW && window < all) {
        /* The first `window` queries meet a triangle, the rest `window` keys each. */
        return window - window * window / (2.0 * all);
    }
    return (op->density == DENSITY_BLOCK && window < all ? window : all) / 2.0;
}

static bool has_axis(axis_set set, uint32_t axis)
{
    return (set >> axis & 1u) != 0;
}

/* Positions of a set of axes per token of the sequence. Axes without a size of their own are the
 * tokens themselves; a grouping beside the axis that it groups adds no points. What has no tokens
 * (patches of images) is spread over those of the sequence. */
static double count_points(const struct model *model, axis_set domain, double seq_length)
{
    double points = 1.0;
    bool has_tokens = false;
    for (uint32_t i = 0; i < model->axis_count; i++) {
        const struct axis *axis = &model->axes[i];
        if (!has_axis(domain, i)) {
            continue;
        }
        const bool grouping = axis->image_of != NO_INDEX && has_axis(domain, axis->image_of);
        has_tokens = has_tokens || (axis->size == 0 && strcmp(axis->name, TOKENS) == 0);
        points *= axis->size == 0 || grouping ? 1.0 : (double)axis->size;
    }
    return has_tokens ? points : points / seq_length;
}

/* The positions that queries are compared with: an image without a size of its own. */
static uint32_t find_keys(const struct model *model, const struct op *op)
{
    for (uint32_t i = 0; i < model->axis_count; i++) {
        if (has_axis(op->domain, i) && model->axes[i].image_of != NO_INDEX &&
            model->axes[i].size == 0) {
            return i;
        }
    }
    return NO_INDEX;
}

/* Scores over the axes of the queries, values over those of the output, each with every key. */
static double attention_flops(const struct model *model, const struct op *op, double seq_length,
                              bool causal)
{
    const uint32_t keys = find_keys(model, op);
    const uint64_t own = keys == NO_INDEX ? 1 : model->axes[model->axes[keys].image_of].size;
    const double all = own == 0 ? seq_length : (double)own;
    const double met = count_keys(op, all, causal);
    const double points = count_points(model, model->tensors[op->inputs[0]].axes, seq_length) +
                          count_points(model, model->tensors[op->output].axes, seq_length);
    return CONTRACT_FLOPS * points * met;
}

/* Of the three passes together. */
static double flops_of(const struct model *model, const struct op *op, double seq_length,
                       bool causal)
{
    const struct tensor *output = &model->tensors[op->output];
    switch (op->kind) {
    case OP_CONTRACT:
        return PASSES * CONTRACT_FLOPS * (double)model->tensors[op->weights[0]].copies *
               (op->density == DENSITY_ROUTED ? op->routed_frac : 1.0) *
               count_points(model, op->domain, seq_length);
    case OP_ATTENTION: return PASSES * attention_flops(model, op, seq_length, causal);
    case OP_KERNEL:
        return (op->forward_flops + op->backward_flops) * output->copies * output->density *
               count_points(model, output->axes, seq_length);
    case OP_STREAM:
    case OP_LOOKUP:
    case OP_KIND_COUNT: break;
    }
    return 0.0;
}

static double flops_of_part(const struct model *model, const struct part *part, double seq_length,
                            bool causal)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < part->op_count; i++) {
        sum += flops_of(model, &model->ops[part->first_op + i], seq_length, causal);
    }
    return sum;
}

double model_flops_per_token(const struct model *model, uint64_t seq_length, bool causal)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < model->part_count; i++) {
        sum += (double)count_runs(model, i) *
               flops_of_part(model, &model->parts[i], (double)seq_length, causal);
    }
    return sum;
}

static uint64_t count_cached(const struct model *model, const struct op *op)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < op->input_count; i++) {
        const struct tensor *tensor = &model->tensors[op->inputs[i]];
        uint64_t elements = tensor->cached ? tensor->copies : 0;
        for (uint32_t axis = 0; axis < model->axis_count; axis++) {
            const uint64_t size = model->axes[axis].size;
            if ((tensor->axes >> axis & 1u) != 0 && size > 0) {
                elements = multiply(elements, size);
            }
        }
        sum = add(sum, elements);
    }
    return sum;
}

static uint64_t count_state(const struct model *model, const struct op *op)
{
    uint64_t elements = op->state == 0 ? 0 : op->state_copies;
    for (uint32_t axis = 0; axis < model->axis_count; axis++) {
        const uint64_t size = model->axes[axis].size;
        elements = has_axis(op->state, axis) && size > 0 ? multiply(elements, size) : elements;
    }
    return elements;
}

static uint64_t sum_ops(const struct model *model,
                        uint64_t (*count)(const struct model *, const struct op *))
{
    uint64_t sum = 0;
    for (uint32_t run = 0; run < model->run_count; run++) {
        const struct part *part = &model->parts[model->chain[run].part];
        for (uint32_t i = 0; i < part->op_count; i++) {
            sum = add(sum, multiply(model->chain[run].count,
                                    count(model, &model->ops[part->first_op + i])));
        }
    }
    return sum;
}

uint64_t model_count_cache_elements(const struct model *model)
{
    return sum_ops(model, count_cached);
}

uint64_t model_count_state_elements(const struct model *model)
{
    return sum_ops(model, count_state);
}

/* Whether the parts, ops and tensors of a model contradict each other. */
#include "models/model.h"

struct report {
    const struct model *model;
    struct diag *diag;
};

/* All that is wrong is a contradiction in a value built in memory: there is no place but the
 * model. */
#define FAULT(to, ...) diag_push((to)->diag, DIAG_M207, (struct diag_place){0}, NULL, __VA_ARGS__)

static axis_set known_axes(const struct model *model)
{
    return model->axis_count >= AXIS_MAX ? ~(axis_set)0 : ((axis_set)1 << model->axis_count) - 1;
}

static bool check_axes(const struct report *to)
{
    const struct model *model = to->model;
    if (model->axis_count == 0 || model->axis_count > AXIS_MAX) {
        return FAULT(to, "model '%s' has %u axes, must have 1 to %d", model->name,
                     model->axis_count, AXIS_MAX);
    }
    for (uint32_t i = 0; i < model->axis_count; i++) {
        const struct axis *axis = &model->axes[i];
        if (axis->image_of != NO_INDEX &&
            (axis->image_of >= model->axis_count || axis->image_of == i)) {
            return FAULT(to, "axis '%s' is an image of axis %u, of which there are %u", axis->name,
                         axis->image_of, model->axis_count);
        }
    }
    return true;
}

static bool check_tensor(const struct report *to, const struct tensor *tensor)
{
    const struct model *model = to->model;
    if (tensor->class >= TENSOR_CLASS_COUNT || tensor->only >= ATTENTION_KIND_COUNT) {
        return FAULT(to, "tensor '%s' is of no known class", tensor->name);
    }
    if ((tensor->axes & ~known_axes(model)) != 0) {
        return FAULT(to, "tensor '%s' has an axis that the model lacks", tensor->name);
    }
    if (tensor->copies == 0 || !(tensor->density > 0.0 && tensor->density <= 1.0)) {
        return FAULT(
            to, "tensor '%s' has %u copies of density %g, must be 1 or more of a density in (0, 1]",
            tensor->name, tensor->copies, tensor->density);
    }
    if (tensor->tied_to == NO_INDEX) {
        return true;
    }
    if (tensor->tied_to >= model->tensor_count || tensor->class != TENSOR_WEIGHT ||
        model->tensors[tensor->tied_to].axes != tensor->axes) {
        return FAULT(to, "tensor '%s' is tied to one that is no weight of the same axes",
                     tensor->name);
    }
    return true;
}

static bool check_operand(const struct report *to, const struct op *op, uint32_t tensor,
                          bool weight)
{
    const struct model *model = to->model;
    if (tensor >= model->tensor_count) {
        return FAULT(to, "op '%s' has operand %u, the model has %u tensors", op->name, tensor,
                     model->tensor_count);
    }
    const struct tensor *operand = &model->tensors[tensor];
    if ((operand->class == TENSOR_WEIGHT) != weight) {
        return FAULT(to, "op '%s' uses '%s' as %s", op->name, operand->name,
                     weight ? "a weight, which it is not" : "an activation, but it is a weight");
    }
    if (op->kind != OP_STREAM && (operand->axes & ~op->domain) != 0) {
        return FAULT(to, "op '%s' has operand '%s' with axes beyond its domain", op->name,
                     operand->name);
    }
    return true;
}

static bool check_operands(const struct report *to, const struct op *op)
{
    bool good = check_operand(to, op, op->output, false);
    for (uint32_t i = 0; i < op->input_count; i++) {
        good &= check_operand(to, op, op->inputs[i], false);
    }
    for (uint32_t i = 0; i < op->weight_count; i++) {
        good &= check_operand(to, op, op->weights[i], true);
    }
    for (uint32_t i = 0; i < op->keep_count; i++) {
        if (op->keeps[i] >= to->model->tensor_count ||
            to->model->tensors[op->keeps[i]].class == TENSOR_WEIGHT) {
            return FAULT(to, "op '%s' keeps tensor %u, which is no activation", op->name,
                         op->keeps[i]);
        }
    }
    return good;
}

static bool is_streaming(enum op_kind kind)
{
    return kind == OP_STREAM || kind == OP_LOOKUP || kind == OP_KERNEL;
}

static bool needs_weight(enum op_kind kind)
{
    return kind == OP_CONTRACT || kind == OP_LOOKUP;
}

static bool check_op(const struct report *to, const struct op *op)
{
    if (op->kind >= OP_KIND_COUNT || op->density >= DENSITY_KIND_COUNT) {
        return FAULT(to, "op '%s' is of no known kind", op->name);
    }
    if ((op->domain & ~known_axes(to->model)) != 0) {
        return FAULT(to, "op '%s' has an axis that the model lacks", op->name);
    }
    if (op->input_count == 0 || op->input_count > OP_INPUT_MAX ||
        op->weight_count > OP_WEIGHT_MAX || op->keep_count > OP_KEEP_MAX ||
        op->mirrored >> op->input_count != 0) {
        return FAULT(to, "op '%s' has too many operands or none", op->name);
    }
    if (needs_weight(op->kind) && op->weight_count == 0) {
        return FAULT(to, "op '%s' multiplies or looks up without a weight", op->name);
    }
    if (op->density == DENSITY_ROUTED && !(op->routed_frac > 0.0 && op->routed_frac <= 1.0)) {
        return FAULT(to, "op '%s' routes a share of %g, must be in (0, 1]", op->name,
                     op->routed_frac);
    }
    if ((op->density == DENSITY_WINDOW || op->density == DENSITY_BLOCK) && op->window == 0) {
        return FAULT(to, "op '%s' has a window of 0 keys", op->name);
    }
    if (op->kind == OP_KERNEL && !(op->forward_flops >= 0.0 && op->backward_flops >= 0.0)) {
        return FAULT(to, "op '%s' has %g and %g FLOPs per element, must not be negative", op->name,
                     op->forward_flops, op->backward_flops);
    }
    if (is_streaming(op->kind) && !(op->forward_bytes > 0.0 && op->backward_bytes > 0.0)) {
        return FAULT(to, "op '%s' streams %g and %g bytes per element, must be positive", op->name,
                     op->forward_bytes, op->backward_bytes);
    }
    return check_operands(to, op);
}

/* Which op of the part writes the tensor; NO_INDEX: none does. */
static uint32_t find_writer(const struct model *model, const struct part *part, uint32_t tensor)
{
    for (uint32_t i = 0; i < part->op_count; i++) {
        if (model->ops[part->first_op + i].output == tensor) {
            return i;
        }
    }
    return NO_INDEX;
}

static bool check_order(const struct report *to, const struct part *part)
{
    for (uint32_t i = 0; i < part->op_count; i++) {
        const struct op *op = &to->model->ops[part->first_op + i];
        for (uint32_t k = 0; k < op->input_count; k++) {
            const uint32_t writer = find_writer(to->model, part, op->inputs[k]);
            if (writer != NO_INDEX && writer >= i) {
                return FAULT(to, "op '%s' reads '%s' before it is written", op->name,
                             to->model->tensors[op->inputs[k]].name);
            }
        }
    }
    return true;
}

static bool check_part(const struct report *to, const struct part *part)
{
    const struct model *model = to->model;
    if (part->op_count == 0 || part->first_op > model->op_count ||
        part->op_count > model->op_count - part->first_op) {
        return FAULT(to, "part '%s' has ops beyond the model's or none", part->name);
    }
    if (part->input != NO_INDEX &&
        (part->input >= model->tensor_count || find_writer(model, part, part->input) != NO_INDEX)) {
        return FAULT(to, "part '%s' reads a stream that it writes itself", part->name);
    }
    if (find_writer(model, part, part->output) == NO_INDEX) {
        return FAULT(to, "part '%s' writes its output in none of its ops", part->name);
    }
    if (model->ops[part->first_op].joined) {
        return FAULT(to, "the first op of part '%s' is joined to one before it", part->name);
    }
    return check_order(to, part);
}

/* The stream that one part leaves is the one that the other expects. */
static bool follows(const struct model *model, const struct part *before, const struct part *after)
{
    return after->input != NO_INDEX &&
           model->tensors[before->output].axes == model->tensors[after->input].axes;
}

static bool check_link(const struct report *to, uint32_t run)
{
    const struct model *model = to->model;
    const struct part_run *here = &model->chain[run];
    if (here->part >= model->part_count || here->count == 0) {
        return FAULT(to, "run %u of the chain is of no part, or of no length", run);
    }
    const struct part *part = &model->parts[here->part];
    const struct part *before = run > 0 ? &model->parts[model->chain[run - 1].part] : NULL;
    if (before == NULL && part->input != NO_INDEX) {
        return FAULT(to, "part '%s' opens the chain but reads a stream", part->name);
    }
    if ((before != NULL && !follows(model, before, part)) ||
        (here->count > 1 && !follows(model, part, part))) {
        return FAULT(to, "part '%s' expects another stream than it gets", part->name);
    }
    return true;
}

bool model_check(const struct model *model, struct diag *diag)
{
    const struct report to = {.model = model, .diag = diag};
    if (!check_axes(&to)) {
        return false;
    }
    bool good = true;
    for (uint32_t i = 0; i < model->tensor_count; i++) {
        good &= check_tensor(&to, &model->tensors[i]);
    }
    for (uint32_t i = 0; i < model->op_count; i++) {
        good &= check_op(&to, &model->ops[i]);
    }
    for (uint32_t i = 0; i < model->part_count && good; i++) {
        good &= check_part(&to, &model->parts[i]);
    }
    if (model->run_count == 0) {
        good = FAULT(&to, "model '%s' has an empty chain", model->name);
    }
    for (uint32_t i = 0; i < model->run_count && good; i++) {
        good = check_link(&to, i);
    }
    return good;
}

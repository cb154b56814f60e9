/* Models are compared part by part: the same work is the same model. */
#include "exports/same_model.h"

#include <string.h>

static bool same_axes(const struct model *a, const struct model *b)
{
    for (uint32_t i = 0; i < a->axis_count; i++) {
        if (strcmp(a->axes[i].name, b->axes[i].name) != 0 || a->axes[i].size != b->axes[i].size ||
            a->axes[i].image_of != b->axes[i].image_of)
            return false;
    }
    return true;
}

static bool same_tensors(const struct model *a, const struct model *b)
{
    for (uint32_t i = 0; i < a->tensor_count; i++) {
        const struct tensor *x = &a->tensors[i], *y = &b->tensors[i];
        if (x->class != y->class || x->axes != y->axes || x->copies != y->copies ||
            x->tied_to != y->tied_to || x->density < y->density || x->density > y->density)
            return false;
    }
    return true;
}

static bool same_ops(const struct model *a, const struct model *b)
{
    for (uint32_t i = 0; i < a->op_count; i++) {
        const struct op *x = &a->ops[i], *y = &b->ops[i];
        if (strcmp(x->name, y->name) != 0 || x->kind != y->kind || x->domain != y->domain ||
            x->density != y->density || x->window != y->window ||
            x->weight_count != y->weight_count || x->input_count != y->input_count)
            return false;
    }
    return true;
}

static bool same_chain(const struct model *a, const struct model *b)
{
    for (uint32_t i = 0; i < a->run_count; i++) {
        if (a->chain[i].part != b->chain[i].part || a->chain[i].count != b->chain[i].count)
            return false;
    }
    for (uint32_t i = 0; i < a->part_count; i++) {
        if (a->parts[i].first_op != b->parts[i].first_op ||
            a->parts[i].op_count != b->parts[i].op_count)
            return false;
    }
    return true;
}

bool same_model(const struct model *a, const struct model *b)
{
    return a->axis_count == b->axis_count && a->tensor_count == b->tensor_count &&
           a->op_count == b->op_count && a->part_count == b->part_count &&
           a->run_count == b->run_count && same_axes(a, b) && same_tensors(a, b) &&
           same_ops(a, b) && same_chain(a, b);
}

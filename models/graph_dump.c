/* An operator graph as the text that reads back to it. */
#include "models/graph.h"

const char *const graph_class_names[] = {"activation", "statistic", "mask", "index", NULL};
const char *const graph_kind_names[] = {"contract", "attention", "stream",
                                        "lookup",   "kernel",    NULL};
const char *const graph_density_names[] = {"full", "causal", "window", "routed", "block", NULL};

static void dump_axes_of(const struct model *model, axis_set axes, struct json_writer *out)
{
    json_push_key(out, "axes");
    json_push_array(out);
    for (uint32_t i = 0; i < model->axis_count; i++) {
        if ((axes >> i & 1u) != 0) {
            json_push_string(out, model->axes[i].name);
        }
    }
    json_pop_array(out);
}

static void dump_tensor(const struct model *model, uint32_t index, struct json_writer *out)
{
    const struct tensor *tensor = &model->tensors[index];
    json_push_object(out);
    json_push_key_string(out, "name", tensor->name);
    dump_axes_of(model, tensor->axes, out);
    json_push_key_u64(out, "copies", tensor->copies);
    if (tensor->class != TENSOR_WEIGHT) {
        json_push_key_double(out, "density", tensor->density);
        json_push_key_string(out, "class", graph_class_names[tensor->class]);
    } else if (tensor->tied_to != NO_INDEX) {
        json_push_key_string(out, "tied_to", model->tensors[tensor->tied_to].name);
    }
    json_pop_object(out);
}

static void dump_names(const struct model *model, const char *key, const uint32_t *tensors,
                       uint32_t count, struct json_writer *out)
{
    json_push_key(out, key);
    json_push_array(out);
    for (uint32_t i = 0; i < count; i++) {
        json_push_string(out, model->tensors[tensors[i]].name);
    }
    json_pop_array(out);
}

static void dump_mirrored(const struct model *model, const struct op *op, struct json_writer *out)
{
    uint32_t mirrored[OP_INPUT_MAX], count = 0;
    for (uint32_t i = 0; i < op->input_count; i++) {
        if ((op->mirrored >> i & 1u) != 0) {
            mirrored[count++] = op->inputs[i];
        }
    }
    dump_names(model, "mirrored", mirrored, count, out);
}

static void dump_amounts(const struct op *op, struct json_writer *out)
{
    json_push_key_string(out, "density", graph_density_names[op->density]);
    if (op->density == DENSITY_WINDOW || op->density == DENSITY_BLOCK) {
        json_push_key_u64(out, "window", op->window);
    }
    if (op->density == DENSITY_ROUTED) {
        json_push_key_double(out, "routed", op->routed_frac);
    }
    if (op->kind == OP_STREAM || op->kind == OP_LOOKUP || op->kind == OP_KERNEL) {
        json_push_key_double(out, "bytes", op->forward_bytes);
        json_push_key_double(out, "backward_bytes", op->backward_bytes);
    }
    if (op->kind == OP_KERNEL) {
        json_push_key_double(out, "flops", op->forward_flops);
        json_push_key_double(out, "backward_flops", op->backward_flops);
    }
}

static void dump_op(const struct model *model, const struct op *op, struct json_writer *out)
{
    json_push_object(out);
    json_push_key_string(out, "name", op->name);
    json_push_key_string(out, "kind", graph_kind_names[op->kind]);
    dump_names(model, "reads", op->inputs, op->input_count, out);
    dump_mirrored(model, op, out);
    json_push_key(out, "weights");
    json_push_array(out);
    for (uint32_t i = 0; i < op->weight_count; i++) {
        dump_tensor(model, op->weights[i], out);
    }
    json_pop_array(out);
    json_push_key(out, "writes");
    dump_tensor(model, op->output, out);
    dump_names(model, "keeps", op->keeps, op->keep_count, out);
    dump_axes_of(model, op->domain, out);
    dump_amounts(op, out);
    json_push_key_bool(out, "joined", op->joined);
    json_pop_object(out);
}

/* Tensors of a part that none of its ops writes: those between the ends of the part before and the
 * first thing that an op makes. */
static bool is_made(const struct model *model, const struct part *part, uint32_t tensor)
{
    for (uint32_t i = 0; i < part->op_count; i++) {
        const struct op *op = &model->ops[part->first_op + i];
        bool made = op->output == tensor;
        for (uint32_t w = 0; w < op->weight_count; w++) {
            made = made || op->weights[w] == tensor;
        }
        if (made) {
            return true;
        }
    }
    return false;
}

static void dump_part(const struct model *model, uint32_t index, uint32_t first_tensor,
                      struct json_writer *out)
{
    const struct part *part = &model->parts[index];
    json_push_object(out);
    json_push_key_string(out, "name", part->name);
    json_push_key_u64(out, "repeat", model->chain[index].count);
    if (part->input != NO_INDEX) {
        json_push_key(out, "input");
        dump_tensor(model, part->input, out);
    }
    json_push_key(out, "inputs");
    json_push_array(out);
    for (uint32_t i = first_tensor; i < part->output && !is_made(model, part, i); i++) {
        if (i != part->input) {
            dump_tensor(model, i, out);
        }
    }
    json_pop_array(out);
    json_push_key(out, "ops");
    json_push_array(out);
    for (uint32_t i = 0; i < part->op_count; i++) {
        dump_op(model, &model->ops[part->first_op + i], out);
    }
    json_pop_array(out);
    json_pop_object(out);
}

static void dump_axis(const struct model *model, const struct axis *axis, struct json_writer *out)
{
    json_push_object(out);
    json_push_key_string(out, "name", axis->name);
    if (axis->size > 0) {
        json_push_key_u64(out, "size", axis->size);
    }
    if (axis->image_of != NO_INDEX) {
        json_push_key_string(out, "image_of", model->axes[axis->image_of].name);
    }
    if (axis->padded) {
        json_push_key_bool(out, "padded", true);
    }
    json_pop_object(out);
}

void graph_dump(const struct model *model, struct json_writer *out)
{
    uint32_t first_tensor = 0;
    json_push_object(out);
    json_push_key(out, "axes");
    json_push_array(out);
    for (uint32_t i = 0; i < model->axis_count; i++) {
        dump_axis(model, &model->axes[i], out);
    }
    json_pop_array(out);
    json_push_key(out, "parts");
    json_push_array(out);
    for (uint32_t i = 0; i < model->part_count; i++) {
        dump_part(model, i, first_tensor, out);
        first_tensor =
            model->parts[i].output + 1; /* the last op's output is a part's last tensor */
    }
    json_pop_array(out);
    json_pop_object(out);
}

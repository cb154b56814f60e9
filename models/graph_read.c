/* Operator graphs: models that are no transformers, op by op, over axes of their own. */
#include "models/graph.h"

#include <string.h>

#include "base/text.h"

#define REPEAT_MAX 1000000u

static const char *const graph_keys[] = {"axes", "parts", NULL};
static const char *const axis_keys[] = {"name", "size", "image_of", "padded", NULL};
static const char *const part_keys[] = {"name", "repeat", "input", "inputs", "ops", NULL};
static const char *const tensor_keys[] = {"name", "axes", "copies", "density", "class", NULL};
static const char *const weight_keys[] = {"name", "axes", "copies", "tied_to", NULL};
static const char *const op_keys[] = {
    "name",           "kind",  "reads",          "mirrored", "weights", "writes",
    "keeps",          "axes",  "density",        "window",   "routed",  "bytes",
    "backward_bytes", "flops", "backward_flops", "joined",   NULL};

/* The model grows as parts are read; names of tensors hold within a part. */
struct reading {
    struct model *model;
    struct arena *arena;
    struct diag *diag;
    uint32_t first_tensor; /* of the part being read */
};

#define FAULT(to, value, ...) diag_push((to)->diag, DIAG_M208, json_place(value), NULL, __VA_ARGS__)

/* --- names ------------------------------------------------------------------------------------ */

static bool read_axis_name(struct reading *to, struct json_value value, uint32_t *out)
{
    const char *name = NULL;
    if (!json_value_string(value, &name)) {
        return FAULT(to, value, "%s is no name of an axis", json_value_text(value, to->arena));
    }
    *out = model_find_axis(to->model, name);
    if (*out != NO_INDEX) {
        return true;
    }
    const char *names[AXIS_MAX];
    for (uint32_t i = 0; i < to->model->axis_count; i++) {
        names[i] = to->model->axes[i].name;
    }
    const char *nearest = text_find_nearest(name, names, to->model->axis_count);
    return diag_push(to->diag, DIAG_M208, json_place(value),
                     nearest == NULL ? NULL : text_build(to->arena, "did you mean '%s'?", nearest),
                     "the graph has no axis '%s'", name);
}

static bool read_axes_of(struct reading *to, struct json_value parent, const char *key,
                         axis_set *out)
{
    const struct json_value names = json_find(parent, key);
    axis_set axes = 0;
    if (!json_is_array(names)) {
        return FAULT(to, json_is_absent(names) ? parent : names,
                     "'%s' must be a list of axes, such as [\"batch\", \"seq\"]", key);
    }
    for (uint32_t i = 0; i < json_count(names); i++) {
        uint32_t axis = 0;
        if (!read_axis_name(to, json_find_index(names, i), &axis)) {
            return false;
        }
        axes |= (axis_set)1 << axis;
    }
    *out = axes;
    return true;
}

static uint32_t find_tensor(const struct reading *to, const char *name)
{
    for (uint32_t i = to->first_tensor; i < to->model->tensor_count; i++) {
        if (strcmp(to->model->tensors[i].name, name) == 0) {
            return i;
        }
    }
    return NO_INDEX;
}

/* A list of names of tensors that the part has so far. */
static bool read_tensors(struct reading *to, struct json_value op, const char *key, uint32_t most,
                         uint32_t *out, uint32_t *count)
{
    const struct json_value names = json_find(op, key);
    *count = 0;
    if (json_is_null(names)) {
        return true;
    }
    if (!json_is_array(names) || json_count(names) > most) {
        return FAULT(to, names, "'%s' must be a list of at most %u names of tensors", key, most);
    }
    for (uint32_t i = 0; i < json_count(names); i++) {
        const struct json_value value = json_find_index(names, i);
        const char *name = "";
        json_value_string(value, &name);
        const uint32_t tensor = find_tensor(to, name);
        if (tensor == NO_INDEX) {
            return FAULT(to, value,
                         "no tensor '%s' so far in this part; what comes from outside stands in "
                         "\"input\" or \"inputs\"",
                         name);
        }
        out[(*count)++] = tensor;
    }
    return true;
}

/* --- tensors ---------------------------------------------------------------------------------- */

static bool push_tensor(struct reading *to, struct json_value object, bool weight, uint32_t *out)
{
    struct tensor tensor = {.copies = 1, .density = 1.0, .tied_to = NO_INDEX};
    uint32_t class = 0;
    if (!json_is_object(object)) {
        return FAULT(to, object,
                     "a tensor is an object, such as {\"name\": \"x\", \"axes\": "
                     "[\"batch\"]}");
    }
    bool good = json_check_keys(object, weight ? weight_keys : tensor_keys, to->diag);
    good &= json_read_string(object, "name", to->arena, &tensor.name, to->diag);
    good &= read_axes_of(to, object, "axes", &tensor.axes);
    good &= json_read_u32_or(object, "copies", 1, UINT32_MAX, 1, &tensor.copies, to->diag);
    good &= json_read_double_or(object, "density", 1e-12, 1.0, 1.0, &tensor.density, to->diag);
    good &= json_is_null(json_find(object, "class")) ||
            json_read_choice(object, "class", graph_class_names, &class, to->diag);
    if (!good) {
        return false;
    }
    if (find_tensor(to, tensor.name) != NO_INDEX) {
        return FAULT(to, json_find(object, "name"), "two tensors of a part are called '%s'",
                     tensor.name);
    }
    tensor.class = weight ? TENSOR_WEIGHT : (enum tensor_class) class;
    *out = to->model->tensor_count;
    to->model->tensors[to->model->tensor_count++] = tensor;
    return true;
}

/* A weight of any part before. */
static bool tie(struct reading *to, struct json_value object, uint32_t weight)
{
    const char *name = NULL;
    if (!json_value_string(json_find(object, "tied_to"), &name)) {
        return json_is_null(json_find(object, "tied_to")) ||
               FAULT(to, json_find(object, "tied_to"), "'tied_to' must be the name of a weight");
    }
    for (uint32_t i = 0; i < weight; i++) {
        const struct tensor *other = &to->model->tensors[i];
        if (other->class == TENSOR_WEIGHT && strcmp(other->name, name) == 0) {
            to->model->tensors[weight].tied_to = i;
            return true;
        }
    }
    return FAULT(to, json_find(object, "tied_to"), "no weight '%s' before this one", name);
}

static bool read_weights(struct reading *to, struct json_value object, struct op *op)
{
    const struct json_value weights = json_find(object, "weights");
    if (json_is_null(weights)) {
        return true;
    }
    if (!json_is_array(weights) || json_count(weights) > OP_WEIGHT_MAX) {
        return FAULT(to, weights, "'weights' must be a list of at most %d", OP_WEIGHT_MAX);
    }
    for (uint32_t i = 0; i < json_count(weights); i++) {
        const struct json_value weight = json_find_index(weights, i);
        if (!push_tensor(to, weight, true, &op->weights[i]) || !tie(to, weight, op->weights[i])) {
            return false;
        }
        op->weight_count++;
    }
    return true;
}

/* --- ops -------------------------------------------------------------------------------------- */

static bool read_amounts(struct reading *to, struct json_value object, struct op *op)
{
    const bool moves = op->kind == OP_STREAM || op->kind == OP_LOOKUP || op->kind == OP_KERNEL;
    const double most = 1e15;
    bool good = true;
    if (moves) {
        good = json_read_double(object, "bytes", 1e-9, most, &op->forward_bytes, to->diag);
        good &= json_read_double_or(object, "backward_bytes", 1e-9, most, 2.0 * op->forward_bytes,
                                    &op->backward_bytes, to->diag);
    }
    if (op->kind == OP_KERNEL) {
        good &= json_read_double(object, "flops", 0.0, most, &op->forward_flops, to->diag);
        good &= json_read_double_or(object, "backward_flops", 0.0, most, 2.0 * op->forward_flops,
                                    &op->backward_flops, to->diag);
    }
    if (!moves &&
        (!json_is_null(json_find(object, "bytes")) || !json_is_null(json_find(object, "flops")))) {
        return FAULT(to, object,
                     "op '%s' is a contraction or attention: its FLOPs and bytes follow "
                     "from its axes",
                     op->name);
    }
    return good;
}

static bool read_density(struct reading *to, struct json_value object, struct op *op)
{
    uint32_t density = DENSITY_FULL;
    bool good = json_is_null(json_find(object, "density")) ||
                json_read_choice(object, "density", graph_density_names, &density, to->diag);
    op->density = (enum density_kind)density;
    if (good && (op->density == DENSITY_WINDOW || op->density == DENSITY_BLOCK)) {
        good = json_read_u64(object, "window", 1, UINT64_MAX, &op->window, to->diag);
    }
    if (good && op->density == DENSITY_ROUTED) {
        good = json_read_double(object, "routed", 1e-12, 1.0, &op->routed_frac, to->diag);
    }
    return good;
}

static bool read_mirrored(struct reading *to, struct json_value object, struct op *op)
{
    uint32_t named[OP_INPUT_MAX], count = 0;
    if (!read_tensors(to, object, "mirrored", OP_INPUT_MAX, named, &count)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < op->input_count; k++) {
            op->mirrored |= op->inputs[k] == named[i] ? 1u << k : 0u;
        }
    }
    return true;
}

/* Matrix products and attention keep what they read unless the file says otherwise. */
static void keep_inputs(struct op *op)
{
    for (uint32_t i = 0; i < op->input_count; i++) {
        op->keeps[op->keep_count++] = op->inputs[i];
    }
}

/* All axes of operands and result, and those stated; a stream may leave some out by stating all. */
static bool read_domain(struct reading *to, struct json_value object, struct op *op)
{
    const struct tensor *tensors = to->model->tensors;
    axis_set stated = 0, joined = tensors[op->output].axes;
    const bool states = !json_is_null(json_find(object, "axes"));
    if (states && !read_axes_of(to, object, "axes", &stated)) {
        return false;
    }
    for (uint32_t i = 0; i < op->input_count; i++) {
        joined |= tensors[op->inputs[i]].axes;
    }
    for (uint32_t i = 0; i < op->weight_count; i++) {
        joined |= tensors[op->weights[i]].axes;
    }
    op->domain = states && op->kind == OP_STREAM ? stated : joined | stated;
    return true;
}

static bool read_op(struct reading *to, struct json_value object)
{
    struct op op = {.name = NULL};
    uint32_t kind = 0;
    if (!json_is_object(object)) {
        return FAULT(to, object, "an op is an object with name, kind, reads and writes");
    }
    bool good = json_check_keys(object, op_keys, to->diag);
    good &= json_read_string(object, "name", to->arena, &op.name, to->diag);
    good &= json_read_choice(object, "kind", graph_kind_names, &kind, to->diag);
    good &= json_read_bool_or(object, "joined", false, &op.joined, to->diag);
    op.kind = (enum op_kind)kind;
    good = good && read_tensors(to, object, "reads", OP_INPUT_MAX, op.inputs, &op.input_count) &&
           read_mirrored(to, object, &op) && read_weights(to, object, &op) &&
           push_tensor(to, json_find(object, "writes"), false, &op.output) &&
           read_tensors(to, object, "keeps", OP_KEEP_MAX, op.keeps, &op.keep_count) &&
           read_domain(to, object, &op) && read_density(to, object, &op) &&
           read_amounts(to, object, &op);
    if (!good) {
        return false;
    }
    if (json_is_null(json_find(object, "keeps")) &&
        (op.kind == OP_CONTRACT || op.kind == OP_ATTENTION)) {
        keep_inputs(&op);
    }
    to->model->ops[to->model->op_count++] = op;
    return true;
}

/* --- parts ------------------------------------------------------------------------------------ */

static bool read_inputs(struct reading *to, struct json_value object, struct part *part)
{
    const struct json_value input = json_find(object, "input"),
                            others = json_find(object, "inputs");
    if (!json_is_null(input) && !push_tensor(to, input, false, &part->input)) {
        return false;
    }
    if (!json_is_null(others) && !json_is_array(others)) {
        return FAULT(to, others, "'inputs' must be a list of tensors");
    }
    for (uint32_t i = 0; json_is_array(others) && i < json_count(others); i++) {
        uint32_t tensor = 0;
        if (!push_tensor(to, json_find_index(others, i), false, &tensor)) {
            return false;
        }
    }
    return true;
}

static bool read_part(struct reading *to, struct json_value object)
{
    struct model *model = to->model;
    struct part part = {.first_op = model->op_count, .input = NO_INDEX, .carried = NO_INDEX};
    uint32_t repeat = 1;
    to->first_tensor = model->tensor_count;
    if (!json_is_object(object) || !json_check_keys(object, part_keys, to->diag)) {
        return json_is_object(object) ? false
                                      : FAULT(to, object, "a part is an object with name and ops");
    }
    bool good = json_read_string(object, "name", to->arena, &part.name, to->diag);
    good &= json_read_u32_or(object, "repeat", 1, REPEAT_MAX, 1, &repeat, to->diag);
    good = good && read_inputs(to, object, &part);
    const struct json_value ops = json_find(object, "ops");
    if (!json_is_array(ops) || json_count(ops) == 0) {
        return good && FAULT(to, json_is_absent(ops) ? object : ops,
                             "'ops' must be a list of at least one op");
    }
    for (uint32_t i = 0; i < json_count(ops) && good; i++) {
        good = read_op(to, json_find_index(ops, i));
    }
    if (!good) {
        return false;
    }
    part.op_count = model->op_count - part.first_op;
    part.output = model->ops[model->op_count - 1].output;
    model->chain[model->run_count++] =
        (struct part_run){.part = model->part_count, .count = repeat};
    model->parts[model->part_count++] = part;
    return true;
}

/* --- axes ------------------------------------------------------------------------------------- */

static bool read_axis(struct reading *to, struct json_value object)
{
    struct model *model = to->model;
    struct axis axis = {.image_of = NO_INDEX};
    if (!json_is_object(object)) {
        return FAULT(to, object, "an axis is an object, such as {\"name\": \"x\", \"size\": 512}");
    }
    bool good = json_check_keys(object, axis_keys, to->diag);
    good &= json_read_string(object, "name", to->arena, &axis.name, to->diag);
    good &= json_is_null(json_find(object, "size")) ||
            json_read_u64(object, "size", 1, UINT64_MAX, &axis.size, to->diag);
    good &= json_read_bool_or(object, "padded", false, &axis.padded, to->diag);
    good = good && (json_is_null(json_find(object, "image_of")) ||
                    read_axis_name(to, json_find(object, "image_of"), &axis.image_of));
    if (!good) {
        return false;
    }
    if (model_find_axis(model, axis.name) != NO_INDEX) {
        return FAULT(to, json_find(object, "name"), "two axes are called '%s'", axis.name);
    }
    if (axis.size == 0 && axis.image_of == NO_INDEX && strcmp(axis.name, "batch") != 0 &&
        strcmp(axis.name, "seq") != 0) {
        return FAULT(to, object,
                     "axis '%s' needs a size: only batch and seq take theirs from the "
                     "training setup",
                     axis.name);
    }
    model->axes[model->axis_count++] = axis;
    return true;
}

static bool read_all_axes(struct reading *to, struct json_value graph)
{
    const struct json_value axes = json_find(graph, "axes");
    if (!json_is_array(axes) || json_count(axes) == 0 || json_count(axes) > AXIS_MAX) {
        return FAULT(to, json_is_absent(axes) ? graph : axes,
                     "'axes' must be a list of 1 to %d axes", AXIS_MAX);
    }
    for (uint32_t i = 0; i < json_count(axes); i++) {
        if (!read_axis(to, json_find_index(axes, i))) {
            return false;
        }
    }
    if (model_find_axis(to->model, "batch") == NO_INDEX) {
        return FAULT(to, axes, "one of the axes must be 'batch'");
    }
    return true;
}

/* --- the graph -------------------------------------------------------------------------------- */

static uint32_t count_ops(struct json_value parts)
{
    uint32_t ops = 0;
    for (uint32_t i = 0; i < json_count(parts); i++) {
        const struct json_value list = json_find(json_find_index(parts, i), "ops");
        ops += json_is_array(list) ? json_count(list) : 0;
    }
    return ops;
}

static uint32_t count_inputs(struct json_value parts)
{
    uint32_t inputs = 0;
    for (uint32_t i = 0; i < json_count(parts); i++) {
        const struct json_value list = json_find(json_find_index(parts, i), "inputs");
        inputs += 1 + (json_is_array(list) ? json_count(list) : 0);
    }
    return inputs;
}

/* Planners hold the ends of a chain to its ends, and share what is between over the stages. */
static bool check_ends(struct reading *to, struct json_value parts)
{
    const struct model *model = to->model;
    if (model->run_count < GRAPH_PARTS_MIN) {
        return FAULT(to, parts,
                     "the chain has %u part%s, must have %d at least: a first and a last that run "
                     "once, and layers between",
                     model->run_count, model->run_count == 1 ? "" : "s", GRAPH_PARTS_MIN);
    }
    if (model->chain[0].count != 1 || model->chain[model->run_count - 1].count != 1) {
        return FAULT(to, parts, "the first and the last part must run once");
    }
    return true;
}

bool graph_read(struct json_value graph, const char *name, struct arena *arena, struct model *out,
                struct diag *diag)
{
    const struct json_value parts = json_find(graph, "parts");
    struct model model = {.name = text_build(arena, "%s", name)};
    struct reading to = {.model = &model, .arena = arena, .diag = diag};
    if (!json_is_object(graph) || !json_check_keys(graph, graph_keys, diag)) {
        return json_is_object(graph)
                   ? false
                   : FAULT(&to, graph, "a graph is an object with axes and parts");
    }
    const uint32_t part_count = json_is_array(parts) ? json_count(parts) : 0;
    if (part_count == 0 || part_count > GRAPH_PARTS_MAX) {
        return FAULT(&to, json_is_absent(parts) ? graph : parts,
                     "'parts' must be a list of %d to %d parts", GRAPH_PARTS_MIN, GRAPH_PARTS_MAX);
    }
    const uint32_t ops = count_ops(parts);
    model.axes = ARENA_PUSH(arena, struct axis, AXIS_MAX);
    model.ops = ARENA_PUSH(arena, struct op, ops + 1);
    model.tensors =
        ARENA_PUSH(arena, struct tensor, (size_t)ops * (1 + OP_WEIGHT_MAX) + count_inputs(parts));
    model.parts = ARENA_PUSH(arena, struct part, part_count);
    model.chain = ARENA_PUSH(arena, struct part_run, part_count);
    bool good = read_all_axes(&to, graph);
    for (uint32_t i = 0; i < part_count && good; i++) {
        good = read_part(&to, json_find_index(parts, i));
    }
    if (!good || !check_ends(&to, parts) || !model_check(&model, diag)) {
        return false;
    }
    *out = model;
    return true;
}

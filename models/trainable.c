/* A copy of a model in which some weights are frozen. */
#include "models/trainable.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "models/transformer_traffic.h"

static const struct diag_place nowhere = {0};

#define RANK_AXIS "adapter_rank"
/* Besides each adapted matrix: A, B, the sum. */
#define OPS_EACH 3
#define TENSORS_EACH 5

static void copy_tensors(const struct model *model, uint32_t room, struct arena *arena,
                         struct model *out)
{
    out->tensors = ARENA_PUSH(arena, struct tensor, model->tensor_count + room);
    memcpy(out->tensors, model->tensors, model->tensor_count * sizeof model->tensors[0]);
}

static void freeze_part(struct model *model, const struct part *part)
{
    for (uint32_t i = 0; i < part->op_count; i++) {
        const struct op *op = &model->ops[part->first_op + i];
        for (uint32_t w = 0; w < op->weight_count; w++) {
            model->tensors[op->weights[w]].frozen = true;
        }
    }
}

static const struct part *find_part(const struct model *model, const char *name)
{
    for (uint32_t i = 0; i < model->part_count; i++) {
        if (strcmp(model->parts[i].name, name) == 0) {
            return &model->parts[i];
        }
    }
    return NULL;
}

static const char *part_names(const struct model *model, struct arena *arena)
{
    struct text text;
    text_init(&text, arena);
    for (uint32_t i = 0; i < model->part_count; i++) {
        text_push(&text, "%s%s", i == 0 ? "" : ", ", model->parts[i].name);
    }
    return text.bytes;
}

bool trainable_freeze(const struct model *model, const char *const *parts, struct arena *arena,
                      struct model *out, struct diag *diag)
{
    struct model frozen = *model;
    bool good = true;
    copy_tensors(model, 0, arena, &frozen);
    for (uint32_t i = 0; parts == NULL && i < model->part_count; i++) {
        freeze_part(&frozen, &model->parts[i]);
    }
    for (uint32_t i = 0; parts != NULL && parts[i] != NULL; i++) {
        const struct part *part = find_part(model, parts[i]);
        if (part == NULL) {
            good = diag_push(diag, DIAG_M220, nowhere,
                             text_build(arena, "its parts are %s", part_names(model, arena)),
                             "model '%s' has no part '%s' to freeze", model->name, parts[i]);
        } else {
            freeze_part(&frozen, part);
        }
    }
    frozen.base = model;
    *out = good ? frozen : *out;
    return good;
}

/* --- adapters --------------------------------------------------------------------------------- */

struct adapting {
    struct arena *arena;
    struct model *model; /* grows */
    uint32_t rank;       /* axis */
    uint32_t *now;       /* per tensor of the base: what later ops read in its place */
};

static bool is_adapted(const struct model *model, const struct op *op)
{
    return op->kind == OP_CONTRACT && op->weight_count > 0 &&
           model->tensors[op->output].class == TENSOR_ACTIVATION;
}

static uint32_t push_tensor(struct adapting *adapting, struct tensor tensor)
{
    struct model *model = adapting->model;
    model->tensors[model->tensor_count] = tensor;
    return model->tensor_count++;
}

static struct op *push_op(struct adapting *adapting, struct op op)
{
    struct model *model = adapting->model;
    model->ops[model->op_count] = op;
    return &model->ops[model->op_count++];
}

static const char *name_of(struct adapting *adapting, const struct op *op, const char *what)
{
    return text_build(adapting->arena, "%s_%s", op->name, what);
}

/* One of the two matrices: `like` gives density and copies. */
static uint32_t push_matrix(struct adapting *adapting, const struct op *like, const char *name,
                            uint32_t input, struct tensor weight, struct tensor output)
{
    const struct tensor *tensors = adapting->model->tensors;
    const axis_set domain = tensors[input].axes | weight.axes | output.axes;
    const uint32_t w = push_tensor(adapting, weight), y = push_tensor(adapting, output);
    struct op op = {.name = name,
                    .kind = OP_CONTRACT,
                    .domain = domain,
                    .inputs = {input},
                    .input_count = 1,
                    .weights = {w},
                    .weight_count = 1,
                    .output = y,
                    .keeps = {input},
                    .keep_count = 1,
                    .density = like->density,
                    .window = like->window,
                    .routed_frac = like->routed_frac};
    push_op(adapting, op);
    return y;
}

/* y + B A x in the place of y. */
static void push_adapter(struct adapting *adapting, const struct op *base)
{
    const struct tensor *tensors = adapting->model->tensors;
    const struct tensor x = tensors[base->inputs[0]], w = tensors[base->weights[0]];
    const struct tensor y = tensors[base->output];
    const axis_set rank = (axis_set)1 << adapting->rank;
    const axis_set groups = x.axes & w.axes & y.axes;
    struct tensor first = {.name = name_of(adapting, base, "adapter_a"),
                           .class = TENSOR_WEIGHT,
                           .axes = (w.axes & x.axes) | rank,
                           .copies = w.copies,
                           .density = 1.0,
                           .tied_to = NO_INDEX};
    struct tensor second = first;
    second.name = name_of(adapting, base, "adapter_b");
    second.axes = (w.axes & y.axes) | groups | rank;
    struct tensor middle = y;
    middle.name = name_of(adapting, base, "adapter_input");
    middle.axes = (x.axes & y.axes) | rank;
    middle.copies = w.copies;
    struct tensor branch = y;
    branch.name = name_of(adapting, base, "adapter_output");
    branch.cached = middle.cached = false;
    struct tensor sum = y;
    sum.name = name_of(adapting, base, "adapted");
    const uint32_t a = push_matrix(adapting, base, first.name, base->inputs[0], first, middle);
    const uint32_t b = push_matrix(adapting, base, second.name, a, second, branch);
    const uint32_t total = push_tensor(adapting, sum);
    adapting->model->tensors[base->output].cached = false; /* the sum is what stays */
    push_op(adapting, (struct op){.name = name_of(adapting, base, "adapter_sum"),
                                  .kind = OP_STREAM,
                                  .domain = y.axes,
                                  .inputs = {base->output, b},
                                  .input_count = 2,
                                  .output = total,
                                  .density = base->density,
                                  .window = base->window,
                                  .routed_frac = base->routed_frac,
                                  .forward_bytes = SUM_BYTES,
                                  .backward_bytes = SUM_BYTES});
    adapting->now[base->output] = total;
}

/* An op of the base, reading what has taken the place of its operands. */
static void push_base(struct adapting *adapting, struct op op)
{
    for (uint32_t i = 0; i < op.input_count; i++) {
        op.inputs[i] = adapting->now[op.inputs[i]];
    }
    for (uint32_t i = 0; i < op.keep_count; i++) {
        op.keeps[i] = adapting->now[op.keeps[i]];
    }
    push_op(adapting, op);
}

static void adapt_part(struct adapting *adapting, const struct model *base, struct part *part,
                       bool middle)
{
    const struct part from = *part;
    part->first_op = adapting->model->op_count;
    for (uint32_t i = 0; i < from.op_count;) {
        uint32_t end = i + 1;
        while (end < from.op_count && base->ops[from.first_op + end].joined) {
            end++;
        }
        const uint32_t first = adapting->model->op_count;
        for (uint32_t k = i; k < end; k++) {
            push_base(adapting, base->ops[from.first_op + k]);
        }
        for (uint32_t k = i; k < end; k++) {
            const struct op pushed = adapting->model->ops[first + k - i];
            if (middle && is_adapted(base, &pushed)) {
                push_adapter(adapting, &pushed);
            }
        }
        i = end;
    }
    part->op_count = adapting->model->op_count - part->first_op;
    part->output = adapting->now[part->output];
}

static uint32_t push_axis(const struct model *model, uint32_t rank, struct arena *arena,
                          struct model *out)
{
    out->axes = ARENA_PUSH(arena, struct axis, model->axis_count + 1);
    memcpy(out->axes, model->axes, model->axis_count * sizeof model->axes[0]);
    out->axes[model->axis_count] =
        (struct axis){.name = RANK_AXIS, .size = rank, .image_of = NO_INDEX};
    out->axis_count = model->axis_count + 1;
    return model->axis_count;
}

static bool is_middle(const struct model *model, uint32_t part)
{
    return model->run_count > 2 && part != model->chain[0].part &&
           part != model->chain[model->run_count - 1].part;
}

bool trainable_adapt(const struct model *model, uint32_t rank, struct arena *arena,
                     struct model *out, struct diag *diag)
{
    assert(rank > 0);
    if (model->axis_count >= AXIS_MAX) {
        return diag_push(diag, DIAG_M220, nowhere, NULL,
                         "model '%s' has %u axes: there is no room for that of its adapters",
                         model->name, model->axis_count);
    }
    struct model frozen, adapted;
    if (!trainable_freeze(model, NULL, arena, &frozen, diag)) {
        return false;
    }
    adapted = frozen;
    copy_tensors(&frozen, TENSORS_EACH * model->op_count, arena, &adapted);
    adapted.ops = ARENA_PUSH(arena, struct op, (1 + OPS_EACH) * model->op_count);
    adapted.op_count = 0;
    adapted.parts = ARENA_PUSH(arena, struct part, model->part_count);
    memcpy(adapted.parts, model->parts, model->part_count * sizeof model->parts[0]);
    struct adapting adapting = {.arena = arena, .model = &adapted};
    adapting.rank = push_axis(model, rank, arena, &adapted);
    adapting.now =
        ARENA_PUSH(arena, uint32_t, model->tensor_count + TENSORS_EACH * model->op_count);
    for (uint32_t i = 0; i < model->tensor_count + TENSORS_EACH * model->op_count; i++) {
        adapting.now[i] = i;
    }
    for (uint32_t i = 0; i < model->part_count; i++) {
        adapt_part(&adapting, model, &adapted.parts[i], is_middle(model, i));
    }
    if (adapted.tensor_count == model->tensor_count) {
        return diag_push(diag, DIAG_M220, nowhere, NULL,
                         "model '%s' has no matrices between its first and last part to adapt",
                         model->name);
    }
    *out = adapted;
    return true;
}

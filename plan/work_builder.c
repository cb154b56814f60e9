/* One part under one mesh while its lists are made: who cuts its ops, who writes and reads its
 * tensors. */
#include <string.h>

#include "plan/work_inside.h"

void work_builder_start(struct work_builder *builder, struct work *work, struct arena *arena,
                        struct shard_mesh *mesh)
{
    shard_mesh_build(work->problem, work->plan, mesh);
    *builder = (struct work_builder){.work = work,
                                     .problem = work->problem,
                                     .model = work->problem->model,
                                     .mesh = mesh,
                                     .arena = arena};
}

static bool trains(const struct model *model, const struct part *part)
{
    for (uint32_t i = 0; i < part->op_count; i++) {
        const struct op *op = &model->ops[part->first_op + i];
        for (uint32_t w = 0; w < op->weight_count; w++) {
            if (!model->tensors[op->weights[w]].frozen) {
                return true;
            }
        }
    }
    return false;
}

/* A gradient goes back through a part until nothing before it is trained. */
static bool has_backward(const struct model *model, uint32_t part)
{
    uint32_t last = 0;
    for (uint32_t run = 0; run < model->run_count; run++) {
        last = model->chain[run].part == part ? run : last;
    }
    for (uint32_t run = 0; run <= last; run++) {
        if (trains(model, &model->parts[model->chain[run].part])) {
            return true;
        }
    }
    return false;
}

static uint32_t *push_unset(struct work_builder *builder, uint32_t count)
{
    uint32_t *indices = ARENA_PUSH(builder->arena, uint32_t, count);
    memset(indices, 0xff, count * sizeof *indices);
    return indices;
}

/* Who writes and who reads each tensor of the part. */
static void wire(struct work_builder *builder)
{
    const struct part *part = builder->part;
    builder->producer = push_unset(builder, builder->model->tensor_count);
    builder->reader = push_unset(builder, builder->model->tensor_count);
    builder->next_reader = push_unset(builder, part->op_count * OP_INPUT_MAX);
    for (uint32_t left = part->op_count; left > 0; left--) {
        const uint32_t op = left - 1;
        const struct op *which = &builder->model->ops[part->first_op + op];
        builder->producer[which->output] =
            builder->producer[which->output] == NO_INDEX ? op : builder->producer[which->output];
        for (uint32_t i = which->input_count; i > 0; i--) {
            const uint32_t place = op * OP_INPUT_MAX + i - 1;
            uint32_t *const first = &builder->reader[which->inputs[i - 1]];
            builder->next_reader[place] = *first;
            *first = place;
        }
    }
}

void work_builder_enter(struct work_builder *builder, uint32_t part)
{
    const struct model *model = builder->model;
    builder->part = &model->parts[part];
    builder->backward = !builder->work->forward_only && has_backward(model, part);
    builder->cuts = ARENA_PUSH(builder->arena, struct shard_cut, builder->part->op_count);
    builder->stored = ARENA_PUSH(builder->arena, struct shard_state, model->tensor_count);
    builder->contracts = ARENA_PUSH(builder->arena, struct work_contract, builder->part->op_count);
    builder->begins = ARENA_PUSH(builder->arena, uint32_t, builder->part->op_count);
    builder->known = ARENA_PUSH(builder->arena, bool, model->tensor_count);
    for (uint32_t op = 0; op < builder->part->op_count; op++) {
        const struct op *which = &model->ops[builder->part->first_op + op];
        shard_cut_find(builder->mesh, which->domain, &builder->cuts[op]);
    }
    wire(builder);
}

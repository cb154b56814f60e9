/* Rows that go to the experts chosen for them: how many are chosen, how often each travels, how
 * they are put in order. */
#include "plan/work_inside.h"

/* The axis that the routed tensor has and the domain of an op that reorders it lacks: whose points
 * are chosen among. NO_INDEX: rows of that tensor are not chosen. */
static uint32_t choice_axis(const struct op *op, uint32_t tensor, const struct model *model)
{
    const axis_set chosen = model->tensors[tensor].axes & ~op->domain;
    for (uint32_t i = 0; i < model->axis_count; i++) {
        if ((chosen >> i & 1u) != 0) {
            return i;
        }
    }
    return NO_INDEX;
}

double work_count_chosen(const struct work_builder *builder, uint32_t tensor)
{
    for (uint32_t index = 0; index < builder->part->op_count; index++) {
        const struct op *op = &builder->model->ops[builder->part->first_op + index];
        bool touches = op->output == tensor;
        for (uint32_t i = 0; i < op->input_count; i++) {
            touches = touches || op->inputs[i] == tensor;
        }
        const uint32_t axis = touches && work_op_reorders(builder, index)
                                  ? choice_axis(op, tensor, builder->model)
                                  : NO_INDEX;
        if (axis != NO_INDEX) {
            return builder->model->tensors[tensor].density * (double)builder->mesh->sizes[axis];
        }
    }
    return 1.0;
}

/* Each row goes once to every node (DeepEP, HybridEP), to every rank where there is one node: of
 * `units` the expected number that `chosen` even draws hit, over the draws. */
double work_sent_frac(const struct work_builder *builder, uint32_t group, double chosen)
{
    const struct rank_group *ranks = &builder->work->groups[group];
    const struct cluster *cluster = builder->problem->cluster;
    const uint32_t node = cluster->level_count > 0 ? cluster->levels[0].degree : 1;
    const uint32_t nodes = rank_group_count_domains(ranks, node);
    const double units = nodes > 1 ? nodes : ranks->ranks;
    double missed = 1.0;
    for (double draw = 0.0; draw + 0.5 < chosen; draw += 1.0) {
        missed *= 1.0 - 1.0 / units;
    }
    const double hit = units * (1.0 - missed);
    return hit < chosen ? hit / chosen : 1.0;
}

/* Rows are sorted by rank before they travel and by expert where they arrive (Megatron Core,
 * token_dispatcher.py: permute, sort_chunks_by_idxs), the same on the way back: once more read and
 * written than where no rank exchanges any. */
#define SORT_BYTES 4.0

void work_push_sort(struct work_builder *builder, enum work_pass pass, double elements,
                    struct work_items *out)
{
    work_push_compute(out, builder->arena,
                      (struct work_compute){.name = "sort",
                                            .kind = OP_STREAM,
                                            .pass = pass,
                                            .permutes = true,
                                            .dtype = builder->problem->setup->dtype,
                                            .density_frac = 1.0,
                                            .bytes = elements * SORT_BYTES});
}

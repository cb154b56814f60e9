/* After the policies: what each block holds and does once per step. */
#include <assert.h>
#include <string.h>

#include "plan/work_inside.h"

static double parameter_bytes(const struct problem *problem)
{
    if (!task_trains(&problem->setup->task)) {
        return dtype_bytes(problem->setup->dtype);
    }
    return problem->setup->dtype == DTYPE_FP32 || problem->setup->dtype == DTYPE_TF32 ? 4.0 : 2.0;
}

/* Never narrower than the parameters they belong to. */
static double gradient_bytes(const struct problem *problem)
{
    const double own = parameter_bytes(problem);
    const double stated = (double)problem->setup->runtime->gradient_bytes;
    return problem->setup->optimizer->in_place || stated < own ? own : stated;
}

static double master_bytes(const struct problem *problem)
{
    if (problem->setup->optimizer->in_place) {
        return 0.0;
    }
    return parameter_bytes(problem) >= 4.0 ? 0.0 : (double)problem->setup->runtime->master_bytes;
}

/* Tied weights are the same memory when both ends of the chain are on one device. */
static bool is_held(const struct work *work, const struct work_weights *weights)
{
    return !weights->tied || work->shape.stages > 1;
}

static void add_memory(struct work *work, struct work_block *block,
                       const struct work_weights *weights, struct arena *arena)
{
    (void)arena;
    const struct setup *setup = work->problem->setup;
    const double n = (double)weights->elements;
    const double per_optimizer_shard = n / (double)weights->optimizer_shards;
    block->parameters_bytes +=
        n * parameter_bytes(work->problem) / (double)weights->parameter_shards;
    if (weights->parameter_shards > 1) {
        block->gathered_bytes += n * parameter_bytes(work->problem);
    }
    if (weights->frozen) {
        return;
    }
    const struct optimizer *optimizer = optimizer_of(setup->optimizer, weights->is_matrix);
    block->gradients_bytes +=
        work->forward_only
            ? 0.0
            : n * (gradient_bytes(work->problem) + (double)setup->runtime->gradient_copy_bytes) /
                  (double)weights->gradient_shards;
    block->moments_bytes += per_optimizer_shard * (double)optimizer->state_bytes;
    block->optimizer_bytes +=
        per_optimizer_shard * ((double)optimizer->state_bytes + master_bytes(work->problem)) +
        n * weights->extra_state_bytes;
}

static struct work_message message_of(const struct work_weights *weights, enum collective_kind kind,
                                      uint32_t group, double bytes)
{
    return (struct work_message){.kind = kind,
                                 .group = group,
                                 .bytes = bytes,
                                 .dim = weights->dim,
                                 .cause = kind == COLLECTIVE_ALL_GATHER ? CAUSE_PARAMETER
                                                                        : CAUSE_GRADIENT,
                                 .overlap = OVERLAP_NONE,
                                 .pieces = 1,
                                 .period = weights->period,
                                 .distance = weights->distance,
                                 .turns = weights->turns};
}

/* Parameters that are sharded themselves travel for every forward and backward, the others once,
 * after the update. */
static void push_gathers(struct work *work, struct work_block *block,
                         const struct work_weights *weights, struct arena *arena)
{
    const double bytes = (double)weights->elements * parameter_bytes(work->problem);
    if (weights->parameter_shards > 1) {
        struct work_message gather =
            message_of(weights, COLLECTIVE_ALL_GATHER, weights->parameter_group, bytes);
        gather.overlap = OVERLAP_BLOCK;
        gather.period = 1;
        gather.turns = false;
        work_push_message(&block->forward, arena, gather);
        if (block->backward.count > 0) {
            work_push_message(&block->backward, arena, gather);
        }
    } else if (weights->optimizer_shards > 1 && !weights->frozen) {
        struct work_message gather =
            message_of(weights, COLLECTIVE_ALL_GATHER, weights->optimizer_group, bytes);
        work_push_message(&block->gather, arena, gather);
    }
}

static void push_sums(struct work *work, struct work_block *block,
                      const struct work_weights *weights, struct arena *arena)
{
    const double bytes = (double)weights->elements * gradient_bytes(work->problem);
    if (work->forward_only) {
        return;
    }
    if (weights->group != NO_INDEX) {
        const bool scattered = weights->optimizer_shards > 1 || weights->gradient_shards > 1;
        struct work_message sum =
            message_of(weights, scattered ? COLLECTIVE_REDUCE_SCATTER : COLLECTIVE_ALL_REDUCE,
                       weights->group, bytes);
        if (weights->gradient_shards > 1) {
            sum.overlap =
                OVERLAP_BLOCK; /* gradients that are not kept whole are summed every micro-batch */
            work_push_message(&block->backward, arena, sum);
        } else {
            work_push_message(&block->sync, arena, sum);
        }
    }
    if (weights->side_group != NO_INDEX) {
        work_push_message(&block->sync, arena,
                          message_of(weights, COLLECTIVE_ALL_REDUCE, weights->side_group, bytes));
    }
}

static bool follows_stream(const struct work_items *items)
{
    return items->count > 0 && items->items[items->count - 1].compute.kind == OP_STREAM;
}

/* The ranks that share the states share the matrices out, whole ones; as square products of the
 * side that the FLOPs have on average. */
static void push_orthogonal(struct work_block *block, const struct work_weights *weights,
                            struct arena *arena)
{
    const double side = weights->orthogonal_flops / weights->orthogonal_per_row;
    const double flops = weights->orthogonal_flops / (double)weights->optimizer_shards;
    const uint64_t m = side < 1.0 ? 1 : (uint64_t)(side + 0.5);
    const double groups = flops / (2.0 * (double)m * (double)m * (double)m);
    struct work_compute update = {.name = "orthogonalise",
                                  .kind = OP_CONTRACT,
                                  .pass = PASS_UPDATE,
                                  .m = m,
                                  .n = m,
                                  .k = m,
                                  .groups = groups < 1.0 ? 1 : (uint64_t)(groups + 0.5),
                                  .density_frac = 1.0,
                                  .flops = flops,
                                  .bytes = groups * 6.0 * (double)m * (double)m,
                                  .dtype = DTYPE_BF16};
    work_push_compute(&block->update, arena, update);
}

/* Gradients of a micro-batch added to those of earlier ones by a kernel of its own: what the matmul
 * wrote is read, the sum read and written. Where the matmul adds, or every micro-batch is summed
 * over ranks, there is none. */
static void push_accumulation(struct work *work, struct work_block *block,
                              const struct work_weights *weights, struct arena *arena)
{
    const struct setup *setup = work->problem->setup;
    const double copy = (double)setup->runtime->gradient_copy_bytes;
    const double own = gradient_bytes(work->problem);
    const double sum = copy > own ? copy : own, fresh = copy > 0.0 && copy < own ? copy : 2.0;
    if (setup->runtime->fuses_accumulation || setup->optimizer->in_place ||
        weights->gradient_shards > 1 || work->shape.micro_batches < 2 ||
        block->backward.count == 0) {
        return;
    }
    work_push_compute(
        &block->backward, arena,
        (struct work_compute){.name = "accumulate",
                              .kind = OP_STREAM,
                              .pass = PASS_WEIGHT_GRADIENT,
                              .converts = true,
                              .dtype = setup->dtype,
                              .density_frac = 1.0,
                              .bytes = (double)weights->elements * (fresh + 2.0 * sum)});
}

static void push_update(struct work *work, struct work_block *block,
                        const struct work_weights *weights, struct arena *arena)
{
    struct work_compute update;
    memset(&update, 0, sizeof update);
    update.name = "update";
    update.kind = OP_STREAM;
    update.pass = PASS_UPDATE;
    update.dtype = work->problem->setup->dtype;
    update.density_frac = 1.0;
    update.bytes = (double)weights->elements / (double)weights->optimizer_shards *
                   optimizer_of(work->problem->setup->optimizer, weights->is_matrix)->update_bytes;
    update.joined = follows_stream(&block->update);
    work_push_compute(&block->update, arena, update);
    if (weights->is_matrix) {
        push_orthogonal(block, weights, arena);
    }
}

static void lower_tied(struct work *work)
{
    const struct work_block *last = &work->blocks[work->last_block];
    const bool sums = work->shape.stages > 1 && !work->forward_only;
    for (uint32_t i = 0; sums && i < last->weights_count; i++) {
        if (last->weights[i].tied && !last->weights[i].frozen) {
            work->tied.bytes += (double)last->weights[i].elements * gradient_bytes(work->problem);
        }
    }
}

/* Weights of each block that a device holds itself. */
static void each_held(struct work *work, struct arena *arena,
                      void (*each)(struct work *, struct work_block *, const struct work_weights *,
                                   struct arena *))
{
    for (uint32_t b = 0; b < work->block_count; b++) {
        struct work_block *block = &work->blocks[b];
        for (uint32_t i = 0; i < block->weights_count; i++) {
            if (is_held(work, &block->weights[i])) {
                each(work, block, &block->weights[i], arena);
            }
        }
    }
}

static void push_lists(struct work *work, struct work_block *block,
                       const struct work_weights *weights, struct arena *arena)
{
    push_gathers(work, block, weights, arena);
    if (!weights->frozen) {
        push_accumulation(work, block, weights, arena);
        push_sums(work, block, weights, arena);
        push_update(work, block, weights, arena);
    }
}

void work_lower_memory(struct work *work)
{
    each_held(work, NULL, add_memory);
}

void work_lower_lists(struct work *work, struct arena *arena)
{
    each_held(work, arena, push_lists);
    lower_tied(work);
}

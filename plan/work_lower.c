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

/* Per parameter of a shard of the states. */
static double own_master_bytes(const struct problem *problem, const struct work_weights *weights)
{
    const double stated = master_bytes(problem);
    const bool keeps = stated > 0.0 && problem->setup->runtime->keeps_fp32_shards;
    return keeps && weights->optimizer_shards > weights->parameter_shards
               ? stated + parameter_bytes(problem)
               : stated;
}

/* Tied weights are the same memory when both ends of the chain are on one device. */
static bool is_held(const struct work *work, const struct work_weights *weights)
{
    return !weights->tied || work->shape.stages > 1;
}

/* Resident bytes between the device and its host. */
static void share_out(double bytes, double host_frac, double *device_bytes,
                      struct work_block *block)
{
    *device_bytes += bytes * (1.0 - host_frac);
    block->host_bytes += bytes * host_frac;
}

static void add_memory(struct work *work, struct work_block *block,
                       const struct work_weights *weights, struct arena *arena)
{
    (void)arena;
    const struct setup *setup = work->problem->setup;
    const double n = (double)weights->elements;
    const double per_optimizer_shard = n / (double)weights->optimizer_shards;
    const double parameters = n * parameter_bytes(work->problem);
    share_out(parameters / (double)weights->parameter_shards, weights->host_parameter_frac,
              &block->parameters_bytes, block);
    block->gathered_bytes +=
        parameters * (weights->parameter_shards > 1 ? 1.0 : weights->host_parameter_frac);
    if (weights->frozen) {
        return;
    }
    const struct optimizer *optimizer = optimizer_of(setup->optimizer, weights->is_matrix);
    const double per_gradient =
        gradient_bytes(work->problem) + (double)setup->runtime->gradient_copy_bytes;
    const double gradients =
        work->forward_only ? 0.0 : n * per_gradient / (double)weights->gradient_shards;
    share_out(gradients, weights->host_gradient_frac, &block->gradients_bytes, block);
    block->gathered_bytes += gradients * weights->host_gradient_frac; /* on their way */
    block->moments_bytes +=
        per_optimizer_shard * (double)optimizer->state_bytes * (1.0 - weights->host_optimizer_frac);
    share_out(per_optimizer_shard *
                  ((double)optimizer->state_bytes + own_master_bytes(work->problem, weights)),
              weights->host_optimizer_frac, &block->optimizer_bytes, block);
    block->optimizer_bytes += n * weights->extra_state_bytes;
}

/* What layers keep for the backward, as far as it waits for it on the host; that of one layer is
 * on its way there, that of another on its way back. */
static void move_saved(struct work *work, struct work_block *block)
{
    const double moved = block->saved_bytes * work->host_saved_frac;
    const bool ends =
        block == &work->blocks[work->first_block] || block == &work->blocks[work->last_block];
    if (moved > 0.0 && !ends) {
        block->saved_bytes -= moved;
        block->host_saved_bytes += moved;
        block->gathered_bytes += moved;
    }
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

static void push_copy(struct work_items *items, double bytes, enum work_overlap overlap,
                      struct arena *arena)
{
    if (bytes > 0.0) {
        work_push_message(items, arena,
                          (struct work_message){.kind = COLLECTIVE_SEND,
                                                .group = NO_INDEX,
                                                .bytes = bytes,
                                                .dim = WORK_HOST,
                                                .cause = CAUSE_OFFLOAD,
                                                .overlap = overlap,
                                                .pieces = 1,
                                                .period = 1});
    }
}

/* Under the work of the block: parameters come for every forward and backward, what a micro-batch
 * adds to the gradients goes. */
static void push_copies(struct work *work, struct work_block *block,
                        const struct work_weights *weights, struct arena *arena)
{
    const double n = (double)weights->elements;
    const double parameters = n * parameter_bytes(work->problem) * weights->host_parameter_frac /
                              (double)weights->parameter_shards;
    const double gradients = weights->frozen
                                 ? 0.0
                                 : n * gradient_bytes(work->problem) * weights->host_gradient_frac /
                                       (double)weights->gradient_shards;
    push_copy(&block->forward, parameters, OVERLAP_BLOCK, arena);
    if (block->backward.count > 0) {
        push_copy(&block->backward, parameters, OVERLAP_BLOCK, arena);
        push_copy(&block->backward, gradients, OVERLAP_BLOCK, arena);
    }
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
    const struct work_item *last = items->count == 0 ? NULL : &items->items[items->count - 1];
    return last != NULL && !last->is_message && last->compute.kind == OP_STREAM &&
           !last->compute.on_host;
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

/* The host's processors have the gradients there, the device has the new parameters back; those
 * that the device updates and does not hold go there, or come first where the update is theirs. */
static void push_host_update(struct work *work, struct work_block *block,
                             const struct work_weights *weights, struct work_compute update,
                             struct arena *arena)
{
    const double moved = weights->host_optimizer_frac;
    const double n = (double)weights->elements / (double)weights->optimizer_shards;
    const double gradients =
        work->forward_only ? 0.0
                           : gradient_bytes(work->problem) * (1.0 - weights->host_gradient_frac);
    const double parameters = parameter_bytes(work->problem);
    const double ways = work->problem->setup->optimizer->in_place ? 2.0 : 1.0;
    push_copy(&block->update, n * moved * gradients, OVERLAP_NONE, arena);
    if (moved > 0.0) {
        update.bytes *= moved;
        update.on_host = true;
        update.joined = false;
        work_push_compute(&block->update, arena, update);
    }
    push_copy(&block->update, n * moved * parameters * (1.0 - weights->host_parameter_frac),
              OVERLAP_NONE, arena);
    push_copy(&block->update, n * (1.0 - moved) * parameters * weights->host_parameter_frac * ways,
              OVERLAP_NONE, arena);
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
    struct work_compute own = update;
    own.bytes *= 1.0 - weights->host_optimizer_frac;
    if (weights->host_optimizer_frac < 1.0) {
        work_push_compute(&block->update, arena, own);
    }
    push_host_update(work, block, weights, update, arena);
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
    push_copies(work, block, weights, arena);
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
    for (uint32_t b = 0; b < work->block_count; b++) {
        move_saved(work, &work->blocks[b]);
    }
}

void work_lower_lists(struct work *work, struct arena *arena)
{
    each_held(work, arena, push_lists);
    for (uint32_t b = 0; b < work->block_count; b++) {
        struct work_block *block = &work->blocks[b];
        push_copy(&block->forward, block->host_saved_bytes, OVERLAP_BLOCK, arena);
        push_copy(&block->backward, block->host_saved_bytes, OVERLAP_BLOCK, arena);
    }
    lower_tied(work);
}

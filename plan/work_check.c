/* What is believed of every work program. */
#include <float.h>

#include "plan/work.h"

/* Finite, not negative; false for what is not a number. */
static bool is_amount(double value)
{
    return value >= 0.0 && value <= DBL_MAX;
}

static bool is_share(double value)
{
    return value >= 0.0 && value <= 1.0;
}

static bool is_group(const struct work *work, uint32_t group)
{
    return group < work->group_count && rank_group_check(&work->groups[group]);
}

/* A message of the whole step; with no bytes it is not sent at all. */
static bool is_sound_message(const struct work *work, const struct work_message *message)
{
    return is_amount(message->bytes) &&
           (message->bytes == 0.0 || (is_group(work, message->group) && message->pieces > 0 &&
                                      message->period > 0 && message->dim < dim_table_count));
}

static bool is_sound_item(const struct work *work, const struct work_item *item)
{
    if (item->is_message) {
        const struct work_message *message = &item->message;
        const bool placed = message->dim == WORK_HOST
                                ? message->group == NO_INDEX
                                : is_group(work, message->group) && message->dim < dim_table_count;
        return placed && is_amount(message->bytes) && message->pieces > 0 && message->period > 0;
    }
    return is_amount(item->compute.flops) && is_amount(item->compute.bytes);
}

static bool are_sound_items(const struct work *work, const struct work_items *items)
{
    for (uint32_t i = 0; i < items->count; i++) {
        if (!is_sound_item(work, &items->items[i])) {
            return false;
        }
    }
    return true;
}

static bool are_sound_weights(const struct work *work, const struct work_weights *weights)
{
    return (weights->group == NO_INDEX || is_group(work, weights->group)) &&
           (weights->side_group == NO_INDEX || is_group(work, weights->side_group)) &&
           weights->parameter_shards > 0 && weights->gradient_shards > 0 &&
           weights->optimizer_shards > 0 && weights->period > 0 &&
           is_amount(weights->extra_state_bytes) && is_share(weights->host_parameter_frac) &&
           is_share(weights->host_gradient_frac) && is_share(weights->host_optimizer_frac);
}

static bool is_sound_block(const struct work *work, const struct work_block *block)
{
    for (uint32_t i = 0; i < block->weights_count; i++) {
        if (!are_sound_weights(work, &block->weights[i])) {
            return false;
        }
    }
    return are_sound_items(work, &block->forward) && are_sound_items(work, &block->backward) &&
           are_sound_items(work, &block->gather) && are_sound_items(work, &block->sync) &&
           are_sound_items(work, &block->update) && is_amount(block->parameters_bytes) &&
           is_amount(block->gradients_bytes) && is_amount(block->optimizer_bytes) &&
           block->moments_bytes <= block->optimizer_bytes && is_amount(block->saved_bytes) &&
           is_amount(block->cache_bytes) && is_amount(block->logits_bytes) &&
           is_amount(block->working_bytes) && is_amount(block->widened_bytes) &&
           is_amount(block->gathered_bytes) && is_amount(block->host_bytes) &&
           is_amount(block->host_saved_bytes);
}

bool work_check(const struct work *work)
{
    for (uint32_t i = 0; i < work->block_count; i++) {
        if (!is_sound_block(work, &work->blocks[i])) {
            return false;
        }
    }
    return is_sound_message(work, &work->spread) && is_sound_message(work, &work->send) &&
           is_sound_message(work, &work->tied) && is_sound_message(work, &work->norm);
}

/* A started rank order under one class of policy uses: rewritten and priced once for all its
 * alternatives and schedule shapes. */
#include "planner/planner_inside.h"

/* Weights and their states per stage, on average: no partition spares the fullest stage that
 * much. */
static double resident_bytes(const struct work *work)
{
    const struct model *model = work->problem->model;
    double bytes = 0.0;
    for (uint32_t run = 0; run < model->run_count; run++) {
        const struct work_block *block =
            &work->blocks[work_find_block(work, model->chain[run].part, KEEP_ALL)];
        bytes += model->chain[run].count * (block->parameters_bytes + block->gradients_bytes +
                                            block->optimizer_bytes + block->cache_bytes);
    }
    return bytes / work->shape.stages;
}

/* What a micro-batch keeps of a layer in its leanest form. */
static double leanest_bytes(const struct work *work, uint32_t part)
{
    double least = work->blocks[work_find_block(work, part, KEEP_ALL)].saved_bytes;
    for (uint32_t b = 0; b < work->block_count; b++) {
        const struct work_block *block = &work->blocks[b];
        least = block->part == part && block->saved_bytes < least ? block->saved_bytes : least;
    }
    return least;
}

/* Of all layers, at least: as many as may be are in the other form. */
static double saved_bytes(const struct work *work)
{
    const struct model *model = work->problem->model;
    double left = (double)work->recompute_layers * work->shape.stages * work->shape.chunks;
    double bytes = 0.0;
    for (uint32_t run = 1; run + 1 < model->run_count; run++) {
        const uint32_t part = model->chain[run].part;
        const double count = model->chain[run].count, again = left < count ? left : count;
        const double plain = work->blocks[work_find_block(work, part, KEEP_ALL)].saved_bytes;
        const double other = work->blocks[work_find_block(work, part, work->keep)].saved_bytes;
        bytes += count * plain - (other < plain ? again * (plain - other) : 0.0);
        left -= other < plain ? again : 0.0;
    }
    return bytes;
}

static bool keeps_for_backward(const struct work *work)
{
    return setup_has_backward(work->problem->setup);
}

double variant_floor_bytes(const struct variant *variant)
{
    const struct work *work = variant->work;
    return variant->resident_bytes +
           (keeps_for_backward(work) ? saved_bytes(work) / work->shape.stages : 0.0);
}

double variant_least_bytes(const struct variant *variant)
{
    const struct work *work = variant->work;
    const struct model *model = work->problem->model;
    double bytes = 0.0;
    for (uint32_t run = 1; run + 1 < model->run_count && keeps_for_backward(work); run++) {
        bytes += model->chain[run].count * leanest_bytes(work, model->chain[run].part);
    }
    return variant->resident_bytes + bytes / work->shape.stages;
}

bool variant_may_fit(const struct search *search, const struct variant *variant)
{
    const struct estimator *estimator = search->estimator;
    const double least_bytes = variant_least_bytes(variant);
    return search->options->no_prune || ranking_wants_shortage(search, least_bytes) ||
           least_bytes * ROUNDING <= estimator->capacity_bytes(estimator->state);
}

struct variant *variant_find(struct search *search, struct order_work *order,
                             const struct alternatives *alternatives, uint32_t class)
{
    const unsigned long long digest = alternatives->class_digests[class];
    for (struct variant *variant = order->variants; variant != NULL; variant = variant->next) {
        if (variant->digest == digest) {
            return variant;
        }
    }
    struct arena *arena = &search->scratch;
    struct variant *variant = ARENA_PUSH(arena, struct variant, 1);
    variant->digest = digest;
    variant->order = order;
    variant->plan = *order->plan;
    variant->plan.policy_count =
        space_class_uses(alternatives, class, arena, &variant->plan.policies);
    variant->work = ARENA_PUSH(arena, struct work, 1);
    work_rewrite(order->started, &variant->plan, variant->work);
    work_lower_memory(variant->work);
    variant->resident_bytes = resident_bytes(variant->work);
    variant->next = order->variants;
    order->variants = variant;
    return variant;
}

void variant_price(struct search *search, struct variant *variant)
{
    if (variant->pieces != NULL) {
        return;
    }
    const struct estimator *estimator = search->estimator;
    const struct work *work = variant->work;
    node_price(search, variant->order);
    work_lower_lists(variant->work, &search->scratch);
    const uint32_t blocks = work->block_count, count = work_count_sites(work) * blocks;
    struct piece *pieces = ARENA_PUSH(&search->scratch, struct piece, count);
    for (uint32_t i = 0; i < count; i++) {
        estimator->piece(estimator->state, work, i % blocks, i / blocks, &variant->order->pieces[i],
                         &pieces[i]);
    }
    variant->pieces = pieces;
    variant->least = pipeline_fastest(work, pieces, &search->scratch);
    estimator_price_messages(estimator, work, &search->scratch, &variant->load);
    variant->terms = pipeline_terms_of_sites(work, pieces, variant->least, &search->scratch);
    variant->terms.send_s = pipeline_find_send_s(work, variant->load.send_s);
}

void variant_keep(struct search *search, struct variant *variant, const struct leaf *leaf)
{
    struct plan *plan = &variant->plan;
    plan->schedule.schedule = leaf->form.schedule;
    plan->schedule.chunks = leaf->form.chunks;
    plan->policy_count =
        space_uses(leaf->alternatives, leaf->alternative, &search->scratch, &plan->policies);
    work_rekeep(variant->work, plan);
}

/* Blocks of a program priced on each kind of device, then told layer by layer. */
#include "planner/layer_profile.h"

#include <string.h>

uint32_t layer_profile_find_kind(const struct problem *problem, uint32_t device)
{
    const uint32_t *kinds = problem->cluster->device_kind;
    return kinds == NULL ? 0 : kinds[device];
}

/* All layers in the form that most have. */
static uint32_t block_of(const struct work *work, uint32_t part)
{
    const uint32_t block =
        work_find_block(work, part, work->recompute_layers > 0 ? work->keep : KEEP_ALL);
    return block == NO_INDEX ? work_find_block(work, part, KEEP_ALL) : block;
}

static void add_block(const struct work *work, const struct piece *pieces, uint32_t block,
                      uint32_t layer, struct layer_profile *out)
{
    for (uint32_t kind = 0; kind < out->kinds; kind++) {
        const struct piece *piece = &pieces[(size_t)kind * work->block_count + block];
        out->forward_s[(size_t)kind * out->layers + layer] += piece->forward_total_s;
        out->backward_s[(size_t)kind * out->layers + layer] += piece->backward_total_s;
    }
    out->weight_bytes[layer] += work->blocks[block].gradients_bytes;
}

static void add_layers(const struct work *work, const struct piece *pieces,
                       struct layer_profile *out)
{
    const struct model *model = work->problem->model;
    uint32_t layer = 0;
    for (uint32_t run = 1; run + 1 < model->run_count; run++) {
        const uint32_t block = block_of(work, model->chain[run].part);
        for (uint32_t i = 0; i < model->chain[run].count; i++, layer++) {
            add_block(work, pieces, block, layer, out);
        }
    }
    add_block(work, pieces, work->first_block, 0, out);
    add_block(work, pieces, work->last_block, out->layers - 1, out);
}

bool layer_profile_build(const struct problem *problem, const struct estimator *estimator,
                         const struct plan *plan, struct arena *arena, struct layer_profile *out)
{
    struct diag quiet;
    diag_init(&quiet, arena);
    if (!plan_is_legal(problem, plan) || !plan_check_costed(problem, plan, &quiet)) {
        return false;
    }
    const size_t layers = plan_count_layers(problem->model);
    const size_t kinds = problem->cluster->accelerator_count;
    *out = (struct layer_profile){.layers = (uint32_t)layers,
                                  .forward_s = ARENA_PUSH(arena, double, kinds *layers),
                                  .backward_s = ARENA_PUSH(arena, double, kinds *layers),
                                  .weight_bytes = ARENA_PUSH(arena, double, layers)};
    struct arena scratch; /* the judge may keep what it remembers in the other one */
    arena_init(&scratch);
    struct work *work = ARENA_PUSH(&scratch, struct work, 1);
    work_build(problem, plan, &scratch, work);
    if (problem->cluster->accelerator_count > 1) {
        work_sites_split(work, &scratch);
    }
    const struct piece *pieces = estimator_price_blocks(estimator, work, &scratch);
    out->kinds = work_count_sites(work);
    out->cut_bytes = work->send.bytes;
    add_layers(work, pieces, out);
    arena_release(&scratch);
    return true;
}

/* One block alone: its scripts run on an idle device. */
#include <assert.h>
#include <string.h>

#include "sim/sim_inside.h"

/* Durations of a script by cost, from its segments; returns the whole. */
static double run_script(const struct script_place *place, const struct work_items *list,
                         double *cost_s, double *weight_s)
{
    struct arena arena;
    struct script script;
    struct engine engine;
    struct diag diag;
    arena_init(&arena);
    diag_init(&diag, &arena);
    script_build(place, list, &arena, &script);
    engine_init(&engine, WORLD_FS_PER_S, &arena);
    struct emit emit = {
        .engine = &engine, .arena = &arena, .kernel_factor = 1.0, .message_factor = 1.0};
    emit.cursor = engine_push_delay(&engine, emit_label(&emit, EMIT_COMPUTE, NULL), 0.0);
    emit_script(&emit, &script, EMIT_ALL);
    if (!engine_run(&engine, &diag)) {
        BUG("a block does not run: %s", diag.entries[0].message);
    }
    double before_s = 0.0;
    for (uint32_t i = 0; i < emit.segment_count; i++) {
        const struct emit_segment *segment = &emit.segments[i];
        const double end_s = engine_find_end_s(&engine, segment->task);
        const double lasted_s = end_s - before_s;
        const bool waits = segment->dim != NO_INDEX && segment->kernel_s < lasted_s;
        cost_s[segment->cost] += waits ? segment->kernel_s : lasted_s;
        if (waits) {
            cost_s[COST_DIM + segment->dim] += lasted_s - segment->kernel_s;
        }
        *weight_s += segment->is_weight ? lasted_s : 0.0;
        before_s = end_s;
    }
    arena_release(&arena);
    return before_s;
}

/* Messages of once a step, by their share of every step; those whose result a later step waits
 * for apart. */
static void add_moves(const struct script_place *place, const struct work_items *list,
                      double *now_s, double *later_s)
{
    for (uint32_t i = 0; i < list->count; i++) {
        assert(list->items[i].is_message);
        const struct move move = script_find_move(place, &list->items[i].message);
        *(move.message->distance == 0 ? now_s : later_s) += move.seconds;
    }
}

static double copies_s(const struct script_place *place, const struct work_items *list)
{
    double seconds = 0.0;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct work_item *item = &list->items[i];
        if (item->is_message && item->message.dim == WORK_HOST) {
            seconds += script_find_move(place, &item->message).seconds;
        }
    }
    return seconds;
}

static bool same_items(const struct work_items *a, const struct work_items *b)
{
    return a->items == b->items && a->count == b->count;
}

void sim_piece(struct sim *sim, const struct work *work, uint32_t block, uint32_t site,
               const struct piece *like, struct piece *out)
{
    const struct script_place place = {sim->book, sim->prices, work, site};
    const struct work_block *which = &work->blocks[block];
    if (like != NULL && same_items(&like->block->forward, &which->forward) &&
        same_items(&like->block->backward, &which->backward)) {
        *out = *like;
    } else {
        double none_s = 0.0;
        memset(out, 0, sizeof *out);
        out->forward_total_s = run_script(&place, &which->forward, out->forward_s, &none_s);
        out->backward_total_s =
            run_script(&place, &which->backward, out->backward_s, &out->weight_s);
    }
    double update_s[COST_COUNT] = {0.0}, none_s = 0.0;
    out->block = which;
    out->gather_s = out->sync_s = out->stale_s = 0.0;
    out->update_s = run_script(&place, &which->update, update_s, &none_s);
    out->update_copy_s = update_s[COST_HOST];
    out->copy_s = copies_s(&place, &which->forward) + copies_s(&place, &which->backward);
    add_moves(&place, &which->gather, &out->gather_s, &out->stale_s);
    add_moves(&place, &which->sync, &out->sync_s, &out->stale_s);
}

double sim_message_s(struct sim *sim, const struct work *work, const struct work_message *message,
                     uint32_t base)
{
    if (message->bytes == 0.0) {
        return 0.0;
    }
    const struct lump_request request = {message->kind, &work->groups[message->group], base,
                                         message->bytes, work_find_crowd(work, message)};
    return lump_find(sim->book, &request)->seconds;
}

void sim_build_load(struct sim *sim, const struct work *work, const struct stream *stream,
                    const uint32_t *layers, struct arena *arena, struct load *out)
{
    const uint32_t chunks = work->shape.stages * work->shape.chunks;
    uint32_t *counts = ARENA_PUSH(arena, uint32_t, (size_t)chunks * WORK_BLOCK_MAX);
    struct estimator estimator;
    sim_estimator(sim, &estimator);
    work_count_blocks(work, layers, counts);
    *out = (struct load){.work = work,
                         .stream = stream,
                         .pieces = estimator_price_blocks(&estimator, work, arena),
                         .counts = counts};
    estimator_price_messages(&estimator, work, arena, out);
}

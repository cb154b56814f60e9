/* Streams are chains of tasks; what overlaps branches off and is joined again. */
#include "sim/emit.h"

#include <assert.h>
#include <string.h>

struct engine_label emit_label(const struct emit *emit, enum emit_stream stream, const char *name)
{
    return (struct engine_label){name, emit->device * EMIT_STREAM_COUNT + (uint32_t)stream};
}

uint32_t emit_join(struct emit *emit, uint32_t a, uint32_t b)
{
    if (a == b || b == ENGINE_NO_TASK) {
        return a;
    }
    if (a == ENGINE_NO_TASK) {
        return b;
    }
    const uint32_t join =
        engine_push_delay(emit->engine, emit_label(emit, EMIT_COMPUTE, NULL), 0.0);
    engine_push_edge(emit->engine, a, join);
    engine_push_edge(emit->engine, b, join);
    return join;
}

void emit_delay(struct emit *emit, const char *name, double seconds)
{
    const uint32_t task =
        engine_push_delay(emit->engine, emit_label(emit, EMIT_COMPUTE, name), seconds);
    engine_push_edge(emit->engine, emit->cursor, task);
    emit->cursor = task;
}

void emit_push_segment(struct emit *emit, struct emit_segment segment)
{
    ARENA_MAKE_ROOM(emit->arena, emit->segments, emit->segment_count, emit->segment_capacity);
    emit->segments[emit->segment_count++] = segment;
}

/* --- messages --------------------------------------------------------------------------------- */

static uint32_t *find_ports(struct emit *emit, uint32_t device, const struct lump *lump)
{
    uint32_t *pair = &emit->ports->pairs[2 * ((size_t)device * emit->ports->levels + lump->level)];
    assert(lump->level < emit->ports->levels);
    const double slowness = emit->ports->slowness == NULL ? 1.0 : emit->ports->slowness[device];
    for (uint32_t way = 0; way < 2 && pair[way] == UINT32_MAX; way++) {
        pair[way] = engine_push_resource(emit->engine, lump->port_Bps / slowness);
    }
    return pair;
}

enum way { WAY_OUT, WAY_IN };

static void keep_busy(struct emit *emit, uint32_t device, enum way way, const struct lump *lump,
                      double share)
{
    const size_t row = (size_t)device * emit->ports->levels + lump->level;
    emit->ports->busy_s[2 * row + way] += lump->bytes * share * lump->weight / lump->port_Bps;
}

static uint32_t push_flow(struct emit *emit, struct engine_label label, const struct lump *lump,
                          const uint32_t *resources, double share)
{
    return engine_push_flow(emit->engine, label,
                            &(struct world_flow){.resources = resources,
                                                 .resource_count = 2,
                                                 .weight = lump->weight,
                                                 .cap_Bps = lump->cap_Bps,
                                                 .latency_s = lump->latency_s * share,
                                                 .bytes = lump->bytes * share});
}

/* One message of the device at hand among its own ports; its last task. */
static uint32_t push_own(struct emit *emit, struct engine_label label, const struct move *move,
                         double part, uint32_t after)
{
    if (!emit->contends || move->lumps->count == 0) {
        const uint32_t task = engine_push_delay(emit->engine, label, move->seconds * part);
        engine_push_edge(emit->engine, after, task);
        return task;
    }
    for (uint32_t i = 0; i < move->lumps->count; i++) {
        const struct lump *lump = &move->lumps->lumps[i];
        const uint32_t *pair = find_ports(emit, emit->device, lump);
        const uint32_t task = push_flow(emit, label, lump, pair, part * move->share);
        keep_busy(emit, emit->device, WAY_OUT, lump, part * move->share);
        keep_busy(emit, emit->device, WAY_IN, lump, part * move->share);
        engine_push_edge(emit->engine, after, task);
        after = task;
    }
    return after;
}

uint32_t emit_move(struct emit *emit, enum emit_stream stream, const struct move *move,
                   double share, uint32_t after)
{
    const struct engine_label label =
        emit_label(emit, stream, work_cause_name(move->message->cause));
    assert(share >= 0.0 && stream != EMIT_COMPUTE);
    const double part = share * emit->message_factor;
    const struct meet_cell *cell =
        emit->meet == NULL ? NULL : meet_find(emit->meet, move->message, label, part * move->share);
    if (cell == NULL) {
        return push_own(emit, label, move, part, after);
    }
    if (cell->enters != NULL) {
        return meet_push_whole(emit->meet, move->message, cell, after);
    }
    struct move own = *move;
    own.lumps = cell->lumps;
    own.seconds *= move->lumps->seconds > 0.0 ? cell->lumps->seconds / move->lumps->seconds : 1.0;
    const uint32_t gate = meet_push_gate(emit->meet, cell, after);
    return meet_push_leave(emit->meet, cell, push_own(emit, label, &own, part, gate));
}

/* Out of the one device, into the other. */
static const uint32_t *find_both_ports(struct emit *emit, const struct lump *lump,
                                       uint32_t to_device)
{
    uint32_t *resources = ARENA_PUSH(emit->arena, uint32_t, 2);
    resources[0] = find_ports(emit, emit->device, lump)[0];
    resources[1] = find_ports(emit, to_device, lump)[1];
    return resources;
}

uint32_t emit_send(struct emit *emit, const struct lump *lump, uint32_t to_device,
                   const struct path *way, uint32_t after)
{
    assert(to_device != emit->device);
    struct engine *engine = emit->engine;
    const struct world_flow flow = {
        .resources = way == NULL ? find_both_ports(emit, lump, to_device)
                                 : ways_push_hops(&emit->meet->ways, way, &engine->world.share),
        .resource_count = way == NULL ? 2 : way->hop_count,
        .weight = lump->weight,
        .cap_Bps = lump->cap_Bps,
        .latency_s = lump->latency_s * emit->message_factor,
        .bytes = lump->bytes * emit->message_factor};
    const uint32_t task = engine_push_flow(engine, emit_label(emit, EMIT_SEND, "send"), &flow);
    keep_busy(emit, emit->device, WAY_OUT, lump, emit->message_factor);
    keep_busy(emit, to_device, WAY_IN, lump, emit->message_factor);
    engine_push_edge(emit->engine, after, task);
    return task;
}

/* --- bars ------------------------------------------------------------------------------------- */

static uint32_t push_moves(struct emit *emit, const struct bar *bar, double share, uint32_t after)
{
    for (uint32_t i = 0; i < bar->move_count; i++) {
        after = emit_move(emit, EMIT_TENSOR, &bar->moves[i], share, after);
    }
    return after;
}

static uint32_t push_kernel(struct emit *emit, const struct bar *bar, double seconds,
                            uint32_t after)
{
    const uint32_t task =
        engine_push_delay(emit->engine, emit_label(emit, EMIT_COMPUTE, bar->name), seconds);
    engine_push_edge(emit->engine, after, task);
    return task;
}

/* The first piece is on the device; each other arrives while the kernel works on those before
 * it. */
static void emit_pieces(struct emit *emit, const struct bar *bar, double kernel_s)
{
    const double pieces = bar->pieces;
    uint32_t moved = emit->cursor;
    uint32_t kernel = push_kernel(emit, bar, kernel_s / pieces, emit->cursor);
    for (uint32_t i = 1; i < bar->pieces; i++) {
        moved = push_moves(emit, bar, 1.0 / (pieces - 1.0), moved);
        kernel = push_kernel(emit, bar, kernel_s / pieces, kernel);
        engine_push_edge(emit->engine, moved, kernel);
    }
    emit->cursor = kernel;
}

static double moves_s(const struct bar *bar)
{
    double seconds = 0.0;
    for (uint32_t i = 0; i < bar->move_count; i++) {
        seconds += bar->moves[i].seconds;
    }
    return seconds;
}

/* What a kernel and its messages lose by running at once. */
static double bar_loss_s(const struct bar *bar, double loss_frac)
{
    const double steps = bar->pieces > 1 ? bar->pieces - 1.0 : 1.0;
    const double kernel_s = bar->kernel_s / (bar->pieces > 1 ? (double)bar->pieces : 1.0);
    const double message_s = moves_s(bar) / steps;
    return bar->is_kernel ? loss_frac * steps * (kernel_s < message_s ? kernel_s : message_s) : 0.0;
}

/* Undisturbed. */
static double bar_s(const struct bar *bar, double loss_frac)
{
    const double message_s = moves_s(bar), loss_s = bar_loss_s(bar, loss_frac);
    if (!bar->is_kernel) {
        return message_s;
    }
    const double parts = bar->pieces > 1 ? (double)bar->pieces : 1.0;
    const double steps = parts > 1.0 ? parts - 1.0 : 1.0;
    const double work_s = bar->kernel_s / parts, part_s = message_s / steps;
    const double longer_s = work_s > part_s ? work_s : part_s;
    return (parts > 1.0 ? work_s : 0.0) + steps * longer_s + loss_s;
}

static void emit_bar(struct emit *emit, const struct bar *bar, double loss_frac)
{
    const double kernel_s = bar->kernel_s * emit->kernel_factor;
    if (!bar->is_kernel) {
        emit->cursor = push_moves(emit, bar, 1.0, emit->cursor);
    } else if (bar->move_count > 0 && bar->pieces > 1) {
        emit_pieces(emit, bar, kernel_s);
    } else {
        const uint32_t kernel = push_kernel(emit, bar, kernel_s, emit->cursor);
        const uint32_t moved =
            bar->move_count > 0 ? push_moves(emit, bar, 1.0, emit->cursor) : ENGINE_NO_TASK;
        emit->cursor = emit_join(emit, kernel, moved);
    }
    const double loss_s = bar_loss_s(bar, loss_frac) * emit->kernel_factor;
    if (loss_s > 0.0) {
        emit_delay(emit, bar->name, loss_s);
    }
    emit_push_segment(emit, (struct emit_segment){
                                .task = emit->cursor,
                                .kernel_s = kernel_s,
                                .cost = bar->cost,
                                .dim = bar->move_count > 0 ? bar->moves[0].message->dim : NO_INDEX,
                                .is_weight = bar->is_weight});
}

/* What the bars and the messages under all of them lose by running at once. */
static double under_loss_s(const struct script *script)
{
    double busy_s = 0.0, under_s = 0.0;
    for (uint32_t i = 0; i < script->bar_count && script->loss_frac > 0.0; i++) {
        busy_s += bar_s(&script->bars[i], script->loss_frac);
    }
    for (uint32_t i = 0; i < script->under_count; i++) {
        under_s += script->under[i].seconds;
    }
    return script->loss_frac * (busy_s < under_s ? busy_s : under_s);
}

/* The host launches ahead of the device, but a stretch of work does not end before its last launch.
 * Weight gradients in slots of their own are launched while the device has other work. */
static void wait_for_host(struct emit *emit, const struct script *script, enum emit_part part,
                          uint32_t start)
{
    double host_s = script->host_s, kernels_s = 0.0;
    for (uint32_t i = 0; i < script->bar_count; i++) {
        const struct bar *bar = &script->bars[i];
        if (part == EMIT_INPUT && bar->is_weight) {
            host_s -= bar_s(bar, script->loss_frac);
        } else if (bar->is_kernel) {
            kernels_s += bar->kernel_s;
        }
    }
    if (part == EMIT_WEIGHT || host_s <= kernels_s) {
        return;
    }
    const uint32_t launched = engine_push_delay(
        emit->engine, emit_label(emit, EMIT_COMPUTE, EMIT_HOST), host_s * emit->kernel_factor);
    if (start != ENGINE_NO_TASK) {
        engine_push_edge(emit->engine, start, launched);
    }
    emit->cursor = emit_join(emit, emit->cursor, launched);
    emit_push_segment(
        emit, (struct emit_segment){.task = emit->cursor, .cost = COST_OVERHEAD, .dim = NO_INDEX});
}

void emit_script(struct emit *emit, const struct script *script, enum emit_part part)
{
    const uint32_t start = emit->cursor;
    uint32_t under = emit->cursor;
    for (uint32_t i = 0; i < script->under_count && part != EMIT_WEIGHT; i++) {
        under = emit_move(emit, EMIT_PREFETCH, &script->under[i], 1.0, under);
    }
    const bool has_under = part != EMIT_WEIGHT && script->under_count > 0;
    for (uint32_t i = 0; i < script->bar_count; i++) {
        if (part == EMIT_ALL || (part == EMIT_WEIGHT) == script->bars[i].is_weight) {
            emit_bar(emit, &script->bars[i], script->loss_frac);
        }
    }
    if (has_under) {
        emit->cursor = emit_join(emit, emit->cursor, under);
        const double loss_s = under_loss_s(script) * emit->kernel_factor;
        if (loss_s > 0.0) {
            emit_delay(emit, work_cause_name(script->under[0].message->cause), loss_s);
        }
        emit_push_segment(emit, (struct emit_segment){.task = emit->cursor,
                                                      .dim = script->under[0].message->dim});
    }
    wait_for_host(emit, script, part, start);
}

/* Joins kernels, hangs messages on the kernel that hides them. */
#include "sim/script.h"

#include <assert.h>
#include <string.h>

#define JOINED_MAX 8

/* Copies to the host go a way of their own, which no message of the device is on. */
static const struct lump_list no_lumps = {.pipeline = 1};

static struct move find_copy(const struct script_place *place, const struct work_message *message)
{
    double slowest_s = 0.0;
    for (uint32_t i = 0; i < work_count_kinds(place->work, place->site); i++) {
        const uint32_t kind = work_find_kind(place->work, place->site, i);
        const double own_s = prices_copy_s(place->prices, kind, message->bytes);
        slowest_s = own_s > slowest_s ? own_s : slowest_s;
    }
    const double share = 1.0 / (double)message->period;
    return (struct move){&no_lumps, share, slowest_s * share, message};
}

struct move script_find_move(const struct script_place *place, const struct work_message *message)
{
    if (message->dim == WORK_HOST) {
        return find_copy(place, message);
    }
    struct lump_request request = {.kind = message->kind,
                                   .group = &place->work->groups[message->group],
                                   .bytes = message->bytes,
                                   .crowd = work_find_crowd(place->work, message)};
    const struct lump_list *slowest = NULL;
    for (uint32_t i = 0; i < work_count_kinds(place->work, place->site); i++) {
        request.base = work_find_base(place->work, place->site, i, request.group);
        const struct lump_list *lumps = lump_find(place->book, &request);
        slowest = slowest == NULL || lumps->seconds > slowest->seconds ? lumps : slowest;
    }
    const double share = 1.0 / (double)message->period;
    return (struct move){slowest, share, slowest->seconds / (double)message->period, message};
}

struct writer {
    const struct script_place *place;
    struct script *script;
    struct bar next; /* messages waiting for their kernel */
};

static void add_move(struct writer *writer, const struct work_message *message)
{
    struct move move = script_find_move(writer->place, message);
    const double exposed_frac = prices_exposed_frac(writer->place->prices, message);
    move.share *= exposed_frac;
    move.seconds *= exposed_frac;
    if (message->overlap == OVERLAP_BLOCK) {
        assert(writer->script->under_count < UNDER_MOVE_MAX);
        writer->script->under[writer->script->under_count++] = move;
        return;
    }
    if (message->overlap == OVERLAP_NONE) {
        writer->script->bars[writer->script->bar_count++] = (struct bar){
            .name = work_cause_name(message->cause), .pieces = 1, .moves = {move}, .move_count = 1};
        return;
    }
    struct bar *next = &writer->next;
    assert(next->move_count < BAR_MOVE_MAX);
    next->moves[next->move_count++] = move;
    next->pieces = message->pieces > next->pieces ? message->pieces : next->pieces;
}

/* The ranks of a stage wait for one another: where they sit on several kinds of device, for the
 * slowest. */
static double slowest_s(const struct script_place *place, const struct work_compute *const *items,
                        uint32_t count)
{
    double slowest = 0.0;
    for (uint32_t i = 0; i < work_count_kinds(place->work, place->site); i++) {
        enum provenance provenance;
        const uint32_t kind = work_find_kind(place->work, place->site, i);
        const double own_s = prices_compute_s(place->prices, kind, items, count, &provenance);
        slowest = own_s > slowest ? own_s : slowest;
    }
    return slowest;
}

/* Keys arrive in pieces, so attention runs as that many smaller kernels. */
static double kernel_s(const struct script_place *place, const struct work_compute *const *items,
                       uint32_t count, uint32_t pieces)
{
    if (pieces <= 1 || items[0]->kind != OP_ATTENTION) {
        return slowest_s(place, items, count);
    }
    struct work_compute piece = *items[0];
    piece.keys = piece.keys >= pieces ? piece.keys / pieces : 1;
    piece.flops /= (double)pieces;
    piece.bytes /= (double)pieces;
    const struct work_compute *one = &piece;
    return (double)pieces * slowest_s(place, &one, 1);
}

static void add_kernel(struct writer *writer, const struct work_compute *const *items,
                       uint32_t count)
{
    struct bar bar = writer->next;
    bar.pieces = bar.pieces > 1 ? bar.pieces : 1;
    bar.name = items[0]->name;
    bar.is_kernel = true;
    bar.is_weight = items[0]->pass == PASS_WEIGHT_GRADIENT;
    bar.cost = items[0]->pass == PASS_UPDATE ? COST_OPTIMIZER
               : items[0]->recompute         ? COST_RECOMPUTE
                                             : COST_COMPUTE;
    bar.kernel_s = kernel_s(writer->place, items, count, bar.pieces);
    writer->script->bars[writer->script->bar_count++] = bar;
    memset(&writer->next, 0, sizeof writer->next);
}

/* Messages with no kernel left to hide them. */
static void add_rest(struct writer *writer)
{
    for (uint32_t i = 0; i < writer->next.move_count; i++) {
        const struct move *move = &writer->next.moves[i];
        writer->script->bars[writer->script->bar_count++] =
            (struct bar){.name = work_cause_name(move->message->cause),
                         .pieces = 1,
                         .moves = {*move},
                         .move_count = 1};
    }
}

void script_build(const struct script_place *place, const struct work_items *list,
                  struct arena *arena, struct script *out)
{
    memset(out, 0, sizeof *out);
    out->bars = ARENA_PUSH(arena, struct bar, list->count);
    struct writer writer = {.place = place, .script = out};
    for (uint32_t i = 0; i < list->count;) {
        if (list->items[i].is_message) {
            add_move(&writer, &list->items[i++].message);
            continue;
        }
        const struct work_compute *joined[JOINED_MAX];
        uint32_t count = 0;
        do {
            assert(count < JOINED_MAX);
            joined[count++] = &list->items[i++].compute;
        } while (i < list->count && !list->items[i].is_message && list->items[i].compute.joined);
        add_kernel(&writer, joined, count);
    }
    add_rest(&writer);
    out->host_s = prices_host_s(place->prices, list);
    out->loss_frac = prices_overlap_loss_frac(place->prices);
    assert(out->bar_count <= list->count);
}

/* Joins kernels, hangs messages on the kernel that hides them. */
#include "sim/script.h"

#include <assert.h>
#include <string.h>

#define JOINED_MAX 8

struct move script_find_move(struct lump_book *book, const struct work *work,
                             const struct work_message *message)
{
    const struct lump_list *lumps =
        lump_find(book, message->kind, &work->groups[message->group], message->bytes);
    const double share = 1.0 / (double)message->period;
    return (struct move){lumps, share, lumps->seconds / (double)message->period, message};
}

struct writer {
    struct lump_book *book;
    const struct prices *prices;
    const struct work *work;
    struct script *script;
    struct bar next; /* messages waiting for their kernel */
};

static void add_move(struct writer *writer, const struct work_message *message)
{
    struct move move = script_find_move(writer->book, writer->work, message);
    const double exposed_frac = prices_exposed_frac(writer->prices, message);
    move.share *= exposed_frac;
    move.seconds *= exposed_frac;
    if (message->overlap == OVERLAP_BLOCK) {
        assert(writer->script->under_count < BAR_MOVE_MAX);
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

/* The ranks of a stage wait for one another: where kinds of devices are mixed, for the slowest. */
static double slowest_s(const struct prices *prices, const struct work_compute *const *items,
                        uint32_t count)
{
    double slowest = 0.0;
    for (uint32_t kind = 0; kind < prices->accelerator_count; kind++) {
        enum provenance provenance;
        const double own_s = prices_compute_s(prices, kind, items, count, &provenance);
        slowest = own_s > slowest ? own_s : slowest;
    }
    return slowest;
}

/* Keys arrive in pieces, so attention runs as that many smaller kernels. */
static double kernel_s(const struct prices *prices, const struct work_compute *const *items,
                       uint32_t count, uint32_t pieces)
{
    if (pieces <= 1 || items[0]->kind != OP_ATTENTION) {
        return slowest_s(prices, items, count);
    }
    struct work_compute piece = *items[0];
    piece.keys = piece.keys >= pieces ? piece.keys / pieces : 1;
    piece.flops /= (double)pieces;
    piece.bytes /= (double)pieces;
    const struct work_compute *one = &piece;
    return (double)pieces * slowest_s(prices, &one, 1);
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
    bar.kernel_s = kernel_s(writer->prices, items, count, bar.pieces);
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

void script_build(struct lump_book *book, const struct prices *prices, const struct work *work,
                  const struct work_items *list, struct arena *arena, struct script *out)
{
    memset(out, 0, sizeof *out);
    out->bars = ARENA_PUSH(arena, struct bar, list->count);
    struct writer writer = {.book = book, .prices = prices, .work = work, .script = out};
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
    out->host_s = prices_host_s(prices, list);
    out->loss_frac = prices_overlap_loss_frac(prices);
    assert(out->bar_count <= list->count);
}

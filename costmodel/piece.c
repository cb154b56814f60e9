/* One block priced: kernels one after another, messages between them or under them. */
#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "costmodel/costmodel_inside.h"

#define JOINED_MAX 8
/* Per kind of weights a gather, a sum, two copies; what a layer keeps. */
#define PENDING_MAX (4 * WORK_WEIGHTS_MAX + 1)

/* Messages that travel under the next kernel. */
struct pending {
    const struct work_message *messages[PENDING_MAX];
    double seconds[PENDING_MAX];
    uint32_t count, pieces;
    double total_s;
};

/* Where a block runs: on the devices of a site. */
struct place {
    struct costmodel *model;
    const struct work *work;
    uint32_t site;
};

struct tally {
    const struct place *place;
    struct costmodel *model;
    double *cost_s; /* by cost */
    double weight_s;
    struct pending next, block;
};

static void charge(double *cost_s, const struct pending *pending, double exposed_s)
{
    for (uint32_t i = 0; i < pending->count && pending->total_s > 0.0; i++) {
        cost_s[COST_DIM + pending->messages[i]->dim] +=
            exposed_s * pending->seconds[i] / pending->total_s;
    }
}

static void hold(struct pending *pending, const struct work_message *message, double seconds)
{
    assert(pending->count < PENDING_MAX);
    pending->messages[pending->count] = message;
    pending->seconds[pending->count++] = seconds;
    pending->total_s += seconds;
    pending->pieces = message->pieces > pending->pieces ? message->pieces : pending->pieces;
}

/* Of the groups that stand for the site's, the slowest. */
static double group_s(const struct place *place, const struct work_message *message)
{
    const struct rank_group *group = &place->work->groups[message->group];
    double seconds = 0.0;
    for (uint32_t i = 0; i < work_count_kinds(place->work, place->site); i++) {
        const uint32_t base = work_find_base(place->work, place->site, i, group);
        seconds =
            number_larger(seconds, costmodel_message_s(place->model, place->work, message, base));
    }
    return seconds;
}

static double exchange_s(const struct place *place, const struct work_message *message)
{
    double seconds = 0.0;
    if (message->dim != WORK_HOST) {
        return group_s(place, message);
    }
    for (uint32_t i = 0; i < work_count_kinds(place->work, place->site); i++) {
        const uint32_t kind = work_find_kind(place->work, place->site, i);
        seconds = number_larger(seconds, prices_copy_s(place->model->prices, kind, message->bytes));
    }
    return seconds;
}

static double copies_s(const struct place *place, const struct work_items *list)
{
    double seconds = 0.0;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct work_item *item = &list->items[i];
        const bool copies = item->is_message && item->message.dim == WORK_HOST;
        seconds += copies ? exchange_s(place, &item->message) : 0.0;
    }
    return seconds;
}

static void add_message(struct tally *tally, const struct work_message *message)
{
    const double seconds = exchange_s(tally->place, message) / (double)message->period *
                           prices_exposed_frac(tally->model->prices, message);
    switch (message->overlap) {
    case OVERLAP_NONE: tally->cost_s[COST_DIM + message->dim] += seconds; break;
    case OVERLAP_NEXT: hold(&tally->next, message, seconds); break;
    case OVERLAP_BLOCK: hold(&tally->block, message, seconds); break;
    }
}

/* The ranks of a stage wait for one another: where they sit on several kinds of device, the
 * slowest sets the pace. */
static double price_slowest(const struct place *place, const struct work_compute *const *items,
                            uint32_t count, enum provenance *origin)
{
    double seconds = 0.0;
    enum provenance worst = PROVENANCE_ANALYTIC;
    for (uint32_t i = 0; i < work_count_kinds(place->work, place->site); i++) {
        enum provenance provenance;
        const uint32_t kind = work_find_kind(place->work, place->site, i);
        const double own = prices_compute_s(place->model->prices, kind, items, count, &provenance);
        worst = own > seconds ? provenance : worst;
        seconds = number_larger(seconds, own);
    }
    *origin = worst;
    return seconds;
}

/* Shape of a matrix multiply, joined ones too; 0 for kernels that are priced at once anyway. */
static unsigned long long kernel_key(const struct place *place,
                                     const struct work_compute *const *items, uint32_t count)
{
    unsigned long long key = TEXT_DIGEST_SEED;
    for (uint32_t i = 0;
         place->work->sites.count > 0 && i < work_count_kinds(place->work, place->site); i++) {
        const uint32_t kind = work_find_kind(place->work, place->site, i);
        key = text_digest(key, &kind, sizeof kind);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct work_compute *item = items[i];
        const unsigned long long words[] = {item->m, item->n, item->k, item->groups,
                                            (unsigned long long)item->pass << 32 |
                                                (unsigned long long)item->dtype};
        for (uint32_t w = 0; w < sizeof words / sizeof words[0]; w++) {
            key = text_digest_word(key, words[w]);
        }
    }
    return items[0]->kind == OP_CONTRACT ? key | 1u : 0u;
}

static double slowest_s(const struct place *place, const struct work_compute *const *items,
                        uint32_t count)
{
    struct costmodel *model = place->model;
    const unsigned long long key = kernel_key(place, items, count);
    struct kernel_entry *entry = &model->cache->kernels[key / 2 % KERNEL_ENTRIES];
    if (key == 0 || entry->key != key) {
        enum provenance origin;
        const double seconds = price_slowest(place, items, count, &origin);
        model->provenance_s[origin] += seconds;
        if (key != 0) {
            *entry = (struct kernel_entry){key, seconds, origin};
        }
        return seconds;
    }
    model->provenance_s[entry->origin] += entry->seconds;
    return entry->seconds;
}

/* A kernel fed in `pieces` parts runs as that many kernels on its share of keys: smaller ones are
 * less efficient, never more (keys are rounded down here, and measured tables may dip). */
static double kernel_s(const struct place *place, const struct work_compute *const *items,
                       uint32_t count, uint32_t pieces)
{
    if (pieces <= 1 || items[0]->kind != OP_ATTENTION) {
        return slowest_s(place, items, count);
    }
    struct work_compute part = *items[0];
    part.keys = part.keys / pieces > 0 ? part.keys / pieces : 1;
    part.flops /= (double)pieces;
    part.bytes /= (double)pieces;
    const struct work_compute *one = &part;
    enum provenance origin;
    return number_larger((double)pieces * slowest_s(place, &one, 1),
                         price_slowest(place, items, count, &origin));
}

/* The first of `pieces` parts is on the device already; the others arrive one after another, each
 * under the work on the part before. In one piece the message runs beside the kernel. */
static double overlapped_s(double kernel, double message, uint32_t pieces, double loss_frac)
{
    if (pieces <= 1) {
        return number_larger(kernel, message) + loss_frac * number_smaller(kernel, message);
    }
    const double parts = (double)pieces, work = kernel / parts, part = message / (parts - 1.0);
    return work +
           (parts - 1.0) * (number_larger(work, part) + loss_frac * number_smaller(work, part));
}

static void add_kernel(struct tally *tally, const struct work_compute *const *items, uint32_t count)
{
    const double seconds = kernel_s(tally->place, items, count, tally->next.pieces);
    const double loss_frac = prices_overlap_loss_frac(tally->model->prices);
    const double with_messages =
        tally->next.count == 0
            ? seconds
            : overlapped_s(seconds, tally->next.total_s, tally->next.pieces, loss_frac);
    const enum cost cost = items[0]->pass == PASS_UPDATE ? COST_OPTIMIZER
                           : items[0]->recompute         ? COST_RECOMPUTE
                                                         : COST_COMPUTE;
    tally->cost_s[cost] += seconds;
    /* parts of a kernel may sum to a last bit less than the kernel */
    charge(tally->cost_s, &tally->next, number_larger(0.0, with_messages - seconds));
    tally->weight_s += items[0]->pass == PASS_WEIGHT_GRADIENT ? with_messages : 0.0;
    tally->next.count = tally->next.pieces = 0;
    tally->next.total_s = 0.0;
}

static double total(const double *cost_s)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < COST_COUNT; i++) {
        sum += cost_s[i];
    }
    return sum;
}

static double add_items(struct tally *tally, const struct work_items *list)
{
    const struct work_compute *joined[JOINED_MAX];
    for (uint32_t i = 0; i < list->count;) {
        if (list->items[i].is_message) {
            add_message(tally, &list->items[i++].message);
            continue;
        }
        uint32_t count = 0;
        do {
            assert(count < JOINED_MAX);
            joined[count++] = &list->items[i++].compute;
        } while (i < list->count && !list->items[i].is_message && list->items[i].compute.joined);
        add_kernel(tally, joined, count);
    }
    charge(tally->cost_s, &tally->next, tally->next.total_s); /* nothing left to hide under */
    const double busy = total(tally->cost_s);
    charge(tally->cost_s, &tally->block,
           number_larger(0.0, tally->block.total_s - busy) +
               prices_overlap_loss_frac(tally->model->prices) *
                   number_smaller(tally->block.total_s, busy));
    return total(tally->cost_s);
}

static double list_s(const struct place *place, const struct work_items *list, double *cost_s,
                     double *weight_s)
{
    struct tally tally = {.place = place, .model = place->model, .cost_s = cost_s};
    const double device_s = add_items(&tally, list);
    const double seconds = number_larger(device_s, prices_host_s(place->model->prices, list));
    cost_s[COST_OVERHEAD] += seconds - device_s;
    if (weight_s != NULL) {
        *weight_s = tally.weight_s;
    }
    return seconds;
}

/* Sums over a step: those whose result a later step waits for are kept apart. */
static void add_sums(const struct place *place, const struct work_items *list, double *now_s,
                     double *later_s)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct work_message *message = &list->items[i].message;
        assert(list->items[i].is_message);
        const double seconds = exchange_s(place, message) / (double)message->period;
        *(message->distance == 0 ? now_s : later_s) += seconds;
    }
}

static bool same_lists(const struct work_block *a, const struct work_block *b)
{
    return a->forward.items == b->forward.items && a->forward.count == b->forward.count &&
           a->backward.items == b->backward.items && a->backward.count == b->backward.count;
}

void costmodel_piece(struct costmodel *model, const struct work *work, uint32_t block,
                     uint32_t site, const struct piece *like, struct piece *out)
{
    const struct place place = {model, work, site};
    const struct work_block *which = &work->blocks[block];
    double update_s[COST_COUNT] = {0.0};
    if (like != NULL && same_lists(like->block, which)) {
        *out = *like;
        out->gather_s = out->sync_s = out->stale_s = 0.0;
    } else {
        memset(out, 0, sizeof *out);
        out->forward_total_s = list_s(&place, &which->forward, out->forward_s, NULL);
        out->backward_total_s = list_s(&place, &which->backward, out->backward_s, &out->weight_s);
    }
    out->block = which;
    out->update_s = list_s(&place, &which->update, update_s, NULL);
    out->update_copy_s = update_s[COST_HOST];
    out->copy_s = copies_s(&place, &which->forward) + copies_s(&place, &which->backward);
    add_sums(&place, &which->gather, &out->gather_s, &out->stale_s);
    add_sums(&place, &which->sync, &out->sync_s, &out->stale_s);
}

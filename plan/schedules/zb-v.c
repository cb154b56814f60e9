/* Two model chunks per stage, the chain going down the stages and back up, weight gradients in
 * the waits (Qi et al. 2024, ZB-V; order as in torch.distributed.pipelining,
 * ScheduleZBVZeroBubble). */
#include "plan/schedules/folded.h"

static const char *refuses(const struct schedule_shape *shape)
{
    return shape->chunks == 2 ? NULL
                              : "the chain goes down the stages and back up once: chunks must be 2";
}

/* The order is made for at least 2 * stages - 1 micro-batches; slots of those that do not exist
 * are left out, in time that does not grow with their number. */
struct writer {
    struct slot *out;
    uint32_t count, micro_batches;
    uint32_t next[SLOT_KIND_COUNT][2]; /* next micro-batch per kind and chunk */
};

static void push(struct writer *writer, enum slot_kind kind, uint32_t chunk)
{
    uint32_t micro_batch = writer->next[kind][chunk]++;
    if (micro_batch < writer->micro_batches) {
        writer->out[writer->count++] =
            (struct slot){.kind = kind, .micro_batch = micro_batch, .chunk = chunk};
    }
}

/* So often one slot of each of these, in this order. */
struct round {
    uint32_t count;
    struct {
        enum slot_kind kind;
        uint32_t chunk;
    } slots[3];
};

static void push_rounds(struct writer *writer, const struct round *round, uint32_t times)
{
    for (; times > 0; times--) {
        bool exists = false;
        for (uint32_t i = 0; i < round->count; i++) {
            exists = exists || writer->next[round->slots[i].kind][round->slots[i].chunk] <
                                   writer->micro_batches;
        }
        for (uint32_t i = 0; i < round->count && exists; i++) {
            push(writer, round->slots[i].kind, round->slots[i].chunk);
        }
        for (uint32_t i = 0; i < round->count && !exists; i++) {
            writer->next[round->slots[i].kind][round->slots[i].chunk] += times;
        }
        if (!exists) {
            return;
        }
    }
}

/* Are all slots written that exist? */
static bool is_done(const struct writer *writer)
{
    return writer->count == 6 * writer->micro_batches;
}

static void push_gradients(struct writer *writer, uint32_t chunk)
{
    push(writer, SLOT_INPUT_GRADIENT, chunk);
    push(writer, SLOT_WEIGHT_GRADIENT, chunk);
}

static void push_warm_up(struct writer *writer, uint32_t stage, uint32_t after)
{
    static const struct round first = {1, {{SLOT_FORWARD, 0}}};
    static const struct round both = {2, {{SLOT_FORWARD, 1}, {SLOT_FORWARD, 0}}};
    static const struct round second = {
        3, {{SLOT_FORWARD, 1}, {SLOT_INPUT_GRADIENT, 1}, {SLOT_WEIGHT_GRADIENT, 1}}};
    push_rounds(writer, &first, 2 * after + 1);
    push_rounds(writer, &both, stage);
    push_rounds(writer, &second, after + 1);
}

static void push_steady(struct writer *writer, uint32_t total)
{
    while (writer->next[SLOT_FORWARD][1] < total && !is_done(writer)) {
        if (writer->next[SLOT_FORWARD][0] < total) {
            push(writer, SLOT_FORWARD, 0);
        }
        push_gradients(writer, 0);
        push(writer, SLOT_FORWARD, 1);
        push_gradients(writer, 1);
    }
}

static void push_cool_down(struct writer *writer, uint32_t stage, uint32_t after)
{
    static const struct round inputs = {2, {{SLOT_INPUT_GRADIENT, 0}, {SLOT_INPUT_GRADIENT, 1}}};
    static const struct round first = {2, {{SLOT_INPUT_GRADIENT, 0}, {SLOT_WEIGHT_GRADIENT, 0}}};
    push_rounds(writer, &inputs, stage);
    push_rounds(writer, &first, after + 1);
    for (uint32_t chunk = 2; chunk-- > 0 && !is_done(writer);) {
        while (writer->next[SLOT_WEIGHT_GRADIENT][chunk] <
               writer->next[SLOT_INPUT_GRADIENT][chunk]) {
            push(writer, SLOT_WEIGHT_GRADIENT, chunk);
        }
    }
}

static uint32_t stream(const struct schedule_shape *shape, uint32_t stage, struct slot *out)
{
    uint32_t least = 2 * shape->stages - 1, after = shape->stages - 1 - stage;
    uint32_t total = shape->micro_batches > least ? shape->micro_batches : least;
    struct writer writer = {.out = out, .micro_batches = shape->micro_batches};
    push_warm_up(&writer, stage, after);
    push_steady(&writer, total);
    push_cool_down(&writer, stage, after);
    return writer.count;
}

const struct schedule schedule_zb_v = {
    .name = "zb-v",
    .on_demand = true,
    .summary = "two model chunks per stage, down and back up, weight gradients in the waits",
    .chunked = true,
    .splits = true,
    .refuses = refuses,
    .stream = stream,
    .place = folded_place,
};

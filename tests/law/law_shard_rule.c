/* What the sharding rule makes travel, whatever the mesh: the textbook's traffic. */
#include <string.h>

#include "tests/law/built_work.h"

#define ELEMENT_BYTES 2.0

/* --- messages of one kind in a list ----------------------------------------------------------- */

struct traffic {
    uint32_t count;
    double bytes; /* all together */
    double largest_bytes;
    uint32_t ranks, least_pieces;
    bool hidden; /* all of them */
};

static struct traffic traffic_of(const struct work *work, const struct work_items *items,
                                 enum collective_kind kind)
{
    struct traffic traffic = {.least_pieces = UINT32_MAX, .hidden = true};
    for (uint32_t i = 0; i < items->count; i++) {
        const struct work_message *message = &items->items[i].message;
        if (!items->items[i].is_message || message->kind != kind) {
            continue;
        }
        traffic.count++;
        traffic.bytes += message->bytes;
        traffic.ranks = work->groups[message->group].ranks;
        traffic.hidden = traffic.hidden && message->overlap == OVERLAP_NEXT;
        if (message->bytes > traffic.largest_bytes) {
            traffic.largest_bytes = message->bytes;
        }
        if (message->pieces < traffic.least_pieces) {
            traffic.least_pieces = message->pieces;
        }
    }
    return traffic;
}

/* `count` messages of that kind, each of those bytes, over that many ranks. */
static void expect_traffic(const struct work *work, const struct work_items *items,
                           enum collective_kind kind, uint32_t count, double bytes, uint32_t ranks)
{
    const struct traffic traffic = traffic_of(work, items, kind);
    ck_assert_msg(traffic.count == count, "%s: %u %s, should be %u", model.name, traffic.count,
                  collective_kind_name(kind), count);
    ck_assert_msg(count == 0 || (same(traffic.bytes, bytes * count) &&
                                 same(traffic.largest_bytes, bytes) && traffic.ranks == ranks),
                  "%s: %s of %g bytes in all over %u ranks, should be %u of %g over %u", model.name,
                  collective_kind_name(kind), traffic.bytes, traffic.ranks, count, bytes, ranks);
}

/* --- tensor parallelism ----------------------------------------------------------------------- */

static double stream_bytes(uint32_t micro_batch)
{
    return (double)micro_batch * (double)setup.seq_length * model.transformer->hidden *
           ELEMENT_BYTES;
}

static bool fits_tp(uint32_t tp)
{
    return model.transformer->heads % tp == 0 && model.transformer->kv_heads % tp == 0;
}

/* Two all-reduces forward, two backward, each of s b h elements (Megatron-LM, 2019). */
static void expect_tensor(uint32_t tp)
{
    struct single single;
    init(&single, 3);
    add_factor(&single, "tp", tp, NULL);
    const struct work *work = start(&single.plan);
    const struct work_block *layer = middle(work);
    const double bytes = stream_bytes(3);
    expect_traffic(work, &layer->forward, COLLECTIVE_ALL_REDUCE, 2, bytes, tp);
    expect_traffic(work, &layer->backward, COLLECTIVE_ALL_REDUCE, 2, bytes, tp);
    ck_assert_uint_eq(count_messages(&layer->forward), 2);
    ck_assert_uint_eq(count_messages(&layer->backward), 2);
}

/* The same bytes as pairs of all-gather with reduce-scatter (Korthikanti et al., 2022); backward
 * gathers both sharded inputs again for the weight gradients. */
static void expect_sequence(uint32_t tp)
{
    struct single single;
    init(&single, 3);
    add_factor(&single, "tp", tp, NULL);
    add_fold(&single, "sp", tp);
    const struct work *work = start(&single.plan);
    const struct work_block *layer = middle(work);
    const double bytes = stream_bytes(3);
    expect_traffic(work, &layer->forward, COLLECTIVE_ALL_GATHER, 2, bytes, tp);
    expect_traffic(work, &layer->forward, COLLECTIVE_REDUCE_SCATTER, 2, bytes, tp);
    expect_traffic(work, &layer->backward, COLLECTIVE_ALL_GATHER, 2 + 2, bytes, tp);
    expect_traffic(work, &layer->backward, COLLECTIVE_REDUCE_SCATTER, 2, bytes, tp);
    ck_assert_uint_eq(count_messages(&layer->forward), 4);
    ck_assert_uint_eq(count_messages(&layer->backward), 6);
}

START_TEST(tensor_ranks_meet_four_times_a_layer)
{
    uint32_t met = 0;
    for (uint32_t m = 0; m < DECODER_COUNT; m++) {
        begin(decoders[m]);
        for (uint32_t tp = 2; tp <= 8; tp *= 2) {
            if (fits_tp(tp)) {
                expect_tensor(tp);
                expect_sequence(tp);
                met++;
            }
        }
        arena_release(&arena);
    }
    ck_assert_uint_gt(met, 12);
}
END_TEST

/* --- gradient sums ---------------------------------------------------------------------------- */

/* Elements of all layers: those in gradient sums over a group, or all that a device holds. */
static double elements(const struct work *work, bool summed)
{
    const uint32_t layers = plan_count_layers(&model);
    uint32_t counts[WORK_BLOCK_MAX];
    double sum = 0.0;
    work_count_blocks(work, &layers, counts);
    for (uint32_t b = 0; b < work->block_count; b++) {
        const struct work_block *block = &work->blocks[b];
        for (uint32_t i = 0; i < block->sync.count && summed; i++) {
            ck_assert(block->sync.items[i].is_message);
            sum += counts[b] * block->sync.items[i].message.bytes / runtime.gradient_bytes;
        }
        for (uint32_t i = 0; i < block->weights_count && !summed; i++) {
            sum += block->weights[i].tied ? 0.0 : counts[b] * (double)block->weights[i].elements;
        }
    }
    return sum;
}

/* Data and context ranks sum each parameter once: no more, no fewer, tied ones once. */
START_TEST(replicas_sum_exactly_the_parameters)
{
    static const uint32_t degrees[][2] = {{2, 1}, {1, 2}, {4, 2}, {2, 4}, {16, 2}};
    for (uint32_t m = 0; m < DECODER_COUNT + MIXTURE_COUNT; m++) {
        begin(m < DECODER_COUNT ? decoders[m] : mixtures[m - DECODER_COUNT]);
        runtime.vocab_multiple = 1;
        const double parameters = (double)model_count_parameters(&model);
        for (uint32_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++) {
            struct single single;
            init(&single, 1);
            add_factor(&single, "dp", degrees[i][0], NULL);
            add_factor(&single, "cp", degrees[i][1], "ring");
            const struct work *work = finish(&single.plan);
            const struct work_block *layer = middle(work);
            ck_assert_msg(same(elements(work, true), parameters),
                          "%s: sums of %.0f elements, should be %.0f", model.name,
                          elements(work, true), parameters);
            const struct traffic sums = traffic_of(work, &layer->sync, COLLECTIVE_ALL_REDUCE);
            ck_assert_uint_eq(sums.ranks, degrees[i][0] * degrees[i][1]);
        }
        arena_release(&arena);
    }
}
END_TEST

/* Parameters of a part that tensor ranks cannot cut: norms, biases behind a sum, the router,
 * positions. */
static double replicated(void)
{
    double sum = 0.0;
    for (uint32_t run = 0; run < model.run_count; run++) {
        const struct part *part = &model.parts[model.chain[run].part];
        for (uint32_t k = 0; k < part->op_count * OP_WEIGHT_MAX; k++) {
            const struct op *op = &model.ops[part->first_op + k / OP_WEIGHT_MAX];
            if (k % OP_WEIGHT_MAX >= op->weight_count) {
                continue;
            }
            const struct tensor *weight = &model.tensors[op->weights[k % OP_WEIGHT_MAX]];
            double size = weight->copies;
            for (uint32_t axis = 0; axis < model.axis_count; axis++) {
                size *= (weight->axes >> axis & 1u) != 0 ? (double)model.axes[axis].size : 1.0;
            }
            sum += (weight->axes & tensor_axes()) == 0 ? size * model.chain[run].count : 0.0;
        }
    }
    return sum;
}

START_TEST(tensor_ranks_share_all_but_the_replicated)
{
    for (uint32_t m = 0; m < DECODER_COUNT; m++) {
        begin(decoders[m]);
        runtime.vocab_multiple = 1;
        for (uint32_t tp = 2; tp <= 8; tp *= 2) {
            if (!fits_tp(tp) || model.transformer->vocab % tp != 0) {
                continue;
            }
            struct single single;
            init(&single, 1);
            add_factor(&single, "tp", tp, NULL);
            const double held = elements(finish(&single.plan), false) * tp;
            const double expected =
                (double)model_count_parameters(&model) + (tp - 1.0) * replicated();
            ck_assert_msg(same(held, expected), "%s tp %u: %.0f elements, should be %.0f",
                          model.name, tp, held, expected);
        }
        arena_release(&arena);
    }
}
END_TEST

/* Tensor ranks with the same tokens have the same gradients of what they replicate, except of a
 * gain that all heads share. Under sequence parallelism each has seen its own share of the
 * tokens: all of it is summed. */
START_TEST(replicated_weights_are_summed_where_ranks_saw_different_work)
{
    for (uint32_t m = 0; m < DECODER_COUNT; m++) {
        begin(decoders[m]);
        const struct transformer *shape = model.transformer;
        const double shared = shape->qk_norm ? 2.0 * shape->head_dim * shape->layers : 0.0;
        struct single single;
        init(&single, 1);
        add_factor(&single, "tp", 4, NULL);
        const double repeated = elements(finish(&single.plan), true);
        ck_assert_msg(same(repeated, shared), "%s: sums of %.0f elements, should be %.0f",
                      model.name, repeated, shared);
        add_fold(&single, "sp", 4);
        const double summed = elements(finish(&single.plan), true);
        ck_assert_msg(same(summed, replicated()), "%s: sums of %.0f elements, should be %.0f",
                      model.name, summed, replicated());
        arena_release(&arena);
    }
}
END_TEST

/* --- context and expert parallelism ----------------------------------------------------------- */

static double heads_bytes(uint32_t heads, uint32_t cp)
{
    return 2.0 * (double)setup.seq_length / cp * heads * model.transformer->head_dim *
           ELEMENT_BYTES;
}

/* Q, K with V, and the output trade sequence for heads, forward and backward alike (DeepSpeed
 * Ulysses, 2023): four times a tensor of s b h / cp where all heads have keys. */
START_TEST(ulysses_trades_four_tensors)
{
    for (uint32_t m = 0; m < DECODER_COUNT; m++) {
        begin(decoders[m]);
        for (uint32_t cp = 2; cp <= 4; cp *= 2) {
            struct single single;
            init(&single, 2);
            add_factor(&single, "cp", cp, "ulysses");
            const struct work *work = start(&single.plan);
            const struct work_block *layer = middle(work);
            const double all = 2.0 * heads_bytes(model.transformer->heads, cp) +
                               2.0 * heads_bytes(model.transformer->kv_heads, cp);
            const struct traffic forward = traffic_of(work, &layer->forward, COLLECTIVE_ALL_TO_ALL);
            const struct traffic backward =
                traffic_of(work, &layer->backward, COLLECTIVE_ALL_TO_ALL);
            ck_assert_msg(same(forward.bytes, all), "%s cp %u: %g bytes, should be %g", model.name,
                          cp, forward.bytes, all);
            ck_assert(same(backward.bytes, all));
            /* K and V are one tensor, one message */
            ck_assert_uint_eq(forward.count, 3);
            ck_assert_uint_eq(count_messages(&layer->forward), 3);
            ck_assert_uint_eq(backward.count, 3);
            ck_assert_uint_eq(count_messages(&layer->backward), 3);
            ck_assert_uint_eq(forward.ranks, cp);
        }
        arena_release(&arena);
    }
}
END_TEST

/* K and V of the whole sequence come by in as many pieces as ranks; backward once more, with their
 * gradients going round to where they belong (Ring Attention, 2023). */
START_TEST(ring_passes_keys_and_values_in_pieces)
{
    for (uint32_t m = 0; m < DECODER_COUNT; m++) {
        begin(decoders[m]);
        for (uint32_t cp = 2; cp <= 8; cp *= 2) {
            struct single single;
            init(&single, 2);
            add_factor(&single, "cp", cp, "ring");
            const struct work *work = start(&single.plan);
            const struct work_block *layer = middle(work);
            const double bytes = 2.0 * heads_bytes(model.transformer->kv_heads, 1);
            expect_traffic(work, &layer->forward, COLLECTIVE_ALL_GATHER, 1, bytes, cp);
            expect_traffic(work, &layer->backward, COLLECTIVE_ALL_GATHER, 1, bytes, cp);
            expect_traffic(work, &layer->backward, COLLECTIVE_REDUCE_SCATTER, 1, bytes, cp);
            ck_assert_uint_eq(count_messages(&layer->forward), 1);
            ck_assert_uint_eq(count_messages(&layer->backward), 2);
            const struct traffic gather = traffic_of(work, &layer->forward, COLLECTIVE_ALL_GATHER);
            ck_assert(gather.hidden && gather.least_pieces == cp);
        }
        arena_release(&arena);
    }
}
END_TEST

/* Tokens go to their experts and come back: two all-to-alls forward, two backward, each of tokens x
 * top_k x hidden (GShard, 2020). */
START_TEST(experts_receive_their_tokens)
{
    static const uint32_t degrees[][2] = {{8, 8}, {8, 4}, {4, 4}, {4, 2}};
    for (uint32_t m = 0; m < MIXTURE_COUNT; m++) {
        begin(mixtures[m]);
        const struct transformer *shape = model.transformer;
        for (uint32_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++) {
            const uint32_t dp = degrees[i][0], ep = degrees[i][1];
            struct single single;
            init(&single, 2);
            add_factor(&single, "dp", dp, NULL);
            add_fold(&single, "ep", ep);
            const struct work *work = start(&single.plan);
            const struct work_block *layer = middle(work);
            const double bytes = stream_bytes(2) * shape->moe.top_k;
            expect_traffic(work, &layer->forward, COLLECTIVE_ALL_TO_ALL, 2, bytes, ep);
            expect_traffic(work, &layer->backward, COLLECTIVE_ALL_TO_ALL, 2, bytes, ep);
            ck_assert_uint_eq(count_messages(&layer->forward), 2);
            ck_assert_uint_eq(count_messages(&layer->backward), 2);
        }
        arena_release(&arena);
    }
}
END_TEST

TAP_MAIN("law of the sharding rule", tensor_ranks_meet_four_times_a_layer,
         replicas_sum_exactly_the_parameters, tensor_ranks_share_all_but_the_replicated,
         replicated_weights_are_summed_where_ranks_saw_different_work, ulysses_trades_four_tensors,
         ring_passes_keys_and_values_in_pieces, experts_receive_their_tokens)

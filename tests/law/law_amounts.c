/* Amounts that the setup states of sequences and experts: rows of several sequences, ranks of
 * experts that are not loaded alike. */
#include <string.h>

#include "tests/law/built_work.h"

static const struct work *built(const char *dim, uint32_t degree, uint32_t experts)
{
    struct single *single = ARENA_PUSH(&arena, struct single, 1);
    init(single, 1);
    if (degree > 1) {
        add_factor(single, dim, degree, NULL);
    }
    if (experts > 1) {
        add_fold(single, "ep", experts);
    }
    return finish(&single->plan);
}

static const struct work_compute *find_attention(const struct work_block *block)
{
    for (uint32_t i = 0; i < block->forward.count; i++) {
        const struct work_item *item = &block->forward.items[i];
        if (!item->is_message && item->compute.kind == OP_ATTENTION) {
            return &item->compute;
        }
    }
    ck_abort_msg("no attention");
}

/* Of a row made of whole sequences: queries x keys that meet, one by one. */
static double count_pairs(const uint64_t *row, uint32_t sequences, uint64_t window)
{
    double pairs = 0.0;
    for (uint32_t i = 0; i < sequences; i++) {
        for (uint64_t query = 0; query < row[i]; query++) {
            pairs += (double)(query + 1 < window ? query + 1 : window);
        }
    }
    return pairs;
}

#define ROW 4096u

START_TEST(packed_rows_have_the_pairs_of_their_sequences)
{
    static const uint64_t row[] = {512, 512, 1024, 2048};
    static const struct length_share shares[] = {{512, 0.5}, {1024, 0.25}, {2048, 0.25}};
    static const struct length_share alone[] = {{ROW, 1.0}};
    static const char *const names[] = {"llama-3.1-8b", "mistral-7b"};
    for (uint32_t m = 0; m < 2; m++) {
        begin(names[m]);
        setup.seq_length = ROW;
        setup.packing = PACKING_PACK;
        setup.lengths = shares;
        setup.length_count = 3;
        const uint64_t window = model.transformer->window == 0 ? ROW : model.transformer->window;
        const double all = (double)ROW * ROW;
        const struct work_compute *packed = find_attention(middle(built("dp", 1, 1)));
        ck_assert(same(packed->density_frac, count_pairs(row, 4, window) / all));
        const double flops = packed->flops;
        setup.packing = PACKING_PAD;
        const struct work_compute *padded = find_attention(middle(built("dp", 1, 1)));
        const uint64_t whole[] = {ROW};
        ck_assert(same(padded->density_frac, count_pairs(whole, 1, window) / all));
        ck_assert(flops < padded->flops);
        setup.packing = PACKING_PACK;
        setup.lengths = alone;
        setup.length_count = 1;
        ck_assert(same(find_attention(middle(built("dp", 1, 1)))->flops, padded->flops));
        arena_release(&arena);
    }
}
END_TEST

/* Half of the sequences are a quarter as long: 5/8 of the positions are tokens; of those tokens one
 * in five is in a short one. */
START_TEST(shares_of_sequences_become_shares_of_tokens)
{
    static const struct length_share shares[] = {{1024, 0.5}, {4096, 0.5}};
    begin("toy-4l");
    setup.seq_length = 4096;
    setup.lengths = shares;
    setup.length_count = 2;
    ck_assert(same(setup_mean_length(&setup), 2560.0));
    ck_assert(same(setup_token_frac(&setup), 0.625));
    ck_assert(same(setup_length_frac(&setup, 0), 0.2));
    ck_assert(same(setup_length_frac(&setup, 1), 0.8));
    arena_release(&arena);
}
END_TEST

static double routed_flops(const struct work_block *block, bool grouped)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < block->forward.count; i++) {
        const struct work_compute *compute = &block->forward.items[i].compute;
        if (!block->forward.items[i].is_message && compute->kind == OP_CONTRACT &&
            (compute->groups > 1) == grouped) {
            sum += compute->flops;
        }
    }
    return sum;
}

static double exchanged_bytes(const struct work_block *block)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < block->forward.count; i++) {
        const struct work_item *item = &block->forward.items[i];
        sum += item->is_message && item->message.kind == COLLECTIVE_ALL_TO_ALL ? item->message.bytes
                                                                               : 0.0;
    }
    return sum;
}

/* The busiest of the ranks that share experts out has more of their work, and of what it is sent;
 * all else stays. A rank with all experts has all tokens anyway. */
START_TEST(load_of_experts_is_work_of_experts)
{
    for (uint32_t m = 0; m < MIXTURE_COUNT; m++) {
        begin(mixtures[m]);
        const struct work_block *even = middle(built("dp", 2, 2));
        setup.expert_load = 1.5;
        const struct work_block *busy = middle(built("dp", 2, 2));
        ck_assert_double_eq_tol(routed_flops(busy, true) / routed_flops(even, true), 1.5, 1e-9);
        ck_assert(same(routed_flops(busy, false), routed_flops(even, false)));
        ck_assert(same(exchanged_bytes(busy), 1.5 * exchanged_bytes(even)));
        ck_assert(busy->saved_bytes > even->saved_bytes);
        ck_assert(busy->saved_bytes < 1.5 * even->saved_bytes);
        const struct work_block *alone = middle(built("dp", 2, 1));
        setup.expert_load = 1.0;
        ck_assert(same(routed_flops(alone, true), routed_flops(middle(built("dp", 2, 1)), true)));
        arena_release(&arena);
    }
}
END_TEST

TAP_MAIN("law of amounts", packed_rows_have_the_pairs_of_their_sequences,
         shares_of_sequences_become_shares_of_tokens, load_of_experts_is_work_of_experts)

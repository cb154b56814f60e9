/* Are two descriptions of transformers equal in all that counts? Not: the name of the family. */
#ifndef SHARDPLAN_TESTS_LAW_SAME_TRANSFORMER_H
#define SHARDPLAN_TESTS_LAW_SAME_TRANSFORMER_H

#include <string.h>

#include "models/transformer.h"
#include "tests/tap_main.h"

static inline void expect_same(const char *name, const struct transformer *a,
                               const struct transformer *b)
{
#define SAME(member) \
    ck_assert_msg(a->member == b->member, "%s: " #member " %g is not %g", name, (double)a->member, \
                  (double)b->member)
    SAME(layers);
    SAME(hidden);
    SAME(heads);
    SAME(kv_heads);
    SAME(head_dim);
    SAME(ffn);
    SAME(vocab);
    SAME(gated);
    SAME(norm);
    SAME(positions);
    SAME(max_positions);
    SAME(tied_embeddings);
    SAME(qkv_bias);
    SAME(attention_output_bias);
    SAME(mlp_bias);
    SAME(qk_norm);
    SAME(dropout_frac);
    SAME(window);
    SAME(moe.experts);
    SAME(moe.top_k);
    SAME(moe.ffn);
    SAME(moe.shared_ffn);
    SAME(moe.first_dense);
    SAME(moe.every);
    SAME(form);
    SAME(bidirectional);
    SAME(encoder_layers);
    SAME(mla.kv_rank);
    SAME(scan.heads);
#undef SAME
    const char *const letters[] = {a->mixers, b->mixers, a->mlps, b->mlps};
    for (uint32_t i = 0; i < 4; i += 2) {
        ck_assert_msg((letters[i] == NULL) == (letters[i + 1] == NULL) &&
                          (letters[i] == NULL || strcmp(letters[i], letters[i + 1]) == 0),
                      "%s: layers %s are not %s", name, letters[i], letters[i + 1]);
    }
    ck_assert_msg(strcmp(a->activation, b->activation) == 0, "%s: activation %s is not %s", name,
                  a->activation, b->activation);
}

#endif

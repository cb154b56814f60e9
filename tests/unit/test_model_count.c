/* Parameters and FLOPs are those of the published formulas. */
#include "models/model.h"

#include "tests/tap_main.h"
#include "tests/unit/transformer_shapes.h"

/* Layer 12 h^2 + 13 h; model 12 l h^2 (1 + 13/(12 h) + (V + s)/(12 l h)), without the last norm;
 * FLOPs of one token forward and backward 72 l h^2 (1 + s/(6 h) + V/(12 l h)) (Narayanan et al.
 * 2021). */
START_TEST(megatron_formulas_hold)
{
    static const struct {
        uint32_t hidden, layers, heads;
        double billions; /* as printed */
    } rows[] = {
        {2304, 24, 24, 1.7},       {3072, 30, 32, 3.6},     {4096, 36, 32, 7.5},
        {6144, 40, 48, 18.4},      {8192, 48, 64, 39.1},    {10240, 60, 80, 76.1},
        {12288, 80, 96, 145.6},    {16384, 96, 128, 310.1}, {20480, 105, 128, 529.6},
        {25600, 128, 160, 1008.0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct transformer shape = gpt;
        shape.hidden = rows[i].hidden;
        shape.layers = rows[i].layers;
        shape.heads = shape.kv_heads = rows[i].heads;
        shape.head_dim = rows[i].hidden / rows[i].heads;
        shape.ffn = 4 * rows[i].hidden;
        shape.vocab = 51200;
        shape.max_positions = 2048;
        const struct model model = build(shape);
        const uint64_t h = rows[i].hidden, l = rows[i].layers;
        const uint32_t decoder = (uint32_t)(find_part(&model, "decoder") - model.parts);
        ck_assert_uint_eq(model_count_part_parameters(&model, decoder), 12 * h * h + 13 * h);
        const uint64_t parameters = model_count_parameters(&model);
        ck_assert_uint_eq(parameters, l * (12 * h * h + 13 * h) + (51200 + 2048) * h + 2 * h);
        /* Their last digit is cut or rounded: within one unit of it. */
        ck_assert_double_eq_tol((double)parameters / 1e9, rows[i].billions, 0.1);
        const double dl = (double)l, dh = (double)h;
        const double flops = 72 * dl * dh * dh * (1 + 2048 / (6 * dh) + 51200 / (12 * dl * dh));
        const double found = model_flops_per_token(&model, 2048, false);
        ck_assert_double_eq_tol(found / flops, 1.0, 1e-12);
        arena_release(&arena);
    }
}
END_TEST

/* 6 per matrix parameter that a token meets, and 12 s a d per layer for attention; half of that
 * when the masked half is left out; with a window w < s, w - w^2 / (2 s) keys. */
START_TEST(flops_are_six_per_parameter_and_attention)
{
    const double matrix = 512.0 * 64 * (12 + 12 + 4 + 4), mlp = 3.0 * 512 * 1376,
                 head = 512.0 * 32000;
    const double attention = 12.0 * 6 * 4096 * 12 * 64;
    struct transformer shape = llama;
    struct model model = build(shape);
    const double linear = 6 * (6 * (matrix + mlp) + head);
    ck_assert_double_eq(model_flops_per_token(&model, 4096, false), linear + attention);
    ck_assert_double_eq(model_flops_per_token(&model, 4096, true), linear + attention / 2);
    arena_release(&arena);

    shape.window = 1024;
    model = build(shape);
    ck_assert_double_eq(model_flops_per_token(&model, 4096, false), linear + attention);
    ck_assert_double_eq(model_flops_per_token(&model, 4096, true),
                        linear + attention * (1024 - 1024.0 * 1024 / 8192) / 4096);
    ck_assert_double_eq(model_flops_per_token(&model, 1024, true), linear + attention / 8);
    arena_release(&arena);

    /* Layers 2 to 5 have experts: two of eight per token, the shared one always, and the router. */
    shape = with_experts(704, 2, 1);
    model = build(shape);
    const double moe = 3.0 * 512 * 704 * (2 + 1) + 512.0 * 8;
    ck_assert_double_eq(model_flops_per_token(&model, 4096, false),
                        6 * (6 * matrix + 2 * mlp + 4 * moe + head) + attention);
    arena_release(&arena);
}
END_TEST

START_TEST(counts_experts_and_ties)
{
    const uint64_t attention = 512 * 64 * (12 + 12 + 4 + 4) + 2 * 512, expert = 3 * 512 * 704,
                   dense = 3 * 512 * 1376, ends = 2 * 512 * 32000 + 512;
    struct transformer shape = with_experts(704, 2, 1);
    struct model model = build(shape);
    const uint64_t fixed = 6 * attention + 2 * dense + 4 * (512 * 8 + expert) + ends;
    ck_assert_uint_eq(model_count_parameters(&model), fixed + 4 * 8 * expert);
    ck_assert_uint_eq(model_count_active_parameters(&model), fixed + 4 * 2 * expert);
    arena_release(&arena);
    shape.tied_embeddings = true;
    model = build(shape);
    ck_assert_uint_eq(model_count_parameters(&model), fixed + 4 * 8 * expert - 512 * 32000);
    arena_release(&arena);
    /* A share that no double holds exactly still counts whole parameters. */
    shape = with_experts(0, 0, 1);
    shape.moe.experts = 49;
    shape.moe.top_k = 3;
    model = build(shape);
    ck_assert_uint_eq(model_count_active_parameters(&model),
                      6 * (attention + 512 * 49 + 3 * expert) + ends);
    arena_release(&arena);
}
END_TEST

TAP_MAIN("model_count", megatron_formulas_hold, flops_are_six_per_parameter_and_attention,
         counts_experts_and_ties)

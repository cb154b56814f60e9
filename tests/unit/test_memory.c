/* Memory against the published formulas: states, activations per layer, what is in flight. */
#include <string.h>

#include "tests/law/judged_plan.h"

/* A tensor-parallel plan; `with_sequence` cuts the stream too. */
static void init_tensor(struct single *single, uint32_t micro_batch, uint32_t tp,
                        bool with_sequence)
{
    init(single, micro_batch);
    add_factor(single, "tp", tp, NULL);
    if (with_sequence) {
        add_fold(single, "sp", tp);
    }
}

static double saved(const struct single *single, enum work_keep keep)
{
    struct work *work = ARENA_PUSH(&arena, struct work, 1);
    work_build(&problem, &single->plan, &arena, work);
    return middle_block(work, keep)->saved_bytes;
}

static void expect_bytes(const char *what, double bytes, double expected)
{
    ck_assert_msg(same(bytes, expected), "%s, %s: %.0f bytes, should be %.0f", model.name, what,
                  bytes, expected);
}

/* --- activations of one layer ----------------------------------------------------------------- */

/* Korthikanti et al., 2022, table 2. */
START_TEST(gpt_layers_keep_the_published_bytes)
{
    begin("gpt3-175b");
    const double s = (double)setup.seq_length, b = 2.0, h = model.transformer->hidden,
                 a = model.transformer->heads, t = 8.0;
    struct single tensor, sequence;
    init_tensor(&tensor, 2, 8, false);
    init_tensor(&sequence, 2, 8, true);
    setup.attention = ATTENTION_PLAIN;
    expect_bytes("tensor", saved(&tensor, KEEP_ALL),
                 s * b * h * (10.0 + 24.0 / t + 5.0 * a * s / (h * t)));
    expect_bytes("tensor, selective", saved(&tensor, KEEP_SELECTIVE),
                 s * b * h * (10.0 + 24.0 / t));
    expect_bytes("sequence", saved(&sequence, KEEP_ALL), s * b * h / t * (34.0 + 5.0 * a * s / h));
    expect_bytes("sequence, selective", saved(&sequence, KEEP_SELECTIVE), 34.0 * s * b * h / t);
    setup.attention = ATTENTION_FLASH;
    expect_bytes("sequence, flash", saved(&sequence, KEEP_ALL),
                 34.0 * s * b * h / t + 4.0 * a * s * b / t);
    expect_bytes("sequence, flash, selective", saved(&sequence, KEEP_SELECTIVE),
                 34.0 * s * b * h / t);
    expect_bytes("sequence, full", saved(&sequence, KEEP_BOUNDARY), 2.0 * s * b * h / t);
    arena_release(&arena);
}
END_TEST

/* RMS norms, no dropout, SwiGLU, grouped keys: norm inputs 4 s b h, linear inputs 4, Q with the
 * output 4 s b a d, K with V 4 s b g d, gate, up, product 6 s b f, log-sum-exp 4 s b a
 * (derived as arXiv 2205.05198 section 4.1 does for GPT). Context ranks keep their share of the
 * sequence. */
START_TEST(llama_layers_keep_the_derived_bytes)
{
    static const char *const names[] = {"llama-3.1-8b", "llama-2-7b", "qwen2.5-72b"};
    for (uint32_t m = 0; m < sizeof names / sizeof names[0]; m++) {
        begin(names[m]);
        const struct transformer *shape = model.transformer;
        const double d = shape->head_dim, sb = 3.0 * (double)setup.seq_length;
        const double stream = 8.0 * sb * shape->hidden;
        const double widths = 4.0 * sb * shape->heads * d + 4.0 * sb * shape->kv_heads * d +
                              6.0 * sb * shape->ffn + 4.0 * sb * shape->heads;
        struct single single;
        init_tensor(&single, 3, 4, false);
        expect_bytes("tensor", saved(&single, KEEP_ALL), stream + widths / 4.0);
        add_fold(&single, "sp", 4);
        expect_bytes("sequence", saved(&single, KEEP_ALL), (stream + widths) / 4.0);
        add_factor(&single, "cp", 2, "ring");
        expect_bytes("context", saved(&single, KEEP_ALL), (stream + widths) / 8.0);
        arena_release(&arena);
    }
}
END_TEST

/* Router scores 4 s b E, permuted input and expert outputs 2 k s b h each, gate, up, product
 * 6 k s b f_e in place of the block. */
START_TEST(expert_layers_keep_what_was_routed)
{
    static const char *const names[] = {"mixtral-8x7b", "qwen3-30b-a3b"};
    for (uint32_t m = 0; m < sizeof names / sizeof names[0]; m++) {
        begin(names[m]);
        const struct transformer *shape = model.transformer;
        const double sb = 2.0 * (double)setup.seq_length, d = shape->head_dim, k = shape->moe.top_k;
        double expected = 8.0 * sb * shape->hidden + 4.0 * sb * shape->heads * d +
                          4.0 * sb * shape->kv_heads * d + 4.0 * sb * shape->heads;
        if (shape->qk_norm) { /* Q and K before their norms */
            expected += 2.0 * sb * shape->heads * d + 2.0 * sb * shape->kv_heads * d;
        }
        expected += 4.0 * sb * shape->moe.experts + 4.0 * k * sb * shape->hidden +
                    6.0 * k * sb * shape->moe.ffn;
        struct single single;
        init(&single, 2);
        add_factor(&single, "dp", 8, NULL);
        add_fold(&single, "ep", 4);
        expect_bytes("experts", saved(&single, KEEP_ALL), expected);
        arena_release(&arena);
    }
}
END_TEST

/* Linear layers that keep their input in fp8: of the tensors of a Llama layer the inputs of QKV, of
 * gate and up, of the down projection need no other copy; that of the output projection stays for
 * attention too. */
START_TEST(narrow_inputs_are_kept_narrow)
{
    begin("llama-3.1-8b");
    const struct transformer *shape = model.transformer;
    const double sb = 2.0 * (double)setup.seq_length;
    struct single single;
    init(&single, 2);
    const double wide = saved(&single, KEEP_ALL);
    setup.dtype = DTYPE_FP8;
    expect_bytes("fp8, kept wide", saved(&single, KEEP_ALL), wide);
    runtime.saves_narrow = true;
    const double spared = sb * (2.0 * shape->hidden + shape->ffn);
    const double more = sb * shape->heads * shape->head_dim;
    expect_bytes("fp8, kept narrow", saved(&single, KEEP_ALL), wide - spared + more);
    arena_release(&arena);
}
END_TEST

/* Weights of the routing applied before the last matmul: its result, 2 k s b h, is not kept. */
START_TEST(weighed_rows_are_not_kept)
{
    begin("qwen3-30b-a3b");
    const struct transformer *shape = model.transformer;
    struct single single;
    init(&single, 2);
    const double before = saved(&single, KEEP_ALL);
    runtime.weighs_inside = true;
    expect_bytes("weighed inside", saved(&single, KEEP_ALL),
                 before - 2.0 * shape->moe.top_k * 2.0 * (double)setup.seq_length * shape->hidden);
    arena_release(&arena);
}
END_TEST

/* Queries, keys and values are made again from their latents: a (2 (d_nope + d_rope) + d_v) of two
 * bytes, k_up's part of K once more before the rotated part joins it is not kept. */
START_TEST(latents_are_enough)
{
    begin("deepseek-v3");
    const struct transformer *shape = model.transformer;
    const double a = shape->heads, d = shape->mla.nope_dim + shape->mla.rope_dim;
    struct single single;
    init(&single, 1);
    const double heads = a * (2.0 * d + shape->mla.value_dim);
    expect_bytes("latents", saved(&single, KEEP_LATENTS),
                 saved(&single, KEEP_ALL) - 2.0 * (double)setup.seq_length * heads);
    struct work *work = ARENA_PUSH(&arena, struct work, 1);
    work_build(&problem, &single.plan, &arena, work);
    const struct work_block *all = middle_block(work, KEEP_ALL);
    const struct work_block *again = middle_block(work, KEEP_LATENTS);
    double remade = 0.0, forward = 0.0;
    for (uint32_t i = 0; i < again->backward.count; i++) {
        const struct work_item *item = &again->backward.items[i];
        remade += !item->is_message && item->compute.recompute ? item->compute.flops : 0.0;
    }
    for (uint32_t i = 0; i < all->forward.count; i++) {
        const struct work_item *item = &all->forward.items[i];
        const bool up = !item->is_message && strstr(item->compute.name, "_up") != NULL;
        forward += up ? item->compute.flops : 0.0;
    }
    expect_bytes("flops of the up-projections", remade, forward);
    arena_release(&arena);
}
END_TEST

/* bf16 logits with an fp32 copy, over the padded vocabulary. */
START_TEST(logits_are_counted_apart)
{
    begin("gpt3-175b");
    struct single single;
    init_tensor(&single, 2, 8, true);
    struct work *work = ARENA_PUSH(&arena, struct work, 1);
    work_build(&problem, &single.plan, &arena, work);
    const struct work_block *head = &work->blocks[work->last_block];
    const uint64_t multiple = 8u * runtime.vocab_multiple;
    const double vocab = (double)((model.transformer->vocab + multiple - 1) / multiple * multiple);
    expect_bytes("logits", head->logits_bytes,
                 (2.0 + 4.0) * 2.0 * (double)setup.seq_length * vocab / 8.0);
    ck_assert(middle_block(work, KEEP_ALL)->logits_bytes == 0.0);
    const double both = head->logits_bytes;
    runtime.fuses_loss = true; /* the gradient overwrites them, no copy */
    work_build(&problem, &single.plan, &arena, work);
    expect_bytes("fused loss", work->blocks[work->last_block].logits_bytes, both / 3.0);
    arena_release(&arena);
}
END_TEST

/* --- one stage -------------------------------------------------------------------------------- */

/* Micro-batches in flight on stage i, as activations of the whole stage. */
static double in_flight(const char *schedule, const struct schedule_shape *shape, uint32_t i)
{
    const double p = shape->stages, v = shape->chunks, m = shape->micro_batches;
    if (strcmp(schedule, "gpipe") == 0) {
        return m;
    }
    if (strcmp(schedule, "interleaved") == 0) {
        return (2.0 * (p - 1.0 - i) + (v - 1.0) * p + 1.0) / v;
    }
    return m < p - i ? m : p - i;
}

static const char *const schedules[] = {"gpipe", "1f1b", "interleaved"};

static void expect_in_flight(const char *schedule)
{
    struct single single;
    init_tensor(&single, 1, 2, true);
    add_factor(&single, "dp", 4, NULL);
    add_factor(&single, "pp", 4, NULL);
    single.plan.schedule.schedule = schedule_find(schedule);
    single.plan.schedule.chunks = strcmp(schedule, "interleaved") == 0 ? 2 : 1;
    const struct judged *judged = judge_plan(&single.plan);
    const struct work *work = &judged->work;
    const double per_micro_batch =
        middle_block(work, KEEP_ALL)->saved_bytes * plan_count_layers(&model) / 4.0;
    for (uint32_t i = 1; i + 1 < 4; i++) { /* without the ends of the chain */
        const double expected = per_micro_batch * in_flight(schedule, &work->shape, i);
        const double bytes = judged->estimate.stages[i].memory_bytes[MEMORY_ACTIVATIONS];
        ck_assert_msg(same(bytes, expected), "%s, stage %u: %g micro-batches, should be %g",
                      schedule, i, bytes / per_micro_batch, in_flight(schedule, &work->shape, i));
    }
}

START_TEST(stages_hold_what_is_in_flight)
{
    for (uint32_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        begin_judged("llama-3.1-8b");
        ck_assert_uint_eq(plan_count_layers(&model) % 8, 0);
        expect_in_flight(schedules[i]);
        end_judged();
    }
}
END_TEST

/* Adam's two fp32 moments come into being at the end of the first step. */
START_TEST(the_first_step_lacks_the_moments)
{
    begin_judged("llama-3.1-8b");
    struct single single;
    init_tensor(&single, 1, 4, true);
    add_factor(&single, "pp", 2, NULL);
    const struct judged *judged = judge_plan(&single.plan);
    for (uint32_t stage = 0; stage < 2; stage++) {
        const struct stage_estimate *account = &judged->estimate.stages[stage];
        const double moments = account->memory_bytes[MEMORY_PARAMETERS] / 2.0 * 8.0;
        expect_bytes("first step", account->peak_bytes - account->first_step_peak_bytes, moments);
        double sum = 0.0;
        for (uint32_t i = 0; i < MEMORY_CLASS_COUNT; i++) {
            ck_assert(account->memory_bytes[i] >= 0.0);
            sum += account->memory_bytes[i];
        }
        expect_bytes("classes", sum, account->peak_bytes);
    }
    end_judged();
}
END_TEST

/* Sharded parameters: one layer gathered in use, one ahead. */
START_TEST(two_layers_are_gathered_at_once)
{
    static const char *const states[] = {"optimizer", "gradients", "parameters"};
    static const char *const over[] = {"dp"};
    double buffers[2];
    begin_judged("llama-3.1-8b");
    for (uint32_t sharded = 0; sharded < 2; sharded++) {
        struct single single;
        init(&single, 1);
        add_factor(&single, "dp", 8, NULL);
        struct policy_use use = {.kind = policy_find("shard")};
        use.values[0] = (struct policy_value){.present = true, .words = states, .word_count = 3};
        use.values[1] = (struct policy_value){.present = true, .words = over, .word_count = 1};
        single.plan.policies = &use;
        single.plan.policy_count = sharded;
        buffers[sharded] =
            judge_plan(&single.plan)->estimate.stages[0].memory_bytes[MEMORY_BUFFERS];
    }
    /* the table of tokens and that of logits are larger than a layer */
    const double table = 2.0 * (double)model.transformer->vocab * (double)model.transformer->hidden;
    const double gathered = (buffers[1] - buffers[0]) / (1.0 + runtime.allocator_frac);
    ck_assert_msg(gathered > 2.0 * table && gathered < 2.0 * table * 1.02,
                  "%g bytes gathered, two tables are %g", gathered, 2.0 * table);
    end_judged();
}
END_TEST

/* A stage of Megatron's GPT-3: layers of 12 h^2 + 13 h parameters, of which norms with the biases
 * behind a sum (6 h) are on every tensor rank, as positions are; 18 or 6 + 12/d bytes each.
 * Megatron's own estimate (theoretical_memory_usage.py) divides all by t: 0.2 % less. */
START_TEST(gpt3_states_are_those_of_megatron)
{
    static const char *const policy[] = {"optimizer"};
    static const char *const over[] = {"dp"};
    for (uint32_t sharded = 0; sharded < 2; sharded++) {
        begin_judged("gpt3-175b");
        const double h = model.transformer->hidden, layers = 96.0 / 2.0;
        const uint64_t multiple = 8u * runtime.vocab_multiple;
        const double vocab =
            (double)((model.transformer->vocab + multiple - 1) / multiple * multiple);
        struct single single;
        init_tensor(&single, 1, 8, true);
        add_factor(&single, "dp", 2, NULL);
        add_factor(&single, "pp", 2, NULL);
        struct policy_use use = {.kind = policy_find("shard")};
        use.values[0] = (struct policy_value){.present = true, .words = policy, .word_count = 1};
        use.values[1] = (struct policy_value){.present = true, .words = over, .word_count = 1};
        single.plan.policies = &use;
        single.plan.policy_count = sharded;
        const struct judged *judged = judge_plan(&single.plan);
        const double *bytes = judged->estimate.stages[0].memory_bytes;
        const double states =
            bytes[MEMORY_PARAMETERS] + bytes[MEMORY_GRADIENTS] + bytes[MEMORY_OPTIMIZER];
        const double replicated = layers * 6.0 * h + (double)model.transformer->max_positions * h;
        const double parameters =
            (layers * (12.0 * h * h + 7.0 * h) + vocab * h) / 8.0 + replicated;
        const double expected = parameters * (sharded == 1 ? 6.0 + 12.0 / 2.0 : 18.0);
        expect_bytes("states", states, expected);
        const double megatron = (layers * (12.0 * h * h + 13.0 * h) + vocab * h +
                                 (double)model.transformer->max_positions * h) /
                                8.0 * (sharded == 1 ? 6.0 + 12.0 / 2.0 : 18.0);
        ck_assert(states > megatron && states < megatron * 1.0025);
        end_judged();
    }
}
END_TEST

TAP_MAIN("memory", gpt_layers_keep_the_published_bytes, llama_layers_keep_the_derived_bytes,
         expert_layers_keep_what_was_routed, narrow_inputs_are_kept_narrow,
         weighed_rows_are_not_kept, latents_are_enough, logits_are_counted_apart,
         stages_hold_what_is_in_flight, the_first_step_lacks_the_moments,
         two_layers_are_gathered_at_once, gpt3_states_are_those_of_megatron)

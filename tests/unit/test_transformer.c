/* The op graph of a transformer gives the published kept bytes and the reductions that follow. */
#include "models/transformer.h"

#include <string.h>

#include "tests/tap_main.h"
#include "tests/unit/transformer_shapes.h"

/* --- kept bytes ------------------------------------------------------------------------------- */

static const double batch = 3.0, seq = 128.0;

static double tensor_bytes(const struct model *model, const struct tensor *tensor)
{
    static const double bytes[TENSOR_CLASS_COUNT] = {2.0, 4.0, 1.0, 8.0, 2.0};
    double sum = bytes[tensor->class] * tensor->copies * tensor->density;
    for (uint32_t i = 0; i < model->axis_count; i++) {
        const uint64_t size = model->axes[i].size;
        if ((tensor->axes >> i & 1u) != 0) {
            sum *= size != 0 ? (double)size : i == model_find_axis(model, "batch") ? batch : seq;
        }
    }
    return sum;
}

/* Each tensor that the backward of the part reads, once. selective: not those of the attention
 * core. */
static double kept_bytes(const struct model *model, const char *name, enum attention_kind kind,
                         bool selective)
{
    const struct part *part = find_part(model, name);
    bool seen[256] = {false};
    double sum = 0.0;
    for (uint32_t i = part->first_op; i < part->first_op + part->op_count; i++) {
        for (uint32_t k = 0; k < model->ops[i].keep_count; k++) {
            const uint32_t index = model->ops[i].keeps[k];
            const struct tensor *tensor = &model->tensors[index];
            const bool there = tensor->only == ATTENTION_ANY || tensor->only == kind;
            if (there && !seen[index] && !(selective && tensor->recomputable)) {
                sum += tensor_bytes(model, tensor);
                seen[index] = true;
            }
        }
    }
    return sum;
}

/* 34 sbh + 5 a s^2 b (Korthikanti et al. 2022); flash attention keeps 4 a s b instead of the second
 * term. */
START_TEST(gpt_layer_keeps_34_sbh)
{
    const double h = gpt.hidden, a = gpt.heads, sbh = seq * batch * h;
    struct model model = build(gpt);
    ck_assert_double_eq(kept_bytes(&model, "decoder", ATTENTION_PLAIN, false),
                        34 * sbh + 5 * a * seq * seq * batch);
    ck_assert_double_eq(kept_bytes(&model, "decoder", ATTENTION_FLASH, false),
                        34 * sbh + 4 * a * seq * batch);
    ck_assert_double_eq(kept_bytes(&model, "decoder", ATTENTION_PLAIN, true), 34 * sbh);
    ck_assert_double_eq(kept_bytes(&model, "decoder", ATTENTION_FLASH, true), 34 * sbh);
    arena_release(&arena);

    struct transformer shape =
        gpt; /* no dropout: no masks, and the softmax is what V is multiplied by */
    shape.dropout_frac = 0.0;
    model = build(shape);
    ck_assert_double_eq(kept_bytes(&model, "decoder", ATTENTION_PLAIN, false),
                        32 * sbh + 2 * a * seq * seq * batch);
    ck_assert_double_eq(kept_bytes(&model, "decoder", ATTENTION_FLASH, false),
                        32 * sbh + 4 * a * seq * batch);
    arena_release(&arena);
}
END_TEST

/* Norm inputs 4, linear inputs 4, Q 2, O 2, K and V 4, gate, up and product 6, log-sum-exp 4 per
 * head. */
static double llama_attention_bytes(const struct transformer *t)
{
    const double sb = seq * batch;
    return 6 * sb * t->hidden + 4 * sb * t->heads * t->head_dim +
           4 * sb * t->kv_heads * t->head_dim + 4 * sb * t->heads;
}

START_TEST(llama_layer_keeps_its_operands)
{
    const double sb = seq * batch, ad = (double)llama.heads * llama.head_dim,
                 gd = (double)llama.kv_heads * llama.head_dim;
    const double mlp = sb * (2.0 * llama.hidden + 6.0 * llama.ffn);
    struct model model = build(llama);
    const double expected = llama_attention_bytes(&llama) + mlp;
    ck_assert_double_eq(expected, 8 * sb * llama.hidden + 4 * sb * ad + 4 * sb * gd +
                                      6 * sb * llama.ffn + 4 * sb * llama.heads);
    ck_assert_double_eq(kept_bytes(&model, "decoder", ATTENTION_FLASH, false), expected);
    ck_assert_double_eq(kept_bytes(&model, "decoder", ATTENTION_FLASH, true),
                        expected - 4 * sb * llama.heads);
    arena_release(&arena);

    struct transformer shape =
        llama; /* norms on Q and K read both as they were: 2 bytes per element more */
    shape.qk_norm = true;
    model = build(shape);
    ck_assert_double_eq(kept_bytes(&model, "decoder", ATTENTION_FLASH, false),
                        expected + 2 * sb * (ad + gd));
    arena_release(&arena);
}
END_TEST

/* Router scores 4 E, permuted rows 2 k h, gate, up and product 6 k f, expert outputs 2 k h, per
 * token; the router reads the normed stream, and so does a shared expert, whose own three tensors
 * are 6 f. */
START_TEST(expert_layer_keeps_the_routed_rows)
{
    static const uint32_t shared[] = {0, 704};
    for (uint32_t i = 0; i < 2; i++) {
        const struct transformer shape = with_experts(shared[i], 2, 1);
        const double sb = seq * batch, h = shape.hidden, k = shape.moe.top_k;
        struct model model = build(shape);
        const double routed =
            sb * (4.0 * shape.moe.experts + k * (2 * h + 6.0 * shape.moe.ffn + 2 * h));
        ck_assert_double_eq(kept_bytes(&model, "moe", ATTENTION_FLASH, false),
                            llama_attention_bytes(&shape) + 2 * sb * h + routed +
                                6 * sb * shared[i]);
        ck_assert_double_eq(kept_bytes(&model, "decoder", ATTENTION_FLASH, false),
                            llama_attention_bytes(&shape) + 2 * sb * h + 6 * sb * shape.ffn);
        arena_release(&arena);
    }
}
END_TEST

/* Token ids 8 and a mask 1 at the start; at the end the inputs of the norm and of the last matrix,
 * and the logits with their fp32 copy. */
START_TEST(ends_keep_ids_and_logits)
{
    const double sb = seq * batch;
    struct model model = build(gpt);
    ck_assert_double_eq(kept_bytes(&model, "embedding", ATTENTION_FLASH, false),
                        8 * sb + sb * gpt.hidden);
    ck_assert_double_eq(kept_bytes(&model, "head", ATTENTION_FLASH, false),
                        4 * sb * gpt.hidden + 2 * sb * gpt.vocab + 4 * sb * gpt.vocab);
    arena_release(&arena);
    model = build(llama);
    ck_assert_double_eq(kept_bytes(&model, "embedding", ATTENTION_FLASH, false), 8 * sb);
    arena_release(&arena);
}
END_TEST

/* --- reductions ------------------------------------------------------------------------------- */

static bool has(axis_set set, uint32_t axis)
{
    return (set >> axis & 1u) != 0;
}

/* Does a cut of `axis` cut the tensor? Itself, or a grouping of it; read mirrored, no axis with a
 * mirror does. */
static bool is_cut(const struct model *model, axis_set axes, bool mirrored, uint32_t axis)
{
    for (uint32_t i = 0; i < model->axis_count; i++) {
        const bool image = model->axes[i].image_of == axis;
        if (image && mirrored && has(axes, axis)) {
            return false;
        }
        if (image && model->axes[i].size != 0 && has(axes, i)) {
            return true;
        }
    }
    return has(axes, axis) || (mirrored && model->axes[axis].image_of != NO_INDEX &&
                               has(axes, model->axes[axis].image_of));
}

/* Axes of the op's domain that are summed over when it writes that tensor or its gradient, as their
 * names. Groupings have no say of their own. */
static const char *contracted(const struct model *model, const struct op *op, uint32_t tensor,
                              bool mirrored)
{
    struct text names;
    text_init(&names, &arena);
    for (uint32_t i = 0; i < model->axis_count; i++) {
        const struct axis *axis = &model->axes[i];
        const bool grouping =
            axis->size != 0 && axis->image_of != NO_INDEX && has(op->domain, axis->image_of);
        if (has(op->domain, i) && !grouping &&
            !is_cut(model, model->tensors[tensor].axes, mirrored, i)) {
            text_push(&names, "%s%s", names.length == 0 ? "" : " ", axis->name);
        }
    }
    return names.bytes;
}

static const struct op *find_op(const struct model *model, const char *part_name, const char *name)
{
    const struct part *part = find_part(model, part_name);
    for (uint32_t i = part->first_op; i < part->first_op + part->op_count; i++) {
        if (strcmp(model->ops[i].name, name) == 0) {
            return &model->ops[i];
        }
    }
    ck_abort_msg("no op '%s' in '%s'", name, part_name);
}

START_TEST(ops_sum_over_what_they_should)
{
    static const struct {
        const char *part, *op, *forward, *input, *second, *weight; /* NULL: there is none */
    } rows[] = {
        {"embedding", "embedding", "vocab", NULL, NULL, "batch seq"},
        {"decoder", "attention_norm", "", "", NULL, "batch seq"},
        {"decoder", "q", "hidden", "heads head_dim", NULL, "batch seq"},
        {"decoder", "kv", "hidden", "kv_heads head_dim", NULL, "batch seq"},
        {"decoder", "q_norm", "", "", NULL, "batch seq heads"},
        {"decoder", "k_norm", "", "", NULL, "batch seq kv_heads"},
        {"decoder", "q_rope", "", "", NULL, NULL},
        {"decoder", "k_rope", "", "", NULL, NULL},
        {"decoder", "attention", "keys", "keys", "seq", NULL},
        {"decoder", "attention_output", "heads head_dim", "hidden", NULL, "batch seq"},
        {"decoder", "attention_residual", "", "", "", NULL},
        {"decoder", "fc1", "hidden", "ffn", NULL, "batch seq"},
        {"decoder", "activation", "", "", NULL, NULL},
        {"decoder", "fc2", "ffn", "hidden", NULL, "batch seq"},
        {"moe", "router", "hidden", "routes", NULL, "batch seq"},
        {"moe", "dispatch", "", "", "hidden", NULL},
        {"moe", "experts_fc1", "hidden", "expert_ffn", NULL, "batch seq"},
        {"moe", "experts_activation", "", "", NULL, NULL},
        {"moe", "experts_fc2", "expert_ffn", "hidden", NULL, "batch seq"},
        {"moe", "combine", "", "", "hidden", NULL},
        {"moe", "shared_fc1", "hidden", "shared_ffn", NULL, "batch seq"},
        {"moe", "shared_fc2", "shared_ffn", "hidden", NULL, "batch seq"},
        {"head", "logits", "hidden", "vocab", NULL, "batch seq"},
        {"head", "loss", "vocab", "", NULL, NULL},
    };
    struct transformer shape = with_experts(704, 2, 1);
    shape.qk_norm = true;
    const struct model model = build(shape);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct op *op = find_op(&model, rows[i].part, rows[i].op);
        ck_assert_msg(strcmp(contracted(&model, op, op->output, false), rows[i].forward) == 0,
                      "%s forward: %s", op->name, contracted(&model, op, op->output, false));
        const char *const inputs[] = {rows[i].input, rows[i].second};
        for (uint32_t k = 0; k < 2 && inputs[k] != NULL; k++) {
            const char *found =
                contracted(&model, op, op->inputs[k], (op->mirrored >> k & 1u) != 0);
            ck_assert_msg(strcmp(found, inputs[k]) == 0, "%s input %u: %s", op->name, k, found);
        }
        if (rows[i].weight != NULL) {
            ck_assert_str_eq(contracted(&model, op, op->weights[0], false), rows[i].weight);
        }
    }
    arena_release(&arena);
}
END_TEST

/* Cutting heads and ffn leaves two partial sums forward, and two streams with partial gradients. */
START_TEST(cut_heads_and_ffn_give_four_reductions)
{
    const struct model model = build(llama);
    const struct part *part = find_part(&model, "decoder");
    const uint32_t cuts[] = {model_find_axis(&model, "heads"), model_find_axis(&model, "kv_heads"),
                             model_find_axis(&model, "ffn")};
    bool forward[256] = {false}, backward[256] = {false};
    for (uint32_t i = part->first_op; i < part->first_op + part->op_count; i++) {
        const struct op *op = &model.ops[i];
        uint32_t cut = 0;
        while (cut < 3 && !has(op->domain, cuts[cut])) {
            cut++;
        }
        if (cut == 3) {
            continue;
        }
        forward[op->output] |= !is_cut(&model, model.tensors[op->output].axes, false, cuts[cut]);
        for (uint32_t k = 0; k < op->input_count; k++) {
            backward[op->inputs[k]] |=
                !is_cut(&model, model.tensors[op->inputs[k]].axes, false, cuts[cut]);
        }
    }
    uint32_t count[2] = {0, 0};
    for (uint32_t i = 0; i < model.tensor_count; i++) {
        count[0] += forward[i];
        count[1] += backward[i];
    }
    ck_assert_uint_eq(count[0], 2);
    ck_assert_uint_eq(count[1], 2);
    arena_release(&arena);
}
END_TEST

/* --- chain ------------------------------------------------------------------------------------ */

static const char *chain_text(const struct model *model)
{
    struct text text;
    text_init(&text, &arena);
    for (uint32_t i = 0; i < model->run_count; i++) {
        text_push(&text, "%s%s %u", i == 0 ? "" : ", ", model->parts[model->chain[i].part].name,
                  model->chain[i].count);
    }
    return text.bytes;
}

START_TEST(equal_layers_fold_into_runs)
{
    static const struct {
        uint32_t first_dense, every;
        const char *chain;
    } rows[] = {
        {0, 1, "embedding 1, moe 6, head 1"},
        {2, 1, "embedding 1, decoder 2, moe 4, head 1"},
        {0, 2, "embedding 1, decoder 1, moe 1, decoder 1, moe 1, decoder 1, moe 1, head 1"},
        {1, 2, "embedding 1, decoder 2, moe 1, decoder 1, moe 1, decoder 1, head 1"},
        {0, 6, "embedding 1, decoder 5, moe 1, head 1"},
    };
    struct model model = build(llama);
    ck_assert_str_eq(chain_text(&model), "embedding 1, decoder 6, head 1");
    ck_assert_uint_eq(model_find_axis(&model, "experts"), NO_INDEX);
    ck_assert_uint_eq(model_find_axis(&model, "positions"), NO_INDEX);
    arena_release(&arena);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        model = build(with_experts(0, rows[i].first_dense, rows[i].every));
        ck_assert_str_eq(chain_text(&model), rows[i].chain);
        ck_assert_uint_eq(model_count_layers(&model), 8);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(refuses_sizes_that_do_not_fit)
{
    const struct transformer moe = with_experts(0, 2, 1);
    struct transformer rows[10];
    for (uint32_t i = 0; i < 10; i++) {
        rows[i] = moe;
    }
    rows[0].heads = 0;
    rows[1].kv_heads = 5;
    rows[2].moe.top_k = 9;
    rows[3].moe.top_k = 0;
    rows[4].moe.ffn = 0;
    rows[5].moe.first_dense = 6;
    rows[6].moe.every = 5;
    rows[7].moe.every = 0;
    rows[8].positions = POSITION_LEARNED;
    rows[8].max_positions = 0;
    rows[9].vocab = 0;
    arena_init(&arena);
    for (uint32_t i = 0; i < 10; i++) {
        diag_init(&diag, &arena);
        ck_assert_msg(!transformer_check(&rows[i], NULL, &diag), "row %u", i);
        ck_assert_int_eq(diag.entries[0].code, DIAG_M203);
    }
    arena_release(&arena);
}
END_TEST

START_TEST(large_models_count_or_are_refused)
{
    struct transformer shape = llama;
    shape.layers = 10000;
    shape.hidden = 1u << 20;
    struct model model = build(shape);
    ck_assert_uint_eq(model_count_layers(&model), 10002);
    const uint64_t h = 1u << 20;
    ck_assert_uint_eq(model_count_parameters(&model),
                      10000 * (h * 64 * 32 + 2 * h + 3 * h * 1376) + 2 * h * 32000 + h);
    arena_release(&arena);

    arena_init(&arena);
    diag_init(&diag, &arena);
    shape.hidden = shape.vocab = UINT32_MAX;
    ck_assert(!transformer_build(&shape, "m", &arena, &model, &diag));
    ck_assert_int_eq(diag.entries[0].code, DIAG_M204);
    arena_release(&arena);
}
END_TEST

TAP_MAIN("transformer", gpt_layer_keeps_34_sbh, llama_layer_keeps_its_operands,
         expert_layer_keeps_the_routed_rows, ends_keep_ids_and_logits,
         ops_sum_over_what_they_should, cut_heads_and_ffn_give_four_reductions,
         equal_layers_fold_into_runs, refuses_sizes_that_do_not_fit,
         large_models_count_or_are_refused)

/* What a work program holds, whatever the mesh: the work of one device, shared out. */
#include <string.h>

#include "tests/law/built_work.h"

#define PLANS 40 /* legal ones, per model */

static axis_set vocab_axis(void)
{
    static const char *const names[] = {"vocab", NULL};
    return axes_of(names);
}

static const struct op *find_op(const struct work_block *block, const char *name)
{
    const struct part *part = &model.parts[block->part];
    for (uint32_t i = 0; i < part->op_count; i++) {
        if (strcmp(model.ops[part->first_op + i].name, name) == 0) {
            return &model.ops[part->first_op + i];
        }
    }
    ck_abort_msg("no op '%s'", name);
}

/* The axis that a list of cuts takes in a domain (plan/dim.h); NO_INDEX: none. */
static uint32_t find_cut(const struct dim_variant *variant, axis_set domain)
{
    for (uint32_t i = 0; i < variant->cut_count; i++) {
        const struct dim_cut *cut = &variant->cuts[i];
        const uint32_t axis = model_find_axis(&model, cut->axis);
        const uint32_t beside = cut->beside == NULL ? axis : model_find_axis(&model, cut->beside);
        if (axis != NO_INDEX && beside != NO_INDEX && (domain >> axis & 1) != 0 &&
            (domain >> beside & 1) != 0) {
            return axis;
        }
    }
    return NO_INDEX;
}

static bool is_host(const struct dim *fold, const struct dim *dim)
{
    bool found = false;
    for (uint32_t i = 0; i < 3 && fold->hosts[i] != NULL; i++) {
        found = found || strcmp(fold->hosts[i], dim->name) == 0;
    }
    return found;
}

/* Ranks of each factor that a fold takes where it applies, the innermost factors first. */
static void take(const struct group *group, const struct mesh_fold *fold, uint32_t ranks[DIM_MAX])
{
    uint32_t left = fold->degree;
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        const uint32_t degree = is_host(fold->dim, group->mesh[i].dim) ? group->mesh[i].degree : 1;
        ranks[i] = left < degree ? left : degree;
        left /= ranks[i];
    }
}

/* How many ranks share out an op of that domain, as cuts of axes within `counted` only. */
static uint32_t count_sharers(const struct group *group, axis_set domain, axis_set counted)
{
    uint32_t sharers = 1, taken[DIM_MAX];
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        const struct mesh_dim *factor = &group->mesh[i];
        uint32_t own = factor->degree;
        uint32_t axis = find_cut(&factor->dim->variants[factor->variant], domain);
        for (uint32_t f = 0; f < group->fold_count; f++) {
            const struct mesh_fold *fold = &group->folds[f];
            const uint32_t other = find_cut(&fold->dim->variants[0], domain);
            if (fold->degree == 1 || other == NO_INDEX || !is_host(fold->dim, factor->dim)) {
                continue;
            }
            if (fold->dim->kind == DIM_FOLD_INSTEAD) {
                take(group, fold, taken);
                sharers *= (counted >> other & 1) != 0 ? taken[i] : 1;
                own /= taken[i];
            } else if (axis == NO_INDEX) {
                axis = other;
            }
        }
        sharers *= axis != NO_INDEX && (counted >> axis & 1) != 0 ? own : 1;
    }
    return sharers;
}

/* How often all ranks together do what one device alone would do: whoever finds nothing to cut
 * repeats the others' work. A look-up moves what it puts out, so cuts of the table save nothing. */
static double declared_redundancy(const struct op *op, const struct group *group, double ranks)
{
    const axis_set counted = op->kind == OP_LOOKUP ? model.tensors[op->output].axes : ~(axis_set)0;
    return ranks / count_sharers(group, op->domain, counted);
}

static double padded_vocab(uint32_t ranks)
{
    const struct axis *vocab = &model.axes[model_find_axis(&model, "vocab")];
    const uint64_t multiple = (uint64_t)runtime.vocab_multiple * ranks;
    return (double)((vocab->size + multiple - 1) / multiple * multiple);
}

struct comparison {
    const struct work_block *cut, *whole;
    const struct group *group;
    double ranks;
};

static void compare_items(const struct comparison *comparison, const struct work_items *cut,
                          const struct work_items *whole)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < cut->count; i++) {
        if (cut->items[i].is_message) {
            continue;
        }
        const struct work_compute *sort = &cut->items[i].compute;
        if (sort->permutes && !sort->reorders) {
            continue; /* there because rows travel: whole, nothing of the kind */
        }
        ck_assert_uint_lt(at, whole->count);
        const struct work_compute *mine = &cut->items[i].compute,
                                  *all = &whole->items[at++].compute;
        ck_assert_str_eq(mine->name, all->name);
        ck_assert_int_eq((int)mine->pass, (int)all->pass);
        const struct op *op = find_op(comparison->cut, mine->name);
        const bool pads = op->kind != OP_LOOKUP && (op->domain & vocab_axis()) != 0;
        const uint32_t padders = count_sharers(comparison->group, vocab_axis(), vocab_axis());
        const double expected = declared_redundancy(op, comparison->group, comparison->ranks) *
                                (pads ? padded_vocab(padders) / padded_vocab(1) : 1.0);
        const bool counts_flops =
            op->kind == OP_CONTRACT || op->kind == OP_ATTENTION || op->kind == OP_KERNEL;
        const double part = counts_flops ? mine->flops : mine->bytes;
        const double unsharded = counts_flops ? all->flops : all->bytes;
        ck_assert_msg(same(part * comparison->ranks, unsharded * expected),
                      "%s, op '%s' pass %d: all ranks do %g times the work, should be %g",
                      model.name, mine->name, (int)mine->pass, part * comparison->ranks / unsharded,
                      expected);
    }
    ck_assert_uint_eq(at, whole->count);
}

static void compare(const struct plan *plan)
{
    struct single alone;
    init(&alone, plan->schedule.micro_batch * (uint32_t)plan_count_replicas(&problem, plan));
    const struct work *cut = start(plan), *whole = start(&alone.plan);
    ck_assert_uint_eq(cut->block_count, whole->block_count);
    for (uint32_t b = 0; b < cut->block_count; b++) {
        const struct comparison comparison = {
            .cut = &cut->blocks[b],
            .whole = &whole->blocks[b],
            .group = &plan->groups[0],
            .ranks = (double)(plan_count_devices(plan) / plan_count_stages(plan))};
        compare_items(&comparison, &cut->blocks[b].forward, &whole->blocks[b].forward);
        compare_items(&comparison, &cut->blocks[b].backward, &whole->blocks[b].backward);
    }
}

/* FLOPs of every matmul and attention, bytes of every other op, in the forward and both gradients:
 * the sum over ranks is the unsharded amount times a redundancy that can be named. */
START_TEST(work_is_conserved)
{
    static const char *const names[] = {"toy-4l",        "toy-gqa-8l",    "toy-moe-4l",
                                        "toy-mixed-6l",  "qwen3-30b-a3b", "gpt2-large",
                                        "mixtral-8x7b",  "llama-3.1-8b",  "toy-latent-4l",
                                        "toy-hybrid-8l", "toy-vision-4l", "toy-t5-4l"};
    struct random random;
    struct group group;
    struct plan plan;
    random_init(&random, 7);
    for (uint32_t m = 0; m < sizeof names / sizeof names[0]; m++) {
        uint32_t folded = 0;
        begin(names[m]);
        for (uint32_t i = 0; i < PLANS || !is_enough(i, folded, PLANS / 5); i++) {
            const struct arena_mark mark = arena_find_mark(&arena);
            fill_plain(&random, &group, &plan);
            compare(&plan);
            folded += group.fold_count > 0 && group.folds[0].degree > 1 ? 1 : 0;
            arena_pop(&arena, mark);
        }
        arena_release(&arena);
    }
}
END_TEST

START_TEST(one_device_sends_nothing)
{
    for (uint32_t m = 0; m < DECODER_COUNT + MIXTURE_COUNT; m++) {
        begin(m < DECODER_COUNT ? decoders[m] : mixtures[m - DECODER_COUNT]);
        struct single single;
        init(&single, 2);
        for (uint32_t i = 0; i < dim_table_count; i++) {
            if (dim_table[i]->kind == DIM_FACTOR) {
                add_factor(&single, dim_table[i]->name, 1, NULL);
            }
        }
        const struct work *work = finish(&single.plan);
        ck_assert_uint_eq(work->group_count, 0);
        for (uint32_t b = 0; b < work->block_count; b++) {
            const struct work_block *block = &work->blocks[b];
            ck_assert_uint_eq(count_messages(&block->forward) + count_messages(&block->backward) +
                                  block->gather.count + block->sync.count,
                              0);
        }
        ck_assert(work->norm.bytes == 0.0 && work->send.bytes == 0.0 && work->tied.bytes == 0.0);
        arena_release(&arena);
    }
}
END_TEST

/* Forward FLOPs of all layers, and backward FLOPs of those in contractions and attention. */
struct flops {
    double forward, contractions, attention;
};

static void add_flops(const struct work_items *items, double count, bool backward,
                      struct flops *out)
{
    for (uint32_t i = 0; i < items->count; i++) {
        const struct work_compute *compute = &items->items[i].compute;
        if (items->items[i].is_message) {
            continue;
        }
        if (!backward) {
            out->forward += count * compute->flops;
        }
        const double signed_flops = (backward ? 1.0 : -1.0) * count * compute->flops;
        out->contractions +=
            compute->kind == OP_CONTRACT ? signed_flops * (backward ? 1.0 : 2.0) : 0.0;
        out->attention +=
            compute->kind == OP_ATTENTION ? signed_flops * (backward ? 1.0 : 2.5) : 0.0;
    }
}

/* Three times the forward is what the model counts per token; a contraction's backward is twice its
 * forward, that of flash attention 2.5 times. */
START_TEST(one_device_does_what_the_model_counts)
{
    for (uint32_t m = 0; m < DECODER_COUNT + MIXTURE_COUNT; m++) {
        begin(m < DECODER_COUNT ? decoders[m] : mixtures[m - DECODER_COUNT]);
        runtime.vocab_multiple = 1;
        struct single single;
        init(&single, 2);
        const struct work *work = start(&single.plan);
        const uint32_t layers = plan_count_layers(&model);
        uint32_t counts[WORK_BLOCK_MAX];
        struct flops flops = {0.0, 0.0, 0.0};
        work_count_blocks(work, &layers, counts);
        for (uint32_t b = 0; b < work->block_count; b++) {
            add_flops(&work->blocks[b].forward, counts[b], false, &flops);
            add_flops(&work->blocks[b].backward, counts[b], true, &flops);
        }
        const double counted =
            model_flops_per_token(&model, setup.seq_length, true) * 2.0 * (double)setup.seq_length;
        ck_assert_msg(
            flops.forward * 3.0 > counted * 0.999 && flops.forward * 3.0 < counted * 1.001,
            "%s: %g FLOPs, the model counts %g", model.name, flops.forward * 3.0, counted);
        ck_assert_double_eq_tol(flops.contractions / flops.forward, 0.0, 1e-9);
        ck_assert_double_eq_tol(flops.attention / flops.forward, 0.0, 1e-9);
        arena_release(&arena);
    }
}
END_TEST

/* The dump names every item once and is JSON. */
START_TEST(programs_can_be_seen)
{
    begin("mixtral-8x7b");
    struct single single;
    init(&single, 1);
    add_factor(&single, "tp", 2, NULL);
    add_fold(&single, "sp", 2);
    add_factor(&single, "dp", 8, NULL);
    add_fold(&single, "ep", 4);
    const struct work *work = finish(&single.plan);
    struct text text;
    struct json_writer writer;
    struct json *document;
    text_init(&text, &arena);
    json_writer_init(&writer, &text, true);
    work_dump(work, &writer);
    ck_assert_msg(
        json_open_text("t.json", text.bytes, text.length, false, &arena, &document, &diag), "%s",
        diag.entries[0].message);
    const struct json_value root = json_root(document), blocks = json_find(root, "blocks");
    ck_assert_uint_eq(json_count(blocks), work->block_count);
    ck_assert_uint_eq(json_count(json_find(root, "groups")), work->group_count);
    for (uint32_t i = 0; i < work->block_count; i++) {
        const struct json_value block = json_find_index(blocks, i);
        ck_assert_uint_eq(json_count(json_find(block, "forward")), work->blocks[i].forward.count);
        ck_assert_uint_eq(json_count(json_find(block, "backward")), work->blocks[i].backward.count);
        ck_assert_uint_eq(json_count(json_find(block, "sync")), work->blocks[i].sync.count);
    }
    json_close(document);
    arena_release(&arena);
}
END_TEST

TAP_MAIN("law of work programs", work_is_conserved, one_device_does_what_the_model_counts,
         one_device_sends_nothing, programs_can_be_seen)

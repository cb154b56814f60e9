/* Kernels of ops by the dims that can cut them: all of a block's, and nothing else changes them. */
#include <string.h>

#include "plan/work_kernels.h"
#include "tests/law/built_work.h"
#include "tests/samples.h"

#define SORT "sort"
#define PLANS 60 /* legal ones, per model */

static const char *const names[] = {
    "toy-4l",        "toy-gqa-8l",    "toy-moe-4l", "toy-mixed-6l", "toy-latent-4l",
    "toy-hybrid-8l", "toy-vision-4l", "toy-t5-4l",  "gpt2-large",   "mixtral-8x7b"};

static struct work_kernels *groups;
static uint32_t group_count;

static bool same_kernel(const struct work_compute *a, const struct work_compute *b)
{
    return a->name == b->name && a->kind == b->kind && a->pass == b->pass &&
           a->joined == b->joined && a->dtype == b->dtype && a->m == b->m && a->n == b->n &&
           a->k == b->k && a->groups == b->groups && a->batch == b->batch && a->heads == b->heads &&
           a->kv_heads == b->kv_heads && a->queries == b->queries && a->keys == b->keys &&
           a->head_dim == b->head_dim && a->value_dim == b->value_dim &&
           a->density_frac == b->density_frac && a->flops == b->flops && a->bytes == b->bytes;
}

/* The kernels of a group stand in the block's list in their order. */
static uint32_t count_found(const struct work_items *all, const struct work_items *some)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < some->count; i++) {
        ck_assert(!some->items[i].is_message);
        while (at < all->count &&
               (all->items[at].is_message ||
                !same_kernel(&all->items[at].compute, &some->items[i].compute))) {
            at++;
        }
        ck_assert_msg(at < all->count, "%s: kernel '%s', pass %d, is not in the block", model.name,
                      some->items[i].compute.name, (int)some->items[i].compute.pass);
        at++;
    }
    return some->count;
}

/* What sorts rows for a message comes with the message. */
static uint32_t count_kernels(const struct work_items *items)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < items->count; i++) {
        count += !items->items[i].is_message && strcmp(items->items[i].compute.name, SORT) != 0;
    }
    return count;
}

static void expect_all(const struct plan *plan)
{
    const struct work *work = start(plan);
    struct work *kernels = ARENA_PUSH(&arena, struct work, 1);
    for (uint32_t part = 0; part < model.part_count; part++) {
        const struct work_block *block = &work->blocks[work_find_block(work, part, KEEP_ALL)];
        uint32_t forward = 0, backward = 0;
        for (uint32_t i = 0; i < group_count; i++) {
            if (groups[i].part == part) {
                work_kernels_build(&problem, plan, &groups[i], &arena, kernels);
                forward += count_found(&block->forward, &kernels->blocks[0].forward);
                backward += count_found(&block->backward, &kernels->blocks[0].backward);
            }
        }
        ck_assert_uint_eq(forward, count_kernels(&block->forward));
        ck_assert_uint_eq(backward, count_kernels(&block->backward));
    }
}

/* Degree of a dim in the plan, with its variant. */
static uint64_t setting(const struct plan *plan, uint32_t dim)
{
    const struct group *group = &plan->groups[0];
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        if (group->mesh[i].dim == dim_table[dim] && group->mesh[i].degree > 1) {
            return (uint64_t)group->mesh[i].degree << 8 | group->mesh[i].variant;
        }
    }
    for (uint32_t i = 0; i < group->fold_count; i++) {
        if (group->folds[i].dim == dim_table[dim] && group->folds[i].degree > 1) {
            return (uint64_t)group->folds[i].degree << 8;
        }
    }
    return (uint64_t)1 << 8;
}

static bool agree(const struct plan *a, const struct plan *b, uint32_t dims)
{
    bool same = a->schedule.micro_batch == b->schedule.micro_batch;
    for (uint32_t dim = 0; dim < dim_table_count; dim++) {
        same = same && ((dims >> dim & 1u) == 0 || setting(a, dim) == setting(b, dim));
    }
    return same;
}

static void expect_same(const struct work_items *a, const struct work_items *b)
{
    ck_assert_uint_eq(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        ck_assert_msg(same_kernel(&a->items[i].compute, &b->items[i].compute),
                      "%s: kernel '%s' hangs on more than its dims", model.name,
                      a->items[i].compute.name);
    }
}

/* Of two plans; the number of groups whose dims they agree in. */
static uint32_t compare(const struct plan *a, const struct plan *b)
{
    uint32_t compared = 0;
    struct work *of_a = ARENA_PUSH(&arena, struct work, 1),
                *of_b = ARENA_PUSH(&arena, struct work, 1);
    for (uint32_t i = 0; i < group_count; i++) {
        if (agree(a, b, groups[i].dims)) {
            work_kernels_build(&problem, a, &groups[i], &arena, of_a);
            work_kernels_build(&problem, b, &groups[i], &arena, of_b);
            expect_same(&of_a->blocks[0].forward, &of_b->blocks[0].forward);
            expect_same(&of_a->blocks[0].backward, &of_b->blocks[0].backward);
            compared++;
        }
    }
    return compared;
}

static void open_model(const char *name)
{
    begin(name);
    group_count = work_kernels_find(&model, &arena, &groups);
}

START_TEST(groups_hold_every_kernel_once)
{
    for (uint32_t m = 0; m < sizeof names / sizeof names[0]; m++) {
        struct random random;
        struct group group;
        struct plan plan;
        random_init(&random, 11);
        open_model(names[m]);
        for (uint32_t i = 0; i < count_samples(PLANS); i++) {
            const struct arena_mark mark = arena_find_mark(&arena);
            fill_plain(&random, &group, &plan);
            expect_all(&plan);
            arena_pop(&arena, mark);
        }
        arena_release(&arena);
    }
}
END_TEST

START_TEST(kernels_hang_on_their_dims_alone)
{
    uint32_t compared = 0, whole = 0;
    for (uint32_t m = 0; m < sizeof names / sizeof names[0]; m++) {
        struct random random;
        struct group group[2];
        struct plan plan[2];
        random_init(&random, 12);
        open_model(names[m]);
        for (uint32_t i = 0; i < count_samples(10 * PLANS); i++) {
            const struct arena_mark mark = arena_find_mark(&arena);
            fill_plain(&random, &group[0], &plan[0]);
            fill_plain(&random, &group[1], &plan[1]);
            compared += compare(&plan[0], &plan[1]);
            whole += group_count;
            arena_pop(&arena, mark);
        }
        arena_release(&arena);
    }
    ck_assert_uint_gt(compared, whole / 100);
    ck_assert_uint_lt(compared, whole);
}
END_TEST

TAP_MAIN("law of kernels", groups_hold_every_kernel_once, kernels_hang_on_their_dims_alone)

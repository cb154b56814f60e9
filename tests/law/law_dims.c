/* What holds for every dim: it is sound data, degree 1 is the identity, degrees multiply, cuts
 * conserve. */
#include <string.h>

#include "models/transformer.h"
#include "tests/law/random_plan.h"

/* --- data ------------------------------------------------------------------------------------- */

START_TEST(every_member_is_sound)
{
    for (uint32_t i = 0; i < dim_table_count; i++) {
        const struct dim *dim = dim_table[i];
        ck_assert_msg(strncmp(dim->flag, "--", 2) == 0, "%s: flag %s", dim->name, dim->flag);
        ck_assert_msg(dim->summary[0] != '\0', "%s says nothing", dim->name);
        ck_assert_uint_ge(dim->variant_count, 1);
        ck_assert_uint_le(dim->variant_count, DIM_VARIANT_MAX);
        ck_assert_msg((dim->kind == DIM_FACTOR) == (dim->hosts[0] == NULL),
                      "%s: folds, and only they, have hosts", dim->name);
        for (uint32_t host = 0; host < 3 && dim->hosts[host] != NULL; host++) {
            const struct dim *other = dim_find(dim->hosts[host]);
            ck_assert_msg(other != NULL && other->kind == DIM_FACTOR, "%s: host %s is no factor",
                          dim->name, dim->hosts[host]);
        }
        for (uint32_t v = 0; v < dim->variant_count; v++) {
            ck_assert_msg(dim->variant_count == 1 || dim->variants[v].name != NULL,
                          "%s: a variant has no name", dim->name);
            ck_assert_msg((dim->variants[v].cut_count == 0) == dim->cuts_chain,
                          "%s cuts either axes or the chain", dim->name);
        }
        for (uint32_t other = 0; other < i; other++) {
            ck_assert_msg(dim_table[other]->order != dim->order, "%s and %s have one place",
                          dim->name, dim_table[other]->name);
            ck_assert_msg(strcmp(dim_table[other]->flag, dim->flag) != 0, "%s and %s have one flag",
                          dim->name, dim_table[other]->name);
        }
    }
}
END_TEST

static bool is_cut_in(const char *name, const struct dim_cut *cut)
{
    begin(name);
    const bool found = model_find_axis(&model, cut->axis) != NO_INDEX &&
                       (cut->beside == NULL || model_find_axis(&model, cut->beside) != NO_INDEX);
    arena_release(&arena);
    return found;
}

static void expect_axes(const struct dim *dim, const struct dim_variant *variant)
{
    for (uint32_t c = 0; c < variant->cut_count; c++) {
        bool found = false;
        for (size_t m = 0; m < MODEL_COUNT; m++) {
            found = found || is_cut_in(models[m], &variant->cuts[c]);
        }
        ck_assert_msg(found, "%s cuts '%s', which no model has", dim->name, variant->cuts[c].axis);
    }
}

/* Each axis that a member names exists in a shipped model, so that no entry is dead. */
START_TEST(every_axis_exists_in_some_model)
{
    for (uint32_t i = 0; i < dim_table_count; i++) {
        for (uint32_t v = 0; v < dim_table[i]->variant_count; v++) {
            expect_axes(dim_table[i], &dim_table[i]->variants[v]);
        }
    }
}
END_TEST

/* --- plans ------------------------------------------------------------------------------------ */

/* The rules with words and those without are one set: they agree on every plan, and illegal plans
 * get words. */
static void compare_rules(size_t m)
{
    uint32_t legal = 0, illegal = 0;
    struct random random;
    random_init(&random, 11);
    begin(models[m]);
    for (uint32_t round = 0;
         round < 2000 || !is_enough(round, legal, 100) || !is_enough(round, illegal, 100);
         round++) {
        const struct arena_mark mark = arena_find_mark(&arena);
        struct group group;
        struct plan plan;
        fill(&random, &group, &plan);
        diag_init(&diag, &arena);
        const bool checked = plan_check(&problem, &plan, &diag);
        ck_assert_msg(checked == (diag.count == 0), "legal and faulty at once: %s",
                      diag.entries[0].message);
        ck_assert(plan_is_legal(&problem, &plan) == checked);
        legal += checked;
        illegal += !checked;
        arena_pop(&arena, mark);
    }
    arena_release(&arena);
}

/* Degree 1 is the identity: a dim left out and a dim of degree 1 give the same verdict and
 * counts. */
static void compare_without_ones(size_t m)
{
    struct random random;
    random_init(&random, 12);
    begin(models[m]);
    uint32_t legal = 0;
    for (uint32_t round = 0; round < 2000 || !is_enough(round, legal, 100); round++) {
        struct group group, less = {.mesh_count = 0};
        struct plan plan;
        fill(&random, &group, &plan);
        struct plan without = plan;
        without.groups = &less;
        for (uint32_t i = 0; i < group.mesh_count; i++) {
            if (group.mesh[i].degree > 1) {
                less.mesh[less.mesh_count++] = group.mesh[i];
            }
        }
        for (uint32_t i = 0; i < group.fold_count; i++) {
            if (group.folds[i].degree > 1) {
                less.folds[less.fold_count++] = group.folds[i];
            }
        }
        const bool good = plan_is_legal(&problem, &plan);
        legal += good;
        ck_assert(good == plan_is_legal(&problem, &without));
        ck_assert(plan_count_devices(&plan) == plan_count_devices(&without));
        ck_assert(plan_count_stages(&plan) == plan_count_stages(&without));
        ck_assert(plan_count_replicas(&problem, &plan) == plan_count_replicas(&problem, &without));
        ck_assert(plan_count_micro_batches(&problem, &plan) ==
                  plan_count_micro_batches(&problem, &without));
    }
    arena_release(&arena);
}

/* What is legal conserves: degrees give the devices, micro-batches give the batch. */
static void compare_products(size_t m)
{
    struct random random;
    random_init(&random, 13);
    begin(models[m]);
    for (uint32_t round = 0; round < 100; round++) {
        struct group group;
        struct plan plan;
        fill_legal(&random, &group, &plan);
        uint64_t product = 1;
        for (uint32_t i = 0; i < group.mesh_count; i++) {
            product *= plan_find_degree(&plan, group.mesh[i].dim);
        }
        ck_assert_uint_eq(product, plan_count_devices(&plan));
        ck_assert_uint_le(product, cluster.device_count);
        ck_assert_uint_le(cluster.device_count - product, setup.spare_devices);
        ck_assert_uint_eq(plan_count_micro_batches(&problem, &plan) *
                              plan_count_replicas(&problem, &plan) * plan.schedule.micro_batch,
                          setup.global_batch);
        ck_assert_uint_le((uint64_t)plan_count_stages(&plan) * plan.schedule.chunks,
                          plan_count_layers(&model));
    }
    arena_release(&arena);
}

/* A factor alone is legal exactly when it divides every size that it must: told by arithmetic on
 * the shape. */
static void compare_with_shape(size_t m)
{
    begin(models[m]);
    const struct transformer *shape = model.transformer;
    for (uint32_t degree = 1; degree <= 32; degree++) {
        struct group group = {.mesh_count = 1, .mesh = {{.dim = dim_find("tp"), .degree = degree}}};
        struct plan plan = {.groups = &group, .group_count = 1};
        plan.schedule = (struct plan_schedule){
            .schedule = schedule_find("gpipe"), .micro_batch = 1, .chunks = 1};
        setup.spare_devices = 32;
        const bool ffn =
            shape->moe.experts > 0 && shape->moe.first_dense == 0 && shape->moe.every == 1
                ? true
                : shape->ffn % degree == 0;
        const bool moe = shape->moe.experts == 0 ||
                         (shape->moe.ffn % degree == 0 && shape->moe.shared_ffn % degree == 0);
        const bool right =
            shape->heads % degree == 0 && shape->kv_heads % degree == 0 && ffn && moe;
        ck_assert_msg(plan_is_legal(&problem, &plan) == right, "%s, degree %u", model.name, degree);
    }
    arena_release(&arena);
}

START_TEST(silent_rules_are_the_same_rules)
{
    for (size_t m = 0; m < MODEL_COUNT; m++) {
        compare_rules(m);
    }
}
END_TEST

START_TEST(degree_one_is_the_identity)
{
    for (size_t m = 0; m < MODEL_COUNT; m++) {
        compare_without_ones(m);
    }
}
END_TEST

START_TEST(legal_plans_conserve)
{
    for (size_t m = 0; m < MODEL_COUNT; m++) {
        compare_products(m);
    }
}
END_TEST

START_TEST(tensor_degree_must_divide_the_shape)
{
    for (size_t m = 0; m < MODEL_COUNT; m++) {
        compare_with_shape(m);
    }
}
END_TEST

TAP_MAIN("dims", every_member_is_sound, every_axis_exists_in_some_model,
         silent_rules_are_the_same_rules, degree_one_is_the_identity, legal_plans_conserve,
         tensor_degree_must_divide_the_shape)

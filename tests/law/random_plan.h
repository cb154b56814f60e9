/* Random meshes on a small cluster: what the laws of dims and policies run over. */
#ifndef SHARDPLAN_TESTS_LAW_RANDOM_PLAN_H
#define SHARDPLAN_TESTS_LAW_RANDOM_PLAN_H

#include "base/random.h"
#include "plan/plan.h"
#include "tests/tap_main.h"

/* The plain ones last: laws that draw until they have seen enough draw from the last. */
static const char *const models[] = {"toy-latent-4l", "toy-hybrid-8l", "toy-vision-4l",
                                     "toy-t5-4l",     "toy-4l",        "toy-gqa-8l",
                                     "toy-moe-4l",    "toy-mixed-6l"};
#define MODEL_COUNT (sizeof models / sizeof models[0])

static struct arena arena;
static struct diag diag;
static struct model model;
static struct cluster cluster;
static struct setup setup;
static struct problem problem;
static struct runtime runtime;

/* 32 devices, a batch and a length with many divisors. */
static inline void begin(const char *name)
{
    arena_init(&arena);
    diag_init(&diag, &arena);
    ck_assert_msg(model_read(name, &arena, &model, &diag), "%s", diag.entries[0].message);
    ck_assert(cluster_read("dgx-h100:4", &arena, &cluster, &diag));
    ck_assert(runtime_read(RUNTIME_DEFAULT, (struct diag_place){0}, &arena, &runtime, &diag));
    setup = (struct setup){.global_batch = 96,
                           .seq_length = 1536,
                           .dtype = DTYPE_BF16,
                           .optimizer = optimizer_find("adam"),
                           .runtime = &runtime,
                           .attention = ATTENTION_FLASH,
                           .task = {.text = "pretrain"}};
    problem = (struct problem){.model = &model, .cluster = &cluster, .setup = &setup};
}

/* A schedule that the runtime runs: others are known to be illegal. */
static inline const struct schedule *draw_schedule(struct random *random)
{
    const struct schedule *schedule;
    do {
        schedule = schedule_table[random_pop_below(random, schedule_table_count)];
    } while (!runtime_accepts_schedule(&runtime, schedule->name));
    return schedule;
}

/* A mesh of the runtime's factors with random degrees, folds now and then; legal or not. */
static inline void fill(struct random *random, struct group *group, struct plan *plan)
{
    static const uint32_t degrees[] = {1, 2, 3, 4, 6, 8, 12, 16, 32};
    *group = (struct group){.mesh_count = 0};
    *plan = (struct plan){.groups = group, .group_count = 1};
    for (uint32_t i = 0; i < dim_table_count; i++) {
        const struct dim *dim = dim_table[i];
        const uint32_t drawn = degrees[random_pop_below(random, 4 + random_pop_below(random, 5))];
        const uint32_t degree = runtime_accepts_dim(&runtime, dim->name) ? drawn : 1;
        if (dim->kind == DIM_FACTOR) {
            group->mesh[group->mesh_count++] =
                (struct mesh_dim){.dim = dim,
                                  .degree = degree,
                                  .variant = random_pop_below(random, dim->variant_count)};
        } else if (random_pop_below(random, 2) == 0) {
            group->folds[group->fold_count++] = (struct mesh_fold){.dim = dim, .degree = degree};
        }
    }
    plan->schedule = (struct plan_schedule){
        .schedule = draw_schedule(random),
        .micro_batch = 1 + random_pop_below(random, 3),
        .chunks = 1 + random_pop_below(random, 2)};
    setup.spare_devices = random_pop_below(random, 2) == 0 ? 0 : 31;
}

#define DRAW_MAX 2000000

/* May a sample end here? It must hold the `least` that makes it worth something: where a set has
 * grown, what is wanted becomes rarer, so more is drawn. */
static inline bool is_enough(uint32_t drawn, uint32_t seen, uint32_t least)
{
    ck_assert_msg(drawn < DRAW_MAX, "%u of %u seen in %u draws", seen, least, drawn);
    return seen >= least;
}

/* Draws until the plan is legal. */
static inline void fill_legal(struct random *random, struct group *group, struct plan *plan)
{
    uint32_t drawn = 0;
    do {
        fill(random, group, plan);
    } while (!is_enough(drawn++, plan_is_legal(&problem, plan), 1));
}

/* The same under a schedule that all meshes take. */
static inline void fill_plain(struct random *random, struct group *group, struct plan *plan)
{
    uint32_t drawn = 0;
    do {
        fill(random, group, plan);
        plan->schedule.schedule = schedule_find("1f1b");
        plan->schedule.chunks = 1;
    } while (!is_enough(drawn++, plan_is_legal(&problem, plan), 1));
}

#endif

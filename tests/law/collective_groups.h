/* The groups that laws on collectives are held on. */
#ifndef SHARDPLAN_TESTS_LAW_COLLECTIVE_GROUPS_H
#define SHARDPLAN_TESTS_LAW_COLLECTIVE_GROUPS_H

#include "base/arena.h"
#include "base/text.h"
#include "plan/collective.h"

#define SMALL_MAX 17

static const uint32_t large_ranks[] = {24, 25, 31, 32, 33, 48, 63, 64, 65, 96, 100, 127, 128, 129};

/* A law on one (member, kind, group); `where` names the three. */
typedef void law(const struct collective *, enum collective_kind, const struct collective_group *,
                 const char *where, struct arena *);

/* Pieces matter to pipelined members only; an all-to-all has ranks cubed cells to look at. */
static inline bool is_worth(const struct collective *member, enum collective_kind kind,
                            const struct collective_group *group)
{
    return (group->pipeline == 1 || member->pipeline_max > 1) &&
           (kind != COLLECTIVE_ALL_TO_ALL || group->ranks <= 33);
}

static inline void hold_on_group(law *holds, const struct collective_group *group)
{
    struct arena arena;
    arena_init(&arena);
    for (uint32_t i = 0; i < collective_table_count; i++) {
        const struct collective *member = collective_table[i];
        for (uint32_t k = 0; k < member->kind_count; k++) {
            const struct arena_mark mark = arena_find_mark(&arena);
            if (is_worth(member, member->kinds[k], group) &&
                collective_accepts(member, member->kinds[k], group)) {
                holds(member, member->kinds[k], group,
                      text_build(&arena, "%s %s, %u ranks on %u axes, inner %u, pipeline %u, %s",
                                 member->name,
                                 collective_kind_name(member->kinds[k]), group->ranks,
                                 group->axis_count, group->inner,
                                 group->pipeline, group->reduces ? "switch" : "no switch"),
                      &arena);
            }
            arena_pop(&arena, mark);
        }
    }
    arena_release(&arena);
}

static inline void hold_on_ranks(law *holds, uint32_t ranks, const uint32_t pipelines[3])
{
    for (uint32_t inner = 1; inner <= ranks; inner++) {
        for (uint32_t i = 0; i < 6 && ranks % inner == 0; i++) {
            const struct collective_group group = {.ranks = ranks,
                                                   .inner = inner,
                                                   .reduces = i % 2 == 1,
                                                   .pipeline = pipelines[i / 2]};
            hold_on_group(holds, &group);
        }
    }
}

/* Tori, meshes and what closes along one axis only. */
static inline void hold_on_grids(law *holds)
{
    static const uint32_t shapes[][COLLECTIVE_AXIS_MAX] = {
        {5},    {2, 2}, {4, 4},    {3, 5},    {4, 2},       {2, 7},
        {5, 5}, {3, 3}, {2, 2, 2}, {4, 3, 2}, {2, 3, 2, 2},
    };
    for (uint32_t i = 0; i < 3 * sizeof shapes / sizeof shapes[0]; i++) {
        struct collective_group group = {.ranks = 1, .inner = 1, .pipeline = 1};
        for (uint32_t axis = 0; axis < COLLECTIVE_AXIS_MAX && shapes[i / 3][axis] > 0; axis++) {
            group.axes[axis] = shapes[i / 3][axis];
            group.closes[axis] = i % 3 == 0 || (i % 3 == 1 && axis == 0);
            group.ranks *= group.axes[axis];
            group.axis_count++;
        }
        hold_on_group(holds, &group);
    }
}

static inline void hold_on_small(law *holds)
{
    hold_on_grids(holds);
    for (uint32_t ranks = 2; ranks <= SMALL_MAX; ranks++) {
        hold_on_ranks(holds, ranks, (const uint32_t[]){1, 2, 4});
    }
}

static inline void hold_on_large(law *holds)
{
    for (size_t i = 0; i < sizeof large_ranks / sizeof large_ranks[0]; i++) {
        const uint32_t ranks = large_ranks[i];
        struct collective_group group = {.ranks = ranks, .inner = 1, .reduces = true};
        group.inner = ranks % 8 == 0 ? 8 : 1;
        group.pipeline = 1;
        hold_on_group(holds, &group);
        group.pipeline = 3;
        hold_on_group(holds, &group);
    }
}

#endif

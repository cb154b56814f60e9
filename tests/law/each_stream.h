/* Every schedule on many shapes, for the laws that hold for all of them. */
#ifndef SHARDPLAN_TESTS_LAW_EACH_STREAM_H
#define SHARDPLAN_TESTS_LAW_EACH_STREAM_H

#include "base/random.h"
#include "plan/schedule.h"
#include "tests/tap_main.h"

static struct arena arena;
static struct diag diag;
static struct random dice;

static const uint32_t stage_list[] = {1, 2, 3, 4, 5, 8};
static const uint32_t chunk_list[] = {1, 2, 3, 4};
static const uint32_t micro_list[] = {1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 20, 24};

#define COUNT_OF(list) ((uint32_t)(sizeof(list) / sizeof(list)[0]))
#define SHAPE_COUNT (COUNT_OF(stage_list) * COUNT_OF(chunk_list) * COUNT_OF(micro_list))

static inline struct schedule_shape shape_at(uint32_t index)
{
    uint32_t micro = index % COUNT_OF(micro_list), rest = index / COUNT_OF(micro_list);
    return (struct schedule_shape){.stages = stage_list[rest / COUNT_OF(chunk_list)],
                                   .chunks = chunk_list[rest % COUNT_OF(chunk_list)],
                                   .micro_batches = micro_list[micro]};
}

/* Calls the law on every shape that every member takes; each member takes at least a dozen. */
static inline void each_stream(void (*law)(const struct schedule *, const struct stream *))
{
    arena_init(&arena);
    random_init(&dice, 7);
    for (uint32_t i = 0; i < schedule_table_count; i++) {
        uint32_t taken = 0;
        for (uint32_t j = 0; j < SHAPE_COUNT; j++) {
            struct arena_mark mark = arena_find_mark(&arena);
            struct schedule_shape shape = shape_at(j);
            struct stream stream;
            diag_init(&diag, &arena);
            if (schedule_refuses(schedule_table[i], &shape) == NULL) {
                ck_assert_msg(stream_build(schedule_table[i], &shape, &arena, &stream, &diag),
                              "%s, %u stages, %u chunks, %u micro-batches: %s",
                              schedule_table[i]->name, shape.stages, shape.chunks,
                              shape.micro_batches, diag.entries[0].message);
                law(schedule_table[i], &stream);
                taken++;
            }
            arena_pop(&arena, mark);
        }
        ck_assert_msg(taken >= 12, "%s takes only %u shapes", schedule_table[i]->name, taken);
    }
    arena_release(&arena);
}

#endif

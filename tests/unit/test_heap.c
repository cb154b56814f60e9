/* A heap gives back all it was given, smallest first, whatever the order in. */
#include "base/heap.h"

#include <string.h>

#include "base/random.h"
#include "tests/tap_main.h"

#define COUNT 3000u

static bool is_before(const struct heap_entry *a, const struct heap_entry *b)
{
    return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

START_TEST(pops_ascend_and_lose_nothing)
{
    struct arena arena;
    struct heap heap;
    struct random random;
    arena_init(&arena);
    heap_init(&heap, &arena, 0);
    random_init(&random, 4);
    bool seen[COUNT] = {false};
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint64_t key = random_pop_below(&random, 50);
        heap_push(&heap, (struct heap_entry){.key = key, .tie = i * 7919u % COUNT, .value = i});
    }
    struct heap_entry previous = {0, 0, 0}, entry;
    for (uint32_t i = 0; i < COUNT; i++) {
        ck_assert_uint_eq(heap.count, COUNT - i);
        const struct heap_entry first = *heap_find_first(&heap);
        ck_assert(heap_pop(&heap, &entry));
        ck_assert_int_eq(memcmp(&first, &entry, sizeof entry), 0);
        ck_assert(i == 0 || is_before(&previous, &entry));
        ck_assert_uint_eq(entry.tie, entry.value * 7919u % COUNT);
        ck_assert(!seen[entry.value]);
        seen[entry.value] = true;
        previous = entry;
    }
    ck_assert(!heap_pop(&heap, &entry));
    ck_assert_ptr_null(heap_find_first(&heap));
    arena_release(&arena);
}
END_TEST

START_TEST(pushes_between_pops)
{
    struct arena arena;
    struct heap heap;
    struct random random;
    arena_init(&arena);
    heap_init(&heap, &arena, 2);
    random_init(&random, 5);
    uint64_t now = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        /* As a simulator does: never push into the past, so pops never go back. */
        heap_push(&heap, (struct heap_entry){
                             .key = now + random_pop_below(&random, 100), .tie = i, .value = i});
        struct heap_entry entry;
        if (random_pop_below(&random, 3) > 0 && heap_pop(&heap, &entry)) {
            ck_assert_uint_ge(entry.key, now);
            now = entry.key;
        }
    }
    arena_release(&arena);
}
END_TEST

START_TEST(order_ignores_order_of_pushes)
{
    static const struct heap_entry entries[] = {
        {UINT64_MAX, 0, 1}, {0, 5, 2}, {0, 4, 3}, {7, UINT64_MAX, 4}, {7, 0, 5},
    };
    static const uint32_t expected[] = {3, 2, 5, 4, 1};
    for (uint32_t start = 0; start < 5; start++) {
        for (uint32_t stride = 1; stride < 5; stride++) {
            struct arena arena;
            struct heap heap;
            arena_init(&arena);
            heap_init(&heap, &arena, 1);
            for (uint32_t i = 0; i < 5; i++) {
                heap_push(&heap, entries[(start + i * stride) % 5]);
            }
            for (uint32_t i = 0; i < 5; i++) {
                struct heap_entry entry;
                ck_assert(heap_pop(&heap, &entry));
                ck_assert_uint_eq(entry.value, expected[i]);
            }
            arena_release(&arena);
        }
    }
}
END_TEST

/* Another in place of the first is one popped and one pushed. */
START_TEST(replacing_is_popping_and_pushing)
{
    struct arena arena;
    struct heap replaced, plain;
    struct random random;
    arena_init(&arena);
    heap_init(&replaced, &arena, 4);
    heap_init(&plain, &arena, 4);
    random_init(&random, 6);
    for (uint32_t i = 0; i < 50; i++) {
        const struct heap_entry entry = {
            .key = random_pop_below(&random, 40), .tie = i, .value = i};
        heap_push(&replaced, entry);
        heap_push(&plain, entry);
    }
    for (uint32_t i = 50; i < 5000; i++) {
        const struct heap_entry entry = {
            .key = random_pop_below(&random, 40), .tie = i, .value = i};
        struct heap_entry popped;
        ck_assert(heap_pop(&plain, &popped));
        ck_assert_uint_eq(heap_find_first(&replaced)->tie, popped.tie);
        heap_push(&plain, entry);
        heap_replace(&replaced, entry);
        ck_assert_uint_eq(replaced.count, plain.count);
    }
    arena_release(&arena);
}
END_TEST

TAP_MAIN("heap", replacing_is_popping_and_pushing, pops_ascend_and_lose_nothing,
         pushes_between_pops, order_ignores_order_of_pushes)

/* Pushed memory is zeroed, aligned, apart from all other, and comes back after a pop. */
#include "base/arena.h"

#include <signal.h>
#include <stdalign.h>
#include <string.h>

#include "tests/tap_main.h"

/* How many of the bytes hold another value. */
static size_t count_others(const unsigned char *bytes, size_t length, unsigned char value)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        count += bytes[i] != value;
    }
    return count;
}

START_TEST(pushes_are_zero_aligned_and_apart)
{
    static const size_t sizes[] = {1, 0, 7, 16, 4000, 33, 70000, 1 << 20, 5};
    enum { COUNT = sizeof sizes / sizeof sizes[0] };
    unsigned char *pushed[COUNT];
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT; i++) {
        pushed[i] = arena_push(&arena, sizes[i], 1);
        ck_assert_ptr_nonnull(pushed[i]);
        ck_assert_uint_eq((uintptr_t)pushed[i] % alignof(max_align_t), 0);
        ck_assert_uint_eq(count_others(pushed[i], sizes[i], 0), 0);
        memset(pushed[i], (int)i + 1, sizes[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert_uint_eq(count_others(pushed[i], sizes[i], (unsigned char)(i + 1)), 0);
    }
    ck_assert_uint_ge(arena.used_bytes, 1 + 7 + 16 + 4000 + 33 + 70000 + (1 << 20) + 5);
    arena_release(&arena);
    ck_assert_ptr_null(arena.last);
}
END_TEST

/* Pushes in a pattern that crosses blocks; all zero although the memory was used before. */
static void fill(struct arena *arena, unsigned char value)
{
    for (size_t size = 1; size < 200000; size = size * 3 + 1) {
        unsigned char *bytes = arena_push(arena, size, 1);
        ck_assert_uint_eq(count_others(bytes, size, 0), 0);
        memset(bytes, value, size);
    }
}

START_TEST(popped_memory_is_reused_and_zeroed)
{
    struct arena arena;
    arena_init(&arena);
    uint32_t *kept = ARENA_PUSH(&arena, uint32_t, 3);
    kept[2] = 0xabcdef01;
    const struct arena_mark mark = arena_find_mark(&arena);
    const char *first = arena_push(&arena, 8, 1);
    for (unsigned round = 0; round < 5; round++) {
        fill(&arena, (unsigned char)(round + 1));
        arena_pop(&arena, mark);
        ck_assert_ptr_eq(arena.last, mark.block);
        ck_assert_uint_eq(arena_find_mark(&arena).offset_bytes, mark.offset_bytes);
    }
    ck_assert_ptr_eq(arena_push(&arena, 8, 1), first);
    ck_assert_uint_eq(kept[2], 0xabcdef01);
    arena_release(&arena);
}
END_TEST

START_TEST(mark_of_empty_arena)
{
    struct arena arena;
    arena_init(&arena);
    const struct arena_mark mark = arena_find_mark(&arena);
    arena_pop(&arena, mark);
    const char *first = arena_push(&arena, 8, 1);
    fill(&arena, 9);
    arena_pop(&arena, mark);
    ck_assert_uint_eq(arena_find_mark(&arena).offset_bytes, 0);
    ck_assert_ptr_eq(arena_push(&arena, 8, 1), first);
    arena_release(&arena);
}
END_TEST

START_TEST(marks_nest)
{
    struct arena arena;
    arena_init(&arena);
    const struct arena_mark outer = arena_find_mark(&arena);
    memset(arena_push(&arena, 100000, 1), 1, 100000);
    const struct arena_mark inner = arena_find_mark(&arena);
    memset(arena_push(&arena, 300000, 1), 2, 300000);
    arena_pop(&arena, inner);
    ck_assert_uint_eq(arena_find_mark(&arena).offset_bytes, inner.offset_bytes);
    arena_pop(&arena, inner);
    arena_pop(&arena, outer);
    fill(&arena, 3);
    arena_release(&arena);
}
END_TEST

static void ask_for_more_than_size_t(void)
{
    struct arena arena;
    arena_init(&arena);
    arena_push(&arena, SIZE_MAX / 2, 3);
}

static void ask_for_all_memory(void)
{
    struct arena arena;
    arena_init(&arena);
    arena_push(&arena, SIZE_MAX - 64, 1);
}

START_TEST(too_much_aborts)
{
    ck_assert_int_eq(tap_find_end(ask_for_more_than_size_t), 128 + SIGABRT);
    /* AddressSanitizer's allocator ends the program itself, with 1. */
    ck_assert_int_ne(tap_find_end(ask_for_all_memory), 0);
}
END_TEST

TAP_MAIN("arena", pushes_are_zero_aligned_and_apart, popped_memory_is_reused_and_zeroed,
         mark_of_empty_arena, marks_nest, too_much_aborts)

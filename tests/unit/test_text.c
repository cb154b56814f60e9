/* Text grows without losing a byte; the nearest word is the one a person meant. */
#include "base/text.h"

#include <string.h>

#include "tests/tap_main.h"

static struct arena arena;

START_TEST(pushes_join)
{
    struct text text;
    arena_init(&arena);
    text_init(&text, &arena);
    ck_assert_str_eq(text.bytes, "");
    char expected[6000] = "";
    size_t length = 0;
    for (int i = 0; i < 400; i++) {
        text_push(&text, "%d,", i * i);
        length += (size_t)snprintf(expected + length, sizeof expected - length, "%d,", i * i);
        ck_assert_uint_eq(text.length, length);
        ck_assert_uint_lt(text.length, text.capacity);
    }
    ck_assert_str_eq(text.bytes, expected);
    arena_release(&arena);
}
END_TEST

START_TEST(one_push_larger_than_the_room)
{
    char large[3000];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    for (size_t before = 0; before < 140; before++) {
        struct text text;
        arena_init(&arena);
        text_init(&text, &arena);
        text_push_bytes(&text, large, before);
        text_push(&text, "[%s]", large);
        ck_assert_uint_eq(text.length, before + sizeof large + 1);
        ck_assert_uint_eq(strlen(text.bytes), text.length);
        ck_assert_int_eq(text.bytes[before], '[');
        ck_assert_int_eq(text.bytes[text.length - 1], ']');
        arena_release(&arena);
    }
}
END_TEST

START_TEST(bytes_may_hold_nul)
{
    struct text text;
    arena_init(&arena);
    text_init(&text, &arena);
    text_push_bytes(&text, "a\0b", 3);
    ck_assert_uint_eq(text.length, 3);
    ck_assert_int_eq(memcmp(text.bytes, "a\0b", 4), 0);
    ck_assert_str_eq(text_build(&arena, "%s-%u", "x", 7u), "x-7");
    ck_assert_str_eq(text_build_copy(&arena, "copied", 4), "copi");
    arena_release(&arena);
}
END_TEST

START_TEST(characters)
{
    static const struct {
        const char *bytes;
        uint32_t size;
    } rows[] = {
        {"a", 1},
        {"\x7f", 1},
        {"\x80", 0},
        {"\xc3\xb6x", 2},
        {"\xc3", 0},
        {"\xc1\xbf", 0},
        {"\xe2\x82\xac", 3},
        {"\xe2\x82", 0},
        {"\xe0\x9f\xbf", 0},
        {"\xed\x9f\xbf", 3},
        {"\xed\xa0\x80", 0},
        {"\xf0\x9f\x98\x80", 4},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
        {"\xc3\xc3", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_uint_eq(text_count_character(rows[i].bytes, strlen(rows[i].bytes)), rows[i].size);
    }
}
END_TEST

START_TEST(nearest_word)
{
    static const char *const words[] = {"degree", "bandwidth", "latency", "name", "kind", "same"};
    static const struct {
        const char *word, *nearest;
    } rows[] = {
        {"degree", "degree"},
        {"degre", "degree"},
        {"degreee", "degree"},
        {"dgeree", "degree"},
        {"bandwith", "bandwidth"},
        {"bamdwitdh", "bandwidth"},
        {"latencies", "latency"},
        {"ame", "name"},
        {"fame", "name"},
        {"sane", "same"},
        {"kimd", "kind"},
        {"kxnx", NULL},
        {"knid", "kind"},
        {"", NULL},
        {"d", NULL},
        {"completely-else", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *found = text_find_nearest(rows[i].word, words, 6);
        ck_assert_pstr_eq(found, rows[i].nearest);
    }
    char endless[500];
    memset(endless, 'n', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    const char *const long_words[] = {endless, "name"};
    ck_assert_ptr_null(text_find_nearest(endless, words, 6));
    ck_assert_str_eq(text_find_nearest("nane", long_words, 2), "name");
    ck_assert_ptr_null(text_find_nearest("nane", long_words, 0));
}
END_TEST

START_TEST(digest_is_fnv_1a)
{
    /* Published test vectors: draft-eastlake-fnv, 64 bits. */
    ck_assert_uint_eq(text_digest(TEXT_DIGEST_SEED, "", 0), 0xcbf29ce484222325u);
    ck_assert_uint_eq(text_digest(TEXT_DIGEST_SEED, "a", 1), 0xaf63dc4c8601ec8cu);
    ck_assert_uint_eq(text_digest(TEXT_DIGEST_SEED, "foobar", 6), 0x85944171f73967e8u);
    ck_assert_uint_eq(text_digest(text_digest(TEXT_DIGEST_SEED, "foo", 3), "bar", 3),
                      0x85944171f73967e8u);
}
END_TEST

TAP_MAIN("text", pushes_join, one_push_larger_than_the_room, bytes_may_hold_nul, characters,
         nearest_word, digest_is_fnv_1a)

/* Quantities read as the double nearest to what is written, and what is written reads back. */
#include "base/units.h"

#include <string.h>

#include "base/random.h"
#include "tests/tap_main.h"

static struct arena arena;

static const char *dump(enum unit_kind kind, double value)
{
    struct text text;
    text_init(&text, &arena);
    unit_dump(kind, value, &text);
    return text.bytes;
}

static const char *dump_short(enum unit_kind kind, double value)
{
    struct text text;
    text_init(&text, &arena);
    unit_dump_short(kind, value, &text);
    return text.bytes;
}

START_TEST(reads)
{
    static const struct {
        enum unit_kind kind;
        const char *text;
        double value;
    } rows[] = {
        {UNIT_BYTES, "80 GiB", 85899345920.0},
        {UNIT_BYTES, "80GB", 80e9},
        {UNIT_BYTES, "0 B", 0},
        {UNIT_BYTES, "1.5 KiB", 1536},
        {UNIT_BYTES, "2 TiB", 2199023255552.0},
        {UNIT_BYTES, "1e3 MB", 1e9},
        {UNIT_BYTES, "1E+3 MB", 1e9},
        {UNIT_BYTES_PER_SECOND, "900 GB/s", 9e11},
        {UNIT_BYTES_PER_SECOND, "400 Gb/s", 5e10},
        {UNIT_BYTES_PER_SECOND, "8 b/s", 1},
        {UNIT_BYTES_PER_SECOND, "1 GiB/s", 0x1p30},
        {UNIT_BYTES_PER_SECOND, "3.35 TB/s", 3.35e12},
        {UNIT_FLOPS_PER_SECOND, "989 TFLOP/s", 989e12},
        {UNIT_FLOPS_PER_SECOND, "1979 TOP/s", 1979e12},
        {UNIT_FLOPS_PER_SECOND, "1.2 PFLOP/s", 1.2e15},
        {UNIT_SECONDS, "2.5 us", 2.5e-6},
        {UNIT_SECONDS, "0.1 us", 1e-7},
        {UNIT_SECONDS, "0.3 ns", 3e-10},
        {UNIT_SECONDS, "5e-6 s", 5e-6},
        {UNIT_SECONDS, "1.5 min", 90},
        {UNIT_SECONDS, "2 h", 7200},
        {UNIT_HERTZ, "1.98 GHz", 1.98e9},
        {UNIT_WATTS, "700 W", 700},
        {UNIT_WATTS, "10.2 kW", 10200},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double value = -1;
        ck_assert_msg(unit_read(rows[i].text, rows[i].kind, &value), "%s", rows[i].text);
        ck_assert_msg(value == rows[i].value, "%s gives %.17g", rows[i].text, value);
    }
}
END_TEST

START_TEST(refuses)
{
    static const struct {
        enum unit_kind kind;
        const char *text;
    } rows[] = {
        {UNIT_BYTES, ""},
        {UNIT_BYTES, "80"},
        {UNIT_BYTES, "GiB"},
        {UNIT_BYTES, "80 GB/s"},
        {UNIT_BYTES, "80 gb"},
        {UNIT_BYTES, "-1 GB"},
        {UNIT_BYTES, "+1 GB"},
        {UNIT_BYTES, " 1 GB"},
        {UNIT_BYTES, "1  GB"},
        {UNIT_BYTES, "1 GB "},
        {UNIT_BYTES, "1. GB"},
        {UNIT_BYTES, ".5 GB"},
        {UNIT_BYTES, "0x10 B"},
        {UNIT_BYTES, "inf B"},
        {UNIT_BYTES, "nan B"},
        {UNIT_BYTES, "1e400 B"},
        {UNIT_BYTES, "1e9999 B"},
        {UNIT_BYTES, "1e307 PB"},
        {UNIT_BYTES, "1e307 PiB"},
        {UNIT_BYTES, "1e GB"},
        {UNIT_BYTES, "1,5 GB"},
        {UNIT_BYTES, "1 GB 2"},
        {UNIT_BYTES, "1 Gb"},
        {UNIT_SECONDS, "5 m"},
        {UNIT_SECONDS, "5 GB"},
        {UNIT_HERTZ, "5 hz"},
        {UNIT_WATTS, "5 MW"},
        {UNIT_BYTES_PER_SECOND, "400 G"},
        {UNIT_BYTES_PER_SECOND, "400 GBps"},
        {UNIT_BYTES, "11111111111111111111111111111111111111111111111111111111111 B"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double value = -1;
        ck_assert_msg(!unit_read(rows[i].text, rows[i].kind, &value), "'%s' gives %g", rows[i].text,
                      value);
        ck_assert_double_eq(value, -1);
    }
}
END_TEST

START_TEST(every_example_reads)
{
    for (int kind = 0; kind < UNIT_KIND_COUNT; kind++) {
        const char *example = unit_example((enum unit_kind)kind);
        const char *quote = strchr(example, '"');
        ck_assert_ptr_nonnull(quote);
        char text[32] = "";
        memcpy(text, quote + 1, strcspn(quote + 1, "\""));
        double value;
        ck_assert_msg(unit_read(text, (enum unit_kind)kind, &value), "%s", text);
    }
}
END_TEST

START_TEST(dumps)
{
    static const struct {
        enum unit_kind kind;
        double value;
        const char *text;
    } rows[] = {
        {UNIT_BYTES, 85899345920.0, "80 GiB"},
        {UNIT_BYTES, 80e9, "80 GB"},
        {UNIT_BYTES, 0, "0 B"},
        {UNIT_BYTES, 512, "512 B"},
        {UNIT_BYTES, 3 * 0x1p20, "3 MiB"},
        {UNIT_BYTES, 0x1p29, "512 MiB"},
        {UNIT_BYTES, 0.5, "0.5 B"},
        {UNIT_BYTES, 1e24, "1000000000 PB"},
        {UNIT_BYTES, 1e60, "1e45 PB"},
        {UNIT_BYTES, 1.25e-9, "1.25e-9 B"},
        {UNIT_BYTES_PER_SECOND, 9e11, "900 GB/s"},
        {UNIT_BYTES_PER_SECOND, 3.35e12, "3.35 TB/s"},
        {UNIT_BYTES_PER_SECOND, 0, "0 B/s"},
        {UNIT_FLOPS_PER_SECOND, 989.4e12, "989.4 TFLOP/s"},
        {UNIT_SECONDS, 2.5e-6, "2.5 us"},
        {UNIT_SECONDS, 1e-7, "100 ns"},
        {UNIT_SECONDS, 0, "0 s"},
        {UNIT_SECONDS, 90, "90 s"},
        {UNIT_SECONDS, 0.3, "300 ms"},
        {UNIT_SECONDS, 5e-16, "0.0005 ps"},
        {UNIT_HERTZ, 1.98e9, "1.98 GHz"},
        {UNIT_WATTS, 700, "700 W"},
        {UNIT_WATTS, 0.25, "250 mW"},
    };
    arena_init(&arena);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_str_eq(dump(rows[i].kind, rows[i].value), rows[i].text);
    }
    arena_release(&arena);
}
END_TEST

static void check_round_trip(enum unit_kind kind, double value)
{
    double back = -1;
    const char *text = dump(kind, value);
    ck_assert_msg(unit_read(text, kind, &back), "'%s' does not read", text);
    ck_assert_msg(memcmp(&back, &value, sizeof value) == 0, "'%s': %.17g becomes %.17g", text,
                  value, back);
}

START_TEST(round_trips)
{
    static const double edges[] = {
        0,
        5e-324,
        2.2250738585072014e-308,
        1.7976931348623157e308,
        0.1,
        1.0 / 3,
        0x1p53,
        0x1p63,
        0x1p64,
        1e22,
        1e23,
        123456789012345678.0,
        999.9999999999999,
        1000,
        1024,
        0x1p20,
        0x1.8p20,
    };
    struct random random;
    random_init(&random, 1);
    for (int kind = 0; kind < UNIT_KIND_COUNT; kind++) {
        arena_init(&arena);
        for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
            check_round_trip((enum unit_kind)kind, edges[i]);
        }
        for (int i = 0; i < 4000; i++) {
            const uint64_t bits = random_pop_u64(&random) >> 1;
            double value;
            memcpy(&value, &bits, sizeof value);
            if (value <= 1.7976931348623157e308) {
                check_round_trip((enum unit_kind)kind, value);
            }
            check_round_trip((enum unit_kind)kind, random_pop_unit(&random) * 1e12);
            check_round_trip((enum unit_kind)kind,
                             (double)random_pop_below(&random, 1u << 30) * 1e6);
        }
        arena_release(&arena);
    }
}
END_TEST

START_TEST(dumps_short)
{
    static const struct {
        enum unit_kind kind;
        double value;
        const char *text;
    } rows[] = {
        {UNIT_SECONDS, 18.0312, "18.03 s"},
        {UNIT_BYTES, 74.1 * 0x1p30, "74.1 GiB"},
        {UNIT_SECONDS, 4.2e-6, "4.2 us"},
        {UNIT_SECONDS, 0, "0 s"},
        {UNIT_BYTES, 0, "0 B"},
        {UNIT_BYTES, 1023, "1023 B"},
        {UNIT_BYTES, 1e18, "888.2 PiB"},
        {UNIT_SECONDS, 123456, "123456 s"},
        {UNIT_SECONDS, 0.0123456, "12.35 ms"},
        {UNIT_SECONDS, -4.2e-6, "-4.2 us"},
        {UNIT_BYTES_PER_SECOND, 4.5e11, "450 GB/s"},
        {UNIT_FLOPS_PER_SECOND, 1.979e15, "1.979 PFLOP/s"},
        {UNIT_SECONDS, 2e-15, "0.002 ps"},
        {UNIT_WATTS, 699.96, "700 W"},
    };
    arena_init(&arena);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_str_eq(dump_short(rows[i].kind, rows[i].value), rows[i].text);
    }
    arena_release(&arena);
}
END_TEST

static void dump_negative(void)
{
    arena_init(&arena);
    dump(UNIT_BYTES, -1);
}

START_TEST(negative_is_a_bug)
{
    ck_assert_int_eq(tap_find_end(dump_negative), 3);
}
END_TEST

TAP_MAIN("units", reads, refuses, every_example_reads, dumps, round_trips, dumps_short,
         negative_is_a_bug)

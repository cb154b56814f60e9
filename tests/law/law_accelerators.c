/* What every accelerator keeps: it loads by all its names, is written as read, adds up. */
#include <string.h>

#include "base/data_folder.h"
#include "tests/fresh.h"
#include "topologies/accelerator.h"

static const char *dump_accelerator(const struct accelerator *accelerator)
{
    struct text text;
    struct json_writer writer;
    text_init(&text, &arena);
    json_writer_init(&writer, &text, false);
    accelerator_dump(accelerator, &writer);
    return text.bytes;
}

static struct accelerator read_accelerator(const char *text)
{
    struct accelerator out;
    struct json *document;
    ck_assert_msg(json_open_text("dump", text, strlen(text), false, &arena, &document, &diag), "%s",
                  messages());
    ck_assert_msg(accelerator_read_json(json_root(document), &arena, &out, &diag), "%s",
                  messages());
    json_close(document);
    return out;
}

/* Calls the law on every shipped accelerator, found by name. */
static void each_accelerator(void (*law)(const struct accelerator *, struct json_value))
{
    begin();
    const char *const *files = data_folder_each("topologies/accelerators", ".json", &arena);
    uint32_t count = 0;
    for (; files[count] != NULL; count++) {
        const char *relative = text_build(&arena, "topologies/accelerators/%s.json", files[count]);
        struct json *document;
        struct accelerator found;
        const char *name;
        ck_assert_msg(
            json_open(data_folder_find(relative, &arena), false, &arena, &document, &diag), "%s",
            messages());
        ck_assert(json_value_string(json_find(json_root(document), "name"), &name));
        ck_assert_msg(
            accelerator_read(name, (struct diag_place){.file = NULL}, &arena, &found, &diag), "%s",
            messages());
        ck_assert_str_eq(found.name, name);
        law(&found, json_root(document));
        json_close(document);
    }
    ck_assert_uint_ge(count, 50);
    ck_assert_uint_eq(diag.count, 0);
    arena_release(&arena);
}

static void is_good_and_written_as_read(const struct accelerator *accelerator,
                                        struct json_value unused)
{
    (void)unused;
    ck_assert_msg(accelerator_check(accelerator, &diag), "%s", messages());
    ck_assert_uint_gt(accelerator->memory_bytes, 0);
    ck_assert_msg(accelerator->source[0] != '\0', "%s has no source", accelerator->name);
    const char *first = dump_accelerator(accelerator);
    const struct accelerator again = read_accelerator(first);
    ck_assert_str_eq(dump_accelerator(&again), first);
}

START_TEST(accelerator_is_good_and_written_as_read)
{
    each_accelerator(is_good_and_written_as_read);
}
END_TEST

/* An ambiguous alias would be refused. */
static void is_found_by_aliases(const struct accelerator *accelerator, struct json_value object)
{
    const struct json_value aliases = json_find(object, "aliases");
    for (uint32_t i = 0; i < json_count(aliases); i++) {
        const char *alias;
        struct accelerator found;
        ck_assert(json_value_string(json_find_index(aliases, i), &alias));
        ck_assert_msg(
            accelerator_read(alias, (struct diag_place){.file = NULL}, &arena, &found, &diag), "%s",
            messages());
        ck_assert_str_eq(found.name, accelerator->name);
    }
}

START_TEST(accelerator_is_found_by_every_alias)
{
    each_accelerator(is_found_by_aliases);
}
END_TEST

/* Multiply-adds per clock and unit that vendors publish, of the 16-bit matrix units: NVIDIA V100
 * 512, A100 1024, H100 2048 per SM; AMD 128, 256, 512 in each of 4 matrix cores per compute unit
 * of MI250X, MI300X, MI355X. */
static const struct {
    const char *name;
    double multiply_adds;
} published[] = {
    {"V100-SXM2-32GB", 512}, {"A100-SXM4-80GB", 1024}, {"H100-SXM5", 2048}, {"H200-SXM", 2048},
    {"MI250X-GCD", 512},     {"MI300X", 1024},         {"MI355X", 2048},
};

static double multiply_adds_of(const struct accelerator *accelerator)
{
    const double *peaks = accelerator->peak_flops_per_s;
    const double peak = peaks[DTYPE_BF16] > 0   ? peaks[DTYPE_BF16]
                        : peaks[DTYPE_FP16] > 0 ? peaks[DTYPE_FP16]
                                                : peaks[DTYPE_FP32];
    return peak / 2 / accelerator->compute_units / accelerator->boost_clock_hz;
}

START_TEST(peak_is_clock_times_units_times_width)
{
    for (uint32_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        struct accelerator found;
        begin();
        ck_assert(accelerator_read(published[i].name, (struct diag_place){.file = NULL}, &arena,
                                   &found, &diag));
        ck_assert_double_eq_tol(multiply_adds_of(&found) / published[i].multiply_adds, 1, 0.02);
        arena_release(&arena);
    }
}
END_TEST

/* Hardware is as wide as a power of two, so a slip in peak, clock or units shows. Where a device is
 * rated otherwise its file says why: "odd_width". */
static void has_power_of_two_width(const struct accelerator *accelerator, struct json_value object)
{
    if (accelerator->compute_units == 0 || !(accelerator->boost_clock_hz > 0)) {
        return;
    }
    double width = multiply_adds_of(accelerator);
    ck_assert_msg(width > 0.9, "%s: %g per clock and unit", accelerator->name, width);
    while (width > 1.4) {
        width /= 2;
    }
    const char *why = "";
    const bool odd = json_value_string(json_find(object, "odd_width"), &why) && why[0] != '\0';
    const bool even = width > 0.98 && width < 1.02;
    ck_assert_msg(even != odd, "%s: %g multiply-adds per clock and unit", accelerator->name,
                  multiply_adds_of(accelerator));
}

START_TEST(width_is_a_power_of_two)
{
    each_accelerator(has_power_of_two_width);
}
END_TEST

TAP_MAIN("accelerators", accelerator_is_good_and_written_as_read,
         accelerator_is_found_by_every_alias, peak_is_clock_times_units_times_width,
         width_is_a_power_of_two)

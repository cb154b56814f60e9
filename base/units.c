/* Quantities with units in files, SI base units inside. */
#include "base/units.h"

#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"

#define NUMBER_LENGTH_MAX 40

/* value in base units = number * 10^power * factor. The power is applied to the decimal text, so
 * that "0.1 us" reads as exactly the double nearest to 1e-7. */
struct unit {
    const char *name;
    int power;
    double factor;
};

static const struct unit byte_units[] = {
    {"B", 0, 1},        {"kB", 3, 1},       {"MB", 6, 1},       {"GB", 9, 1},
    {"TB", 12, 1},      {"PB", 15, 1},      {"KiB", 0, 0x1p10}, {"MiB", 0, 0x1p20},
    {"GiB", 0, 0x1p30}, {"TiB", 0, 0x1p40}, {"PiB", 0, 0x1p50}, {NULL, 0, 0},
};

static const struct unit bandwidth_units[] = {
    {"B/s", 0, 1},        {"kB/s", 3, 1},       {"MB/s", 6, 1},       {"GB/s", 9, 1},
    {"TB/s", 12, 1},      {"PB/s", 15, 1},      {"KiB/s", 0, 0x1p10}, {"MiB/s", 0, 0x1p20},
    {"GiB/s", 0, 0x1p30}, {"TiB/s", 0, 0x1p40}, {"PiB/s", 0, 0x1p50}, {"b/s", 0, 0.125},
    {"kb/s", 3, 0.125},   {"Mb/s", 6, 0.125},   {"Gb/s", 9, 0.125},   {"Tb/s", 12, 0.125},
    {NULL, 0, 0},
};

static const struct unit flops_units[] = {
    {"FLOP/s", 0, 1},   {"kFLOP/s", 3, 1},  {"MFLOP/s", 6, 1},  {"GFLOP/s", 9, 1},
    {"TFLOP/s", 12, 1}, {"PFLOP/s", 15, 1}, {"EFLOP/s", 18, 1}, {"OP/s", 0, 1},
    {"kOP/s", 3, 1},    {"MOP/s", 6, 1},    {"GOP/s", 9, 1},    {"TOP/s", 12, 1},
    {"POP/s", 15, 1},   {"EOP/s", 18, 1},   {NULL, 0, 0},
};

static const struct unit second_units[] = {
    {"ps", -12, 1}, {"ns", -9, 1},  {"us", -6, 1},  {"ms", -3, 1},
    {"s", 0, 1},    {"min", 0, 60}, {"h", 0, 3600}, {NULL, 0, 0},
};

static const struct unit hertz_units[] = {
    {"Hz", 0, 1}, {"kHz", 3, 1}, {"MHz", 6, 1}, {"GHz", 9, 1}, {NULL, 0, 0},
};

static const struct unit watt_units[] = {
    {"mW", -3, 1},
    {"W", 0, 1},
    {"kW", 3, 1},
    {NULL, 0, 0},
};

/* Decimal units come first in each list, ascending: `decimals` of them are what a dump chooses
 * from. */
static const struct unit_row {
    const struct unit *units;
    uint32_t decimals;
    uint32_t base; /* index of the unit of power 0 */
    const char *example;
} unit_rows[UNIT_KIND_COUNT] = {
    [UNIT_BYTES] =
        {byte_units, 6, 0,
         "write a number and a unit (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB), such as \"80 GiB\""},
    [UNIT_BYTES_PER_SECOND] =
        {bandwidth_units, 6, 0,
         "write a number and a unit (kB/s, MB/s, GB/s, TB/s, GiB/s, Mb/s, Gb/s), such as "
         "\"900 GB/s\" or, in bits, \"400 Gb/s\""},
    [UNIT_FLOPS_PER_SECOND] =
        {flops_units, 7, 0,
         "write a number and a unit (GFLOP/s, TFLOP/s, PFLOP/s), such as \"989 TFLOP/s\""},
    [UNIT_SECONDS] = {second_units, 5, 4,
                      "write a number and a unit (ps, ns, us, ms, s, min, h), such as \"2.5 us\""},
    [UNIT_HERTZ] = {hertz_units, 4, 0,
                    "write a number and a unit (Hz, kHz, MHz, GHz), such as \"1.98 GHz\""},
    [UNIT_WATTS] = {watt_units, 3, 1, "write a number and a unit (mW, W, kW), such as \"700 W\""},
};

const char *unit_example(enum unit_kind kind)
{
    return unit_rows[kind].example;
}

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9') {
        at++;
    }
    return at;
}

/* Ends of digits[.digits] from `text`, or NULL. */
static const char *mantissa_end(const char *text)
{
    const char *end = skip_digits(text);
    if (end == text) {
        return NULL;
    }
    if (*end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        if (end == fraction) {
            return NULL;
        }
    }
    return end;
}

/* The exponent after a mantissa: "e-6" gives -6; none gives 0 at the same place; too large gives
 * NULL. */
static const char *exponent_end(const char *at, int *out)
{
    *out = 0;
    if (*at != 'e' && *at != 'E') {
        return at;
    }
    const bool minus = at[1] == '-';
    const char *digits = at + 1 + (minus || at[1] == '+' ? 1 : 0);
    const char *end = skip_digits(digits);
    if (end == digits || end - digits > 3) {
        return end == digits ? at : NULL;
    }
    for (const char *digit = digits; digit < end; digit++) {
        *out = *out * 10 + (*digit - '0');
    }
    *out = minus ? -*out : *out;
    return end;
}

static const struct unit *find_unit(enum unit_kind kind, const char *name)
{
    for (const struct unit *unit = unit_rows[kind].units; unit->name != NULL; unit++) {
        if (strcmp(unit->name, name) == 0) {
            return unit;
        }
    }
    return NULL;
}

bool unit_read(const char *text, enum unit_kind kind, double *out)
{
    const char *end = mantissa_end(text);
    if (end == NULL || end - text > NUMBER_LENGTH_MAX) {
        return false;
    }
    int power;
    const char *name = exponent_end(end, &power);
    if (name == NULL) {
        return false;
    }
    const struct unit *unit = find_unit(kind, name + (*name == ' ' ? 1 : 0));
    if (unit == NULL) {
        return false;
    }
    char number[NUMBER_LENGTH_MAX + 16];
    snprintf(number, sizeof number, "%.*se%d", (int)(end - text), text, power + unit->power);
    const double value = strtod(number, NULL) * unit->factor;
    if (!(value <= DBL_MAX)) {
        return false;
    }
    *out = value;
    return true;
}

/* The fewest significant digits that read back to the same double, without point and trailing
 * zeros; gives the exponent of ten behind the first digit. */
static int shortest_digits(double value, char digits[static 24])
{
    char number[40];
    for (int precision = 14; precision < 17; precision++) {
        snprintf(number, sizeof number, "%.*e", precision, value);
        if (strtod(number, NULL) == value) {
            break;
        }
    }
    uint32_t count = 0;
    const char *at = number;
    for (; *at != 'e'; at++) {
        if (*at != '.') {
            digits[count++] = *at;
        }
    }
    while (count > 1 && digits[count - 1] == '0') {
        count--;
    }
    digits[count] = '\0';
    return (int)strtol(at + 1, NULL, 10);
}

static void push_number(struct text *out, const char *digits, int exponent)
{
    const int count = (int)strlen(digits);
    if (exponent < -4 || exponent > 20) {
        text_push(out, "%c%s%se%d", digits[0], count > 1 ? "." : "", digits + 1, exponent);
    } else if (exponent < 0) {
        text_push(out, "0.%.*s%s", -exponent - 1, "000", digits);
    } else {
        for (int i = 0; i <= exponent || i < count; i++) {
            text_push(out, "%s%c", i == exponent + 1 ? "." : "", i < count ? digits[i] : '0');
        }
    }
}

/* Largest of the decimal units that leaves at least one digit before the point; else the smallest.
 * Zero is written in the base unit. */
static const struct unit *choose_unit(enum unit_kind kind, double value, int exponent)
{
    const struct unit_row *row = &unit_rows[kind];
    if (!(value > 0)) {
        return &row->units[row->base];
    }
    const struct unit *chosen = row->units;
    for (uint32_t i = 1; i < row->decimals; i++) {
        chosen = row->units[i].power <= exponent ? &row->units[i] : chosen;
    }
    return chosen;
}

/* Whole GiB or MiB; false when the value is not that even. */
static bool dump_binary(double value, struct text *out)
{
    if (value < 0x1p20 || value >= 0x1p63) {
        return false;
    }
    const uint64_t bytes = (uint64_t)value;
    if ((double)bytes < value || (bytes & 0xfffff) != 0) {
        return false;
    }
    const bool giga = (bytes & 0x3fffffff) == 0;
    text_push(out, "%llu %s", (unsigned long long)(bytes >> (giga ? 30 : 20)),
              giga ? "GiB" : "MiB");
    return true;
}

void unit_dump(enum unit_kind kind, double value, struct text *out)
{
    if (!(value >= 0 && value <= DBL_MAX)) {
        BUG("a quantity of %g cannot be written", value);
    }
    if (kind == UNIT_BYTES && dump_binary(value, out)) {
        return;
    }
    char digits[24];
    const int exponent = shortest_digits(value, digits);
    const struct unit *unit = choose_unit(kind, value, exponent);
    push_number(out, digits, value > 0 ? exponent - unit->power : 0);
    text_push(out, " %s", unit->name);
}

static void push_short(struct text *out, double number, const char *unit)
{
    text_push(out, number < 1000 && number > -1000 ? "%.4g %s" : "%.0f %s", number, unit);
}

static void dump_short_bytes(double value, struct text *out)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    uint32_t i = 0;
    for (; i < 5 && (value >= 1024 || value <= -1024); i++) {
        value *= 0x1p-10;
    }
    push_short(out, value, names[i]);
}

void unit_dump_short(enum unit_kind kind, double value, struct text *out)
{
    if (kind == UNIT_BYTES) {
        dump_short_bytes(value, out);
        return;
    }
    const double size = value < 0 ? -value : value;
    if (!(size <= DBL_MAX)) {
        push_short(out, value, unit_rows[kind].units[unit_rows[kind].base].name);
        return;
    }
    char digits[24];
    const struct unit *unit = choose_unit(kind, size, shortest_digits(size, digits));
    double scale = 1;
    for (int i = 0; i < unit->power || i < -unit->power; i++) {
        scale *= 10;
    }
    push_short(out, unit->power < 0 ? value * scale : value / scale, unit->name);
}

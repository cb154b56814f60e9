/* Quantities with units in files, SI base units inside. */
#ifndef SHARDPLAN_BASE_UNITS_H
#define SHARDPLAN_BASE_UNITS_H

#include <stdbool.h>

#include "base/text.h"

enum unit_kind {
    UNIT_BYTES,            /* B kB MB GB TB PB, KiB MiB GiB TiB PiB */
    UNIT_BYTES_PER_SECOND, /* of the above per second; bits too: b/s kb/s Mb/s Gb/s Tb/s */
    UNIT_FLOPS_PER_SECOND, /* FLOP/s GFLOP/s TFLOP/s PFLOP/s (OP/s spellings too) */
    UNIT_SECONDS,          /* s ms us ns ps min h */
    UNIT_HERTZ,            /* Hz kHz MHz GHz */
    UNIT_WATTS,            /* W kW mW */
    UNIT_KIND_COUNT
};

/* "80 GiB" to SI base units. False if the text is no number followed by a unit of that kind;
 * finite and non-negative values only. The space is optional. Never guesses a unit. */
bool unit_read(const char *text, enum unit_kind kind, double *out);
/* A hint naming the accepted spellings with an example: "write a number and a unit, such as \"80
 * GiB\"". */
const char *unit_example(enum unit_kind kind);
/* Writes a value so that unit_read gives the same double back; picks the largest decimal unit
 * that keeps the text short ("900 GB/s"), bytes in GiB/MiB where they divide evenly. */
void unit_dump(enum unit_kind kind, double value, struct text *out);
/* For people, four significant digits: "18.03 s", "74.1 GiB", "4.2 us". */
void unit_dump_short(enum unit_kind kind, double value, struct text *out);

#endif

/* Many names written as one: "a[0-3]" stands for a0, a1, a2, a3. */
#ifndef SHARDPLAN_TOPOLOGIES_ID_RANGE_H
#define SHARDPLAN_TOPOLOGIES_ID_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define ID_BRACKET_MAX 4

struct id_bracket {
    const char *begin, *end; /* its '[' in the text, the byte behind its ']' */
    uint32_t low, high;
    uint32_t width; /* digits to fill with zeros, as in "n[00-15]"; 1 for none */
};

/* With several brackets, "n[0-1]g[0-1]", the last counts fastest: n0g0, n0g1, n1g0, n1g1. */
struct id_range {
    const char *text; /* not copied */
    struct id_bracket brackets[ID_BRACKET_MAX];
    uint32_t bracket_count; /* 0: a plain name */
    uint64_t count;         /* names it stands for; UINT64_MAX: more than can be counted */
};

/* False for an empty text or a bracket that is no ascending range of whole numbers below 10^9. */
bool id_range_read(const char *text, struct id_range *out);
/* The name of number `index` < count. */
const char *id_range_build(const struct id_range *range, uint64_t index, struct arena *arena);

/* The number at the end of a name, for writing names that follow each other as a range; false if
 * there is none, or one that would not be written back the same (zeros in front, 10^9 and more,
 * a bracket before). */
bool id_range_find_number(const char *id, size_t *out_prefix_length, uint32_t *out_number);

#endif

/* How many random samples a test draws. */
#ifndef SHARDPLAN_TESTS_SAMPLES_H
#define SHARDPLAN_TESTS_SAMPLES_H

#include <stdint.h>
#include <stdlib.h>

/* All of them, or the share that a slow build (sanitizers) asks for: $SAMPLES_PERCENT, 1 to 100. */
static inline uint32_t count_samples(uint32_t all)
{
    const char *text = getenv("SAMPLES_PERCENT");
    const unsigned long percent = text == NULL ? 100 : strtoul(text, NULL, 10);
    if (percent == 0 || percent > 100)
        return all;
    return (uint32_t)((all * percent + 99) / 100);
}

#endif

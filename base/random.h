/* Seeded random numbers that are the same everywhere. */
#ifndef SHARDPLAN_BASE_RANDOM_H
#define SHARDPLAN_BASE_RANDOM_H

#include <stdint.h>

/* xoshiro256** seeded through splitmix64 (Blackman, Vigna 2018). */
struct random {
    uint64_t state[4];
};

void random_init(struct random *random, uint64_t seed);
uint64_t random_pop_u64(struct random *random);
double random_pop_unit(struct random *random);                    /* [0, 1) */
uint32_t random_pop_below(struct random *random, uint32_t bound); /* unbiased, bound > 0 */

#endif

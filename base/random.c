/* xoshiro256** 1.0 seeded through splitmix64 (Blackman, Vigna, "Scrambled linear pseudorandom
 * number generators", 2018; reference code in the public domain at prng.di.unimi.it). */
#include "base/random.h"

#include <assert.h>

static uint64_t rotate(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static uint64_t split(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void random_init(struct random *random, uint64_t seed)
{
    uint64_t state = seed;
    for (int i = 0; i < 4; i++) {
        random->state[i] = split(&state);
    }
}

uint64_t random_pop_u64(struct random *random)
{
    uint64_t *s = random->state;
    const uint64_t result = rotate(s[1] * 5, 7) * 9;
    const uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

double random_pop_unit(struct random *random)
{
    /* The top 53 bits: every multiple of 2^-53 in [0, 1) equally likely. */
    return (double)(random_pop_u64(random) >> 11) * 0x1p-53;
}

uint32_t random_pop_below(struct random *random, uint32_t bound)
{
    assert(bound > 0);
    /* Lemire, "Fast random integer generation in an interval", 2019: reject the 2^32 mod bound low
     * products that would favour some results. */
    const uint32_t reject_below = (0u - bound) % bound;
    uint64_t product;
    do {
        product = (random_pop_u64(random) >> 32) * bound;
    } while ((uint32_t)product < reject_below);
    return (uint32_t)(product >> 32);
}

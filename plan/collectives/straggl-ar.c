/* StragglAR: the sum while the last rank is late: the others scatter their sums among themselves,
 * and when it comes it meets them one after another while what is whole spreads in doubling.
 *
 * n = 2^L ranks, N = n - 1 chunks; the late rank is the last. Ring rounds leave the sum of N ranks
 * of chunk c on rank c. Then, in round t, the late rank and rank t swap chunk t, which is whole
 * there from then on, and every other rank passes a whole chunk on. Rank r is the power g^r of a
 * generator of GF(2^L), the late rank 0. In round t rank x speaks with x + g^t, so all speak in
 * pairs; chunk c, t - c rounds old, is held by the g^c p with p a polynomial in g with constant
 * term 1 and degree below t - c: for each x but g^t that is so for exactly one c, since x g^-t is
 * a polynomial of one degree in 1/g without constant term. Behind the last swap chunk N - d is held
 * by those of degree d in 1/g, d = 1 .. L. For d = L down to 2, x speaks with x + g^-d: who has the
 * term d passes chunk N - d, who does not passes the chunk of the degree of its terms below d, or
 * N - 1 if there are none. After N + L - 1 rounds all have all (Devraj et al. 2025, arXiv
 * 2505.23523, give the number of rounds; no byte is sent too many). */
#include "plan/collective.h"

extern const struct collective collective_straggl_ar;

#define BITS_MAX 6u

static uint32_t count_bits(const struct collective_group *group)
{
    uint32_t bits = 0;
    while (1u << (bits + 1) <= group->ranks) {
        bits++;
    }
    return bits;
}

static bool accepts(enum collective_kind kind, const struct collective_group *group)
{
    return kind == COLLECTIVE_ALL_REDUCE && group->ranks >= 2 && group->ranks <= 1u << BITS_MAX &&
           (group->ranks & (group->ranks - 1)) == 0;
}

static uint32_t chunk_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    return group->ranks - 1;
}

static uint32_t round_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    return 2 * (group->ranks - 1) - 1 + count_bits(group) - 1;
}

/* The power as a polynomial in g, bit k for g^k. */
static uint32_t find_element(uint32_t bits, uint32_t power)
{
    /* primitive polynomials of degree 1 .. 6 */
    static const uint32_t moduli[BITS_MAX] = {03, 07, 013, 023, 045, 0103};
    uint32_t element = 1;
    for (uint32_t i = 0; i < power % ((1u << bits) - 1); i++) {
        element <<= 1;
        element ^= element >> bits & 1 ? moduli[bits - 1] : 0;
    }
    return element;
}

/* The rank whose power the element is; 0 is the late one's. */
static uint32_t find_rank(uint32_t bits, uint32_t element)
{
    const uint32_t late = (1u << bits) - 1;
    uint32_t rank = 0;
    while (rank < late && find_element(bits, rank) != element) {
        rank++;
    }
    return rank;
}

static bool scatter(uint32_t late, uint32_t round, uint32_t rank, struct collective_step *out)
{
    if (rank == late) {
        return false;
    }
    *out = (struct collective_step){.to = (rank + 1) % late,
                                    .first_chunk = (rank + late - 1 - round % late) % late,
                                    .chunk_count = 1,
                                    .reduce = true};
    return true;
}

/* Round t of those in which the late rank meets rank t. */
static bool meet(uint32_t bits, uint32_t t, uint32_t rank, struct collective_step *out)
{
    const uint32_t late = (1u << bits) - 1;
    if (rank == late || rank == t) {
        *out = (struct collective_step){
            .to = rank == late ? t : late, .first_chunk = t, .chunk_count = 1, .reduce = true};
        return true;
    }
    for (uint32_t age = 1; age <= bits && age <= t; age++) {
        const uint32_t within = find_element(bits, rank + late + age - t);
        if (within % 2 == 1 && within < 1u << age) {
            const uint32_t partner = find_element(bits, rank) ^ find_element(bits, t);
            *out = (struct collective_step){
                .to = find_rank(bits, partner), .first_chunk = t - age, .chunk_count = 1};
            return true;
        }
    }
    return false;
}

/* Terms of an element in 1/g: bit `bits - k` for g^-k. */
static uint32_t find_terms(uint32_t bits, uint32_t rank)
{
    return rank == (1u << bits) - 1 ? 0 : find_element(bits, rank + bits);
}

static bool spread(uint32_t bits, uint32_t degree, uint32_t rank, struct collective_step *out)
{
    const uint32_t late = (1u << bits) - 1, own = 1u << (bits - degree);
    const uint32_t terms = find_terms(bits, rank);
    uint32_t partner = 0, sent = degree;
    while (find_terms(bits, partner) != (terms ^ own)) {
        partner++;
    }
    if (partner == late) {
        return false; /* it has all */
    }
    while ((terms & own) == 0 && sent > 1 && (terms >> (bits - sent) & 1) == 0) {
        sent--;
    }
    *out = (struct collective_step){.to = partner, .first_chunk = late - sent, .chunk_count = 1};
    return true;
}

static bool step(enum collective_kind kind, const struct collective_group *group, uint32_t round,
                 uint32_t rank, uint32_t index, struct collective_step *out)
{
    const uint32_t bits = count_bits(group), late = group->ranks - 1;
    (void)kind;
    if (index > 0) {
        return false;
    }
    if (round < late - 1) {
        return scatter(late, round, rank, out);
    }
    const uint32_t t = round - (late - 1);
    return t < late ? meet(bits, t, rank, out) : spread(bits, bits - (t - late), rank, out);
}

const struct collective collective_straggl_ar = {
    .name = "straggl-ar",
    .summary = "sums while the last rank is late, which then meets the others one by one",
    .kinds = {COLLECTIVE_ALL_REDUCE},
    .kind_count = 1,
    .pipeline_max = 1,
    .staggered = true,
    .minimal = true,
    .one_port = true,
    .accepts = accepts,
    .chunk_count = chunk_count,
    .round_count = round_count,
    .step = step,
};

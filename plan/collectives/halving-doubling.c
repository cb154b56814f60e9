/* Recursive halving: the data to sum halves with every round, then doubles again to be gathered.
 *
 * Nearest partners first while the halves are large (Rabenseifner 2004). A rank's place is its
 * number with the bits reversed: in places, round by round the partner is half the rest of the
 * buffer away, and what a rank sends is always one aligned block. Ranks beyond a power of two
 * fold: each hands its data to a neighbour before and gets the sum after. */
#include "plan/collective.h"

extern const struct collective collective_halving_doubling;

/* The ranks that take part: `count`, a power of two; 2 * folded ranks at the front stand in
 * pairs for one each. */
struct core {
    uint32_t count, bits, folded;
};

static struct core find_core(const struct collective_group *group)
{
    struct core core = {.count = 1};
    while (core.count <= group->ranks / 2) {
        core.count *= 2;
        core.bits++;
    }
    core.folded = group->ranks - core.count;
    return core;
}

static bool accepts(enum collective_kind kind, const struct collective_group *group)
{
    const bool halves_or_doubles =
        kind == COLLECTIVE_ALL_GATHER || kind == COLLECTIVE_REDUCE_SCATTER;
    return group->ranks >= 2 &&
           (kind == COLLECTIVE_ALL_REDUCE || (halves_or_doubles && find_core(group).folded == 0));
}

static uint32_t chunk_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    return find_core(group).count;
}

static uint32_t round_count(enum collective_kind kind, const struct collective_group *group)
{
    const struct core core = find_core(group);
    if (kind != COLLECTIVE_ALL_REDUCE) {
        return core.bits;
    }
    return 2 * core.bits + (core.folded > 0 ? 2 : 0);
}

/* Place of the n-th that takes part, and the other way round: bits swapped by ever wider groups. */
static uint32_t reverse(const struct core *core, uint32_t n)
{
    n = (n & 0x55555555u) << 1 | (n >> 1 & 0x55555555u);
    n = (n & 0x33333333u) << 2 | (n >> 2 & 0x33333333u);
    n = (n & 0x0f0f0f0fu) << 4 | (n >> 4 & 0x0f0f0f0fu);
    n = (n & 0x00ff00ffu) << 8 | (n >> 8 & 0x00ff00ffu);
    return (n << 16 | n >> 16) >> (32 - core->bits);
}

static uint32_t rank_at(const struct core *core, uint32_t place)
{
    const uint32_t n = reverse(core, place);
    return n < core->folded ? 2 * n : n + core->folded;
}

static uint32_t place_of(const struct core *core, uint32_t rank)
{
    return reverse(core, rank < 2 * core->folded ? rank / 2 : rank - core->folded);
}

/* Before and after: all of the buffer from one of a pair to the other. */
static bool fold(const struct core *core, uint32_t rank, bool back, struct collective_step *out)
{
    if (rank >= 2 * core->folded || (rank % 2 == 0) != back) {
        return false;
    }
    *out = (struct collective_step){.to = rank ^ 1, .chunk_count = core->count, .reduce = !back};
    return true;
}

static bool step(enum collective_kind kind, const struct collective_group *group, uint32_t round,
                 uint32_t rank, uint32_t index, struct collective_step *out)
{
    const struct core core = find_core(group);
    const bool folds = core.folded > 0;
    if (index > 0) {
        return false;
    }
    if (folds && (round == 0 || round == round_count(kind, group) - 1)) {
        return fold(&core, rank, round > 0, out);
    }
    if (rank < 2 * core.folded && rank % 2 == 1) {
        return false;
    }
    round -= folds ? 1 : 0;
    const bool halves = kind != COLLECTIVE_ALL_GATHER && round < core.bits;
    const uint32_t block = halves ? core.count >> (round + 1) : 1u << round % core.bits;
    const uint32_t place = place_of(&core, rank);
    *out = (struct collective_step){
        .to = rank_at(&core, place ^ block),
        .first_chunk = (halves ? place ^ block : place) & ~(block - 1),
        .chunk_count = block,
        .reduce = halves,
    };
    return true;
}

/* Partners of halving round r differ in bit r of their numbers, of doubling round r in bit
 * bits - 1 - r. */
static uint32_t block(enum collective_kind kind, const struct collective_group *group,
                      uint32_t round)
{
    const struct core core = find_core(group);
    if (core.folded > 0) {
        return group->ranks;
    }
    const bool halves = kind != COLLECTIVE_ALL_GATHER && round < core.bits;
    return 2u << (halves ? round : core.bits - 1 - round % core.bits);
}

static uint32_t share(const struct collective_group *group, uint32_t rank)
{
    const struct core core = find_core(group);
    return place_of(&core, rank);
}

const struct collective collective_halving_doubling = {
    .name = "halving-doubling",
    .summary = "partners at doubling distance swap halves; least bytes, few rounds",
    .kinds = {COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_GATHER, COLLECTIVE_REDUCE_SCATTER},
    .kind_count = 3,
    .pipeline_max = 1,
    .minimal = true,
    .one_port = true,
    .accepts = accepts,
    .chunk_count = chunk_count,
    .round_count = round_count,
    .step = step,
    .block = block,
    .share = share,
};

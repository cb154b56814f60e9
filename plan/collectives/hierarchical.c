/* Hierarchical: rings inside each domain, then rings across domains on a 1/inner share of the
 * data. */
#include "plan/collective.h"

extern const struct collective collective_hierarchical;

static bool accepts(enum collective_kind kind, const struct collective_group *group)
{
    const bool reduces_or_gathers = kind == COLLECTIVE_ALL_REDUCE ||
                                    kind == COLLECTIVE_ALL_GATHER ||
                                    kind == COLLECTIVE_REDUCE_SCATTER;
    return reduces_or_gathers && group->inner > 1 && group->inner < group->ranks &&
           group->ranks % group->inner == 0;
}

static uint32_t chunk_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    return group->ranks;
}

static uint32_t outer_count(const struct collective_group *group)
{
    return group->ranks / group->inner;
}

/* Rounds to the middle, where every rank holds one summed chunk, or from there to the end. */
static uint32_t half(const struct collective_group *group)
{
    return group->inner - 1 + outer_count(group) - 1;
}

static uint32_t round_count(enum collective_kind kind, const struct collective_group *group)
{
    return kind == COLLECTIVE_ALL_REDUCE ? 2 * half(group) : half(group);
}

/* A turn round the inner or the outer ring, and the round of that turn. */
struct turn {
    bool outer, reduce;
    uint32_t round, rounds;
};

static struct turn find_turn(enum collective_kind kind, const struct collective_group *group,
                             uint32_t round)
{
    struct turn turn = {.reduce = kind != COLLECTIVE_ALL_GATHER && round < half(group)};
    const uint32_t inner = group->inner - 1;
    const uint32_t outer = outer_count(group) - 1;
    const uint32_t first = turn.reduce ? inner : outer;
    turn.round = round % half(group);
    turn.outer = turn.round >= first ? turn.reduce : !turn.reduce;
    turn.round -= turn.round >= first ? first : 0;
    turn.rounds = turn.outer ? outer : inner;
    return turn;
}

/* Block j, `outers` chunks long, belongs to the j-th rank of each domain; chunk o of it to that
 * of domain o. */
static bool step(enum collective_kind kind, const struct collective_group *group, uint32_t round,
                 uint32_t rank, uint32_t index, struct collective_step *out)
{
    const uint32_t inners = group->inner;
    const uint32_t outers = outer_count(group);
    const uint32_t i = rank % inners;
    const uint32_t o = rank / inners;
    const struct turn turn = find_turn(kind, group, round);
    const uint32_t behind = turn.round + (turn.reduce ? 1 : 0);
    if (index > 0) {
        return false;
    }
    *out = (struct collective_step){.reduce = turn.reduce};
    if (turn.outer) {
        out->to = (o + 1) % outers * inners + i;
        out->first_chunk = i * outers + (o + outers - behind) % outers;
        out->chunk_count = 1;
    } else {
        out->to = o * inners + (i + 1) % inners;
        out->first_chunk = (i + inners - behind) % inners * outers;
        out->chunk_count = outers;
    }
    return true;
}

static uint32_t alike(enum collective_kind kind, const struct collective_group *group,
                      uint32_t round)
{
    const struct turn turn = find_turn(kind, group, round);
    return turn.rounds - turn.round;
}

static uint32_t block(enum collective_kind kind, const struct collective_group *group,
                      uint32_t round)
{
    return find_turn(kind, group, round).outer ? group->ranks : group->inner;
}

static uint32_t share(const struct collective_group *group, uint32_t rank)
{
    return rank % group->inner * outer_count(group) + rank / group->inner;
}

const struct collective collective_hierarchical = {
    .name = "hierarchical",
    .summary = "rings inside each domain, rings across domains on one share each",
    .kinds = {COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_GATHER, COLLECTIVE_REDUCE_SCATTER},
    .kind_count = 3,
    .pipeline_max = 1,
    .minimal = true,
    .one_port = true,
    .accepts = accepts,
    .chunk_count = chunk_count,
    .round_count = round_count,
    .step = step,
    .alike = alike,
    .block = block,
    .share = share,
};

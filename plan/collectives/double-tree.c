/* Double tree: two trees carry half the buffer each, no rank working in the middle of both.
 *
 * After Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
 * scan" (2009). Each half is cut into pieces that climb their tree as partial sums, then come
 * down it. A rank has children in at most one tree, so it sends to at most two ranks and
 * receives from at most two: hops can be coloured with two colours such that the hops into a
 * rank differ and the hops out of a rank differ. With the hops of each colour in every other
 * round, no rank ever sends two pieces or receives two pieces in one round.
 *
 * The trees here make the colour a formula. In-order tree of n: numbers 1 .. n, parent of x is x
 * +- its lowest set bit. First tree: rank r is number r+1, so odd ranks have the children.
 * Second: rank 0 on top, its children rank 1 and an in-order tree of the others with the pairs
 * (2,3), (4,5), ... swapped, so even ranks have the children. The hop into rank r has as colour
 * the parity of the set bits of r+1 in the first tree, the opposite in the second. The hops into
 * a rank differ by that. The hops out of one differ in the first tree, for the left child of x
 * has as many set bits as x and the right one has one more. In the second tree the same holds
 * among even ranks 2u, whose colour is the parity of u; two odd children of one rank are 2u+1
 * and 2u+3 with u odd, and 2u+2, 2u+4 then differ by one bit. */
#include "plan/collective.h"

#include <assert.h>

extern const struct collective collective_double_tree;

#define NONE UINT32_MAX

static bool accepts(enum collective_kind kind, const struct collective_group *group)
{
    return kind == COLLECTIVE_ALL_REDUCE && group->ranks >= 2 && group->pipeline >= 1;
}

static uint32_t chunk_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    return 2 * group->pipeline;
}

/* --- in-order tree ---------------------------------------------------------------------------- */

/* Largest power of two up to n: the root of 1 .. n. */
static uint32_t inorder_root(uint32_t n)
{
    uint32_t root = 1;
    while (root <= n / 2) {
        root *= 2;
    }
    return root;
}

static uint32_t lowest_bit(uint32_t x)
{
    return x & (~x + 1);
}

/* 0 for the root. */
static uint32_t inorder_parent(uint32_t n, uint32_t x)
{
    const uint32_t low = lowest_bit(x);
    const bool right = (x & low << 1) != 0 || x + low > n;
    return right ? x - low : x + low;
}

/* 0 if there is no such child. A right child beyond n gives way to its own left one. */
static uint32_t inorder_child(uint32_t n, uint32_t x, bool right)
{
    uint32_t reach = lowest_bit(x) / 2;
    if (!right) {
        return reach == 0 ? 0 : x - reach;
    }
    while (reach > 0 && x + reach > n) {
        reach /= 2;
    }
    return reach == 0 ? 0 : x + reach;
}

/* --- the two trees ---------------------------------------------------------------------------- */

/* Number in the second tree's in-order part of a rank >= 2, and back: pairs swapped, a last odd
 * one out stays. */
static uint32_t swap_pair(uint32_t ranks, uint32_t rank)
{
    return (rank ^ 1) < ranks ? rank ^ 1 : rank;
}

static uint32_t find_parent(uint32_t ranks, uint32_t tree, uint32_t rank)
{
    if (tree == 0) {
        const uint32_t parent = inorder_parent(ranks, rank + 1);
        return parent == 0 ? NONE : parent - 1;
    }
    if (rank < 2) {
        return rank == 0 ? NONE : 0;
    }
    const uint32_t parent = inorder_parent(ranks - 2, swap_pair(ranks, rank) - 1);
    return parent == 0 ? 0 : swap_pair(ranks, parent + 1);
}

static uint32_t find_child(uint32_t ranks, uint32_t tree, uint32_t rank, bool right)
{
    if (tree == 0) {
        const uint32_t child = inorder_child(ranks, rank + 1, right);
        return child == 0 ? NONE : child - 1;
    }
    if (rank == 0 && right) {
        return ranks == 2 ? NONE : swap_pair(ranks, inorder_root(ranks - 2) + 1);
    }
    if (rank < 2) {
        return rank == 0 ? 1 : NONE;
    }
    const uint32_t child = inorder_child(ranks - 2, swap_pair(ranks, rank) - 1, right);
    return child == 0 ? NONE : swap_pair(ranks, child + 1);
}

/* Parity of the rounds in which the hop into the rank is used. */
static uint32_t find_colour(uint32_t tree, uint32_t rank)
{
    uint32_t bits = rank + 1;
    for (uint32_t width = 16; width > 0; width /= 2) {
        bits ^= bits >> width;
    }
    return (bits ^ tree) & 1;
}

/* --- rounds ----------------------------------------------------------------------------------- */

/* The round of the way down in which piece 0 comes to the rank, as early as the colours allow:
 * the root has it before round 0, and every hop takes the next round of its parity. Not for the
 * root. */
static uint32_t find_arrival(uint32_t ranks, uint32_t tree, uint32_t rank)
{
    uint64_t colours = 0;
    uint32_t hops = 0;
    for (uint32_t at = rank; find_parent(ranks, tree, at) != NONE;
         at = find_parent(ranks, tree, at)) {
        colours |= (uint64_t)find_colour(tree, at) << hops++;
    }
    assert(hops > 0 && hops <= 34);
    uint32_t next = 0;
    while (hops-- > 0) {
        next += (next ^ (uint32_t)(colours >> hops)) & 1;
        next++;
    }
    return next - 1;
}

/* Latest arrival in either tree. Left hops take two rounds and right ones one, so the first
 * tree's is 2h - 1 at rank 0, h the height; the second tree's, 2h + 1 with h the height of its
 * in-order part, is never less where it exists. */
static uint32_t last_arrival(uint32_t ranks)
{
    uint32_t rounds = 1;
    for (uint32_t n = ranks - 2; n > 1; n /= 2) {
        rounds += 2;
    }
    return rounds;
}

/* Rounds of one way, up or down. */
static uint32_t half(const struct collective_group *group)
{
    return last_arrival(group->ranks) + 2 * (group->pipeline - 1) + 1;
}

static uint32_t round_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    return 2 * half(group);
}

/* Which piece takes a hop in the round if the first does in round `first`; NONE for no piece. */
static uint32_t find_piece(const struct collective_group *group, uint32_t round, uint32_t first)
{
    if (round < first) {
        return NONE;
    }
    assert((round - first) % 2 == 0);
    const uint32_t piece = (round - first) / 2;
    return piece < group->pipeline ? piece : NONE;
}

/* The way up is the way down backwards, pieces in the same order. The last arrival is an odd
 * round, so the hop of the other colour than on the way down has its turn: that of one tree. */
static bool climb(const struct collective_group *group, uint32_t round, uint32_t rank,
                  struct collective_step *out)
{
    const uint32_t tree = find_colour(0, rank) ^ ((round + 1) & 1);
    const uint32_t parent = find_parent(group->ranks, tree, rank);
    if (parent == NONE) {
        return false;
    }
    const uint32_t first = last_arrival(group->ranks) - find_arrival(group->ranks, tree, rank);
    const uint32_t piece = find_piece(group, round, first);
    if (piece == NONE) {
        return false;
    }
    *out = (struct collective_step){.to = parent,
                                    .first_chunk = tree * group->pipeline + piece,
                                    .chunk_count = 1,
                                    .reduce = true};
    return true;
}

/* The child whose hop has its turn in the round, in whichever tree the rank has children; NONE
 * if there is none. */
static uint32_t find_turn(uint32_t ranks, uint32_t round, uint32_t rank, uint32_t *tree)
{
    for (uint32_t hop = 0; hop < 4; hop++) {
        const uint32_t child = find_child(ranks, hop / 2, rank, hop % 2 == 1);
        if (child != NONE && find_colour(hop / 2, child) == (round & 1)) {
            *tree = hop / 2;
            return child;
        }
    }
    return NONE;
}

static bool descend(const struct collective_group *group, uint32_t round, uint32_t rank,
                    struct collective_step *out)
{
    uint32_t tree = 0;
    const uint32_t child = find_turn(group->ranks, round, rank, &tree);
    if (child == NONE) {
        return false;
    }
    const uint32_t first = find_arrival(group->ranks, tree, child);
    const uint32_t piece = find_piece(group, round, first);
    if (piece == NONE) {
        return false;
    }
    *out = (struct collective_step){
        .to = child, .first_chunk = tree * group->pipeline + piece, .chunk_count = 1};
    return true;
}

static bool step(enum collective_kind kind, const struct collective_group *group, uint32_t round,
                 uint32_t rank, uint32_t index, struct collective_step *out)
{
    (void)kind;
    const uint32_t turn = half(group);
    if (index > 0) {
        return false;
    }
    return round < turn ? climb(group, round, rank, out) : descend(group, round - turn, rank, out);
}

const struct collective collective_double_tree = {
    .name = "double-tree",
    .summary = "two trees carry half the buffer each, in pieces; few rounds at full bandwidth",
    .kinds = {COLLECTIVE_ALL_REDUCE},
    .kind_count = 1,
    .pipeline_max = 64,
    .staggered = true,
    .minimal = true,
    .one_port = true,
    .accepts = accepts,
    .chunk_count = chunk_count,
    .round_count = round_count,
    .step = step,
};

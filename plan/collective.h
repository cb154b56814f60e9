/* What a collective operation makes each rank do, round by round, never how long it takes.
 *
 * A program is a list of sends per (round, rank); a receive is implied by the send that names the
 * rank. A rank enters round r+1 when all its own sends and receives of round r are complete; a
 * transfer starts when both ends are in its round, so what it carries is the data as of the start
 * of the round.
 *
 * Data is counted in chunks: a chunk is bytes / chunk_count(group), for every kind. Bytes are the
 * whole buffer: all-reduce n, all-gather the gathered size, reduce-scatter the input size,
 * all-to-all what one rank sends in total (own share included). Chunks are numbered below
 * chunk_count, but for all-to-all, where chunk_count is ranks: there chunk source * ranks +
 * destination goes from source to destination. */
#ifndef SHARDPLAN_PLAN_COLLECTIVE_H
#define SHARDPLAN_PLAN_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

enum collective_kind {
    COLLECTIVE_ALL_REDUCE,
    COLLECTIVE_ALL_GATHER,     /* a rank starts with its 1/ranks share, ends with all */
    COLLECTIVE_REDUCE_SCATTER, /* ends with the sum of its 1/ranks share */
    COLLECTIVE_ALL_TO_ALL,
    COLLECTIVE_SEND, /* one message from rank 0 to rank 1 */
    COLLECTIVE_KIND_COUNT
};

const char *collective_kind_name(enum collective_kind kind); /* "all-reduce", ... */

#define COLLECTIVE_AXIS_MAX 4

/* What a member may look at: ranks in group order, i = outer * inner + j. */
struct collective_group {
    uint32_t ranks;
    /* Consecutive ranks that share the innermost domain; divides ranks; ranks: all in one. */
    uint32_t inner;
    bool reduces;      /* all ranks hang under one switch that reduces and multicasts */
    uint32_t pipeline; /* pieces that a pipelined program cuts the buffer into, >= 1 */
    /* Ranks on a grid whose sizes multiply to ranks, the first axis fastest; each axis at least 2.
     * 0: on none. An axis that closes has a link from its end to its begin. */
    uint32_t axis_count;
    uint32_t axes[COLLECTIVE_AXIS_MAX];
    bool closes[COLLECTIVE_AXIS_MAX];
};

#define COLLECTIVE_SWITCH UINT32_MAX

struct collective_step {
    /* Receiving rank, or COLLECTIVE_SWITCH: the switch sums (reduce) or multicasts (not reduce)
     * what all ranks send it in this round, then hands the result to every rank. */
    uint32_t to;
    uint32_t first_chunk, chunk_count;
    bool reduce; /* the receiver adds to what it holds, else replaces */
};

/* Members are held to what they declare, and to nothing that they do not. Of a member whose ranks
 * advance together (not `staggered`) and whose paths are all alike, judges add up the rounds: the
 * longest messages of all rounds must make a chain, each waiting for the one before (a law). */

struct collective {
    const char *name; /* as flags, files and lists spell it */
    const char *summary;
    enum collective_kind kinds[COLLECTIVE_KIND_COUNT];
    uint32_t kind_count;
    uint32_t pipeline_max; /* largest useful group.pipeline; 1: not pipelined */
    /* Ranks of one round may differ in load, so judges replay rank by rank. False: all ranks
     * advance together when all paths are alike, and in each round no rank sends or receives more
     * than rank 0 does one way or the other. */
    bool staggered;
    /* Sends no byte too many: all ranks together the least that the kind takes without (or, through
     * COLLECTIVE_SWITCH, with) help in the network. */
    bool minimal;
    /* No rank sends more than one message in a round, nor receives more than one. What is staggered
     * must be so. */
    bool one_port;
    bool (*accepts)(enum collective_kind kind, const struct collective_group *group);
    uint32_t (*chunk_count)(enum collective_kind kind, const struct collective_group *group);
    uint32_t (*round_count)(enum collective_kind kind, const struct collective_group *group);
    /* The index-th send of the rank in that round; false when there are no more. */
    bool (*step)(enum collective_kind kind, const struct collective_group *group, uint32_t round,
                 uint32_t rank, uint32_t index, struct collective_step *out);
    /* The index-th chunk of what that rank sends in that round by `step`, one of its steps. NULL:
     * chunks are consecutive from first_chunk; else first_chunk is the member's own. Only a law
     * asks: judges need to know how many. */
    uint32_t (*chunk)(enum collective_kind kind, const struct collective_group *group,
                      uint32_t round, uint32_t rank, const struct collective_step *step,
                      uint32_t index);
    /* How many rounds from `round` on are alike (same peers relation and bytes for every rank up to
     * renaming of chunks), >= 1; NULL: none. A law holds it against the steps. */
    uint32_t (*alike)(enum collective_kind kind, const struct collective_group *group,
                      uint32_t round);
    /* Ranks fall into blocks of so many, one behind the other, that do the same in that round and
     * talk to none outside: what r sends to t, r + block sends to t + block, as many chunks of it.
     * Divides ranks; NULL: all ranks are one block. Whoever looks at a round needs only the first
     * block where all lie alike. A law holds it against the steps. */
    uint32_t (*block)(enum collective_kind kind, const struct collective_group *group,
                      uint32_t round);
    /* All-gather and reduce-scatter: which of the ranks' shares of the buffer is the rank's, a
     * permutation of 0 .. ranks-1; NULL: its own number. Shares are chunk_count / ranks consecutive
     * chunks. */
    uint32_t (*share)(const struct collective_group *group, uint32_t rank);
};

extern const struct collective *const collective_table[];
extern const uint32_t collective_table_count;
extern const char *const collective_table_names[];
const struct collective *collective_find(const char *name); /* NULL if none */
/* Names of collective_table, NULL-terminated, for hints. */
const char *const *collective_names(void);

/* The kind is one of the member's and the member takes the group. */
bool collective_accepts(const struct collective *collective, enum collective_kind kind,
                        const struct collective_group *group);
/* First chunk of the rank's share; all-gather and reduce-scatter only. */
uint32_t collective_find_share(const struct collective *collective, enum collective_kind kind,
                               const struct collective_group *group, uint32_t rank);

#endif

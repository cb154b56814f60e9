/* What a collective operation makes each rank do, round by round, never how long it takes.
 *
 * A program is a list of sends per (round, rank); a receive is implied by the send that names the rank. A rank enters
 * round r+1 when all its own sends and receives of round r are complete; a transfer starts when both ends are in
 * its round. Data is counted in chunks: the buffer of `bytes` is cut into chunk_count(group) equal chunks
 * (all-to-all: chunk source * ranks + destination, bytes / ranks each). Bytes are the whole buffer: all-reduce n, all-gather the
 * gathered size, reduce-scatter the input size, all-to-all what one rank sends in total (own share included). */
#ifndef SHARDPLAN_PLAN_COLLECTIVE_H
#define SHARDPLAN_PLAN_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

enum collective_kind {
    COLLECTIVE_ALL_REDUCE,
    COLLECTIVE_ALL_GATHER,      /* rank i starts with chunks of its 1/ranks share, ends with all */
    COLLECTIVE_REDUCE_SCATTER,  /* ends with the sum of its own 1/ranks share */
    COLLECTIVE_ALL_TO_ALL,
    COLLECTIVE_SEND,            /* one message from rank 0 to rank 1 */
    COLLECTIVE_KIND_COUNT
};

const char *collective_kind_name(enum collective_kind kind);    /* "all-reduce", ... */

/* What a member may look at: ranks in group order, i = outer * inner + j. */
struct collective_group {
    uint32_t ranks;
    uint32_t inner;         /* consecutive ranks that share the innermost domain; divides ranks; ranks: all in one */
    bool reduces;           /* all ranks hang under one switch that reduces and multicasts */
    uint32_t pipeline;      /* pieces that a pipelined program cuts the buffer into, >= 1 */
};

#define COLLECTIVE_SWITCH UINT32_MAX

struct collective_step {
    uint32_t to;            /* receiving rank, or COLLECTIVE_SWITCH: the switch sums (reduce) or multicasts (not reduce)
                             * what all ranks send it in this round, then hands the result to every rank */
    uint32_t first_chunk, chunk_count;
    bool reduce;            /* the receiver adds to what it holds, else replaces */
};

struct collective {
    const char *name;       /* "ring" */
    const char *summary;
    enum collective_kind kinds[COLLECTIVE_KIND_COUNT];
    uint32_t kind_count;
    uint32_t pipeline_max;  /* largest useful group.pipeline; 1: not pipelined */
    bool staggered;         /* ranks of one round may differ in load, so judges replay rank by rank;
                             * false: all ranks advance together when all paths are alike */
    bool (*accepts)(enum collective_kind kind, const struct collective_group *group);
    uint32_t (*chunk_count)(enum collective_kind kind, const struct collective_group *group);
    uint32_t (*round_count)(enum collective_kind kind, const struct collective_group *group);
    /* The index-th send of the rank in that round; false when there are no more. */
    bool (*step)(enum collective_kind kind, const struct collective_group *group, uint32_t round, uint32_t rank,
                 uint32_t index, struct collective_step *out);
    /* How many rounds from `round` on are alike (same peers relation and bytes for every rank up to renaming of
     * chunks), >= 1; NULL: none. A law holds it against the steps. */
    uint32_t (*alike)(enum collective_kind kind, const struct collective_group *group, uint32_t round);
};

extern const struct collective *const collective_table[];
extern const uint32_t collective_table_count;
const struct collective *collective_find(const char *name);     /* NULL if none */
/* collective_table names, NULL-terminated, for hints. */
const char *const *collective_names(void);

#endif

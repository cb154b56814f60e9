/* A collective's program placed on a cluster: every message with the way it really takes. */
#ifndef SHARDPLAN_SIM_PROGRAM_H
#define SHARDPLAN_SIM_PROGRAM_H

#include "plan/collective.h"
#include "plan/collective_group.h"
#include "prices/prices.h"
#include "sim/ways.h"
#include "sim/world.h"

struct program_request {
    const struct cluster *cluster;
    const struct prices *prices;
    enum collective_kind kind;
    const struct rank_group *group;
    uint32_t base;                  /* device of rank 0 */
    const struct collective *member;
};

/* A way between two ranks, or of one rank through the switch and back. */
struct program_way {
    uint64_t key;
    const uint32_t *resources;
    uint32_t resource_count;
    double bandwidth_Bps, latency_s;    /* of the path; latency twice through a switch, up and
                                         * down */
    const struct link_kind *link;
    uint32_t level;
    bool in_network;
};

struct program_step {
    uint32_t from, to;              /* ranks; to may be COLLECTIVE_SWITCH */
    uint32_t way;
    double bytes_frac;              /* of the whole buffer */
};

/* Rounds that are alike. */
struct program_phase {
    uint32_t first_round, repeat;
    uint32_t first_step, step_count, switch_count;
    uint32_t sends_row;             /* rows of [rank] and [rank + 1] bounds in program.rows */
    uint32_t receives_row;
};

struct program {
    const struct program_request *request;
    struct collective_group shape;
    uint32_t round_count, chunk_count;
    struct program_phase *phases;
    struct program_step *steps;     /* by phase, then sender */
    struct program_way *ways;
    uint32_t *rows;                 /* per phase: bounds of each rank's sends, of its receives */
    uint32_t *receives;             /* steps by receiver, parallel to steps */
    uint32_t phase_count, step_count, way_count;
    double base_s;                  /* largest of the link kinds in use */
    uint32_t protocol_count;        /* likewise */
    /* program.c's */
    struct arena *arena;
    struct ways *places;
    struct share *share;
    uint32_t phase_capacity, step_capacity, way_capacity, row_count, row_capacity, receive_capacity;
    uint32_t *table;
    uint32_t table_size;
};

/* The member takes the shape. Resources of the ways go to `share`. Nothing of size bytes is in it:
 * one program serves all sizes. The request must outlive the program. */
void program_build(const struct program_request *request, const struct collective_group *shape,
                   struct ways *places, struct share *share, struct program *out);
/* One message as a flow of a simulation, under a protocol (a link kind with fewer uses its
 * last). */
struct world_flow program_find_flow(const struct program *program, const struct program_step *step,
                                    uint32_t protocol, double bytes);
/* Seconds before the first round: the base, and what fills the buffers for the largest message. */
double program_find_start_s(const struct program *program, uint32_t protocol, double bytes);

/* Does the member send to more ranks at once than makes sense without being asked for by name?
 * 128. */
bool program_is_dense(const struct collective *member, enum collective_kind kind,
                      const struct collective_group *shape);

#endif

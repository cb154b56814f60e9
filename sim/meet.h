/* Exchanges in a step where every rank has streams of its own: the ranks of a group meet.
 *
 * The ranks of a stage run the same list of work, so a rank's n-th exchange of a stage is that of
 * its peers: each group of ranks has a cell for it. A rank enters the cell behind its own work; its
 * messages start when all have entered, and it goes on when all of them have arrived. Or, message
 * by message, the collective's program is run on the links that it really takes, and a rank goes on
 * when its own part of it is done. */
#ifndef SHARDPLAN_SIM_MEET_H
#define SHARDPLAN_SIM_MEET_H

#include "plan/work.h"
#include "sim/engine.h"
#include "sim/lump.h"
#include "sim/ways.h"

/* One exchange of one group. */
struct meet_cell {
    const struct lump_list *lumps; /* between this group's own devices */
    uint32_t gate, leave;          /* tasks that all wait for */
    uint32_t *enters, *leaves;     /* [rank] message by message, else NULL */
};

struct meet {
    struct engine *engine;
    struct arena *arena;
    const struct work *work;
    struct lump_book *book;
    const struct prices *prices;
    bool waits;              /* for the last to arrive; off: for nobody */
    bool by_message;         /* on real links */
    struct ways ways;        /* by message */
    uint32_t lanes;          /* ranks of a stage */
    uint32_t streams;        /* of a device: a tag is device * streams + stream */
    uint32_t place;          /* of the rank at hand */
    uint32_t exchange;       /* its next one in this stage */
    struct meet_cell **rows; /* [exchange][lane of the group's first rank] */
    uint32_t row_count, row_capacity;
};

/* The engine and the arena must outlive it. */
void meet_init(struct meet *meet, const struct work *work, const struct prices *prices,
               struct lump_book *book, struct engine *engine);
/* The ranks of another stage, or step, come next. */
void meet_open(struct meet *meet);
/* The rank on that place comes next. */
void meet_enter(struct meet *meet, uint32_t place);
/* The rank's next exchange; share of the message's bytes and latency, as in emit_move. NULL: a
 * group of one. */
struct meet_cell *meet_find(struct meet *meet, const struct work_message *message,
                            struct engine_label label, double share);
/* What the rank's own messages wait for, when its work before them has ended; after them, what its
 * work waits for. Message by message the second alone says it all. */
uint32_t meet_push_gate(struct meet *meet, const struct meet_cell *cell, uint32_t after);
uint32_t meet_push_leave(struct meet *meet, const struct meet_cell *cell, uint32_t after);
uint32_t meet_push_whole(struct meet *meet, const struct work_message *message,
                         const struct meet_cell *cell, uint32_t after);

#endif

/* Which stage runs which micro-batch of which chunk in what order, never how long it takes. */
#ifndef SHARDPLAN_PLAN_SCHEDULE_H
#define SHARDPLAN_PLAN_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/text.h"

enum slot_kind {
    SLOT_FORWARD,
    SLOT_BACKWARD, /* input and weight gradient together */
    SLOT_INPUT_GRADIENT,
    SLOT_WEIGHT_GRADIENT,
    SLOT_KIND_COUNT
};

struct slot {
    enum slot_kind kind;
    uint32_t micro_batch;
    uint32_t chunk; /* local chunk of the device, 0 .. chunks-1 */
    /* A forward that runs in one with the slot behind it, a backward or input gradient: neither
     * starts before both can, both end together. */
    bool paired;
};

/* stages devices in a row, `chunks` model chunks on each, micro_batches per step. */
struct schedule_shape {
    uint32_t stages, chunks, micro_batches;
};

/* Orders found by what is ready: at each tick a stage that is free starts, of the slots that can
 * start, a backward before a forward. Slots have made-up lengths for that, whatever they last
 * later. */
struct schedule_weave {
    uint32_t forward_ticks, backward_ticks;
    uint32_t unit;        /* micro-batches woven at a time, the next behind them; 0: all */
    uint32_t in_flight;   /* most micro-batches under way on one chain; 0: any number */
    bool follows_depth;   /* no more micro-batches alive on a chunk than chunks from it to the end
                           * of its chain */
    bool oldest_first;    /* of like slots the earliest micro-batch, then the deepest chunk; else
                           * the deepest chunk first */
};

struct schedule {
    const char *name; /* as flags, files and lists spell it */
    const char *summary;
    bool chunked;   /* wants chunks > 1 */
    bool usual;     /* what a pipeline of its kind runs where nobody says; one chunked, one not */
    bool on_demand; /* searched only where the runtime lists it or the user asks for it */
    bool splits;    /* weight gradients in slots of their own (a law: no other member has any) */
    /* Chains that hold the whole model, side by side: each micro-batch runs through one of them.
     * 0 counts as 1. */
    uint32_t copies;
    /* NULL when the shape (no count of it zero, chunks as `chunked` says) is legal, else the
     * reason with what would be right (static text). The member may set no refuses. */
    const char *(*refuses)(const struct schedule_shape *shape);
    /* Writes the stage's slots in order to out (room for schedule_count_slots) and returns their
     * number. */
    uint32_t (*stream)(const struct schedule_shape *shape, uint32_t stage, struct slot *out);
    /* Instead of `stream`. */
    struct schedule_weave (*weave)(const struct schedule_shape *shape);
    /* Model chunk (0 .. stages*chunks-1, in chain order, one chain behind the other) that sits at
     * (stage, chunk); NULL: chunk * stages + stage. */
    uint32_t (*place)(const struct schedule_shape *shape, uint32_t stage, uint32_t chunk);
};

extern const struct schedule *const schedule_table[];
extern const uint32_t schedule_table_count;
extern const char *const schedule_table_names[];
const struct schedule *schedule_find(const char *name); /* NULL if none */
const struct schedule *schedule_find_usual(bool chunked);
const char *const *schedule_names(void); /* NULL-terminated, in the order of the table */
/* Upper bound of the slots of one stage: 3 * micro_batches * chunks. */
uint64_t schedule_count_slots(const struct schedule_shape *shape);
/* Why the schedule cannot run this shape, with what would be right (static text); NULL when it
 * can. */
const char *schedule_refuses(const struct schedule *schedule, const struct schedule_shape *shape);
/* "F0", "B0" (whole backward or its input-gradient part), "W0"; with the chunk, "F0.1", when
 * chunks > 1. */
void schedule_dump_slot(const struct slot *slot, uint32_t chunks, struct text *out);

/* All streams of a schedule: the one description both judges read. */
struct stream {
    struct schedule_shape shape;
    uint32_t copies;       /* chains, each of stages * chunks / copies model chunks */
    uint32_t *slot_counts; /* per stage */
    struct slot **slots;   /* per stage */
    uint32_t *model_chunk; /* [stage * chunks + chunk] position in the chain */
    uint32_t *chunk_place; /* inverse: [model_chunk] = stage * chunks + chunk */
    /* Most micro-batch chunks alive at once per stage (from their forward to the end of their
     * backward or weight gradient); each counts copies/chunks of a micro-batch's memory. */
    uint32_t *peak_live_chunks;
    const char *file; /* the table it was read from, one row per stage; NULL: built */
};

/* No slot of another chunk is waited for. */
#define STREAM_NO_SOURCE UINT32_MAX
/* Streams of more slots than this, all stages together, are refused: 2^24. */
#define STREAM_SLOTS_MAX 16777216u

/* Model chunks of one chain. */
uint32_t stream_count_chain(const struct stream *stream);
/* Beyond the order of its own stage a slot waits for the same micro-batch on one other model
 * chunk: a forward for the forward of the chunk before, a backward or input gradient for that of
 * the chunk behind. Gives that model chunk, or STREAM_NO_SOURCE. */
uint32_t stream_find_source(const struct stream *stream, uint32_t stage, const struct slot *slot);

/* Builds and checks: refused shapes, missing or doubled slots, backward before forward, deadlock
 * (the cycle is named). */
bool stream_build(const struct schedule *schedule, const struct schedule_shape *shape,
                  struct arena *arena, struct stream *out, struct diag *diag);
/* Reads a table of slots: one row per stage, comma-separated cells in time order, each
 * MODEL-CHUNK KIND MICRO-BATCH as in "0F0,0F1,,0B0" (F forward, B backward, I input gradient, W
 * weight gradient; an empty cell is an idle slot; "(1F2;3B0)OVERLAP_F_B" is a pair): the
 * compute-only CSV that torch.distributed.pipelining loads. `name` stands for the file. Checked
 * like a built stream. */
bool stream_read_table(const char *name, const char *text, size_t length, struct arena *arena,
                       struct stream *out, struct diag *diag);
/* The same form; the stream has one chain. */
void stream_dump_table(const struct stream *stream, struct text *out);
/* Also the belief check used by tests and debug builds on any stream; scratch comes from the
 * arena of diag. */
bool stream_check(const struct stream *stream, struct diag *diag);

#endif

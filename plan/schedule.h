/* Which stage runs which micro-batch of which chunk in what order, never how long it takes. */
#ifndef SHARDPLAN_PLAN_SCHEDULE_H
#define SHARDPLAN_PLAN_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"

enum slot_kind {
    SLOT_FORWARD,
    SLOT_BACKWARD,          /* input and weight gradient together */
    SLOT_INPUT_GRADIENT,
    SLOT_WEIGHT_GRADIENT,
    SLOT_KIND_COUNT
};

struct slot {
    enum slot_kind kind;
    uint32_t micro_batch;
    uint32_t chunk;         /* local chunk of the device, 0 .. chunks-1 */
};

/* stages devices in a row, `chunks` model chunks on each, micro_batches per step. */
struct schedule_shape {
    uint32_t stages, chunks, micro_batches;
};

struct schedule {
    const char *name;       /* "1f1b" */
    const char *summary;
    bool chunked;           /* wants chunks > 1 */
    /* NULL when the shape is legal, else the reason with what would be right (static text). */
    const char *(*refuses)(const struct schedule_shape *shape);
    /* Writes the stage's slots in order to out (room for schedule_count_slots) and returns their number. */
    uint32_t (*stream)(const struct schedule_shape *shape, uint32_t stage, struct slot *out);
    /* Model chunk (0 .. stages*chunks-1, in chain order) that sits at (stage, chunk); NULL: chunk * stages + stage. */
    uint32_t (*place)(const struct schedule_shape *shape, uint32_t stage, uint32_t chunk);
};

extern const struct schedule *const schedule_table[];
extern const uint32_t schedule_table_count;
const struct schedule *schedule_find(const char *name);
const char *const *schedule_names(void);
/* Upper bound of the slots of one stage: 3 * micro_batches * chunks. */
uint64_t schedule_count_slots(const struct schedule_shape *shape);

/* All streams of a schedule: the one description both judges read. */
struct stream {
    struct schedule_shape shape;
    uint32_t *slot_counts;          /* per stage */
    struct slot **slots;            /* per stage */
    uint32_t *model_chunk;          /* [stage * chunks + chunk] position in the chain */
    uint32_t *chunk_place;          /* inverse: [model_chunk] = stage * chunks + chunk */
    /* Most micro-batch chunks alive at once per stage (from their forward to the end of their backward or weight
     * gradient), and the same in whole micro-batches (a chunk counts 1/chunks). */
    uint32_t *peak_live_chunks;
};

/* Builds and checks: refused shapes, missing or doubled slots, backward before forward, deadlock (the cycle is named). */
bool stream_build(const struct schedule *schedule, const struct schedule_shape *shape, struct arena *arena,
                  struct stream *out, struct diag *diag);
/* Also the belief check used by tests and debug builds on any stream. */
bool stream_check(const struct stream *stream, struct diag *diag);

#endif

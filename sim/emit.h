/* Bars and messages as tasks of one device: what runs on which of its streams and ports. */
#ifndef SHARDPLAN_SIM_EMIT_H
#define SHARDPLAN_SIM_EMIT_H

#include "sim/engine.h"
#include "sim/meet.h"
#include "sim/script.h"

enum emit_stream {
    EMIT_COMPUTE,
    EMIT_TENSOR,
    EMIT_PREFETCH,
    EMIT_DATA,
    EMIT_SEND,
    EMIT_STREAM_COUNT
};

/* Name of the time in which the host launches what the device has not yet begun. */
#define EMIT_HOST "host"

/* A stretch of a device's compute stream: ends with the task; its kernel's share has a cost of
 * its own, the rest was spent waiting for messages of the dim (NO_INDEX: there are none). */
struct emit_segment {
    uint32_t task;
    double kernel_s;
    enum cost cost;
    uint32_t dim;
    bool is_weight;
};

/* Ports of every device by level: {out, in}, resources of the engine or UINT32_MAX. */
struct emit_ports {
    uint32_t levels;        /* rows per device */
    uint32_t *pairs;        /* [2 * (device * levels + level)] */
    const double *slowness; /* [device] its ports are so many times slower; NULL: 1 */
    double *busy_s;         /* parallel: what its messages take at its full bandwidth, one by one */
};

struct emit {
    struct engine *engine;
    struct arena *arena;
    bool contends;     /* messages are flows over the ports, else delays */
    struct meet *meet; /* every rank is a device; NULL: one stands for all of its stage */
    struct emit_ports *ports;
    struct emit_segment *segments;
    uint32_t segment_count, segment_capacity;
    /* of the device at hand */
    uint32_t device;
    uint32_t cursor;                      /* last task of its compute stream, or ENGINE_NO_TASK */
    double kernel_factor, message_factor; /* on all durations: jitter */
};

/* tag of tasks: device * EMIT_STREAM_COUNT + stream. */
struct engine_label emit_label(const struct emit *emit, enum emit_stream stream, const char *name);
/* A task that lasts no time behind two others (either may be ENGINE_NO_TASK); one of them if
 * that says it all. */
uint32_t emit_join(struct emit *emit, uint32_t a, uint32_t b);
/* A delay on the device's compute stream, moving its cursor. */
void emit_delay(struct emit *emit, const char *name, double seconds);
/* A share of a message behind a task; its last task. */
uint32_t emit_move(struct emit *emit, enum emit_stream stream, const struct move *move,
                   double share, uint32_t after);
/* A message to another device: between their ports, or on the resources of its way. */
uint32_t emit_send(struct emit *emit, const struct lump *lump, uint32_t to_device,
                   const struct path *way, uint32_t after);

enum emit_part { EMIT_ALL, EMIT_INPUT, EMIT_WEIGHT };
/* The script on the device's compute stream, moving its cursor; segments are logged. */
void emit_script(struct emit *emit, const struct script *script, enum emit_part part);
void emit_push_segment(struct emit *emit, struct emit_segment segment);

#endif

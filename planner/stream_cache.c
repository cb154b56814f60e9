/* Streams, shared by all leaves of a shape. */
#include <string.h>

#include "planner/planner_inside.h"

struct stream_entry {
    const struct schedule *schedule;
    struct stream stream;
    struct stream_entry *next;
};

const struct stream *stream_cache_find(struct search *search, const struct form *form,
                                       const struct schedule_shape *shape)
{
    const uint32_t hash = shape->stages * 7919u + shape->chunks * 104729u + shape->micro_batches;
    struct stream_entry **bucket = &search->streams[hash % TABLE_BUCKETS];
    for (struct stream_entry *entry = *bucket; entry != NULL; entry = entry->next) {
        if (entry->schedule == form->schedule &&
            memcmp(&entry->stream.shape, shape, sizeof *shape) == 0) {
            return &entry->stream;
        }
    }
    struct arena *arena = &search->stream_arena;
    struct stream_entry *entry = ARENA_PUSH(arena, struct stream_entry, 1);
    struct diag diag;
    diag_init(&diag, arena);
    entry->schedule = form->schedule;
    if (!stream_build(form->schedule, shape, arena, &entry->stream, &diag)) {
        BUG("schedule '%s' accepted %u stages, %u chunks, %u micro-batches but has no sound stream",
            form->schedule->name, shape->stages, shape->chunks, shape->micro_batches);
    }
    entry->next = *bucket;
    *bucket = entry;
    return &entry->stream;
}

void stream_cache_trim(struct search *search)
{
    if (search->stream_arena.used_bytes <= STREAM_ARENA_BYTES) {
        return;
    }
    if (search->estimator->forget_streams != NULL) {
        search->estimator->forget_streams(search->estimator->state);
    }
    arena_release(&search->stream_arena);
    arena_init(&search->stream_arena);
    memset(search->streams, 0, sizeof search->streams);
}

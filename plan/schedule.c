/* The set of pipeline schedules: who is in it, what shapes each takes. */
#include "plan/schedule.h"

#include <string.h>

const struct schedule *schedule_find(const char *name)
{
    for (uint32_t i = 0; i < schedule_table_count; i++) {
        if (strcmp(schedule_table[i]->name, name) == 0) {
            return schedule_table[i];
        }
    }
    return NULL;
}

const struct schedule *schedule_find_usual(bool chunked)
{
    for (uint32_t i = 0; i < schedule_table_count; i++) {
        if (schedule_table[i]->usual && schedule_table[i]->chunked == chunked) {
            return schedule_table[i];
        }
    }
    BUG("no usual schedule");
}

const char *const *schedule_names(void)
{
    return schedule_table_names;
}

uint64_t schedule_count_slots(const struct schedule_shape *shape)
{
    return (uint64_t)3 * shape->micro_batches * shape->chunks;
}

void schedule_dump_slot(const struct slot *slot, uint32_t chunks, struct text *out)
{
    static const char letters[SLOT_KIND_COUNT] = {'F', 'B', 'B', 'W'};
    text_push(out, "%c%u", letters[slot->kind], slot->micro_batch);
    if (chunks > 1) {
        text_push(out, ".%u", slot->chunk);
    }
}

const char *schedule_refuses(const struct schedule *schedule, const struct schedule_shape *shape)
{
    if (shape->stages == 0 || shape->chunks == 0 || shape->micro_batches == 0) {
        return "stages, chunks and micro-batches must be at least 1";
    }
    if (schedule->chunked && shape->chunks == 1) {
        return "it runs several model chunks on each stage: chunks must be at least 2";
    }
    if (!schedule->chunked && shape->chunks > 1) {
        return "it runs one model chunk on each stage: chunks must be 1";
    }
    uint64_t slots = schedule_count_slots(shape);
    if (slots > STREAM_SLOTS_MAX || slots * shape->stages > STREAM_SLOTS_MAX) {
        return "3 x stages x chunks x micro-batches must be at most 2^24";
    }
    return schedule->refuses == NULL ? NULL : schedule->refuses(shape);
}

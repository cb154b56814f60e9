/* Slots found by their names, as the order of the schedule prints them. */
#include "tools/late_slots.h"

#include <string.h>

static bool refuse(struct command *command, const char *item, const char *reason)
{
    return diag_push(command->diag, DIAG_C704, (struct diag_place){0},
                     "write slot, stage, seconds, as in F5@0=6", "--late, at '%s': %s", item,
                     reason);
}

/* "F5" or "F5.1" up to '@'; its length, 0 if there is none. */
static size_t name_length(const char *at)
{
    const char *end = strchr(at, '@');
    return end == NULL ? 0 : (size_t)(end - at);
}

/* Number of the slot of this name on the stage, all stages counted; UINT32_MAX if it has none. */
static uint32_t find_slot(const struct stream *stream, uint32_t stage, const char *name,
                          size_t length, struct arena *arena)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < stage; i++) {
        first += stream->slot_counts[i];
    }
    struct text text;
    text_init(&text, arena);
    for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
        text.length = 0;
        schedule_dump_slot(&stream->slots[stage][i], stream->shape.chunks, &text);
        if (text.length == length && memcmp(text.bytes, name, length) == 0) {
            return first + i;
        }
    }
    return UINT32_MAX;
}

static bool read_item(struct command *command, const struct stream *stream, const char **at,
                      double *extra_s)
{
    const char *item = *at;
    const size_t length = name_length(item);
    double stage, seconds;
    *at += length + 1;
    if (length == 0 || !command_parse_number(at, &stage) || **at != '=') {
        return refuse(command, item, "it is not of the form SLOT@STAGE=SECONDS");
    }
    *at += 1;
    if (!command_parse_number(at, &seconds) || (**at != ',' && **at != '\0')) {
        return refuse(command, item, "the seconds are no number");
    }
    if (!(seconds >= 0 && seconds <= 1e12)) {
        return refuse(command, item, "seconds are from 0 to 1e12");
    }
    if (!(stage >= 0 && stage < stream->shape.stages) || stage != (double)(uint32_t)stage) {
        return refuse(command, item, "there is no such stage");
    }
    const uint32_t slot = find_slot(stream, (uint32_t)stage, item, length, command->arena);
    if (slot == UINT32_MAX) {
        return refuse(command, item, "the stage has no such slot");
    }
    extra_s[slot] += seconds;
    *at += **at == ',';
    return true;
}

bool late_slots_read(struct command *command, const struct stream *stream, const double **out)
{
    const char *at;
    uint32_t count = 0;
    *out = NULL;
    if (!command_has(command, "--late")) {
        return true;
    }
    if (!command_text(command, "--late", &at)) {
        return false;
    }
    for (uint32_t stage = 0; stage < stream->shape.stages; stage++) {
        count += stream->slot_counts[stage];
    }
    double *extra_s = ARENA_PUSH(command->arena, double, count);
    do {
        if (!read_item(command, stream, &at, extra_s)) {
            return false;
        }
    } while (*at != '\0');
    *out = extra_s;
    return true;
}

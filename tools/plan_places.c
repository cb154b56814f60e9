/* The devices of a plan as a flag: ranges in the order in which ranks take them. */
#include <string.h>

#include "plan/plan_rule.h"
#include "tools/plan_flags.h"

static const struct diag_place nowhere = {0};

static bool read_range(struct command *command, const char *text, struct slice_range *out)
{
    uint64_t range[2];
    if (!plan_rule_read_range(text, range) || range[1] < range[0] || range[1] >= UINT32_MAX) {
        return diag_push(command->diag, DIAG_C704, nowhere,
                         "write devices 16 to 31, then 0 to 15, "
                         "as 16-31,0-15",
                         "%s: '%s' is no device, nor a range of them", PLAN_FLAGS_PLACES, text);
    }
    *out = (struct slice_range){.first_device = (uint32_t)range[0],
                                .device_count = (uint32_t)(range[1] - range[0] + 1),
                                .compute_frac = 1.0};
    return true;
}

bool plan_flags_read_places(struct command *command, struct planner_pins *out)
{
    const char *text;
    if (!command_has(command, PLAN_FLAGS_PLACES) || command_searches(command, PLAN_FLAGS_PLACES)) {
        return true;
    }
    if (!command_text(command, PLAN_FLAGS_PLACES, &text)) {
        return false;
    }
    out->slices = ARENA_PUSH(command->arena, struct slice_range, strlen(text) / 2 + 1);
    for (const char *at = text; at != NULL;) {
        const size_t length = strcspn(at, ",");
        const char *range = text_build_copy(command->arena, at, length);
        if (!read_range(command, range, &out->slices[out->slice_count++])) {
            return false;
        }
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return true;
}

void plan_flags_dump_places(const struct plan *plan, struct text *out)
{
    const struct group *group = &plan->groups[0];
    for (uint32_t i = 0; i < group->slice_count; i++) {
        const struct slice_range *slice = &group->slices[i];
        text_push(out, i == 0 ? " " PLAN_FLAGS_PLACES " %u" : ",%u", slice->first_device);
        if (slice->device_count > 1) {
            text_push(out, "-%u", slice->first_device + slice->device_count - 1);
        }
    }
}

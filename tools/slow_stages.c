/* Stage, equals sign, factor; the last word on a stage counts. */
#include "tools/slow_stages.h"

#define SLOWNESS_MAX 1000.0

static bool refuse(struct command *command, const char *item, const char *reason)
{
    return diag_push(command->diag, DIAG_C704, (struct diag_place){0},
                     "write stage and factor, as in 2=1.3", "--slow, at '%s': %s", item, reason);
}

static bool read_item(struct command *command, const char **at, uint32_t stages, double *slowness)
{
    const char *item = *at;
    double stage, factor;
    if (!command_parse_number(at, &stage) || **at != '=') {
        return refuse(command, item, "it is not of the form STAGE=FACTOR");
    }
    *at += 1;
    if (!command_parse_number(at, &factor) || (**at != ',' && **at != '\0')) {
        return refuse(command, item, "the factor is no number");
    }
    if (!(stage >= 0 && stage < stages) || stage != (double)(uint32_t)stage) {
        return refuse(command, item,
                      text_build(command->arena, "the plan has stages 0 to %u", stages - 1));
    }
    if (!(factor >= 1.0 && factor <= SLOWNESS_MAX)) {
        return refuse(command, item, "a factor is from 1 to 1000");
    }
    slowness[(uint32_t)stage] = factor;
    *at += **at == ',';
    return true;
}

bool slow_stages_read(struct command *command, uint32_t stages, const double **out)
{
    const char *at;
    *out = NULL;
    if (!command_has(command, "--slow")) {
        return true;
    }
    if (command_has(command, "--decompose")) {
        return diag_push(command->diag, DIAG_C709, (struct diag_place){0}, NULL,
                         "--decompose sets the simulator beside the cost model, which knows no "
                         "slow stages: leave out one of it and --slow");
    }
    if (!command_text(command, "--slow", &at)) {
        return false;
    }
    double *slowness = ARENA_PUSH(command->arena, double, stages);
    for (uint32_t stage = 0; stage < stages; stage++) {
        slowness[stage] = 1.0;
    }
    do {
        if (!read_item(command, &at, stages, slowness)) {
            return false;
        }
    } while (*at != '\0');
    *out = slowness;
    return true;
}

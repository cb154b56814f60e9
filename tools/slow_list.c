/* Index, equals sign, factor; the last word on an index counts. */
#include "tools/slow_list.h"

#define SLOWNESS_MAX 1000.0

struct slow_list {
    struct command *command;
    const char *flag, *noun;
    uint32_t count;
    double *slowness;
};

static bool refuse(const struct slow_list *list, const char *item, const char *reason)
{
    const char *hint =
        text_build(list->command->arena, "write %s and factor, as in 2=1.3", list->noun);
    return diag_push(list->command->diag, DIAG_C704, (struct diag_place){0}, hint,
                     "%s, at '%s': %s", list->flag, item, reason);
}

static bool read_item(const struct slow_list *list, const char **at)
{
    struct arena *arena = list->command->arena;
    const char *item = *at;
    double index, factor;
    if (!command_parse_number(at, &index) || **at != '=') {
        return refuse(list, item, "it is not of the form INDEX=FACTOR");
    }
    *at += 1;
    if (!command_parse_number(at, &factor) || (**at != ',' && **at != '\0')) {
        return refuse(list, item, "the factor is no number");
    }
    if (!(index >= 0 && index < list->count) || index != (double)(uint32_t)index) {
        return refuse(list, item,
                      text_build(arena, "the plan has %ss 0 to %u", list->noun, list->count - 1));
    }
    if (!(factor >= 1.0 && factor <= SLOWNESS_MAX)) {
        return refuse(list, item, "a factor is from 1 to 1000");
    }
    list->slowness[(uint32_t)index] = factor;
    if (**at == ',' && *++*at == '\0') {
        return refuse(list, item, "a comma with nothing behind it");
    }
    return true;
}

bool slow_list_read(struct command *command, const char *flag, const char *noun, uint32_t count,
                    const double **out)
{
    const char *at;
    *out = NULL;
    if (!command_has(command, flag)) {
        return true;
    }
    if (command_has(command, "--decompose")) {
        return diag_push(command->diag, DIAG_C709, (struct diag_place){0}, NULL,
                         "--decompose sets the simulator beside the cost model, which knows no "
                         "slow %ss: leave out one of it and %s",
                         noun, flag);
    }
    if (!command_text(command, flag, &at)) {
        return false;
    }
    const struct slow_list list = {command, flag, noun, count,
                                   ARENA_PUSH(command->arena, double, count)};
    for (uint32_t i = 0; i < count; i++) {
        list.slowness[i] = 1.0;
    }
    do {
        if (!read_item(&list, &at)) {
            return false;
        }
    } while (*at != '\0');
    *out = list.slowness;
    return true;
}

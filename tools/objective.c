/* The same question on parts of the cluster: which takes least device time, or least energy? */
#include "tools/objective.h"

#include <string.h>

#include "base/table.h"
#include "tools/plan_flags.h"

static const char *const names[] = {
    [OBJECTIVE_TIME] = "time", [OBJECTIVE_COST] = "cost", [OBJECTIVE_ENERGY] = "energy", NULL};

const struct flag objective_flags[] = {
    {.name = "--objective",
     .kind = FLAG_CHOICE,
     .help = "what is best: the shortest step, the fewest device hours per token, the least energy "
             "per token; the last two choose how many of the devices to use, as --spares allows",
     .fallback = "time",
     .choices = names},
    {.name = NULL},
};

static double value_of(const struct objective_choice *choice, uint32_t index)
{
    const struct sized_plan *size = &choice->sizes[index];
    switch (choice->objective) {
    case OBJECTIVE_ENERGY: return size->energy_j;
    case OBJECTIVE_COST: return size->device_s;
    case OBJECTIVE_TIME:
    case OBJECTIVE_COUNT: break;
    }
    return size->step_s;
}

static bool move(struct command *command, struct question *question,
                 const struct objective_choice *choice)
{
    struct question *moved = ARENA_PUSH(command->arena, struct question, 1);
    const struct sized_plan *best = &choice->sizes[choice->best];
    if (best->devices == question->cluster.device_count) {
        return true;
    }
    if (!problem_flags_scale(command, question, best->domains, moved)) {
        return false;
    }
    moved->setup.spare_devices = 0;
    return problem_flags_move(command, moved, &moved->cluster, question);
}

/* No part of such a cluster is like the whole, so none is tried. */
static bool warn_of_spares(struct command *command, const struct cluster *cluster)
{
    if (!command_has(command, PLAN_FLAGS_PLACES)) {
        diag_push_warning(command->diag, DIAG_C709, (struct diag_place){0},
                          PLAN_FLAGS_PLACES " 0-7 names those to use",
                          "which devices of '%s' to leave idle is not searched: plans use all %u",
                          cluster->name, cluster->device_count);
    }
    return true;
}

bool objective_choose(struct command *command, struct question *question,
                      const struct planner_options *options, struct objective_choice *out)
{
    uint32_t index;
    memset(out, 0, sizeof *out);
    if (!command_choice(command, "--objective", &index)) {
        return false;
    }
    out->objective = (enum objective)index;
    if (out->objective == OBJECTIVE_TIME && question->setup.spare_devices == 0) {
        return true;
    }
    if (out->objective == OBJECTIVE_TIME &&
        (!sized_plan_has_parts(&question->cluster) || command_has(command, PLAN_FLAGS_PLACES))) {
        return warn_of_spares(command, &question->cluster);
    }
    if (!sized_plan_check(command, &question->cluster, out->objective == OBJECTIVE_ENERGY,
                          text_build(command->arena, "--objective %s", names[out->objective]))) {
        return false;
    }
    out->count = sized_plan_list(&question->cluster, question->setup.spare_devices, out->sizes);
    for (uint32_t i = 0; i < out->count; i++) {
        sized_plan_find(command, question, options, 0.0, &out->sizes[i]);
        if (out->sizes[i].fits &&
            (!out->sizes[out->best].fits || value_of(out, i) < value_of(out, out->best))) {
            out->best = i;
        }
    }
    return move(command, question, out);
}

/* --- the answer ------------------------------------------------------------------------------- */

void objective_push(const struct objective_choice *choice, struct json_writer *out)
{
    if (choice->count == 0) {
        return;
    }
    json_push_key(out, "objective");
    json_push_object(out);
    json_push_key_string(out, "name", names[choice->objective]);
    json_push_key_u64(out, "devices", choice->sizes[choice->best].devices);
    json_push_key(out, "sizes");
    json_push_array(out);
    for (uint32_t i = 0; i < choice->count; i++) {
        const struct sized_plan *size = &choice->sizes[i];
        json_push_object(out);
        json_push_key_u64(out, "devices", size->devices);
        json_push_key_bool(out, "fits", size->fits);
        if (size->fits) {
            json_push_key_double(out, "step_s", size->step_s);
            json_push_key_double(out, "device_s", size->device_s);
            sized_plan_push_energy(size, out);
        }
        json_pop_object(out);
    }
    json_pop_array(out);
    json_pop_object(out);
}

static void push_size(struct command *command, const struct objective_choice *choice,
                      uint32_t index, struct table *table)
{
    const struct sized_plan *size = &choice->sizes[index];
    table_push(table, "%s%s", report_count(command->arena, size->devices),
               index == choice->best && size->fits ? " *" : "");
    if (!size->fits) {
        table_push(table, "nothing fits");
        table_push(table, "-");
        table_push(table, "-");
        return;
    }
    table_push(table, "%s", report_seconds(command->arena, size->step_s));
    table_push(table, "%.4g", size->device_s);
    table_push(table, "%s", sized_plan_kwh(command, size));
}

void objective_dump(struct command *command, const struct objective_choice *choice)
{
    static const char *const headings[] = {"devices", ">time per step", ">device seconds", ">kWh",
                                           NULL};
    struct table table;
    if (choice->count == 0) {
        return;
    }
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < choice->count; i++) {
        push_size(command, choice, i, &table);
    }
    text_push(&command->out, "\nBest by %s per step, of the sizes that --spares allows:\n\n",
              names[choice->objective]);
    table_dump(&table, &command->out);
    text_push(&command->out, "* chosen; energy of the devices at their rated power\n");
}

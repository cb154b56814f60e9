/* A front by constraints: each size of the cluster, each ceiling on memory, is a search of its
 * own with a proof, and what another point beats in both axes is dropped. */
#include "tools/pareto.h"

#include <string.h>

#include "base/table.h"

#define LEANER_FRAC 0.95 /* of the peak found last is the next ceiling */

static const char *const names[PARETO_AXIS_COUNT + 1] = {"time", "cost", "energy", "memory", NULL};

const struct flag pareto_flags[] = {
    {.name = "--pareto",
     .kind = FLAG_SWITCH,
     .help = "also the plans that are best at one thing for what they take of another, on parts of "
             "the cluster or within less memory"},
    {.name = "--pareto-axes",
     .kind = FLAG_TEXT,
     .value = "A,B",
     .help = "which two, of time, cost (device seconds), energy, memory (of the fullest device)",
     .fallback = "time,cost"},
    {.name = NULL},
};

static double value_of(const struct sized_plan *point, enum pareto_axis axis)
{
    switch (axis) {
    case PARETO_COST: return point->device_s;
    case PARETO_ENERGY: return point->energy_j;
    case PARETO_MEMORY: return point->peak_bytes;
    case PARETO_TIME:
    case PARETO_AXIS_COUNT: break;
    }
    return point->step_s;
}

static bool has_axis(const struct pareto *pareto, enum pareto_axis axis)
{
    return pareto->axes[0] == axis || pareto->axes[1] == axis;
}

/* --- what is asked ---------------------------------------------------------------------------- */

static bool read_axis(const char *word, size_t length, enum pareto_axis *out)
{
    for (uint32_t i = 0; i < PARETO_AXIS_COUNT; i++) {
        if (strlen(names[i]) == length && strncmp(names[i], word, length) == 0) {
            *out = (enum pareto_axis)i;
            return true;
        }
    }
    return false;
}

static bool read_axes(struct command *command, struct pareto *out)
{
    const char *text;
    if (!command_text(command, "--pareto-axes", &text)) {
        return false;
    }
    const size_t first = strcspn(text, ",");
    if (text[first] == ',' && read_axis(text, first, &out->axes[0]) &&
        read_axis(text + first + 1, strlen(text + first + 1), &out->axes[1]) &&
        out->axes[0] != out->axes[1]) {
        return true;
    }
    return diag_push(command->diag, DIAG_C704, (struct diag_place){0}, "--pareto-axes time,memory",
                     "--pareto-axes is '%s': it must be two of time, cost, energy, memory, joined "
                     "by a comma",
                     text);
}

/* --- the front -------------------------------------------------------------------------------- */

static bool beats(const struct pareto *pareto, const struct sized_plan *a,
                  const struct sized_plan *b)
{
    bool better = false;
    for (uint32_t i = 0; i < 2; i++) {
        const double a_value = value_of(a, pareto->axes[i]), b_value = value_of(b, pareto->axes[i]);
        if (a_value > b_value) {
            return false;
        }
        better = better || a_value < b_value;
    }
    return better;
}

/* Keeps the points sorted by the first axis; equal ones are kept once. */
static void add(struct pareto *pareto, const struct sized_plan *point)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < pareto->count; i++) {
        if (!beats(pareto, point, &pareto->points[i])) {
            pareto->points[kept++] = pareto->points[i];
        }
    }
    pareto->count = kept;
    for (uint32_t i = 0; i < kept; i++) {
        const struct sized_plan *other = &pareto->points[i];
        if (beats(pareto, other, point) ||
            (value_of(other, pareto->axes[0]) <= value_of(point, pareto->axes[0]) &&
             value_of(other, pareto->axes[1]) <= value_of(point, pareto->axes[1]))) {
            return;
        }
    }
    if (kept == PARETO_POINT_MAX) {
        return;
    }
    uint32_t place = kept;
    for (; place > 0 &&
           value_of(&pareto->points[place - 1], pareto->axes[0]) > value_of(point, pareto->axes[0]);
         place--) {
        pareto->points[place] = pareto->points[place - 1];
    }
    pareto->points[place] = *point;
    pareto->count++;
}

/* The best plan of a size, then the best within a little less memory, until nothing fits. */
static void search_size(struct command *command, const struct question *question,
                        const struct planner_options *options, struct sized_plan *size,
                        struct pareto *out)
{
    const uint32_t steps = has_axis(out, PARETO_MEMORY) ? PARETO_POINT_MAX : 1;
    double most_bytes = 0.0;
    for (uint32_t i = 0; i < steps; i++) {
        sized_plan_find(command, question, options, most_bytes, size);
        if (!size->fits) {
            return;
        }
        add(out, size);
        most_bytes = LEANER_FRAC * size->peak_bytes;
    }
}

/* What the axes need of the cluster. */
static bool check_axes(struct command *command, const struct cluster *cluster,
                       const struct pareto *pareto)
{
    const bool energy = has_axis(pareto, PARETO_ENERGY);
    if ((energy || has_axis(pareto, PARETO_COST)) &&
        !sized_plan_check(command, cluster, energy, "--pareto")) {
        return false;
    }
    return !has_axis(pareto, PARETO_MEMORY) || cluster->accelerator_count == 1 ||
           diag_push(command->diag, DIAG_C709, (struct diag_place){0}, NULL,
                     "devices of cluster '%s' have memories of several sizes, so one ceiling does "
                     "not do for --pareto",
                     cluster->name);
}

bool pareto_find(struct command *command, const struct question *question,
                 const struct planner_options *options, struct pareto *out)
{
    struct sized_plan sizes[SIZED_PLAN_MAX];
    const struct cluster *cluster = &question->cluster;
    uint32_t count = 1;
    out->count = 0;
    if (!read_axes(command, out) || !check_axes(command, cluster, out)) {
        return false;
    }
    sizes[0] = (struct sized_plan){.domains = 0, .devices = cluster->device_count};
    if (sized_plan_has_parts(cluster)) {
        const bool all = has_axis(out, PARETO_COST) || has_axis(out, PARETO_ENERGY);
        count = sized_plan_list(cluster, all ? UINT32_MAX : 0, sizes);
    }
    for (uint32_t i = 0; i < count; i++) {
        search_size(command, question, options, &sizes[i], out);
    }
    return true;
}

/* --- the answer ------------------------------------------------------------------------------- */

void pareto_push(const struct pareto *pareto, struct json_writer *out)
{
    json_push_key(out, "pareto");
    json_push_object(out);
    json_push_key(out, "axes");
    json_push_array(out);
    for (uint32_t i = 0; i < 2; i++) {
        json_push_string(out, names[pareto->axes[i]]);
    }
    json_pop_array(out);
    json_push_key(out, "points");
    json_push_array(out);
    for (uint32_t i = 0; i < pareto->count; i++) {
        const struct sized_plan *point = &pareto->points[i];
        json_push_object(out);
        json_push_key_u64(out, "devices", point->devices);
        json_push_key_double(out, "step_s", point->step_s);
        json_push_key_double(out, "device_s", point->device_s);
        sized_plan_push_energy(point, out);
        json_push_key_double(out, "peak_memory_bytes", point->peak_bytes);
        json_push_key_bool(out, "proven", point->proven);
        json_push_key_string(out, "flags", point->flags);
        json_pop_object(out);
    }
    json_pop_array(out);
    json_pop_object(out);
}

void pareto_dump(struct command *command, const struct pareto *pareto)
{
    static const char *const headings[] = {
        ">devices", ">time per step", ">device seconds", ">kWh", ">memory", "plan", NULL};
    struct table table;
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < pareto->count; i++) {
        const struct sized_plan *point = &pareto->points[i];
        table_push(&table, "%s", report_count(command->arena, point->devices));
        table_push(&table, "%s", report_seconds(command->arena, point->step_s));
        table_push(&table, "%.4g", point->device_s);
        table_push(&table, "%s", sized_plan_kwh(command, point));
        table_push(&table, "%s", report_bytes(command->arena, point->peak_bytes));
        table_push(&table, "%s", point->flags + strspn(point->flags, " "));
    }
    text_push(&command->out, "\nBest in %s for its %s, each by a search of its own:\n\n",
              names[pareto->axes[0]], names[pareto->axes[1]]);
    table_dump(&table, &command->out);
    text_push(&command->out, "energy of the devices at their rated power\n");
    for (uint32_t i = 0; i < pareto->count; i++) {
        if (!pareto->points[i].proven) {
            text_push(&command->out, "--budget ended searches early: there may be better points\n");
            return;
        }
    }
}

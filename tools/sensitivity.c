/* Every knob is turned up, then down, and the step simulated again: no derivative, no formula. */
#include "tools/sensitivity.h"

#include <string.h>

#include "base/table.h"

enum knob {
    KNOB_MATRIX_RATE,
    KNOB_MEMORY,
    KNOB_KERNEL_START,
    KNOB_HOST,
    KNOB_STEP_OVERHEAD,
    KNOB_OF_DEVICES, /* those above */
    KNOB_BANDWIDTH = KNOB_OF_DEVICES,
    KNOB_LATENCY,
    KNOB_COUNT
};

static const struct {
    const char *key, *words;
} knobs[KNOB_COUNT] = {
    [KNOB_MATRIX_RATE] = {"matrix_rate", "matrix units"},
    [KNOB_MEMORY] = {"memory_bandwidth", "memory bandwidth"},
    [KNOB_KERNEL_START] = {"kernel_start", "start of a kernel, gap behind it"},
    [KNOB_HOST] = {"host_launch", "launch by the host"},
    [KNOB_STEP_OVERHEAD] = {"step_overhead", "overhead of a step"},
    [KNOB_BANDWIDTH] = {"bandwidth", "bandwidth"},
    [KNOB_LATENCY] = {"latency", "latency"},
};

/* A knob, turned: rates times `factor`, times by it. */
struct turn {
    const double *slowness; /* of stages, whatever is turned */
    enum knob knob;
    const char *link; /* kind of link */
    double factor;
};

static bool is_kind(const struct turn *turn, const char *link)
{
    return strcmp(turn->link, link) == 0;
}

static void turn_links(const struct turn *turn, struct arena *arena, struct cluster *cluster)
{
    const double bandwidth = turn->knob == KNOB_BANDWIDTH ? turn->factor : 1.0;
    const double latency = turn->knob == KNOB_LATENCY ? turn->factor : 1.0;
    struct link *links = ARENA_PUSH(arena, struct link, cluster->link_count);
    for (uint32_t i = 0; i < cluster->level_count; i++) {
        if (is_kind(turn, cluster->levels[i].link)) {
            cluster->levels[i].bandwidth_Bps *= bandwidth;
            cluster->levels[i].latency_s /= latency;
        }
    }
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        links[i] = cluster->links[i];
        if (is_kind(turn, links[i].link)) {
            links[i].bandwidth_Bps *= bandwidth;
            links[i].latency_s /= latency;
        }
    }
    cluster->links = links;
}

static void turn_devices(const struct turn *turn, struct arena *arena, struct cluster *cluster)
{
    struct accelerator *devices = ARENA_PUSH(arena, struct accelerator, cluster->accelerator_count);
    for (uint32_t i = 0; i < cluster->accelerator_count; i++) {
        devices[i] = cluster->accelerators[i];
        if (turn->knob == KNOB_MEMORY) {
            devices[i].memory_Bps *= turn->factor;
        } else if (turn->knob == KNOB_KERNEL_START) {
            devices[i].launch_s /= turn->factor;
        }
        for (uint32_t type = 0; turn->knob == KNOB_MATRIX_RATE && type < DTYPE_COUNT; type++) {
            devices[i].peak_flops_per_s[type] *= turn->factor;
        }
    }
    cluster->accelerators = devices;
}

/* What messages cost beside the way they take. */
static void turn_protocols(const struct turn *turn, struct prices *prices)
{
    for (uint32_t i = 0; i < prices->link_count; i++) {
        struct link_kind *link = &prices->links[i];
        if (turn->knob != KNOB_LATENCY || !is_kind(turn, link->name)) {
            continue;
        }
        link->base_s /= turn->factor;
        link->in_network_latency_s /= turn->factor;
        for (uint32_t k = 0; k < link->protocol_count; k++) {
            link->protocols[k].latency_s /= turn->factor;
        }
    }
}

static void turn_runtime(const struct turn *turn, struct runtime *runtime)
{
    runtime->op_gap_s /= turn->knob == KNOB_KERNEL_START ? turn->factor : 1.0;
    runtime->op_overhead_s /= turn->knob == KNOB_HOST ? turn->factor : 1.0;
    runtime->step_overhead_s /= turn->knob == KNOB_STEP_OVERHEAD ? turn->factor : 1.0;
}

static bool run(struct command *command, const struct question *question, const struct plan *plan,
                const double *slowness, double *out)
{
    struct sim_options options = sim_full_options();
    options.slowness = slowness;
    struct simulated simulated;
    struct sim_result result;
    if (!simulated_build(command, question, plan, &options, &simulated) ||
        !sim_run(&simulated.sim, &simulated.load, command->arena, &result, command->diag)) {
        return false;
    }
    *out = result.estimate.step_s;
    return true;
}

static bool run_turned(struct command *command, const struct question *question,
                       const struct plan *plan, const struct turn *turn, double *out)
{
    const struct arena_mark mark = arena_find_mark(command->arena);
    struct question *turned = ARENA_PUSH(command->arena, struct question, 1);
    struct cluster cluster = question->cluster;
    if (turn->knob < KNOB_OF_DEVICES) {
        turn_devices(turn, command->arena, &cluster);
    } else {
        turn_links(turn, command->arena, &cluster);
    }
    if (!problem_flags_move(command, question, &cluster, turned)) {
        return false;
    }
    /* How far measured kernels are from their formulas is a fact of the device as it is. */
    turned->prices.measured = question->prices.measured;
    turn_protocols(turn, &turned->prices);
    turn_runtime(turn, &turned->runtime);
    if (!run(command, turned, plan, turn->slowness, out)) {
        return false;
    }
    arena_pop(command->arena, mark);
    return true;
}

static bool push_row(struct command *command, const struct question *question,
                     const struct plan *plan, struct turn turn, struct sensitivity *out)
{
    struct sensitivity_row row = {
        .knob = knobs[turn.knob].key, .of = turn.link, .words = knobs[turn.knob].words};
    turn.slowness = out->slowness;
    turn.factor = 1.0 + out->frac;
    if (!run_turned(command, question, plan, &turn, &row.better_s)) {
        return false;
    }
    turn.factor = 1.0 / (1.0 + out->frac);
    if (!run_turned(command, question, plan, &turn, &row.worse_s)) {
        return false;
    }
    out->rows[out->count++] = row;
    return true;
}

static bool has_kind(const struct cluster *cluster, const char *link)
{
    for (uint32_t i = 0; i < cluster->level_count; i++) {
        if (strcmp(cluster->levels[i].link, link) == 0) {
            return true;
        }
    }
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        if (strcmp(cluster->links[i].link, link) == 0) {
            return true;
        }
    }
    return false;
}

bool sensitivity_find(struct command *command, const struct question *question,
                      const struct plan *plan, double frac, const double *slowness,
                      struct sensitivity *out)
{
    const struct prices *prices = &question->prices;
    *out =
        (struct sensitivity){.frac = frac,
                             .slowness = slowness,
                             .rows = ARENA_PUSH(command->arena, struct sensitivity_row,
                                                KNOB_OF_DEVICES + (size_t)2 * prices->link_count)};
    bool good = run(command, question, plan, slowness, &out->step_s);
    for (enum knob knob = 0; knob < KNOB_OF_DEVICES && good; knob++) {
        good = push_row(command, question, plan, (struct turn){.knob = knob}, out);
    }
    for (uint32_t i = 0; i < prices->link_count && good; i++) {
        const char *link = prices->links[i].name;
        for (enum knob knob = KNOB_OF_DEVICES;
             knob < KNOB_COUNT && good && has_kind(&question->cluster, link); knob++) {
            good =
                push_row(command, question, plan, (struct turn){.knob = knob, .link = link}, out);
        }
    }
    return good;
}

void sensitivity_push_json(const struct sensitivity *sensitivity, struct json_writer *out)
{
    json_push_key(out, "sensitivity");
    json_push_array(out);
    for (uint32_t i = 0; i < sensitivity->count; i++) {
        const struct sensitivity_row *row = &sensitivity->rows[i];
        json_push_object(out);
        json_push_key_string(out, "knob", row->knob);
        if (row->of != NULL) {
            json_push_key_string(out, "link", row->of);
        }
        json_push_key_double(out, "change_frac", sensitivity->frac);
        json_push_key_double(out, "better_step_s", row->better_s);
        json_push_key_double(out, "worse_step_s", row->worse_s);
        json_pop_object(out);
    }
    json_pop_array(out);
}

/* Why the step stays as it is, or how it moves. */
static const char *meaning_of(const struct sensitivity *sensitivity,
                              const struct sensitivity_row *row)
{
    if (row->better_s == sensitivity->step_s) {
        return row->worse_s == sensitivity->step_s ? "the step does not wait for it"
                                                   : "hidden: less of it would show";
    }
    return "";
}

void sensitivity_dump(struct command *command, const struct sensitivity *sensitivity)
{
    static const char *const headings[] = {"one thing changed, all else as it is", ">better",
                                           ">worse", "", NULL};
    struct table table;
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < sensitivity->count; i++) {
        const struct sensitivity_row *row = &sensitivity->rows[i];
        table_push(&table, "%s%s%s", row->of == NULL ? "" : row->of, row->of == NULL ? "" : " ",
                   row->words);
        table_push(&table, "%+.2f %%", 100.0 * (row->better_s / sensitivity->step_s - 1.0));
        table_push(&table, "%+.2f %%", 100.0 * (row->worse_s / sensitivity->step_s - 1.0));
        table_push(&table, "%s", meaning_of(sensitivity, row));
    }
    text_push(
        &command->out,
        "\nThe step with %.3g %% more of a rate or less of a time, and the other way round:\n\n",
        100.0 * sensitivity->frac);
    table_dump(&table, &command->out);
}

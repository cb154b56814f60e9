/* What a validation looks like, to people and to programs. */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/sample.h"
#include "base/table.h"
#include "tools/report.h"
#include "tools/validate.h"

#define WORST_SHOWN 20u
#define REASONS_SHOWN 30u
#define APART_FRAC 0.05

/* --- people ---------------------------------------------------------------------------------- */

static void push_summary(struct table *table, const struct validate_group *group)
{
    const struct error_summary *time = &group->time, *memory = &group->memory;
    table_push(table, "%s", group->key == NULL ? "all" : group->key->name);
    table_push(table, "%s", group->key == NULL ? "" : group->value);
    table_push(table, "%u", time->n);
    table_push(table, "%.1f", 100.0 * time->median_abs_frac);
    table_push(table, "%.1f", 100.0 * time->mean_abs_frac);
    table_push(table, "%.1f", 100.0 * time->p90_abs_frac);
    table_push(table, "%+.1f", 100.0 * time->bias_frac);
    if (memory->n == 0) {
        for (uint32_t i = 0; i < 4; i++) {
            table_push(table, "-");
        }
        return;
    }
    table_push(table, "%u", memory->n);
    table_push(table, "%.1f", 100.0 * memory->median_abs_frac);
    table_push(table, "%.1f", 100.0 * memory->p90_abs_frac);
    table_push(table, "%+.1f", 100.0 * memory->bias_frac);
}

static void dump_groups(struct command *command, const struct validate_group *groups,
                        uint32_t count)
{
    static const char *const headings[] = {"by",        "group",  ">rows",   ">median %",
                                           ">mean %",   ">p90 %", ">bias %", ">memory rows",
                                           ">median %", ">p90 %", ">bias %", NULL};
    struct table table;
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < count; i++) {
        push_summary(&table, &groups[i]);
    }
    table_dump(&table, &command->out);
}

static void dump_ranking(struct command *command, const struct validation *all,
                         const struct validate_group *groups, uint32_t count)
{
    static const char *const headings[] = {
        "source",    ">sets",  ">pairs",         ">right %",  ">regret mean %",
        ">median %", ">p95 %", ">noise right %", ">regret %", NULL};
    struct table table;
    bool any = false;
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < count; i++) {
        struct ranking ranking;
        if (groups[i].key == NULL || strcmp(groups[i].key->name, "source") != 0) {
            continue;
        }
        validate_rank(all, &groups[i], APART_FRAC, command->arena, &ranking);
        if (ranking.pairs == 0) {
            continue;
        }
        any = true;
        table_push(&table, "%s", groups[i].value);
        table_push(&table, "%u", ranking.sets);
        table_push(&table, "%u", ranking.pairs);
        table_push(&table, "%.1f", 100.0 * ranking.right / ranking.pairs);
        table_push(&table, "%.2f", 100.0 * ranking.mean_regret_frac);
        table_push(&table, "%.2f", 100.0 * ranking.median_regret_frac);
        table_push(&table, "%.2f", 100.0 * ranking.p95_regret_frac);
        table_push(&table, "%.1f", 100.0 * ranking.noise_right / ranking.pairs);
        table_push(&table, "%.2f", 100.0 * ranking.noise_regret_frac);
    }
    if (any) {
        text_push(&command->out,
                  "\nPlans of one problem, pairs more than %.0f %% apart (noise: what a predictor "
                  "with %.0f %% random error reaches):\n",
                  100.0 * APART_FRAC, 100.0 * VALIDATE_NOISE_FRAC);
        table_dump(&table, &command->out);
    }
}

/* Where RUNTIME_BAND_SHARE of the measured times of a group lie, and how many lie in the band that
 * its runtime states. */
static void push_band(struct table *table, const struct validation *all,
                      const struct validate_group *group, struct arena *arena)
{
    double *ratios = ARENA_PUSH(arena, double, all->count);
    struct runtime_band band = {.rows = 0};
    uint32_t count = 0, inside = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct validated *row = &all->rows[i];
        if (validate_is_member(group, row)) {
            band = row->band;
            ratios[count] = row->row.step_s / row->predicted_s - 1.0;
            inside += ratios[count] >= band.low_frac && ratios[count] <= band.high_frac;
            count++;
        }
    }
    sample_sort(ratios, count);
    const double tail = 0.5 * (1.0 - RUNTIME_BAND_SHARE);
    table_push(table, "%s", group->value);
    table_push(table, "%u", count);
    table_push(table, "%+.1f", 100.0 * sample_quantile(ratios, count, tail));
    table_push(table, "%+.1f", 100.0 * sample_quantile(ratios, count, 1.0 - tail));
    if (band.rows == 0) {
        for (uint32_t i = 0; i < 3; i++) {
            table_push(table, "-");
        }
        return;
    }
    table_push(table, "%+.1f", 100.0 * band.low_frac);
    table_push(table, "%+.1f", 100.0 * band.high_frac);
    table_push(table, "%.1f", 100.0 * inside / count);
}

static void dump_bands(struct command *command, const struct validation *all,
                       const struct validate_group *groups, uint32_t count)
{
    static const char *const headings[] = {"runtime",   ">rows",     ">10th %",   ">90th %",
                                           ">stated %", ">stated %", ">inside %", NULL};
    struct table table;
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < count; i++) {
        if (groups[i].key != NULL && strcmp(groups[i].key->name, "runtime") == 0) {
            push_band(&table, all, &groups[i], command->arena);
        }
    }
    text_push(&command->out,
              "\nMeasured over predicted, less one, and the band that `estimate` states "
              "for %.0f %% of steps:\n",
              100.0 * RUNTIME_BAND_SHARE);
    table_dump(&table, &command->out);
}

static int compare_worst(const void *a, const void *b)
{
    const struct validated *x = *(const struct validated *const *)a;
    const struct validated *y = *(const struct validated *const *)b;
    const double ex = number_absolute(x->error_frac), ey = number_absolute(y->error_frac);
    return ex != ey ? (ex > ey ? -1 : 1) : strcmp(x->row.id, y->row.id);
}

static void dump_worst(struct command *command, const struct validation *all)
{
    static const char *const headings[] = {"worst rows", "model",      "accelerator", ">devices",
                                           ">measured",  ">predicted", ">error %",    NULL};
    const struct validated **rows =
        ARENA_PUSH(command->arena, const struct validated *, all->count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->rows[i].skipped == NULL) {
            rows[count++] = &all->rows[i];
        }
    }
    qsort(rows, count, sizeof *rows, compare_worst);
    struct table table;
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < count && i < WORST_SHOWN; i++) {
        table_push(&table, "%s", rows[i]->row.id);
        table_push(&table, "%s", rows[i]->row.model);
        table_push(&table, "%s", rows[i]->row.accelerator);
        table_push(&table, "%u", rows[i]->row.devices);
        table_push(&table, "%s", report_seconds(command->arena, rows[i]->row.step_s));
        table_push(&table, "%s", report_seconds(command->arena, rows[i]->predicted_s));
        table_push(&table, "%+.1f", 100.0 * rows[i]->error_frac);
    }
    text_push(&command->out, "\n");
    table_dump(&table, &command->out);
}

struct reason {
    const char *text;
    uint32_t count;
};

static void dump_skipped(struct command *command, const struct validation *all)
{
    struct reason *reasons = ARENA_PUSH(command->arena, struct reason, all->count);
    uint32_t count = 0, rows = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const char *text = all->rows[i].skipped;
        if (text == NULL) {
            continue;
        }
        uint32_t k = 0;
        while (k < count && strcmp(reasons[k].text, text) != 0) {
            k++;
        }
        reasons[k] = (struct reason){text, k < count ? reasons[k].count + 1 : 1};
        count = k == count ? count + 1 : count;
        rows++;
    }
    if (rows == 0) {
        return;
    }
    text_push(&command->out, "\n%u of %u rows are skipped:\n", rows, all->count);
    for (uint32_t i = 0; i < count && i < REASONS_SHOWN; i++) {
        text_push(&command->out, "  %4u  %s\n", reasons[i].count, reasons[i].text);
    }
    if (count > REASONS_SHOWN) {
        text_push(&command->out, "  and %u further reasons (--json lists every row)\n",
                  count - REASONS_SHOWN);
    }
}

/* Rows ran, so that none should be predicted not to fit. */
static void dump_room(struct command *command, const struct validation *all)
{
    struct validate_room room;
    uint32_t shown = 0;
    validate_find_room(all, &room);
    text_push(&command->out, "\n%u of %u rows that ran are predicted not to fit", room.not_fitting,
              room.rows);
    for (uint32_t i = 0; i < all->count && shown < WORST_SHOWN; i++) {
        if (all->rows[i].skipped == NULL && !all->rows[i].fits) {
            text_push(&command->out, "%s %s", shown++ == 0 ? ":" : ",", all->rows[i].row.id);
        }
    }
    text_push(&command->out, room.not_fitting > shown ? ", ...\n" : "\n");
    if (room.measured > 0) {
        text_push(&command->out,
                  "with %.0f %% less memory than their measured peak %u of %u rows are refused\n",
                  100.0 * VALIDATE_SHORT_FRAC, room.refused, room.measured);
    }
}

static void dump_floor(struct command *command, const struct validation *all)
{
    struct error_summary floor;
    validate_find_floor(all, command->arena, &floor);
    if (floor.n > 0) {
        text_push(&command->out,
                  "\n%u rows have a configuration that was measured more than once (versions, "
                  "days): the middle of\neach is off by %.1f %% (median), %.1f %% (mean), %.1f %% "
                  "(90th percentile), a floor of all errors\n",
                  floor.n, 100.0 * floor.median_abs_frac, 100.0 * floor.mean_abs_frac,
                  100.0 * floor.p90_abs_frac);
    }
}

void validate_dump_people(struct command *command, const struct validation *all)
{
    uint32_t count;
    const struct validate_group *groups = validate_groups(all, command->arena, &count);
    dump_groups(command, groups, count);
    dump_ranking(command, all, groups, count);
    dump_floor(command, all);
    dump_bands(command, all, groups, count);
    dump_room(command, all);
    dump_worst(command, all);
    dump_skipped(command, all);
}

/* --- programs -------------------------------------------------------------------------------- */

static void push_error(struct json_writer *out, const struct error_summary *error)
{
    json_push_key_double(out, "median_abs_error_frac", error->median_abs_frac);
    json_push_key_double(out, "mean_abs_error_frac", error->mean_abs_frac);
    json_push_key_double(out, "p90_abs_error_frac", error->p90_abs_frac);
    json_push_key_double(out, "bias_frac", error->bias_frac);
}

static void push_account(struct json_writer *out, const struct validated *row, struct arena *arena)
{
    json_push_key(out, "breakdown");
    json_push_object(out);
    for (uint32_t i = 0; i < COST_COUNT; i++) {
        const char *key = estimator_cost_key(i, arena);
        if (key != NULL) {
            json_push_key_double(out, key, row->slowest.cost_s[i]);
        }
    }
    json_pop_object(out);
}

static void push_memory(struct json_writer *out, const struct stage_estimate *stage)
{
    json_push_key(out, "memory");
    json_push_object(out);
    for (uint32_t i = 0; i < MEMORY_CLASS_COUNT; i++) {
        json_push_key_double(out, estimator_memory_key((enum memory_class)i),
                             stage->memory_bytes[i]);
    }
    json_push_key_double(out, "peak_bytes", stage->peak_bytes);
    json_push_key_double(out, "capacity_bytes", stage->capacity_bytes);
    json_pop_object(out);
}

static void push_predictions(struct json_writer *out, const struct validated *row,
                             struct arena *arena)
{
    json_push_key_double(out, "measured_s", row->row.step_s);
    json_push_key_double(out, "predicted_s", row->predicted_s);
    json_push_key_double(out, "error_frac", row->error_frac);
    json_push_key_bool(out, "fits", row->fits);
    json_push_key_string(out, "runtime", row->runtime);
    push_account(out, row, arena);
    push_memory(out, &row->fullest);
}

static void push_row(struct json_writer *out, const struct validated *row, struct arena *arena)
{
    static const char *const absent[] = {"measured_s", "predicted_s", "error_frac", NULL};
    json_push_object(out);
    json_push_key_string(out, "id", row->row.id);
    json_push_key_string(out, "source", row->table);
    for (uint32_t i = 0; row->skipped != NULL && absent[i] != NULL; i++) {
        json_push_key(out, absent[i]);
        json_push_null(out);
    }
    if (row->skipped == NULL) {
        push_predictions(out, row, arena);
    }
    const bool remembered = row->skipped == NULL && row->memory_predicted_bytes > 0.0;
    const double memory[] = {row->row.memory_bytes, row->memory_predicted_bytes};
    static const char *const keys[] = {"memory_measured_bytes", "memory_predicted_bytes"};
    for (uint32_t i = 0; i < 2; i++) {
        json_push_key(out, keys[i]);
        if (remembered) {
            json_push_double(out, memory[i]);
        } else {
            json_push_null(out);
        }
    }
    json_push_key_string(out, "skipped", row->skipped);
    json_pop_object(out);
}

static void push_group(struct json_writer *out, const struct validate_group *group)
{
    json_push_object(out);
    json_push_key_string(out, "by", group->key->name);
    json_push_key_string(out, "name", group->value);
    json_push_key_u64(out, "n", group->time.n);
    push_error(out, &group->time);
    if (group->memory.n > 0) {
        json_push_key(out, "memory");
        json_push_object(out);
        json_push_key_u64(out, "n", group->memory.n);
        push_error(out, &group->memory);
        json_pop_object(out);
    }
    json_pop_object(out);
}

void validate_dump_json(struct command *command, const struct validation *all)
{
    uint32_t count;
    const struct validate_group *groups = validate_groups(all, command->arena, &count);
    struct json_writer out;
    json_writer_init(&out, &command->out, false);
    json_push_object(&out);
    json_push_key_string(&out, "version", SHARDPLAN_VERSION);
    json_push_key_u64(&out, "n", groups[0].time.n);
    json_push_key_u64(&out, "n_skipped", all->count - groups[0].time.n);
    push_error(&out, &groups[0].time);
    struct validate_room room;
    validate_find_room(all, &room);
    json_push_key_u64(&out, "n_not_fitting", room.not_fitting);
    json_push_key_u64(&out, "n_memory", room.measured);
    json_push_key_u64(&out, "n_memory_refused", room.refused);
    json_push_key(&out, "groups");
    json_push_array(&out);
    for (uint32_t i = 1; i < count; i++) {
        push_group(&out, &groups[i]);
    }
    json_pop_array(&out);
    json_push_key(&out, "rows");
    json_push_array(&out);
    for (uint32_t i = 0; i < all->count; i++) {
        push_row(&out, &all->rows[i], command->arena);
    }
    json_pop_array(&out);
    json_pop_object(&out);
    text_push(&command->out, "\n");
}

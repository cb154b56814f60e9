/* Errors of prices against measured kernels and collectives, by group. */
#include <stdlib.h>
#include <string.h>

#include "base/sample.h"
#include "base/table.h"
#include "tools/micro.h"

/* Collectives smaller than this are latency, which few steps feel: groups of their own. */
#define LARGE_BYTES 65536.0

static struct profile_residual summarise(double *errors, uint32_t count)
{
    struct profile_residual out = {.count = count};
    if (count == 0) {
        return out;
    }
    sample_sort(errors, count);
    out.bias_frac = sample_quantile(errors, count, 0.5);
    for (uint32_t i = 0; i < count; i++) {
        errors[i] = errors[i] < 0.0 ? -errors[i] : errors[i];
    }
    sample_sort(errors, count);
    out.median_abs_frac = sample_quantile(errors, count, 0.5);
    out.p90_abs_frac = sample_quantile(errors, count, 0.9);
    return out;
}

/* What a row is counted under: "gemm bf16", "attention forward", "all-reduce". */
static const char *label(const struct micro_row *row, struct arena *arena)
{
    switch (row->kind) {
    case PROFILE_GEMM: return text_build(arena, "gemm %s", dtype_name(row->matmul.dtype));
    case PROFILE_ATTENTION:
        return row->attention.backward ? "attention backward" : "attention forward";
    case PROFILE_COLLECTIVES:
        return text_build(arena, "%s%s", collective_kind_name(row->collective.kind),
                          row->collective.bytes < LARGE_BYTES ? " below 64 KiB" : "");
    case PROFILE_STREAM:
    case PROFILE_KIND_COUNT: break;
    }
    return "stream";
}

static const char *scope(const struct micro_row *row, struct arena *arena)
{
    return row->kind == PROFILE_COLLECTIVES &&
                   row->collective.ranks > row->collective.ranks_per_node
               ? text_build(arena, "%s, several nodes", row->accelerator)
               : row->accelerator;
}

struct row_group {
    const char *label, *scope;
    uint32_t count;
    struct profile_residual formula, neighbours;
};

struct row_groups {
    struct row_group *items;
    uint32_t count;
};

static uint32_t find_group(struct row_groups *groups, const char *name, const char *where)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        if (strcmp(groups->items[i].label, name) == 0 &&
            strcmp(groups->items[i].scope, where) == 0) {
            return i;
        }
    }
    groups->items[groups->count] = (struct row_group){.label = name, .scope = where};
    return groups->count++;
}

static int by_name(const void *a, const void *b)
{
    const struct row_group *x = a, *y = b;
    const int labels = strcmp(x->label, y->label);
    return labels != 0 ? labels : strcmp(x->scope, y->scope);
}

static struct profile_residual summarise_group(const struct micro *all, const uint32_t *group_of,
                                               uint32_t group, bool neighbours, double *errors)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct micro_row *row = &all->rows[i];
        const double predicted = neighbours ? row->neighbours_s : row->predicted_s;
        if (group_of[i] == group && predicted > 0.0) {
            errors[count++] = predicted / row->seconds - 1.0;
        }
    }
    return summarise(errors, count);
}

static void build_groups(struct command *command, const struct micro *all, struct row_groups *out)
{
    struct arena *arena = command->arena;
    uint32_t *group_of = ARENA_PUSH(arena, uint32_t, all->count);
    double *errors = ARENA_PUSH(arena, double, all->count);
    out->items = ARENA_PUSH(arena, struct row_group, all->count);
    out->count = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct micro_row *row = &all->rows[i];
        group_of[i] = UINT32_MAX;
        if (row->skipped == NULL) {
            group_of[i] = find_group(out, label(row, arena), scope(row, arena));
        }
    }
    for (uint32_t g = 0; g < out->count; g++) {
        out->items[g].formula = summarise_group(all, group_of, g, false, errors);
        out->items[g].neighbours = summarise_group(all, group_of, g, true, errors);
    }
    qsort(out->items, out->count, sizeof *out->items, by_name);
}

struct profile_residual micro_summary(struct command *command, const struct micro *all,
                                      enum profile_kind kind, bool neighbours)
{
    double *errors = ARENA_PUSH(command->arena, double, all->count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct micro_row *row = &all->rows[i];
        const double predicted = neighbours ? row->neighbours_s : row->predicted_s;
        if (row->skipped == NULL && row->kind == kind && predicted > 0.0) {
            errors[count++] = predicted / row->seconds - 1.0;
        }
    }
    return summarise(errors, count);
}

static uint32_t count_skipped(const struct micro *all)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        count += all->rows[i].skipped != NULL ? 1 : 0;
    }
    return count;
}

static void push_residual(struct table *table, const struct profile_residual *residual)
{
    if (residual->count == 0) {
        table_push(table, "-");
        table_push(table, "-");
        table_push(table, "-");
        return;
    }
    table_push(table, "%.1f %%", 100.0 * residual->median_abs_frac);
    table_push(table, "%.1f %%", 100.0 * residual->p90_abs_frac);
    table_push(table, "%+.1f %%", 100.0 * residual->bias_frac);
}

static void dump_skipped(struct command *command, const struct micro *all)
{
    const uint32_t skipped = count_skipped(all);
    if (skipped == 0) {
        return;
    }
    text_push(&command->out, "\n%u of %u rows skipped:\n", skipped, all->count);
    bool *told = ARENA_PUSH(command->arena, bool, all->count);
    memset(told, 0, all->count * sizeof *told);
    for (uint32_t i = 0; i < all->count; i++) {
        uint32_t same = 0;
        for (uint32_t k = i; all->rows[i].skipped != NULL && !told[i] && k < all->count; k++) {
            if (all->rows[k].skipped != NULL &&
                strcmp(all->rows[k].skipped, all->rows[i].skipped) == 0) {
                same++;
                told[k] = k != i || told[k];
            }
        }
        if (same > 0) {
            text_push(&command->out, "  %5u  %s\n", same, all->rows[i].skipped);
        }
    }
}

void micro_dump_people(struct command *command, const struct micro *all)
{
    static const char *const headings[] = {
        "what", "where", ">rows", ">formula: median", ">p90", ">bias", ">neighbours: median",
        ">p90", ">bias", NULL};
    struct row_groups groups;
    struct table table;
    build_groups(command, all, &groups);
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < groups.count; i++) {
        const struct row_group *group = &groups.items[i];
        table_push(&table, "%s", group->label);
        table_push(&table, "%s", group->scope);
        table_push(&table, "%u", group->formula.count);
        push_residual(&table, &group->formula);
        push_residual(&table, &group->neighbours);
    }
    table_dump(&table, &command->out);
    text_push(&command->out, "formula: constants of the accelerator and link files; neighbours: "
                             "each row from the others of\nits table (left out itself). Predicted "
                             "over measured, less one; bias is the median.\n");
    dump_skipped(command, all);
}

static void push_json_residual(const char *key, const struct profile_residual *residual,
                               struct json_writer *out)
{
    json_push_key(out, key);
    json_push_object(out);
    json_push_key_u64(out, "n", residual->count);
    json_push_key_double(out, "median_abs_error_frac", residual->median_abs_frac);
    json_push_key_double(out, "p90_abs_error_frac", residual->p90_abs_frac);
    json_push_key_double(out, "bias_frac", residual->bias_frac);
    json_pop_object(out);
}

static void push_rows(const struct micro *all, struct json_writer *out)
{
    json_push_key(out, "rows");
    json_push_array(out);
    for (uint32_t i = 0; i < all->count; i++) {
        const struct micro_row *row = &all->rows[i];
        json_push_object(out);
        json_push_key_string(out, "id", row->id);
        json_push_key_double(out, "measured_s", row->seconds);
        json_push_key_double(out, "predicted_s", row->predicted_s);
        json_push_key_double(out, "neighbours_s", row->neighbours_s);
        json_push_key_string(out, "skipped", row->skipped);
        json_pop_object(out);
    }
    json_pop_array(out);
}

void micro_dump_json(struct command *command, const struct micro *all)
{
    struct json_writer out;
    struct row_groups groups;
    build_groups(command, all, &groups);
    json_writer_init(&out, &command->out, false);
    json_push_object(&out);
    json_push_key_string(&out, "version", SHARDPLAN_VERSION);
    json_push_key_u64(&out, "n", all->count);
    json_push_key_u64(&out, "n_skipped", count_skipped(all));
    json_push_key(&out, "groups");
    json_push_array(&out);
    for (uint32_t i = 0; i < groups.count; i++) {
        json_push_object(&out);
        json_push_key_string(&out, "what", groups.items[i].label);
        json_push_key_string(&out, "where", groups.items[i].scope);
        push_json_residual("formula", &groups.items[i].formula, &out);
        push_json_residual("neighbours", &groups.items[i].neighbours, &out);
        json_pop_object(&out);
    }
    json_pop_array(&out);
    push_rows(all, &out);
    json_pop_object(&out);
    text_push(&command->out, "\n");
}

uint32_t micro_check(struct command *command, const struct micro *all, uint32_t rows_min,
                     double median_max_frac, double p90_max_frac)
{
    struct row_groups groups;
    uint32_t broken = 0;
    build_groups(command, all, &groups);
    for (uint32_t i = 0; i < groups.count; i++) {
        const struct row_group *group = &groups.items[i];
        const struct profile_residual *error = &group->formula;
        const bool median = median_max_frac > 0.0 && error->median_abs_frac > median_max_frac;
        const bool p90 = p90_max_frac > 0.0 && error->p90_abs_frac > p90_max_frac;
        if (error->count < rows_min || !(median || p90)) {
            continue;
        }
        broken++;
        if (!command->json) {
            text_push(&command->out, "FAILED %s, %s: %s %.1f %%, at most %.1f %%\n", group->label,
                      group->scope, median ? "median" : "90th percentile",
                      100.0 * (median ? error->median_abs_frac : error->p90_abs_frac),
                      100.0 * (median ? median_max_frac : p90_max_frac));
        }
    }
    return broken;
}

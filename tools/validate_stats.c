/* Errors summed up by groups of rows; plans of one problem ranked. */
#include "tools/validate.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/sample.h"

static void summarise(double *errors, uint32_t count, struct error_summary *out)
{
    memset(out, 0, sizeof *out);
    out->n = count;
    for (uint32_t i = 0; i < count; i++) {
        out->bias_frac += errors[i] / (double)count;
        errors[i] = number_absolute(errors[i]);
        out->mean_abs_frac += errors[i] / (double)count;
    }
    sample_sort(errors, count);
    out->median_abs_frac = sample_quantile(errors, count, 0.5);
    out->p90_abs_frac = sample_quantile(errors, count, 0.9);
}

void validate_summarise(const struct validation *all,
                        bool (*is_in)(const struct validated *row, const void *context),
                        const void *context, struct arena *arena, struct error_summary *out)
{
    double *times = ARENA_PUSH(arena, double, all->count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct validated *row = &all->rows[i];
        if (row->skipped == NULL && is_in(row, context)) {
            times[count++] = row->error_frac;
        }
    }
    summarise(times, count, out);
}

/* --- groups ---------------------------------------------------------------------------------- */

static const char *accelerator_of(const struct validated *row)
{
    return row->row.accelerator;
}
static const char *source_of(const struct validated *row)
{
    return row->table;
}
static const char *arch_of(const struct validated *row)
{
    return row->row.arch;
}
static const char *tier_of(const struct validated *row)
{
    return row->row.tier;
}
static const char *runtime_of(const struct validated *row)
{
    return row->runtime;
}
static const char *dtype_of(const struct validated *row)
{
    return row->row.dtype;
}

const struct validate_key validate_keys[] = {
    {"accelerator", accelerator_of}, {"source", source_of}, {"arch", arch_of}, {"tier", tier_of},
    {"runtime", runtime_of},         {"dtype", dtype_of},   {NULL, NULL},
};

bool validate_is_member(const struct validate_group *group, const struct validated *row)
{
    return row->skipped == NULL &&
           (group->key == NULL || strcmp(group->key->value(row), group->value) == 0);
}

static void fill(const struct validation *all, struct arena *arena, struct validate_group *group)
{
    double *times = ARENA_PUSH(arena, double, all->count);
    double *memories = ARENA_PUSH(arena, double, all->count);
    uint32_t count = 0, with_memory = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct validated *row = &all->rows[i];
        if (!validate_is_member(group, row)) {
            continue;
        }
        times[count++] = row->error_frac;
        if (row->memory_predicted_bytes > 0.0) {
            memories[with_memory++] = row->memory_predicted_bytes / row->row.memory_bytes - 1.0;
        }
    }
    summarise(times, count, &group->time);
    summarise(memories, with_memory, &group->memory);
}

static bool is_known(const struct validate_group *groups, uint32_t count,
                     const struct validate_key *key, const char *value)
{
    for (uint32_t i = 0; i < count; i++) {
        if (groups[i].key == key && strcmp(groups[i].value, value) == 0) {
            return true;
        }
    }
    return false;
}

/* Keys in their order, within a key most rows first, then by name. */
static int compare_groups(const void *a, const void *b)
{
    const struct validate_group *x = a, *y = b;
    if (x->key != y->key) {
        return x->key == NULL || (y->key != NULL && x->key < y->key) ? -1 : 1;
    }
    if (x->time.n != y->time.n) {
        return x->time.n > y->time.n ? -1 : 1;
    }
    return strcmp(x->value, y->value);
}

struct validate_group *validate_groups(const struct validation *all, struct arena *arena,
                                       uint32_t *count)
{
    uint32_t keys = 0;
    while (validate_keys[keys].name != NULL) {
        keys++;
    }
    struct validate_group *groups =
        ARENA_PUSH(arena, struct validate_group, (size_t)keys * all->count + 1);
    groups[0] = (struct validate_group){.key = NULL, .value = "all"};
    *count = 1;
    for (uint32_t k = 0; k < keys; k++) {
        for (uint32_t i = 0; i < all->count; i++) {
            const struct validated *row = &all->rows[i];
            const char *value = row->skipped == NULL ? validate_keys[k].value(row) : NULL;
            if (value != NULL && !is_known(groups, *count, &validate_keys[k], value)) {
                groups[(*count)++] = (struct validate_group){&validate_keys[k], value, {0}, {0}};
            }
        }
    }
    for (uint32_t i = 0; i < *count; i++) {
        fill(all, arena, &groups[i]);
    }
    qsort(groups, *count, sizeof *groups, compare_groups);
    return groups;
}

void validate_find_room(const struct validation *all, struct validate_room *out)
{
    *out = (struct validate_room){.rows = 0};
    for (uint32_t i = 0; i < all->count; i++) {
        const struct validated *row = &all->rows[i];
        const double less_bytes = (1.0 - VALIDATE_SHORT_FRAC) * row->row.memory_bytes;
        const bool measured = row->skipped == NULL && row->memory_predicted_bytes > 0.0;
        out->rows += row->skipped == NULL ? 1 : 0;
        out->not_fitting += row->skipped == NULL && !row->fits ? 1 : 0;
        out->measured += measured ? 1 : 0;
        out->refused += measured && row->memory_predicted_bytes > less_bytes ? 1 : 0;
    }
}

/* --- ranking --------------------------------------------------------------------------------- */

/* The same problem, asked of the same machine. */
static bool same_problem(const struct validated *a, const struct validated *b)
{
    const struct measured *x = &a->row, *y = &b->row;
    return strcmp(a->table, b->table) == 0 && strcmp(x->model, y->model) == 0 &&
           strcmp(x->accelerator, y->accelerator) == 0 && strcmp(x->dtype, y->dtype) == 0 &&
           strcmp(x->framework, y->framework) == 0 && x->devices == y->devices &&
           x->layers == y->layers && x->hidden == y->hidden && x->seq_length == y->seq_length &&
           x->global_batch == y->global_batch;
}

static void count_pairs(const struct validated *const *set, uint32_t count, double apart_frac,
                        struct ranking *out)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = i + 1; k < count; k++) {
            const double a = set[i]->row.step_s, b = set[k]->row.step_s;
            if (a == b || number_absolute(a - b) <= apart_frac * (a < b ? a : b)) {
                continue;
            }
            out->pairs++;
            out->right += (a < b) == (set[i]->predicted_s < set[k]->predicted_s) ? 1 : 0;
        }
    }
}

static double regret_of(const struct validated *const *set, uint32_t count)
{
    const struct validated *chosen = set[0];
    double best_s = set[0]->row.step_s;
    for (uint32_t i = 1; i < count; i++) {
        chosen = set[i]->predicted_s < chosen->predicted_s ? set[i] : chosen;
        best_s = set[i]->row.step_s < best_s ? set[i]->row.step_s : best_s;
    }
    return chosen->row.step_s / best_s - 1.0;
}

void validate_rank(const struct validation *all, const struct validate_group *group,
                   double apart_frac, struct arena *arena, struct ranking *out)
{
    bool *used = ARENA_PUSH(arena, bool, all->count);
    const struct validated **set = ARENA_PUSH(arena, const struct validated *, all->count);
    double *regrets = ARENA_PUSH(arena, double, all->count);
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < all->count; i++) {
        uint32_t count = 0;
        for (uint32_t k = i; k < all->count; k++) {
            if (!used[k] && validate_is_member(group, &all->rows[k]) &&
                (k == i || same_problem(&all->rows[i], &all->rows[k]))) {
                set[count++] = &all->rows[k];
                used[k] = true;
            }
            if (k == i && count == 0) {
                break;
            }
        }
        if (count > 1) {
            count_pairs(set, count, apart_frac, out);
            regrets[out->sets] = regret_of(set, count);
            out->mean_regret_frac += regrets[out->sets++];
        }
    }
    out->mean_regret_frac /= out->sets > 0 ? (double)out->sets : 1.0;
    sample_sort(regrets, out->sets);
    out->median_regret_frac = sample_quantile(regrets, out->sets, 0.5);
    out->p95_regret_frac = sample_quantile(regrets, out->sets, 0.95);
}

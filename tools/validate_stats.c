/* Errors summed up by groups of rows; plans of one problem ranked. */
#include "tools/validate.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/random.h"
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

/* ... with the same plan, as far as the row says. */
static bool same_configuration(const struct validated *a, const struct validated *b)
{
    const struct measured *x = &a->row, *y = &b->row;
    return same_problem(a, b) && x->tp == y->tp && x->pp == y->pp && x->vpp == y->vpp &&
           x->cp == y->cp && x->ep == y->ep && x->etp == y->etp && x->dp == y->dp &&
           x->micro_batch == y->micro_batch && x->sequence_parallel == y->sequence_parallel &&
           x->heads == y->heads && strcmp(x->task, y->task) == 0 &&
           strcmp(x->sharding, y->sharding) == 0 && strcmp(x->recompute, y->recompute) == 0;
}

void validate_find_floor(const struct validation *all, struct arena *arena,
                         struct error_summary *out)
{
    bool *used = ARENA_PUSH(arena, bool, all->count);
    double *times_s = ARENA_PUSH(arena, double, all->count);
    double *errors = ARENA_PUSH(arena, double, all->count);
    uint32_t rows = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        uint32_t count = 0;
        for (uint32_t k = i; k < all->count && all->rows[i].skipped == NULL; k++) {
            if (!used[k] && all->rows[k].skipped == NULL &&
                same_configuration(&all->rows[i], &all->rows[k])) {
                used[k] = true;
                times_s[count++] = all->rows[k].row.step_s;
            }
        }
        sample_sort(times_s, count);
        for (uint32_t k = 0; count > 1 && k < count; k++) {
            errors[rows++] = sample_quantile(times_s, count, 0.5) / times_s[k] - 1.0;
        }
    }
    summarise(errors, rows, out);
}

/* Plans of one problem: what they took, and what somebody says that they take. */
struct rivals {
    const double *measured_s, *predicted_s;
    uint32_t count;
};

/* Pairs further apart than apart_frac; of them those in the right order. */
static uint32_t count_pairs(const struct rivals *rivals, double apart_frac, uint32_t *right)
{
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < rivals->count; i++) {
        for (uint32_t k = i + 1; k < rivals->count; k++) {
            const double a = rivals->measured_s[i], b = rivals->measured_s[k];
            if (a != b && number_absolute(a - b) > apart_frac * (a < b ? a : b)) {
                pairs++;
                *right += (a < b) == (rivals->predicted_s[i] < rivals->predicted_s[k]) ? 1 : 0;
            }
        }
    }
    return pairs;
}

static double regret_of(const struct rivals *rivals)
{
    uint32_t chosen = 0;
    double best_s = rivals->measured_s[0];
    for (uint32_t i = 1; i < rivals->count; i++) {
        chosen = rivals->predicted_s[i] < rivals->predicted_s[chosen] ? i : chosen;
        best_s = rivals->measured_s[i] < best_s ? rivals->measured_s[i] : best_s;
    }
    return rivals->measured_s[chosen] / best_s - 1.0;
}

/* What a predictor reaches whose errors are normal about nothing, VALIDATE_NOISE_FRAC wide: means
 * over VALIDATE_NOISE_DRAWS of them. Twelve uniform numbers add up to nearly a normal one. */
static void add_noise(const struct rivals *rivals, double apart_frac, struct arena *arena,
                      struct ranking *out)
{
    double *guess_s = ARENA_PUSH(arena, double, rivals->count);
    const struct rivals guessed = {rivals->measured_s, guess_s, rivals->count};
    struct random random;
    random_init(&random, rivals->count);
    uint32_t right = 0;
    double regret = 0.0;
    for (uint32_t draw = 0; draw < VALIDATE_NOISE_DRAWS; draw++) {
        for (uint32_t i = 0; i < rivals->count; i++) {
            double sum = -6.0;
            for (uint32_t k = 0; k < 12; k++) {
                sum += random_pop_unit(&random);
            }
            guess_s[i] = rivals->measured_s[i] * (1.0 + VALIDATE_NOISE_FRAC * sum);
        }
        count_pairs(&guessed, apart_frac, &right);
        regret += regret_of(&guessed);
    }
    out->noise_right += (double)right / VALIDATE_NOISE_DRAWS;
    out->noise_regret_frac += regret / VALIDATE_NOISE_DRAWS;
}

/* Rows of the group with the problem of the first, which are then used. */
static struct rivals find_rivals(const struct validation *all, const struct validate_group *group,
                                 uint32_t first, bool *used, struct arena *arena)
{
    double *measured_s = ARENA_PUSH(arena, double, all->count - first);
    double *predicted_s = ARENA_PUSH(arena, double, all->count - first);
    uint32_t count = 0;
    for (uint32_t k = first; k < all->count; k++) {
        const struct validated *row = &all->rows[k];
        if (!used[k] && validate_is_member(group, row) &&
            (k == first || (count > 0 && same_problem(&all->rows[first], row)))) {
            measured_s[count] = row->row.step_s;
            predicted_s[count++] = row->predicted_s;
            used[k] = true;
        }
        if (count == 0) {
            break;
        }
    }
    return (struct rivals){measured_s, predicted_s, count};
}

void validate_rank(const struct validation *all, const struct validate_group *group,
                   double apart_frac, struct arena *arena, struct ranking *out)
{
    struct arena scratch;
    arena_init(&scratch);
    bool *used = ARENA_PUSH(&scratch, bool, all->count);
    double *regrets = ARENA_PUSH(arena, double, all->count);
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < all->count; i++) {
        const struct arena_mark mark = arena_find_mark(&scratch);
        const struct rivals rivals = find_rivals(all, group, i, used, &scratch);
        if (rivals.count > 1) {
            out->pairs += count_pairs(&rivals, apart_frac, &out->right);
            regrets[out->sets] = regret_of(&rivals);
            out->mean_regret_frac += regrets[out->sets++];
            add_noise(&rivals, apart_frac, &scratch, out);
        }
        arena_pop(&scratch, mark);
    }
    const double sets = out->sets > 0 ? (double)out->sets : 1.0;
    out->mean_regret_frac /= sets;
    out->noise_regret_frac /= sets;
    sample_sort(regrets, out->sets);
    out->median_regret_frac = sample_quantile(regrets, out->sets, 0.5);
    out->p95_regret_frac = sample_quantile(regrets, out->sets, 0.95);
    arena_release(&scratch);
}

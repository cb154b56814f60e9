/* Coordinate descent over the constants of runtimes and devices. */
#include "tools/fit.h"

#include <stddef.h>
#include <string.h>

#include "base/number.h"

#define DEVICE(member) offsetof(struct accelerator, training.member)
#define RUNTIME(member) offsetof(struct runtime, member)

/* Priors: what is known before any step is seen (hardware_costs of the project's references). Host
 * time per op of the program, of which each is some kernels of 5 to 10 us in eager PyTorch and the
 * work around them (section 5.5); gaps on the device 1 to 2 us a kernel, and the small kernels that
 * the program does not list; fused attention and streams as the device's best; compute that runs
 * beside communication is 19 % slower (section 5.6); half of the tensor messages exposed; the clock
 * as the gemm group has it. */
static const struct fit_field fields[] = {
    {FIT_RUNTIME, "op_overhead", RUNTIME(op_overhead_s), 0.0, 2e-4, 8e-6, 6e-5, 4e-5, false,
     UNIT_SECONDS, true},
    {FIT_RUNTIME, "op_gap", RUNTIME(op_gap_s), 0.0, 5e-5, 8e-6, 1.5e-5, 1.5e-5, false, UNIT_SECONDS,
     true},
    {FIT_RUNTIME, "attention_frac", RUNTIME(attention_frac), 0.3, 1.0, 0.08, 1.0, 0.2, false,
     UNIT_KIND_COUNT, false},
    {FIT_RUNTIME, "stream_factor", RUNTIME(stream_factor), 1.0, 4.0, 0.25, 1.0, 0.15, false,
     UNIT_KIND_COUNT, true},
    {FIT_RUNTIME, "dispatch_overhead", RUNTIME(dispatch_overhead_s), 0.0, 5e-3, 2e-4, 5e-4, 5e-4,
     false, UNIT_SECONDS, false},
    {FIT_RUNTIME, "tensor_exposed_frac", RUNTIME(tensor_exposed_frac), 0.0, 1.0, 0.15, 0.5, 0.25,
     false, UNIT_KIND_COUNT, false},
    {FIT_RUNTIME, "overlap_loss_frac", RUNTIME(overlap_loss_frac), 0.0, 1.0, 0.1, 0.2, 0.2, false,
     UNIT_KIND_COUNT, true},
    {FIT_RUNTIME, "step_overhead", RUNTIME(step_overhead_s), 0.0, 0.5, 8e-3, 1e-2, 2e-2, false,
     UNIT_SECONDS, false},
    {FIT_DEVICE, "clock_frac", DEVICE(clock_frac), 0.6, 1.3, 0.08, 1.0, 0.12, false,
     UNIT_KIND_COUNT, false},
    {FIT_DEVICE, "narrow_clock_frac", DEVICE(narrow_clock_frac), 0.4, 1.5, 0.08, 1.0, 0.15, true,
     UNIT_KIND_COUNT, false},
};

#define FIELD_COUNT (sizeof fields / sizeof fields[0])

/* --- changing -------------------------------------------------------------------------------- */

/* Devices that differ in the size of their memory alone are the same chip: "A100-SXM4-80GB". */
bool fit_is_owner(const char *a, const char *b)
{
    const size_t length = strlen(a);
    const char *dash = strrchr(a, '-');
    const bool sized = dash != NULL && length > 2 && strcmp(a + length - 2, "GB") == 0;
    return strcmp(a, b) == 0 || (sized && strncmp(a, b, (size_t)(dash - a)) == 0 &&
                                 strrchr(b, '-') != NULL && strrchr(b, '-') - b == dash - a);
}

static double *slot(const struct fit_field *field, struct runtime *runtime,
                    struct accelerator *device)
{
    char *base = field->of == FIT_RUNTIME ? (char *)(void *)runtime : (char *)(void *)device;
    return (double *)(void *)(base + field->offset);
}

static void change(const void *context, struct runtime *runtime, struct accelerator *device)
{
    const struct fit *fit = context;
    for (uint32_t i = 0; i < fit->count; i++) {
        const struct fit_constant *constant = &fit->constants[i];
        const bool wanted = constant->field->of == FIT_RUNTIME ? runtime != NULL : device != NULL;
        const char *name = !wanted                              ? ""
                           : constant->field->of == FIT_RUNTIME ? runtime->family
                                                                : device->name;
        if (fit_is_owner(constant->owner, name)) {
            *slot(constant->field, runtime, device) = constant->value;
        }
    }
}

static const char *owner_of(const struct validated *row, enum fit_of of)
{
    return of == FIT_RUNTIME ? row->family : row->device;
}

static bool is_narrow(const struct validated *row)
{
    static const char *const narrow[] = {"fp8", "fp4", NULL};
    return measured_find_word(row->row.dtype, narrow) != NULL;
}

static bool speaks_for(const struct validated *row, const struct fit_field *field,
                       const char *owner)
{
    return row->skipped == NULL && (!field->narrow || is_narrow(row)) &&
           fit_is_owner(owner, owner_of(row, field->of));
}

/* --- loss ------------------------------------------------------------------------------------ */

/* Errors above this count in proportion, not squared. */
#define HUBER_FRAC 0.06

/* log(predicted / measured) near 0 and beyond: the symmetric ratio, which needs no logarithm. */
static double log_ratio(double predicted, double measured)
{
    const double ratio = predicted / measured;
    return ratio >= 1.0 ? ratio - 1.0 : 1.0 - 1.0 / ratio;
}

static double huber(double error)
{
    const double size = error < 0.0 ? -error : error;
    return size <= HUBER_FRAC ? 0.5 * size * size / HUBER_FRAC : size - 0.5 * HUBER_FRAC;
}

static double row_loss(const struct fit *fit, uint32_t row)
{
    const struct validated *which = &fit->all->rows[row];
    return which->skipped != NULL
               ? 0.0
               : fit->weights[row] * huber(log_ratio(which->predicted_s, which->row.step_s));
}

static bool speaks(const struct validated *row, const struct fit_constant *constant)
{
    return constant != NULL && speaks_for(row, constant->field, constant->owner);
}

/* How far a constant is from what is known of it otherwise: as much as PRIOR_LOSS of a row with
 * unit weight for each spread, squared. */
#define PRIOR_LOSS 0.004

static double prior_loss(const struct fit_constant *constant)
{
    const double far = constant == NULL
                           ? 0.0
                           : (constant->value - constant->field->prior) / constant->field->spread;
    return PRIOR_LOSS * far * far;
}

/* Loss of the rows that speak for either of two constants (the second may be NULL), judged with the
 * constants as they are. */
static double row_losses(struct fit *fit, const struct fit_constant *one,
                         const struct fit_constant *other)
{
    const struct validate_adjust adjust = {change, fit};
    double loss = 0.0;
    validate_bench_adjust(fit->bench, &adjust);
    for (uint32_t i = 0; i < fit->all->count; i++) {
        struct validated *row = &fit->all->rows[i];
        if (fit->weights[i] > 0.0 && (speaks(row, one) || speaks(row, other))) {
            validate_judge(fit->bench, row);
            loss += row_loss(fit, i);
        }
    }
    return loss;
}

static double judged_loss(struct fit *fit, const struct fit_constant *one,
                          const struct fit_constant *other)
{
    return row_losses(fit, one, other) + prior_loss(one) + prior_loss(other);
}

/* --- descent --------------------------------------------------------------------------------- */

static double within(double value, const struct fit_field *field)
{
    return value < field->min ? field->min : value > field->max ? field->max : value;
}

static double rounded(double value, double step)
{
    const double unit = step / 16.0;
    return unit * (double)(uint64_t)(value / unit + 0.5);
}

/* A step up or down while that helps; at most a few. */
static void move_constant(struct fit *fit, struct fit_constant *constant, double step)
{
    double best = judged_loss(fit, constant, NULL);
    for (uint32_t way = 0; way < 2; way++) {
        for (uint32_t tries = 0; tries < 4; tries++) {
            const double before = constant->value;
            constant->value = rounded(within(before + (way == 0 ? step : -step), constant->field),
                                      constant->field->step);
            const double loss = constant->value == before ? best : judged_loss(fit, constant, NULL);
            if (!(loss < best - 1e-9 * best)) {
                constant->value = before;
                break;
            }
            best = loss;
        }
    }
}

static void shift(struct fit_constant *constant, double step)
{
    constant->value =
        rounded(within(constant->value + step, constant->field), constant->field->step);
}

static bool share_rows(const struct fit *fit, const struct fit_constant *one,
                       const struct fit_constant *other)
{
    for (uint32_t i = 0; i < fit->all->count; i++) {
        if (fit->weights[i] > 0.0 && speaks(&fit->all->rows[i], one) &&
            speaks(&fit->all->rows[i], other)) {
            return true;
        }
    }
    return false;
}

/* Two constants may stand in for each other (a slow clock, long gaps): moved one by one they end
 * where neither helps alone. */
static void move_pair(struct fit *fit, struct fit_constant *one, struct fit_constant *other,
                      double scale)
{
    static const double ways[4][2] = {{1, 1}, {1, -1}, {-1, 1}, {-1, -1}};
    double best = judged_loss(fit, one, other);
    for (uint32_t way = 0; way < 4; way++) {
        for (uint32_t tries = 0; tries < 4; tries++) {
            const double before[2] = {one->value, other->value};
            shift(one, ways[way][0] * one->field->step * scale);
            shift(other, ways[way][1] * other->field->step * scale);
            const bool moved = one->value != before[0] && other->value != before[1];
            const double loss = moved ? judged_loss(fit, one, other) : best;
            if (!(loss < best - 1e-9 * best)) {
                one->value = before[0];
                other->value = before[1];
                break;
            }
            best = loss;
        }
    }
}

static void move_pairs(struct fit *fit, double scale)
{
    for (uint32_t i = 0; i < fit->count; i++) {
        for (uint32_t k = 0; k < fit->count; k++) {
            struct fit_constant *one = &fit->constants[i], *other = &fit->constants[k];
            if (one->field->of == FIT_DEVICE && other->field->pairs &&
                share_rows(fit, one, other)) {
                move_pair(fit, one, other, scale);
            }
        }
    }
}

void fit_run(struct fit *fit, uint32_t rounds)
{
    double scale = 1.0;
    for (uint32_t round = 0; round < rounds; round++, scale *= 0.5) {
        for (uint32_t i = 0; i < fit->count; i++) {
            move_constant(fit, &fit->constants[i], fit->constants[i].field->step * scale);
        }
        move_pairs(fit, scale);
    }
    fit_judge(fit);
}

void fit_judge(struct fit *fit)
{
    const struct validate_adjust adjust = {change, fit};
    validate_bench_adjust(fit->bench, &adjust);
    validate_judge_all(fit->bench, fit->all);
}

static const char *source_of(const struct validated *row)
{
    return row->table;
}
static const char *device_of(const struct validated *row)
{
    return row->device;
}
static const char *model_of(const struct validated *row)
{
    return row->row.model;
}

const struct fit_key fit_keys[] = {
    {"source", source_of}, {"accelerator", device_of}, {"size", model_of}, {NULL, NULL}};

/* Every so many rows of a large source, so that a fit takes minutes. */
static uint32_t stride_of(const struct fit *fit, uint32_t row, uint32_t *alike, uint32_t *before)
{
    *alike = *before = 0;
    for (uint32_t k = 0; k < fit->all->count; k++) {
        const bool same = strcmp(fit->all->rows[row].table, fit->all->rows[k].table) == 0;
        *alike += same ? 1 : 0;
        *before += same && k < row ? 1 : 0;
    }
    return (*alike + fit->most - 1) / fit->most;
}

void fit_weigh(struct fit *fit, const struct fit_key *key, const char *without)
{
    for (uint32_t i = 0; i < fit->all->count; i++) {
        const struct validated *row = &fit->all->rows[i];
        uint32_t alike, before;
        const uint32_t stride = stride_of(fit, i, &alike, &before);
        const bool left_out =
            without != NULL && row->skipped == NULL && strcmp(key->value(row), without) == 0;
        fit->weights[i] =
            left_out || before % stride != 0 ? 0.0 : (double)stride / number_root(alike);
    }
}

void fit_forget(struct fit *fit)
{
    for (uint32_t i = 0; i < fit->count; i++) {
        fit->constants[i].value = fit->constants[i].field->prior;
    }
}

/* --- which constants ------------------------------------------------------------------------- */

static uint32_t count_speakers(const struct validation *all, const struct fit_field *field,
                               const char *owner)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        count += speaks_for(&all->rows[i], field, owner) ? 1 : 0;
    }
    return count;
}

static bool is_known(const struct fit *fit, const struct fit_field *field, const char *owner)
{
    for (uint32_t i = 0; i < fit->count; i++) {
        if (fit->constants[i].field == field && fit_is_owner(fit->constants[i].owner, owner)) {
            return true;
        }
    }
    return false;
}

/* Constants that no prediction depends on (the overlap of what a runtime does not overlap) say
 * nothing: out they go. */
static void drop_idle(struct fit *fit)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < fit->count; i++) {
        struct fit_constant *constant = &fit->constants[i];
        const struct fit_field *field = constant->field;
        const double before = constant->value;
        const double priced = row_losses(fit, constant, NULL);
        constant->value =
            before + field->step > field->max ? before - field->step : before + field->step;
        const bool idle = row_losses(fit, constant, NULL) == priced;
        constant->value = before;
        if (!idle) {
            fit->constants[kept++] = *constant;
        }
    }
    fit->count = kept;
}

void fit_build(struct command *command, struct validate_bench *bench, struct validation *all,
               struct fit_size size, struct fit *out)
{
    *out = (struct fit){.bench = bench, .all = all, .most = size.most_rows};
    out->constants = ARENA_PUSH(command->arena, struct fit_constant, FIELD_COUNT * all->count);
    out->weights = ARENA_PUSH(command->arena, double, all->count);
    for (uint32_t f = 0; f < FIELD_COUNT; f++) {
        for (uint32_t i = 0; i < all->count; i++) {
            const struct validated *row = &all->rows[i];
            const char *owner = row->skipped == NULL ? owner_of(row, fields[f].of) : NULL;
            if (owner == NULL || is_known(out, &fields[f], owner)) {
                continue;
            }
            const uint32_t rows = count_speakers(all, &fields[f], owner);
            /* a runtime has about twice as many constants as a device */
            if (rows >= size.least_rows * (fields[f].of == FIT_RUNTIME ? 2 : 1)) {
                struct runtime runtime;
                struct accelerator device;
                validate_bench_find(bench, owner, fields[f].of == FIT_RUNTIME, &runtime, &device);
                const double value = *slot(&fields[f], &runtime, &device);
                out->constants[out->count++] =
                    (struct fit_constant){&fields[f], owner, value, value, value, value, rows};
            }
        }
    }
    fit_weigh(out, NULL, NULL);
    drop_idle(out);
}

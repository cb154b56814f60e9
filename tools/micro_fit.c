/* Constants of a link kind fitted to collectives over it. */
#include <string.h>

#include "base/logarithm.h"
#include "tools/micro.h"

#define ROWS_MIN 10
#define KNOBS_MAX 20
#define ROUNDS 40
/* Huber: errors beyond this logarithm (7 %) count linearly, so that odd rows do not rule. */
#define CORNER 0.1

/* One constant and where it may go. */
struct knob {
    double *value;
    double low, high;
};

static uint32_t find_knobs(struct link_kind *link, struct knob *out)
{
    uint32_t count = 0;
    out[count++] = (struct knob){&link->base_s, 0.0, 1e-3};
    for (uint32_t i = 0; i < link->protocol_count; i++) {
        struct protocol *protocol = &link->protocols[i];
        out[count++] = (struct knob){&protocol->latency_s, 1e-7, 1e-3};
        if (i > 0 || link->protocol_count == 1) { /* the first is for sizes that are all latency */
            out[count++] = (struct knob){&protocol->rate_frac, 0.01, 1.0};
        }
    }
    if (link->fill_bytes > 0.0) {
        out[count++] = (struct knob){&link->fill_bytes, 1e3, 1e9};
    }
    if (link->in_network_rate_frac > 0.0) {
        out[count++] = (struct knob){&link->in_network_latency_s, 1e-8, 1e-3};
        out[count++] = (struct knob){&link->in_network_rate_frac, 0.01, 1.0};
    }
    return count;
}

struct fit {
    struct micro_bench *bench;
    const struct micro_row **rows;
    uint32_t row_count;
};

static double loss(const struct fit *fit, const struct link_kind *link)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < fit->row_count; i++) {
        const double predicted_s = micro_collective_s(fit->bench, fit->rows[i], link);
        const double error = logarithm_of(predicted_s / fit->rows[i]->seconds);
        const double size = error < 0.0 ? -error : error;
        sum += size < CORNER ? size * size / (2.0 * CORNER) : size - CORNER / 2.0;
    }
    return sum;
}

static bool try_value(const struct fit *fit, const struct link_kind *link, const struct knob *knob,
                      double value, double *best)
{
    const double before = *knob->value;
    *knob->value = value < knob->low ? knob->low : value > knob->high ? knob->high : value;
    const double now = loss(fit, link);
    if (now < *best - 1e-9) {
        *best = now;
        return true;
    }
    *knob->value = before;
    return false;
}

/* Each constant in turn up or down by a share that halves when nothing helps. */
static void descend(const struct fit *fit, struct link_kind *link)
{
    struct knob knobs[KNOBS_MAX];
    const uint32_t count = find_knobs(link, knobs);
    double best = loss(fit, link);
    double share = 0.3;
    for (uint32_t round = 0; round < ROUNDS && share > 0.01; round++) {
        bool moved = false;
        for (uint32_t i = 0; i < count; i++) {
            const double value = *knobs[i].value;
            moved = try_value(fit, link, &knobs[i], value * (1.0 + share) + 1e-8, &best) ||
                    try_value(fit, link, &knobs[i], value / (1.0 + share), &best) || moved;
        }
        share *= moved ? 1.0 : 0.5;
    }
}

bool micro_fit_link(struct micro_bench *bench, const struct micro *all, const char *name,
                    struct link_kind *out)
{
    struct arena *arena = micro_arena(bench);
    struct fit fit = {.bench = bench};
    fit.rows = ARENA_PUSH(arena, const struct micro_row *, all->count);
    for (uint32_t i = 0; i < all->count; i++) {
        const struct micro_row *row = &all->rows[i];
        if (row->skipped == NULL && row->kind == PROFILE_COLLECTIVES &&
            strcmp(row->collective.link, name) == 0) {
            fit.rows[fit.row_count++] = row;
        }
    }
    const struct link_kind *known = micro_find_link(bench, name);
    if (known == NULL || fit.row_count < ROWS_MIN) {
        return false;
    }
    *out = *known;
    out->source = text_build(arena, "fitted to %u measured collectives", fit.row_count);
    descend(&fit, out);
    return true;
}

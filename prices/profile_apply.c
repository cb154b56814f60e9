/* Measurements turned into residuals beside the formulas of prices. */
#include <string.h>

#include "base/logarithm.h"
#include "prices/measured_kernels.h"
#include "prices/profile.h"

/* One core of a socket is a thousandth of it; ratios beyond stand for a wrong unit. */
#define RATIO_MAX 1e6

static void add_point(struct residual_table *table, const double at[RESIDUAL_AXES_MAX],
                      double measured_s, double predicted_s)
{
    const double ratio = measured_s / predicted_s;
    if (ratio < RATIO_MAX && ratio > 1.0 / RATIO_MAX) {
        struct residual_point *point = &table->points[table->count++];
        memcpy(point->at, at, sizeof point->at);
        point->residual = logarithm_of(ratio);
    }
}

static void add_matmuls(const struct profile *profile, const struct accelerator *device,
                        struct arena *arena, struct measured_kernels *out)
{
    for (enum dtype dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        struct residual_table *table = &out->matmuls[dtype];
        table->axes = MATMUL_AXES;
        table->points = ARENA_PUSH(arena, struct residual_point, profile->matmul_count);
        for (uint32_t i = 0; i < profile->matmul_count; i++) {
            const struct profile_matmul *row = &profile->matmuls[i];
            const struct matmul_shape shape = {row->m,      row->n,     row->k,
                                               row->groups, row->dtype, 0.0};
            double at[RESIDUAL_AXES_MAX];
            if (row->dtype != dtype) {
                continue;
            }
            measured_kernels_place_matmul(&shape, at);
            add_point(table, at, row->seconds,
                      price_matmul_s(device, &shape, true) + device->launch_s);
        }
        residual_close(table, arena);
    }
}

static void add_attentions(const struct profile *profile, const struct accelerator *device,
                           struct arena *arena, struct measured_kernels *out)
{
    for (uint32_t backward = 0; backward < 2; backward++) {
        struct residual_table *table = &out->attentions[backward];
        table->axes = ATTENTION_AXES;
        table->points = ARENA_PUSH(arena, struct residual_point, profile->attention_count);
        for (uint32_t i = 0; i < profile->attention_count; i++) {
            const struct profile_attention *row = &profile->attentions[i];
            const struct work_compute item = profile_attention_item(row);
            double at[RESIDUAL_AXES_MAX];
            if (row->backward != (backward == 1)) {
                continue;
            }
            measured_kernels_place_attention(&item, at);
            add_point(table, at, row->seconds,
                      price_attention_s(device, &item, true) + device->launch_s);
        }
        residual_close(table, arena);
    }
}

static void add_streams(const struct profile *profile, const struct accelerator *device,
                        struct arena *arena, struct measured_kernels *out)
{
    struct residual_table *table = &out->streams;
    table->axes = STREAM_AXES;
    table->points = ARENA_PUSH(arena, struct residual_point, profile->stream_count);
    for (uint32_t i = 0; i < profile->stream_count; i++) {
        double at[RESIDUAL_AXES_MAX];
        measured_kernels_place_stream(profile->streams[i].bytes, at);
        add_point(table, at, profile->streams[i].seconds,
                  price_memory_s(device, profile->streams[i].bytes) + device->launch_s);
    }
    residual_close(table, arena);
}

#define BACKWARD_FLOPS 2.5 /* of the forward ones, as the accelerator files count them */

struct work_compute profile_attention_item(const struct profile_attention *row)
{
    const bool square = row->causal && row->keys > 0;
    struct work_compute item = {
        .name = "attention",
        .kind = OP_ATTENTION,
        .pass = row->backward ? PASS_INPUT_GRADIENT : PASS_FORWARD,
        .flash = true,
        .batch = row->batch,
        .heads = row->heads,
        .kv_heads = row->kv_heads,
        .queries = row->queries,
        .keys = row->keys,
        .head_dim = row->head_dim,
        .density_frac = square ? 0.5 * (1.0 + 1.0 / (double)row->keys) : 1.0,
        .dtype = row->dtype,
    };
    const double scores = (double)row->batch * (double)row->heads * (double)row->queries *
                          (double)row->keys * item.density_frac;
    item.flops = 4.0 * scores * (double)row->head_dim * (row->backward ? BACKWARD_FLOPS : 1.0);
    item.bytes = 2.0 * (double)row->batch * (double)row->head_dim *
                 (2.0 * (double)row->heads * (double)row->queries +
                  2.0 * (double)row->kv_heads * (double)row->keys) *
                 (row->backward ? 2.0 : 1.0);
    return item;
}

/* The accelerator's own name, where the profile has an alias. */
static const char *resolve(const struct profile *profile, struct arena *arena)
{
    struct diag quiet;
    struct accelerator found;
    diag_init(&quiet, arena);
    return accelerator_read(profile->accelerator, (struct diag_place){.file = NULL}, arena, &found,
                            &quiet)
               ? found.name
               : profile->accelerator;
}

static void replace_links(const struct profile *profile, struct arena *arena, struct prices *prices)
{
    struct link_kind *links = ARENA_PUSH(arena, struct link_kind, prices->link_count);
    for (uint32_t i = 0; i < prices->link_count; i++) {
        links[i] = prices->links[i];
        for (uint32_t k = 0; k < profile->link_count; k++) {
            if (strcmp(links[i].name, profile->links[k].name) == 0) {
                links[i] = profile->links[k];
                links[i].fitted = true;
            }
        }
    }
    prices->links = links;
}

bool profile_apply(const struct profile *profile, struct arena *arena, struct prices *prices,
                   struct diag *diag)
{
    const char *name = resolve(profile, arena);
    struct measured_kernels *measured =
        ARENA_PUSH(arena, struct measured_kernels, prices->accelerator_count);
    bool any = false;
    memset(measured, 0, prices->accelerator_count * sizeof *measured);
    for (uint32_t i = 0; i < prices->accelerator_count; i++) {
        const struct accelerator *device = &prices->accelerators[i];
        if (strcmp(device->name, name) == 0) {
            add_matmuls(profile, device, arena, &measured[i]);
            add_attentions(profile, device, arena, &measured[i]);
            add_streams(profile, device, arena, &measured[i]);
            any = true;
        }
    }
    if (!any) {
        return diag_push(diag, DIAG_R503, (struct diag_place){.file = NULL},
                         "a profile speaks for the accelerator that it was measured on",
                         "profile '%s' is of accelerator '%s', the cluster has %s", profile->name,
                         name, prices->accelerators[0].name);
    }
    prices->measured = measured;
    replace_links(profile, arena, prices);
    return true;
}

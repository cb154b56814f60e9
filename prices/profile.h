/* Measurements of one machine, as "shardplan/profile/1" files hold them. */
#ifndef SHARDPLAN_PRICES_PROFILE_H
#define SHARDPLAN_PRICES_PROFILE_H

#include "base/json.h"
#include "plan/collective.h"
#include "prices/prices.h"

struct profile_matmul {
    enum dtype dtype;
    uint64_t m, n, k, groups;
    double seconds;
};

struct profile_attention {
    enum dtype dtype;
    uint64_t batch, heads, kv_heads, queries, keys, head_dim;
    bool causal, backward;
    double seconds;
};

struct profile_stream {
    double bytes, seconds;
};

struct profile_collective {
    enum collective_kind kind;
    const char *link;
    uint32_t ranks, ranks_per_node;
    double bytes, seconds;
};

/* Of the constants or of interpolation, as shares. */
struct profile_residual {
    uint32_t count;     /* 0: not stated */
    double median_abs_frac, p90_abs_frac, bias_frac;
};

enum profile_kind { PROFILE_GEMM, PROFILE_ATTENTION, PROFILE_STREAM, PROFILE_COLLECTIVES,
                    PROFILE_KIND_COUNT };
extern const char *const profile_kind_names[PROFILE_KIND_COUNT]; /* keys of the file */

struct profile {
    const char *name, *accelerator, *source, *notes; /* notes: "" if none */
    struct profile_matmul *matmuls;
    struct profile_attention *attentions;
    struct profile_stream *streams;
    struct profile_collective *collectives;
    uint32_t matmul_count, attention_count, stream_count, collective_count;
    struct link_kind *links; /* fitted; they replace those of the price list */
    uint32_t link_count;
    struct profile_residual residuals[PROFILE_KIND_COUNT];
    unsigned long long digest;
};

bool profile_read(const char *path, struct arena *arena, struct profile *out, struct diag *diag);
void profile_dump(const struct profile *profile, struct json_writer *out);

/* The kernel that a row measured. */
struct work_compute profile_attention_item(const struct profile_attention *row);

/* Prices of the accelerator that was measured follow the measurements from here on: their ratio to
 * the formulas, between and beyond the measured sizes; fitted links replace those of the same name.
 * R503 where the cluster has no such accelerator. */
bool profile_apply(const struct profile *profile, struct arena *arena, struct prices *prices,
                   struct diag *diag);

#endif

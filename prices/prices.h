/* The price list: seconds of one op on one device, terms of one message on one kind of link. */
#ifndef SHARDPLAN_PRICES_PRICES_H
#define SHARDPLAN_PRICES_PRICES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "plan/work.h"
#include "topologies/cluster.h"

enum provenance {
    PROVENANCE_MEASURED,
    PROVENANCE_INTERPOLATED,
    PROVENANCE_EXTRAPOLATED,
    PROVENANCE_ANALYTIC,
    PROVENANCE_COUNT
};
const char *prices_provenance_name(enum provenance provenance);

#define PROTOCOL_MAX 4

struct protocol {
    const char *name;
    double latency_s;           /* per step, on top of the path's own */
    double rate_frac;           /* of the path's bandwidth */
    double rate_cap_Bps;        /* 0: none */
};

/* One row of prices/fabric.json. */
struct link_kind {
    const char *name;
    double base_s;              /* once per collective */
    struct protocol protocols[PROTOCOL_MAX];
    uint32_t protocol_count;
    double in_network_latency_s, in_network_rate_frac;  /* a step through a reducing switch; rate 0:
                                                         * as the protocols say */
    double sm_frac;             /* share of compute units that its kernels hold while running */
    const char *source;
};

struct prices {
    const struct accelerator *accelerators;     /* of the cluster */
    uint32_t accelerator_count;
    struct link_kind *links;
    uint32_t link_count;
    double op_overhead_s;       /* from the runtime */
};

/* Loads prices/fabric.json of the data folder; every link kind that the cluster names must be in
 * it. */
bool prices_read(const struct cluster *cluster, const struct runtime *runtime, struct arena *arena,
                 struct prices *out, struct diag *diag);

/* Seconds of `count` compute items that are one kernel (items[0] and those joined to it), on that
 * device kind. */
double prices_compute_s(const struct prices *prices, uint32_t accelerator,
                        const struct work_compute *const *items, uint32_t count,
                        enum provenance *provenance);

/* BUG if there is none. */
const struct link_kind *prices_find_link(const struct prices *prices, const char *name);

/* Terms of one step of one message over a path alone on it: latency + bytes / rate. */
struct message_price {
    double latency_s;
    double rate_Bps;
};
struct message_price prices_message(const struct prices *prices, const struct path *path,
                                    uint32_t protocol, bool in_network);

#endif

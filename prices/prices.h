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
/* The format whose matrix units do the work of dtype: its own; where the device has none of its
 * own, fp32 for tf32, else bf16, fp16, fp32, the first that there is. */
enum dtype prices_find_format(const struct accelerator *device, enum dtype dtype);
const char *prices_provenance_name(enum provenance provenance);

#define PROTOCOL_MAX 4

struct protocol {
    const char *name;
    double latency_s;           /* per step, on top of the path's own */
    double rate_frac;           /* of the path's bandwidth */
    double rate_cap_Bps;        /* 0: none */
    double pairs_max_bytes;     /* largest message between two ranks alone (all-to-all, send) that
                                 * it carries */
};

/* One row of prices/fabric.json. */
struct link_kind {
    const char *name;
    double base_s;              /* once per collective */
    struct protocol protocols[PROTOCOL_MAX];
    uint32_t protocol_count;
    double in_network_latency_s, in_network_rate_frac;  /* a step through a reducing switch; rate 0:
                                                         * as the protocols say */
    double fill_bytes;          /* what the library's buffers between ranks hold of a message by the
                                 * last protocol: it is copied once more; 0: nothing */
    double own_copy;            /* time that an out-of-place call takes for the rank's own share, in
                                 * times of sending it by the last protocol; benchmarks only */
    double own_copy_pairs;      /* likewise of an all-to-all */
    const char *library;        /* whose algorithms run over it; NULL: any */
    const char *source;
    bool fitted;                /* to measurements of a profile */
};

/* Algorithms that a library of collectives has for one kind. */
struct library_kind {
    const char *library;
    const char *kind; /* as collective_kind_name */
    const char **members;
    uint32_t member_count;
};

struct measured_kernels;

struct prices {
    const struct accelerator *accelerators;     /* of the cluster */
    uint32_t accelerator_count;
    struct link_kind *links;
    uint32_t link_count;
    struct library_kind *library_kinds;
    uint32_t library_kind_count;
    const char *library;        /* of all links of the cluster, NULL: several or none */
    const struct runtime *runtime;  /* NULL: none, kernels alone */
    double spread_loss_frac;    /* of compute: the slowest of the cluster's devices sets the pace */
    bool bench;                 /* kernels alone and back to back, as benchmarks time them, instead
                                 * of within a training step; false as read */
    const struct measured_kernels *measured; /* per accelerator, from a profile; NULL: none */
};

/* Loads prices/fabric.json of the data folder; every link kind that the cluster names must be in
 * it. */
bool prices_read(const struct cluster *cluster, const struct runtime *runtime, struct arena *arena,
                 struct prices *out, struct diag *diag);

/* After constants of the cluster's devices have changed. */
void prices_adjust(struct prices *prices, const struct cluster *cluster);

/* Seconds of `count` compute items that are one kernel (items[0] and those joined to it), on that
 * device kind. */
double prices_compute_s(const struct prices *prices, uint32_t accelerator,
                        const struct work_compute *const *items, uint32_t count,
                        enum provenance *provenance);

/* Seconds in which a device of that kind copies so much to its host's memory or from there, all
 * devices of the host alike. */
double prices_copy_s(const struct prices *prices, uint32_t accelerator, double bytes);

/* Seconds in which a host launches a list of work: it runs ahead of the device, but a list does not
 * end before its last launch. */
double prices_host_s(const struct prices *prices, const struct work_items *list);

/* Share of a message that the device waits for: below 1 where the runtime runs it beside the matmul
 * that it feeds. */
double prices_exposed_frac(const struct prices *prices, const struct work_message *message);
/* Share of the shorter of two that running compute and communication at once costs. */
double prices_overlap_loss_frac(const struct prices *prices);

/* BUG if there is none. */
const struct link_kind *prices_find_link(const struct prices *prices, const char *name);

/* May the algorithm be chosen where none is asked for by name? Yes where the cluster's links leave
 * it open or their library has it for that kind. */
bool prices_offers(const struct prices *prices, enum collective_kind kind,
                   const struct collective *member);

/* Index of the protocol that carries a message when `protocol` is chosen for the whole
 * collective: itself, or the link's last where the link has fewer or the message is too large a
 * one of a pair. */
uint32_t prices_find_protocol(const struct link_kind *link, uint32_t protocol,
                              enum collective_kind kind, double message_bytes);

/* Seconds that filling the buffers between ranks adds to a collective whose largest message that
 * is, over a way of alone_Bps when alone on it; none through a reducing switch. */
double prices_fill_s(const struct link_kind *link, uint32_t protocol, bool in_network,
                     double alone_Bps, double message_bytes);

/* Terms of one step of one message over a path alone on it: latency + bytes / rate. */
struct message_price {
    double latency_s;
    double rate_Bps;
};
struct message_price prices_message(const struct prices *prices, const struct path *path,
                                    uint32_t protocol, bool in_network);

#endif

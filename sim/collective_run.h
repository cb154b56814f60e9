/* A collective run message by message on the real links of a cluster, every rank a device. */
#ifndef SHARDPLAN_SIM_COLLECTIVE_RUN_H
#define SHARDPLAN_SIM_COLLECTIVE_RUN_H

#include "base/diag.h"
#include "plan/collective.h"
#include "plan/rank_group.h"
#include "prices/prices.h"

#define COLLECTIVE_RUN_ANY UINT32_MAX

struct collective_run_request {
    const struct cluster *cluster;
    const struct prices *prices;
    enum collective_kind kind;
    const struct rank_group *group;
    uint32_t base;                      /* device of rank 0 */
    double bytes;                       /* whole buffer, as plan/collective.h counts it */
    const struct collective *member;    /* NULL: the one that ends first */
    uint32_t protocol, pipeline;        /* COLLECTIVE_RUN_ANY: those that end first; a pipeline: a
                                         * power of two */
    const double *arrival_s;            /* [rank] when it calls; NULL: all at 0 */
};

struct collective_run_result {
    const struct collective *member;    /* NULL: none takes the group; one rank needs none */
    uint32_t protocol, pipeline;
    double seconds;                     /* the last rank is done */
    const double *finish_s;             /* [rank] */
    uint64_t events;                    /* of the best run */
};

/* Ties go to the earlier member, the smaller pipeline, the earlier protocol. False: S802, longer
 * than can be counted. */
bool collective_run(const struct collective_run_request *request, struct arena *arena,
                    struct collective_run_result *out, struct diag *diag);

#endif

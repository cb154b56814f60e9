/* Memory of the computer that devices sit in: a tier below their own. */
#ifndef SHARDPLAN_TOPOLOGIES_HOST_H
#define SHARDPLAN_TOPOLOGIES_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/json.h"

/* memory_bytes 0: there is none that a plan could use, and nothing else is set. */
struct host {
    uint64_t memory_bytes;         /* of one host */
    uint32_t devices;              /* that share it, in equal parts; at least 1 */
    double link_Bps;               /* that copies of one device reach, each way */
    double latency_s;              /* of one copy */
    double memory_Bps;             /* of one host, peak */
    double memory_efficiency_frac; /* of that, what updates on its processors reach */
    const char *source;
};

/* The member "host" of a device kind or a cluster; absent: `out` is left as it is. */
bool host_read(struct json_value object, struct arena *arena, struct host *out, struct diag *diag);
bool host_check(const struct host *host);
/* The member, where there is a host. */
void host_dump(const struct host *host, struct json_writer *out);
/* What one device may hold there; what its copies reach while the others copy too; what its
 * share of an update on the host's processors reaches. */
double host_share_bytes(const struct host *host);
double host_copy_Bps(const struct host *host);
double host_update_Bps(const struct host *host);

#endif

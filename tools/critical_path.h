/* The longest chain of work of a simulated step, for people and as JSON. */
#ifndef SHARDPLAN_TOOLS_CRITICAL_PATH_H
#define SHARDPLAN_TOOLS_CRITICAL_PATH_H

#include "base/json.h"
#include "sim/sim.h"
#include "tools/command.h"

/* The result was made with options.chain. The key "critical_path". */
void critical_path_push_json(const struct sim_result *result, struct json_writer *out);
/* The key "ports": those in use. */
void critical_path_push_ports(const struct cluster *cluster, const struct sim_result *result,
                              struct json_writer *out);
void critical_path_dump(struct command *command, const struct cluster *cluster,
                        const struct sim_result *result);

#endif

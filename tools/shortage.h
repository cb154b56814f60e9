/* When nothing fits: what is over, by how much, what would fit. */
#ifndef SHARDPLAN_TOOLS_SHORTAGE_H
#define SHARDPLAN_TOOLS_SHORTAGE_H

#include "tools/report.h"

/* result->count is 0. */
void shortage_push(struct command *command, const struct question *question,
                   const struct planner_options *options,
                   const struct planner_result *result, struct json_writer *out);
void shortage_dump(struct command *command, const struct question *question,
                   const struct planner_options *options,
                   const struct planner_result *result);

#endif

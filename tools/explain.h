/* Why this plan: what each other choice would cost. */
#ifndef SHARDPLAN_TOOLS_EXPLAIN_H
#define SHARDPLAN_TOOLS_EXPLAIN_H

#include "tools/report.h"

void explain_push(struct command *command, const struct question *question,
                  const struct planner_options *options,
                  const struct ranked_plan *best, struct json_writer *out);
void explain_dump(struct command *command, const struct question *question,
                  const struct planner_options *options,
                  const struct ranked_plan *best);

#endif

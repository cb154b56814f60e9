/* A saved plan in place of flags. */
#ifndef SHARDPLAN_TOOLS_SAVED_PLAN_H
#define SHARDPLAN_TOOLS_SAVED_PLAN_H

#include "tools/problem_flags.h"

/* The plan with its problem as a question; flags that say the same things are refused. */
bool saved_plan_read(struct command *command, const char *path, struct question *question,
                     struct plan **out);

#endif

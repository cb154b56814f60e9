/* `shardplan simulate --flows`: transfers from a CSV file. */
#ifndef SHARDPLAN_TOOLS_FLOW_FILE_H
#define SHARDPLAN_TOOLS_FLOW_FILE_H

#include "tools/command.h"

/* Reads, runs, prints; the exit status. */
int flow_file_run(struct command *command);

#endif

/* Where the shipped data lies. */
#ifndef SHARDPLAN_TOOLS_DATADIR_H
#define SHARDPLAN_TOOLS_DATADIR_H

#include "base/arena.h"

/* The folder that holds models/zoo, topologies/accelerators, topologies/zoo and prices/runtimes:
 * $SHARDPLAN_DATA if set and not empty; else the source tree while the program lies in its build
 * folder; else the installed data. Never NULL; not checked to exist. */
const char *datadir_find(struct arena *arena);

#endif

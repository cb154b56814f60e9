/* The table of link kinds in a file. */
#ifndef SHARDPLAN_PRICES_FABRIC_H
#define SHARDPLAN_PRICES_FABRIC_H

#include "prices/prices.h"

/* Fills out->links, out->link_count from a "shardplan/fabric/1" file. */
bool fabric_read(const char *path, struct arena *arena, struct prices *out, struct diag *diag);

#endif

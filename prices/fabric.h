/* The table of link kinds in a file. */
#ifndef SHARDPLAN_PRICES_FABRIC_H
#define SHARDPLAN_PRICES_FABRIC_H

#include "base/json.h"
#include "prices/prices.h"

/* Fills out->links, out->link_count from a "shardplan/fabric/1" file. */
bool fabric_read(const char *path, struct arena *arena, struct prices *out, struct diag *diag);

/* An object of link kinds by name, as in that file. */
bool fabric_read_links(struct json_value links, struct arena *arena, struct link_kind **out,
                       uint32_t *count, struct diag *diag);
void fabric_dump_links(const struct link_kind *links, uint32_t count, struct json_writer *out);

#endif

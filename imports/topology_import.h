/* What the importers of topology files share. */
#ifndef SHARDPLAN_IMPORTS_TOPOLOGY_IMPORT_H
#define SHARDPLAN_IMPORTS_TOPOLOGY_IMPORT_H

#include "imports/importer.h"

/* Reads a topology file whose cluster must have a source that begins with `source`, and dumps the
 * cluster. */
bool topology_import_read(const struct import_request *request, const char *source,
                          struct arena *arena, struct json_writer *out, struct diag *diag);

#endif

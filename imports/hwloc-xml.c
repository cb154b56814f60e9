/* Hwloc's XML (lstopo FILE.xml), to a cluster. */
#include "imports/topology_import.h"
#include "topologies/topology_file.h"

static bool read(const struct import_request *request, struct arena *arena, struct json_writer *out,
                 struct diag *diag)
{
    return topology_import_read(request, TOPOLOGY_HWLOC, arena, out, diag);
}

extern const struct importer importer_hwloc_xml;

const struct importer importer_hwloc_xml = {
    .name = "hwloc-xml",
    .summary = "hwloc's XML (lstopo FILE.xml), to a cluster",
    .read = read,
};

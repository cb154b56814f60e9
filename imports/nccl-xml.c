/* An NCCL topology (NCCL_TOPO_DUMP_FILE), to a cluster. */
#include "imports/topology_import.h"
#include "topologies/topology_file.h"

static bool read(const struct import_request *request, struct arena *arena, struct json_writer *out,
                 struct diag *diag)
{
    return topology_import_read(request, TOPOLOGY_NCCL, arena, out, diag);
}

extern const struct importer importer_nccl_xml;

const struct importer importer_nccl_xml = {
    .name = "nccl-xml",
    .summary = "an NCCL topology (NCCL_TOPO_DUMP_FILE), to a cluster",
    .read = read,
};

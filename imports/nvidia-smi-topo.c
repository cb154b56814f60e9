/* The table of `nvidia-smi topo -m`, to a cluster. */
#include "imports/topology_import.h"
#include "topologies/topology_file.h"

static bool read(const struct import_request *request, struct arena *arena, struct json_writer *out,
                 struct diag *diag)
{
    return topology_import_read(request, TOPOLOGY_NVIDIA_SMI, arena, out, diag);
}

extern const struct importer importer_nvidia_smi_topo;

const struct importer importer_nvidia_smi_topo = {
    .name = "nvidia-smi-topo",
    .summary = "the table of `nvidia-smi topo -m`, to a cluster",
    .read = read,
};

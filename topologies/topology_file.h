/* Topology files of other programs, told apart by what they hold. */
#ifndef SHARDPLAN_TOPOLOGIES_TOPOLOGY_FILE_H
#define SHARDPLAN_TOPOLOGIES_TOPOLOGY_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/xml.h"
#include "topologies/machine.h"

/* How the source of a cluster begins that was read from such a file. */
#define TOPOLOGY_NCCL "NCCL topology XML"
#define TOPOLOGY_HWLOC "hwloc XML"
#define TOPOLOGY_NVIDIA_SMI "nvidia-smi topo -m"

enum topology_kind { TOPOLOGY_NONE, TOPOLOGY_XML, TOPOLOGY_TABLE, TOPOLOGY_KIND_COUNT };

/* By the first character that is no blank, and the word GPU0 in the first line. */
enum topology_kind topology_file_find_kind(const struct cluster_text *text);
/* Any of the kinds below; request->nodes of the computer that it shows. */
bool topology_file_read(const struct cluster_text *text, const struct cluster_request *request,
                        struct arena *arena, struct cluster *out, struct diag *diag);

/* One file, one reader. Each fills the machine from what its file says. */
bool nccl_xml_read(const struct xml *document, struct machine *out, struct diag *diag);
bool hwloc_xml_read(const struct xml *document, struct machine *out, struct diag *diag);
/* The table that `nvidia-smi topo -m` prints, pasted or with its colours. */
bool nvidia_smi_read(const struct cluster_text *text, struct machine *out, struct diag *diag);

#endif

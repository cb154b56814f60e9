/* Which reader a topology file is for. */
#include "topologies/topology_file.h"

#include <string.h>

static const char *skip_blanks(const char *text, const char *end)
{
    if (end - text >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
    }
    while (text < end && strchr(" \t\r\n", *text) != NULL && *text != '\0') {
        text++;
    }
    return text;
}

enum topology_kind topology_file_find_kind(const struct cluster_text *text)
{
    const char *end = text->bytes + text->length;
    const char *at = skip_blanks(text->bytes, end);
    if (at < end && *at == '<') {
        return TOPOLOGY_XML;
    }
    for (; at < end && *at != '\n' && *at != '{'; at++) {
        if (end - at >= 4 && memcmp(at, "GPU0", 4) == 0) {
            return TOPOLOGY_TABLE;
        }
    }
    return TOPOLOGY_NONE;
}

static bool read_xml(const struct cluster_text *text, struct machine *out, struct arena *arena,
                     struct diag *diag)
{
    struct xml document;
    if (!xml_read(text->name, text->bytes, text->length, arena, &document, diag)) {
        return false;
    }
    const struct xml_element *root = &document.elements[0];
    if (strcmp(root->name, "system") == 0) {
        machine_init(out, text->name, TOPOLOGY_NCCL, arena);
        return nccl_xml_read(&document, out, diag);
    }
    if (strcmp(root->name, "topology") == 0) {
        machine_init(out, text->name, TOPOLOGY_HWLOC, arena);
        return hwloc_xml_read(&document, out, diag);
    }
    return diag_push(diag, DIAG_T321, xml_place(&document, root),
                     strcmp(root->name, "graphs") == 0
                         ? "this is an NCCL graph (NCCL_GRAPH_DUMP_FILE); NCCL_TOPO_DUMP_FILE "
                           "writes the topology"
                         : NULL,
                     "an XML file with <%s> outermost is no topology: NCCL writes <system>, hwloc "
                     "<topology>",
                     root->name);
}

bool topology_file_read(const struct cluster_text *text, const struct cluster_request *request,
                        struct arena *arena, struct cluster *out, struct diag *diag)
{
    struct machine machine;
    bool good = false;
    switch (topology_file_find_kind(text)) {
    case TOPOLOGY_XML: good = read_xml(text, &machine, arena, diag); break;
    case TOPOLOGY_TABLE:
        machine_init(&machine, text->name, TOPOLOGY_NVIDIA_SMI, arena);
        good = nvidia_smi_read(text, &machine, diag);
        break;
    case TOPOLOGY_NONE:
    case TOPOLOGY_KIND_COUNT:
        return diag_push(diag, DIAG_T321, (struct diag_place){.file = text->name}, NULL,
                         "the file is no topology: neither XML nor a table of `nvidia-smi topo "
                         "-m`");
    }
    return good && machine_build(&machine, request, out, diag);
}

/* A topology file of another program becomes a native cluster. */
#include "imports/topology_import.h"

#include <string.h>

#include "base/file_text.h"
#include "topologies/topology_file.h"

bool topology_import_read(const struct import_request *request, const char *source,
                          struct arena *arena, struct json_writer *out, struct diag *diag)
{
    const struct cluster_request told = {
        .text = request->path, .device = request->device, .fabric = request->fabric};
    const char *file = file_text_name(request->path, arena);
    struct text text;
    struct cluster cluster;
    if (!file_text_read(request->path, file, json_limits.max_bytes, arena, &text, diag) ||
        !topology_file_read(&(struct cluster_text){file, text.bytes, text.length}, &told, arena,
                            &cluster, diag)) {
        return false;
    }
    if (strncmp(cluster.source, source, strlen(source)) != 0) {
        return diag_push(diag, DIAG_T321, (struct diag_place){.file = file}, NULL,
                         "the file is of another kind than %s: %s", source, cluster.source);
    }
    cluster_dump(&cluster, out);
    return true;
}

/* Kinds of foreign files that are read: topologies, models, configurations of runtimes.
 *
 * What a file says and its reader does not understand is reported, never dropped in silence: as a
 * warning where it changes nothing that is planned, else as an error. */
#ifndef SHARDPLAN_IMPORTS_IMPORTER_H
#define SHARDPLAN_IMPORTS_IMPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/json.h"

/* Where a configuration states what a plan may break rules by. */
struct import_places {
    const char *file;        /* NULL: nothing was read */
    struct diag_place batch; /* of the batch; line 0: it does not state one */
};

/* What to read and what its reader is told besides; NULL: not told. */
struct import_request {
    const char *path;   /* "-": standard input, where the kind allows it */
    const char *device; /* kind of the devices that the file does not name */
    const char *fabric; /* link kind that joins several nodes */
    const char *model;   /* what a configuration trains, where it does not describe it itself */
    const char *cluster; /* what a configuration runs on */
    struct import_places *places; /* filled where a configuration is read; NULL: nobody asks */
    const char *set;     /* "NAME=VALUE,...": variables and settings of a configuration */
};

struct importer {
    const char *name;    /* "nccl-xml" */
    const char *summary; /* what is read and what it becomes, one line */
    /* Ends of names of files that are configurations of this kind, where nobody says which;
     * NULL: no configuration. */
    const char *const *endings;
    /* Writes one JSON object, or reports (codes X65x and those of the object's noun) and writes
     * nothing. Same input, same bytes. */
    bool (*read)(const struct import_request *request, struct arena *arena,
                 struct json_writer *out, struct diag *diag);
};

extern const struct importer *const importer_table[];
extern const uint32_t importer_table_count;
const struct importer *importer_find(const char *name); /* NULL: there is none */
const char *const *importer_names(void);                /* NULL-terminated */

#endif

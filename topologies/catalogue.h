/* What the files of a data folder call themselves: names and aliases. */
#ifndef SHARDPLAN_TOPOLOGIES_CATALOGUE_H
#define SHARDPLAN_TOPOLOGIES_CATALOGUE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/diag.h"

struct catalogue {
    const char *folder;     /* under the data folder: "topologies/zoo" */
    const char *noun;       /* "cluster" */
    enum diag_code unknown; /* what an unknown name is reported as */
};

/* Equal without regard to the case of ASCII letters. */
bool catalogue_is_match(const char *a, const char *b);

/* Path of the file whose "name" or one of whose "aliases" is `word`, without regard to case. No
 * such file and several such files are reported at `place`, as is a file that cannot be read. */
bool catalogue_find(const struct catalogue *catalogue, const char *word, struct diag_place place,
                    struct arena *arena, const char **out, struct diag *diag);

#endif

/* The set of kinds of files that are imported. */
#include "imports/importer.h"

#include <string.h>

extern const char *const importer_table_names[];

const struct importer *importer_find(const char *name)
{
    for (uint32_t i = 0; i < importer_table_count; i++) {
        if (strcmp(importer_table[i]->name, name) == 0) {
            return importer_table[i];
        }
    }
    return NULL;
}

const char *const *importer_names(void)
{
    return importer_table_names;
}

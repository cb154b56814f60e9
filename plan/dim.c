/* The table of dims, searched by name. */
#include "plan/dim.h"

#include <string.h>

const char *const *dim_names(void)
{
    return dim_table_names;
}

const struct dim *dim_find(const char *name)
{
    for (uint32_t i = 0; i < dim_table_count; i++) {
        if (strcmp(dim_table[i]->name, name) == 0)
            return dim_table[i];
    }
    return NULL;
}

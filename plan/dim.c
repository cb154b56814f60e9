/* The table of dims, searched by name. */
#include "plan/dim.h"

#include <string.h>

#include "base/diag.h"

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

uint32_t dim_find_index(const struct dim *dim)
{
    for (uint32_t i = 0; i < dim_table_count; i++) {
        if (dim_table[i] == dim)
            return i;
    }
    BUG("dim '%s' is not in the table", dim->name);
}

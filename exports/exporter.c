/* The set of targets, with the order in which a plan is questioned before one is written. */
#include "exports/exporter.h"

#include <string.h>

extern const char *const exporter_table_names[];

const struct exporter *exporter_find(const char *name)
{
    for (uint32_t i = 0; i < exporter_table_count; i++) {
        if (strcmp(exporter_table[i]->name, name) == 0)
            return exporter_table[i];
    }
    return NULL;
}

const char *const *exporter_names(void)
{
    return exporter_table_names;
}

bool exporter_write(const struct exporter *exporter, const struct problem *problem,
                    const struct plan *plan, bool script, struct text *out, struct diag *diag)
{
    if (script && exporter->script == NULL)
        return diag_push(diag, DIAG_X607, (struct diag_place){0}, "leave the script out",
                         "exporter '%s' has no script, it writes: %s", exporter->name,
                         exporter->summary);
    if (!plan_check(problem, plan, diag))
        return false;
    if (exporter->can_express != NULL && !exporter->can_express(problem, plan, diag))
        return false;
    exporter->write(problem, plan, script, out);
    return true;
}

/* Targets that a plan can be written for: arguments of a runtime, files of a viewer.
 *
 * A target that cannot express a plan says so, thing by thing; nothing is left out in silence. */
#ifndef SHARDPLAN_EXPORTS_EXPORTER_H
#define SHARDPLAN_EXPORTS_EXPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"
#include "plan/plan.h"

struct exporter {
    const char *name;    /* "megatron" */
    const char *summary; /* what is written, one line */
    const char *script;  /* what is written instead where a script is asked for; NULL: no script */
    const char *sample;  /* a model that it knows, where it does not take any; else NULL */
    /* Reports each thing of a legal plan that the target has no word for, next to what would be
     * right (codes X6xx). NULL: all can be said. */
    bool (*can_express)(const struct problem *problem, const struct plan *plan, struct diag *diag);
    /* Only plans that can be expressed. Same input, same bytes. */
    void (*write)(const struct problem *problem, const struct plan *plan, bool script,
                  struct text *out);
};

extern const struct exporter *const exporter_table[];
extern const uint32_t exporter_table_count;
const struct exporter *exporter_find(const char *name); /* NULL: there is none */
const char *const *exporter_names(void);                /* NULL-terminated */

/* Appends the plan as the target reads it. Illegal plans and what the target cannot express are
 * reported; then `out` stays as it was. */
bool exporter_write(const struct exporter *exporter, const struct problem *problem,
                    const struct plan *plan, bool script, struct text *out, struct diag *diag);

#endif

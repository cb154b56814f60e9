/* What can be done with a plan: simulated, written for its runtime or for another target. */
#ifndef SHARDPLAN_TOOLS_NEXT_STEP_H
#define SHARDPLAN_TOOLS_NEXT_STEP_H

#include "exports/exporter.h"
#include "tools/report.h"

struct next_step {
    const struct exporter *own;    /* of the plan's runtime; NULL: it has none */
    struct diag lacks;             /* what the own exporter has no words for; count 0: nothing */
    const char **targets;          /* the other exporters that can write the plan */
    uint32_t target_count;
    const char *parts; /* --cluster with its parts in the order of the ranks; NULL: as it is */
};

/* Asks every exporter. */
void next_step_find(struct command *command, const struct question *question,
                    const struct plan *plan, struct next_step *out);
void next_step_push(const struct next_step *next, struct json_writer *out);
/* `top` plans were printed. */
void next_step_dump(struct command *command, const struct next_step *next, uint32_t top);

#endif

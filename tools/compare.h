/* Two saved plans side by side. */
#ifndef SHARDPLAN_TOOLS_COMPARE_H
#define SHARDPLAN_TOOLS_COMPARE_H

#include "tools/report.h"

#define COMPARE_FLAG "--compare"

/* A plan with the question that it answers, judged. */
struct compared {
    const char *name; /* file */
    struct question question;
    struct plan *plan;
    struct verdict verdict;
};

/* Reads the plan that --compare names, and judges it; false: a fault is reported. */
bool compare_read(struct command *command, struct compared *out);
/* `first` is what --compare names; its keys under "compare", with the changes of the second. */
void compare_push(struct command *command, const struct compared *first,
                  const struct verdict *second, struct json_writer *out);
void compare_dump(struct command *command, const struct compared *first,
                  const struct question *question, const struct verdict *second);

#endif

/* What `shardplan schedule` found, for people and as JSON. */
#ifndef SHARDPLAN_TOOLS_SCHEDULE_REPORT_H
#define SHARDPLAN_TOOLS_SCHEDULE_REPORT_H

#include "plan/schedule.h"
#include "tools/command.h"

struct schedule_report {
    const char *name; /* of the schedule or its table */
    struct stream stream;
    double makespan_s;
    const double *busy_s;                    /* [stage] */
    const double *slot_start_s, *slot_end_s; /* stage after stage; NULL: the judge keeps none */
};

void schedule_report_dump_json(struct command *command, const struct schedule_report *report);
void schedule_report_dump_people(struct command *command, const struct schedule_report *report);

#endif

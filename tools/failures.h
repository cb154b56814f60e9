/* `--device-mtbf`: what failing devices leave of a run that saves its state. */
#ifndef SHARDPLAN_TOOLS_FAILURES_H
#define SHARDPLAN_TOOLS_FAILURES_H

#include "costmodel/goodput.h"
#include "tools/problem_flags.h"

/* clang-format off */
#define FAILURES_FLAGS \
    {.name = "--device-mtbf", .kind = FLAG_QUANTITY, .value = "TIME", .unit = UNIT_SECONDS, \
     .help = "mean time between failures of a device, as in \"50000 h\": says how much of a run " \
             "they leave"}, \
    {.name = "--save-time", .kind = FLAG_QUANTITY, .value = "TIME", .unit = UNIT_SECONDS, \
     .help = "that training waits for each save of its state", .fallback = "60 s"}, \
    {.name = "--restart-time", .kind = FLAG_QUANTITY, .value = "TIME", .unit = UNIT_SECONDS, \
     .help = "from a failure until steps go on again", .fallback = "10 min"}
/* clang-format on */

struct failures {
    double device_mtbf_s;
    struct goodput_request request;
    struct goodput goodput;
};

/* Reads the flags; *asked says whether they ask for anything. */
bool failures_read(struct command *command, bool *asked, struct failures *out);
/* Every device of the plan can fail, each stops all. */
void failures_find(const struct plan *plan, double step_s, struct failures *out);
void failures_push_json(const struct failures *failures, struct json_writer *out);
void failures_dump(struct command *command, const struct failures *failures);

#endif

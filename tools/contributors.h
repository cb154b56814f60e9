/* What a step's seconds are spent on, kernel by kernel and message by message. */
#ifndef SHARDPLAN_TOOLS_CONTRIBUTORS_H
#define SHARDPLAN_TOOLS_CONTRIBUTORS_H

#include "tools/report.h"

#define CONTRIBUTORS_MAX 10

/* One op in one direction on the slowest stage, all its layers and micro-batches. */
struct contributor {
    const char *op, *direction; /* "fc1", "forward"; a message: "tp all-gather" */
    double seconds, share_frac; /* of the step; a message beside compute counts in full */
    enum provenance origin;
    const char *basis;          /* what the price comes from, in words */
    bool beside;                /* a message that runs beside compute */
};

struct contributors {
    uint32_t stage, count;
    struct contributor items[CONTRIBUTORS_MAX]; /* the largest first */
};

/* The verdict's plan has its layers. False: the schedule cannot be built, reported. */
bool contributors_find(struct command *command, const struct question *question,
                       const struct verdict *verdict, struct contributors *out);
void contributors_push(const struct contributors *found, struct json_writer *out);
void contributors_dump(struct command *command, const struct contributors *found);

#endif

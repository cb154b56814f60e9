/* What a sweep runs: a command at every combination of lists of values. */
#ifndef SHARDPLAN_TOOLS_SWEEP_H
#define SHARDPLAN_TOOLS_SWEEP_H

#include "tools/command.h"

#define SWEEP_POINT_MAX 1000000u

/* What true and false of a file stand for; told from the same words in quotes by their place. */
extern const char sweep_bare_flag[], sweep_no_flag[];

/* A flag with the values that it takes, as words of a command line. */
struct sweep_axis {
    const char *flag;
    const char **values; /* sweep_bare_flag: the flag alone; sweep_no_flag: not even that */
    uint32_t count;
};

struct sweep {
    const char *name;               /* of the command that is run */
    const struct sweep_axis *fixed; /* one value each */
    uint32_t fixed_count;
    const struct sweep_axis *axes; /* the last varies fastest */
    uint32_t axis_count;
    const char **columns; /* keys of the command's JSON, nested ones joined by '/' */
    uint32_t column_count, point_count;
    unsigned long long digest; /* of the file */
    uint32_t rank, rank_count; /* this process does points rank, rank + rank_count, ... */
};

/* The file that the command names; C760 says what is wrong with it. */
bool sweep_read(struct command *command, struct sweep *out);
/* Which of the launcher's processes this is. */
void sweep_find_rank(struct sweep *out);
/* Which value of an axis a point has. */
uint32_t sweep_find_choice(const struct sweep *sweep, uint32_t point, uint32_t axis);

#endif

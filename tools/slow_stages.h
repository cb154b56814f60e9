/* `--slow 2=1.3,5=1.1`: stages whose kernels take longer. */
#ifndef SHARDPLAN_TOOLS_SLOW_STAGES_H
#define SHARDPLAN_TOOLS_SLOW_STAGES_H

#include "tools/command.h"

#define SLOW_STAGES_FLAG \
    { \
        .name = "--slow", .kind = FLAG_TEXT, .value = "LIST", \
        .help = "stages with a device so many times slower, for which its peers wait: 2=1.3,5=1.1" \
    }

/* [stage] how many times longer; NULL without the flag. */
bool slow_stages_read(struct command *command, uint32_t stages, const double **out);

#endif

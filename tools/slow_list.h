/* `--slow 2=1.3,5=1.1`: what is so many times slower. */
#ifndef SHARDPLAN_TOOLS_SLOW_LIST_H
#define SHARDPLAN_TOOLS_SLOW_LIST_H

#include "tools/command.h"

#define SLOW_STAGES_FLAG \
    { \
        .name = "--slow", .kind = FLAG_TEXT, .value = "LIST", \
        .help = "stages with a device so many times slower, for which its peers wait: 2=1.3,5=1.1" \
    }

/* [index below count] how many times slower, at least 1; NULL without the flag. noun: "stage",
 * "rank". */
bool slow_list_read(struct command *command, const char *flag, const char *noun, uint32_t count,
                    const double **out);

#endif

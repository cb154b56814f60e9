/* `--unfold ranks --slow-ranks 5=1.3`: how many ranks of a plan are simulated, which are slow. */
#ifndef SHARDPLAN_TOOLS_UNFOLD_H
#define SHARDPLAN_TOOLS_UNFOLD_H

#include "sim/sim.h"
#include "tools/command.h"

#define UNFOLD_FLAGS \
    {.name = "--unfold", \
     .kind = FLAG_TEXT, \
     .value = "ranks|messages", \
     .help = "simulate every rank, not one for all of its stage; messages: and each message of a " \
             "collective on the links that it takes", \
     .absent = "one rank of a stage where all are alike, else ranks"}, \
        {.name = "--slow-ranks", \
         .kind = FLAG_TEXT, \
         .value = "LIST", \
         .help = "ranks whose kernels take so many times longer, with --unfold: 5=1.3,12=1.1"}, \
    { \
        .name = "--slow-links", .kind = FLAG_TEXT, .value = "LIST", \
        .help = "ranks whose ports are so many times slower, with --unfold ranks: 5=2" \
    }

const char *unfold_name(enum sim_fold fold);
/* C704, C709. */
bool unfold_read(struct command *command, const struct plan *plan, struct sim_options *out);
/* Folds where one rank can stand for all of its stage, else every rank is simulated and S804 says
 * why. S805: more ranks than can be. */
bool unfold_check(struct command *command, struct sim *sim, const struct load *load);

#endif

/* Pictures as gnuplot scripts that hold their own data. */
#ifndef SHARDPLAN_TOOLS_PLOT_H
#define SHARDPLAN_TOOLS_PLOT_H

#include "tools/command.h"

/* One kind of picture: writes a whole script but for terminal and output. False: a fault. */
struct plot_kind {
    const char *name, *summary;
    bool (*draw)(struct command *command, const char *path, struct text *out);
};

extern const struct plot_kind plot_timeline, plot_memory; /* of a saved plan, simulated */
extern const struct plot_kind plot_pareto, plot_sweep, plot_validation; /* of a --json answer */

/* In single quotes, as gnuplot takes text literally. */
void plot_push_text(struct text *out, const char *text);

#endif

/* What failures leave of a run that saves its state from time to time. */
#ifndef SHARDPLAN_COSTMODEL_GOODPUT_H
#define SHARDPLAN_COSTMODEL_GOODPUT_H

#include <stdint.h>

/* Failures come at random, at a constant rate, whatever the run is doing; each throws it back to
 * the last save. All above 0 but save_s and restart_s, which may be 0. */
struct goodput_request {
    double step_s;
    double between_failures_s; /* mean, of the whole job */
    double save_s;             /* steps wait for so long */
    double restart_s;          /* from a failure until steps go on, but for the work lost */
};

struct goodput {
    uint64_t steps;     /* between saves: of all numbers the one that loses least */
    double useful_frac; /* of the time: steps that were not done again; 0: it never gets on */
    double save_frac;   /* of the time: saves that were done once */
    double lost_frac;   /* the rest: restarts, work done again */
    double young_s;     /* between saves by Young's rule, for comparison */
};

/* Expected seconds until so many steps and the save behind them are done (Daly 2006); above 1e300:
 * never. */
double goodput_find_s(const struct goodput_request *request, uint64_t steps);
void goodput_find(const struct goodput_request *request, struct goodput *out);

#endif

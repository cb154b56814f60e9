/* How much the simulated step moves with each bandwidth, latency and rate. */
#ifndef SHARDPLAN_TOOLS_SENSITIVITY_H
#define SHARDPLAN_TOOLS_SENSITIVITY_H

#include "tools/simulated.h"

/* One knob turned both ways, all else as it is; the step simulated anew. */
struct sensitivity_row {
    const char *knob; /* "memory_bandwidth" */
    const char *of;   /* link kind, NULL: all devices */
    const char *words;
    double better_s, worse_s; /* per step: more of a rate or less of a time; the other way */
};

struct sensitivity {
    double frac;   /* how far: rates times and times by 1 + frac, and back */
    double step_s; /* as it is */
    const double *slowness;
    struct sensitivity_row *rows;
    uint32_t count;
};

/* The plan has its layers; slowness: as in struct sim_options. False on a fault of a simulation. */
bool sensitivity_find(struct command *command, const struct question *question,
                      const struct plan *plan, double frac, const double *slowness,
                      struct sensitivity *out);
void sensitivity_push_json(const struct sensitivity *sensitivity, struct json_writer *out);
void sensitivity_dump(struct command *command, const struct sensitivity *sensitivity);

#endif

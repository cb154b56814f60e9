/* Predictions beside measurements: rows judged, errors summed up, tables and files made of them. */
#ifndef SHARDPLAN_TOOLS_VALIDATE_H
#define SHARDPLAN_TOOLS_VALIDATE_H

#include "tools/command.h"
#include "tools/measured.h"

/* One row with what was predicted for it. */
struct validated {
    struct measured row;
    const char *table;          /* the file's name without folder and ending: its source */
    const char *skipped;        /* reason, NULL: compared */
    const char *runtime;        /* name of the runtime file */
    const char *family;         /* of that runtime */
    const char *device;         /* name of the accelerator file */
    double predicted_s, error_frac;         /* predicted over measured, less one */
    double memory_predicted_bytes;          /* of the kind that the row prints; 0: not measured */
    bool fits;
    struct runtime_band band;   /* of its runtime */
    struct stage_estimate slowest;          /* account of the slowest stage */
    struct stage_estimate fullest;          /* memory of the fullest one */
};

struct validation {
    struct validated *rows;
    uint32_t count, capacity;
    const char *others;     /* a line for every file without training rows */
};

/* All rows of the command's files that its --where asks for; not judged yet. */
bool validate_read(struct command *command, struct validation *out);

/* Everything read once and used by many rows: runtimes, models, clusters, judges. */
struct validate_bench;
/* NULL when a runtime file is at fault. */
struct validate_bench *validate_bench_init(struct command *command);
/* Changes constants before they are used: the runtime of a row, each of its devices; the other is
 * NULL. */
struct validate_adjust {
    void (*change)(const void *context, struct runtime *runtime, struct accelerator *device);
    const void *context;
};
/* From here on rows are judged with changed constants. */
void validate_bench_adjust(struct validate_bench *bench, const struct validate_adjust *adjust);
/* Copies of a runtime by its name, or of a device that some row has. */
void validate_bench_find(const struct validate_bench *bench, const char *name, bool is_runtime,
                         struct runtime *runtime, struct accelerator *device);
void validate_bench_release(struct validate_bench *bench);
/* Predicts one row, or says why it cannot be. */
void validate_judge(struct validate_bench *bench, struct validated *row);
/* The same for every row that is not skipped yet. */
void validate_judge_all(struct validate_bench *bench, const struct validation *all);

/* --- errors summed up ------------------------------------------------------------------------- */

struct error_summary {
    uint32_t n;
    double median_abs_frac, mean_abs_frac, p90_abs_frac, bias_frac;
};

/* Of the errors of time of the rows that `is_in` says yes to. */
void validate_summarise(const struct validation *all,
                        bool (*is_in)(const struct validated *row, const void *context),
                        const void *context, struct arena *arena, struct error_summary *out);

/* By what rows are grouped. */
struct validate_key {
    const char *name;                       /* "accelerator" */
    const char *(*value)(const struct validated *row);
};
extern const struct validate_key validate_keys[];   /* ends with a NULL name */

struct validate_group {
    const struct validate_key *key;         /* NULL: all rows */
    const char *value;
    struct error_summary time, memory;
};

/* All compared rows first, then the groups of every key by falling number of rows. */
struct validate_group *validate_groups(const struct validation *all, struct arena *arena,
                                       uint32_t *count);
bool validate_is_member(const struct validate_group *group, const struct validated *row);

/* Do steps that ran fit, and would those whose peak was measured be refused with
 * VALIDATE_SHORT_FRAC less memory than that? */
#define VALIDATE_SHORT_FRAC 0.03
struct validate_room {
    uint32_t rows, not_fitting;
    uint32_t measured, refused;
};
void validate_find_room(const struct validation *all, struct validate_room *out);

/* What no predictor gets below: rows that say the same, of several versions or days, against the
 * middle one of them. */
void validate_find_floor(const struct validation *all, struct arena *arena,
                         struct error_summary *out);

/* How well plans of one (model, devices, batch, sequence) are told apart: of pairs whose measured
 * times differ by more than `apart_frac` the share ordered right; what the plan ranked first costs
 * over the best. */
struct ranking {
    uint32_t sets, pairs, right;
    double mean_regret_frac, median_regret_frac, p95_regret_frac;
    double noise_right, noise_regret_frac;  /* the same of a predictor with random errors: pairs
                                             * right, mean regret */
};
#define VALIDATE_NOISE_FRAC 0.05
#define VALIDATE_NOISE_DRAWS 64
void validate_rank(const struct validation *all, const struct validate_group *group,
                   double apart_frac, struct arena *arena, struct ranking *out);

/* --- what becomes of it ---------------------------------------------------------------------- */

void validate_dump_people(struct command *command, const struct validation *all);
void validate_dump_json(struct command *command, const struct validation *all);
/* JSON with a line per compared row, for --baseline. */
void validate_dump_baseline(const struct validation *all, struct text *out);
/* A gnuplot script with its data inside. */
void validate_dump_gnuplot(const struct validation *all, struct text *out);

/* A limit that was broken. */
struct validate_failure {
    const char *name, *message;
};
struct validate_verdict {
    struct validate_failure *failures;
    uint32_t count, checks;
    const char *const *names;   /* of all checks made */
};
/* Thresholds of the flags and comparison with earlier predictions; false on a fault of an input. */
bool validate_check(struct command *command, const struct validation *all,
                    struct validate_verdict *out);
void validate_dump_junit(const struct validation *all, const struct validate_verdict *verdict,
                         struct text *out);

#endif

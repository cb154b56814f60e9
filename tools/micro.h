/* Published or own measurements of single kernels and collectives, beside their prices. */
#ifndef SHARDPLAN_TOOLS_MICRO_H
#define SHARDPLAN_TOOLS_MICRO_H

#include "base/csv.h"
#include "costmodel/collective_cost.h"
#include "prices/profile.h"
#include "tools/command.h"
#include "tools/measured.h"

struct micro_row {
    const char *id, *source, *accelerator;
    enum profile_kind kind;
    struct profile_matmul matmul;
    struct profile_attention attention;
    struct profile_stream stream;
    struct profile_collective collective; /* its link: of the innermost level that it crosses */
    const char *intra_net, *inter_net;    /* of a collective */
    const struct collective *member;      /* asked for by name, or NULL */
    bool quantises; /* the measured call converts the left matrix too */
    bool prefills;  /* the measured call also moves q, k, v and the output */
    double seconds;
    /* set by micro_judge */
    const char *skipped;  /* reason; NULL: compared */
    double predicted_s;   /* by formulas and constants */
    double kernel_s;      /* share of it that is the kernel proper */
    double neighbours_s;  /* corrected by the other rows of its table; 0: no table */
    uint32_t table;       /* rows that speak for each other: same device, kernel library, format */
};

struct micro {
    struct micro_row *rows;
    uint32_t count, capacity;
    const char **foreign; /* files without any known table */
    uint32_t foreign_count;
};

/* Appends the rows of a file: a CSV with the columns of docs/calibrate.md, the output of
 * nccl-tests, or a profile. */
bool micro_read(struct command *command, const char *path, struct micro *out);
/* Output of nccl-tests: false when the text is none. */
bool micro_read_nccl(struct command *command, const char *name, const struct text *text,
                     struct micro *out);
void micro_push(struct command *command, struct micro *out, const struct micro_row *row);

struct micro_bench; /* clusters and their prices, by text */
struct micro_bench *micro_bench_init(struct command *command);
/* Predicts every row or says why it cannot be; then each row from the others of its table. */
void micro_judge(struct micro_bench *bench, struct micro *all);
/* Seconds of a collective row with this link kind in place of the one of the same name. */
double micro_collective_s(struct micro_bench *bench, const struct micro_row *row,
                          const struct link_kind *link);
/* Link kind of the price list, NULL if none. */
const struct link_kind *micro_find_link(struct micro_bench *bench, const char *name);
struct arena *micro_arena(struct micro_bench *bench);
const struct accelerator *micro_find_accelerator(struct micro_bench *bench, const char *name);

/* Fits a link kind's constants to the rows that run over it alone; false where fewer than 10 do. */
bool micro_fit_link(struct micro_bench *bench, const struct micro *all, const char *name,
                    struct link_kind *out);

/* Reports the groups of `rows_min` rows or more whose formula is further off than the limits
 * (shares; 0: none) in the command's output; their number. */
uint32_t micro_check(struct command *command, const struct micro *all, uint32_t rows_min,
                     double median_max_frac, double p90_max_frac);
void micro_dump_people(struct command *command, const struct micro *all);
void micro_dump_json(struct command *command, const struct micro *all);
struct profile_residual micro_summary(struct command *command, const struct micro *all,
                                      enum profile_kind kind, bool neighbours);

#endif

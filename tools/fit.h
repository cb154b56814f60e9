/* Constants of runtimes and devices, fitted to measured steps.
 *
 * A *constant* is a number of a data file that is physical and bounded (a host's time per op, the
 * clock that power allows). Each is moved alone, in ever smaller steps, while that lowers the mean
 * Huber loss of log(predicted / measured); rows weigh less the more their source has. Nothing is
 * fitted per model, row or number of devices. */
#ifndef SHARDPLAN_TOOLS_FIT_H
#define SHARDPLAN_TOOLS_FIT_H

#include "tools/validate.h"

enum fit_of { FIT_RUNTIME, FIT_DEVICE };

/* A number of every file of its kind. */
struct fit_field {
    enum fit_of of;
    const char *key;        /* as the data file spells it */
    size_t offset;          /* in struct runtime or struct accelerator */
    double min, max, step;  /* first step; of the value, in its own unit */
    double prior, spread;   /* before any row is seen: what is known of it otherwise, how surely */
    bool narrow;            /* only rows in fp8 or fp4 speak for it */
    enum unit_kind unit;    /* UNIT_KIND_COUNT: a plain number */
    bool pairs;             /* of a runtime: moved together with constants of devices too */
};

struct fit_constant {
    const struct fit_field *field;
    const char *owner;              /* name of the runtime or device */
    double before, value;
    double low, high;               /* over the fits that leave rows out */
    uint32_t rows;
};

/* By what rows are left out together. */
struct fit_key {
    const char *name;           /* "source" */
    const char *(*value)(const struct validated *row);
};
extern const struct fit_key fit_keys[];     /* ends with a NULL name */

struct fit {
    struct validate_bench *bench;
    struct validation *all;
    struct fit_constant *constants;
    uint32_t count;
    double *weights;                /* per row; 0: not fitted to */
    uint32_t most;
};

struct fit_size {
    uint32_t least_rows;    /* that speak for a constant before it is moved */
    uint32_t most_rows;     /* of one source that are fitted to */
};

/* all.rows are judged already. */
void fit_build(struct command *command, struct validate_bench *bench, struct validation *all,
               struct fit_size size, struct fit *out);
/* All constants as they are known without any row. */
void fit_forget(struct fit *fit);
/* Moves the constants; `rounds` halvings of the steps. Rows are left judged with the result. */
void fit_run(struct fit *fit, uint32_t rounds);
/* Weights as at first, without the rows whose key has that value; NULL: of all. */
void fit_weigh(struct fit *fit, const struct fit_key *key, const char *without);
/* Judges all rows with the constants as they are. */
void fit_judge(struct fit *fit);

/* Writes the data files of all owners, with the constants as they are, below a folder that is laid
 * out as the data folder: the data folder itself, to refit in place. */
bool fit_write(struct command *command, const struct fit *fit, const char *folder);
/* Are two devices one chip, but for the size of their memory: "A100-SXM4-80GB"? */
bool fit_is_owner(const char *a, const char *b);

#endif

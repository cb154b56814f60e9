/* One subcommand: its flags, its output, its exit status. */
#ifndef SHARDPLAN_TOOLS_COMMAND_H
#define SHARDPLAN_TOOLS_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/text.h"
#include "base/units.h"

enum flag_kind {
    FLAG_SWITCH,        /* --json */
    FLAG_TEXT,          /* --model M */
    FLAG_COUNT,         /* --tp N */
    FLAG_NUMBER,        /* --forward-s F */
    FLAG_NUMBERS,       /* --forward-s 1,2,3 */
    FLAG_QUANTITY,      /* --price "2 us" */
    FLAG_CHOICE,        /* --zero 0|1|2|3 */
    FLAG_KIND_COUNT
};

struct flag {
    const char *name;               /* "--tp" */
    enum flag_kind kind;
    const char *value;              /* what stands for the value in help: "N", "FILE" */
    const char *help;               /* one line */
    const char *fallback;           /* text of the default for help and reading, or NULL */
    const char *const *choices;     /* FLAG_CHOICE, NULL-terminated */
    enum unit_kind unit;            /* FLAG_QUANTITY */
    uint64_t min, max;              /* FLAG_COUNT; max 0: none */
    bool searchable;                /* in `plan` the word "search" is a value too */
};

struct command;

/* One file per subcommand defines one of these; tools/meson.build lists them. */
struct command_kind {
    const char *name;
    const char *usage;              /* "shardplan plan --model M --cluster C --global-batch-size N --seq-length N [...]" */
    const char *summary;            /* one line, for the list of commands */
    const char *lesson;             /* what it answers, with one or two examples; printed by --help */
    const struct flag *const *flags;    /* groups of flags, each ended by a flag without name; NULL-terminated */
    uint32_t positional_min, positional_max;
    int (*run)(struct command *command);    /* exit status 0, 1; false paths go through command_fail */
};

struct command {
    const struct command_kind *kind;
    struct arena *arena;
    struct diag *diag;
    struct text out;                /* stdout, printed when run returns */
    const char *const *positional;
    uint32_t positional_count;
    const char **values;            /* per flag of all groups in order: text given or NULL */
    bool json, timing;
};

/* Readers report a fault (C7xx) and give false, or give the fallback's value. Absent without fallback: false, no report. */
bool command_has(const struct command *command, const char *flag);
bool command_text(struct command *command, const char *flag, const char **out);
bool command_count(struct command *command, const char *flag, uint64_t *out);
bool command_number(struct command *command, const char *flag, double *out);
bool command_numbers(struct command *command, const char *flag, const double **out, uint32_t *count);
bool command_quantity(struct command *command, const char *flag, double *out);
bool command_choice(struct command *command, const char *flag, uint32_t *out);
/* The flag was given as the word "search". */
bool command_searches(const struct command *command, const char *flag);

/* Exit status 2; the faults are in command->diag. */
int command_fail(struct command *command);

extern const struct command_kind *const command_table[];
extern const uint32_t command_table_count;

/* Parses argv, runs, prints: the whole of main. */
int command_main(int argc, char **argv);

#endif

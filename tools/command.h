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
    FLAG_SWITCH,   /* --json */
    FLAG_TOGGLE,   /* --sequence-parallel [on|off]; bare: on */
    FLAG_TEXT,     /* --model M */
    FLAG_COUNT,    /* --tp N */
    FLAG_NUMBER,   /* --memory-headroom F */
    FLAG_NUMBERS,  /* --forward-s 1,2,3 */
    FLAG_QUANTITY, /* --price "2 us" */
    FLAG_CHOICE,   /* --zero 0|1|2|3 */
    FLAG_KIND_COUNT
};

struct flag {
    const char *name; /* "--tp"; NULL ends a list */
    enum flag_kind kind;
    const char *value;          /* what stands for the value in help: "N", "FILE" */
    const char *help;           /* one line */
    const char *fallback;       /* text of the default for help and reading, or NULL */
    const char *const *choices; /* FLAG_CHOICE, NULL-terminated */
    enum unit_kind unit;        /* FLAG_QUANTITY */
    uint64_t min, max;          /* FLAG_COUNT; max 0: none */
    bool searchable;            /* the word "search" is a value too */
    const char *absent;         /* what happens without it, for help, where there is no fallback */
};

/* Flags under one heading of the help: a list, or a function that makes one from a table. */
struct flag_group {
    const char *title; /* NULL ends the list of groups */
    const struct flag *flags;
    const struct flag *(*build)(struct arena *arena);
};

struct command;

/* One file per subcommand defines one of these; tools/meson.build lists them. */
struct command_kind {
    const char *name;
    const char *usage;   /* "shardplan plan --model M --cluster C ... [...]" */
    const char *summary; /* one line, for the list of commands */
    const char *lesson;  /* what it answers, with one or two examples; printed by --help */
    const struct flag_group *groups;
    /* words that are no flags; max UINT32_MAX: any number */
    uint32_t positional_min, positional_max;
    int (*run)(struct command *command); /* exit status 0, 1; or that of command_fail */
};

struct command {
    const struct command_kind *kind;
    struct arena *arena;
    struct diag *diag;
    struct text out; /* stdout, printed when run returns 0 or 1 */
    const char *const *positional;
    uint32_t positional_count;
    const struct flag **flags; /* of all groups in order */
    const char **values;       /* per flag: text given or NULL */
    uint32_t flag_count;
    bool json, timing;
    bool config; /* a configuration of a runtime is read: flags say what it leaves open */
};

bool command_has(const struct command *command, const char *flag);
/* The flag was given as the word "search". */
bool command_searches(const struct command *command, const char *flag);

/* Readers give the value said or the fallback; a malformed value, or none without a fallback, is
 * reported (C704, C707) and false. */
bool command_text(struct command *command, const char *flag, const char **out);
bool command_count(struct command *command, const char *flag, uint64_t *out);
bool command_number(struct command *command, const char *flag, double *out);
bool command_numbers(struct command *command, const char *flag, const double **out,
                     uint32_t *count);
bool command_quantity(struct command *command, const char *flag, double *out);
/* Index into the flag's choices. */
bool command_choice(struct command *command, const char *flag, uint32_t *out);
bool command_toggle(struct command *command, const char *flag, bool *out);

/* Hint for a word that is none of the names: the nearest of them, else `otherwise` (NULL: none). */
const char *command_hint(const struct command *command, const char *word, const char *const *names,
                         uint32_t count, const char *otherwise);
/* A finite number at *cursor, which moves behind it. */
bool command_parse_number(const char **cursor, double *out);
/* A whole file ("-": standard input) within --max-input as text, B101 or B102. */
bool command_read_file(struct command *command, const char *path, struct text *out);

/* Runs the subcommand of that name with these words; `out` takes what it would print. Its exit
 * status; that of a name that is no command is 2 too. */
int command_call(const char *name, int argc, char **argv, struct arena *arena, struct diag *diag,
                 struct text *out);
/* Exit status 2; the faults are in command->diag. */
int command_fail(struct command *command);
/* Writes text to a file that must not be left half written; reports C708. */
bool command_write(struct command *command, const char *path, const struct text *text);
/* To the file that a flag names; nowhere where it is not given. */
bool command_write_flag(struct command *command, const char *flag, const struct text *text);
/* To the file of -o; without it to standard output. */
bool command_write_answer(struct command *command, const struct text *text);
#define COMMAND_FLAG_OUTPUT(words) \
    { \
        .name = "-o", .kind = FLAG_TEXT, .value = "FILE", .help = (words), \
        .absent = "standard output" \
    }
/* Seconds of a monotonic clock; only for keys that --timing asks for. */
double command_now_s(void);

extern const struct command_kind *const command_table[];
extern const uint32_t command_table_count;

/* Parses argv, runs, prints: the whole of main. */
int command_main(int argc, char **argv);

#endif

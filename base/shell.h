/* Commands of a shell script, as far as they can be told without running it.
 *
 * Read are quotes, comments, joined lines, redirections; variables and arrays that the script sets
 * (=, +=), $X, ${X}, ${X:-VALUE}, ${X[@]}, ${X[N]}; whole-number arithmetic in $((...)). What is
 * set under a condition, in a loop, in a function, by a command or by another file is not known:
 * such a word stays as it is written, and its dollar sign says so. */
#ifndef SHARDPLAN_BASE_SHELL_H
#define SHARDPLAN_BASE_SHELL_H

#include "base/setting.h"

struct shell_word {
    const char *text;
    struct diag_place place;
    bool open; /* it is a variable without quotes that is not known: any number of words */
};

struct shell_command {
    struct shell_word *words;
    uint32_t count;
    const char *inside; /* "if", "for": what decides whether it runs, how often; NULL: nothing */
};

struct shell_script {
    struct shell_command *commands;
    uint32_t count;
    const struct setting_given *given; /* by the caller */
};

/* Faults of the text are reported (B133). out->given stands for variables that the script has not
 * set so far; NULL: nothing does. */
bool shell_read(const char *name, const char *text, size_t length, struct arena *arena,
                struct shell_script *out, struct diag *diag);

#endif

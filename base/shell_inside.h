/* What the readers of a script share: its variables, words under way. */
#ifndef SHARDPLAN_BASE_SHELL_INSIDE_H
#define SHARDPLAN_BASE_SHELL_INSIDE_H

#include "base/setting_inside.h"
#include "base/shell.h"

#define SHELL_NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define SHELL_WORD_MAX 100000u
#define SHELL_BYTES_MAX 65536u

/* Values of a variable: one, or those of an array. */
struct shell_values {
    const char **items;
    const struct diag_place *places; /* where an array states each; NULL: where it is used */
    uint32_t count;
    bool list;  /* an array, or written as all of one */
    bool known; /* false: the text as written stands in items */
};

struct shell_variables {
    struct shell_variable *variables;
    uint32_t count, room;
    const struct setting_given *given; /* of the environment, NULL: none */
    struct arena *arena;
};

/* known false: nothing is known of it from here on. */
void shell_variables_push(struct shell_variables *variables, const char *name,
                          const struct shell_values *values);
/* NULL: not known. What the environment gives counts where the script has set nothing. */
const struct shell_values *shell_variables_find(const struct shell_variables *variables,
                                                const char *name, size_t length);
/* The script has set it, to what is not known. */
bool shell_variables_are_lost(const struct shell_variables *variables, const char *name);
/* What stands at the dollar sign or back quote `text`, to `out`; bytes that it takes, from 1. */
size_t shell_variables_read(const struct shell_variables *variables, const char *text,
                            size_t length, struct shell_values *out);

/* The value of whole-number arithmetic; false where it is not known. */
bool shell_arithmetic_read(const struct shell_variables *variables, const char *text, size_t length,
                           long long *out);

#endif

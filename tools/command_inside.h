/* What the files of the command line share; no subcommand includes it. */
#ifndef SHARDPLAN_TOOLS_COMMAND_INSIDE_H
#define SHARDPLAN_TOOLS_COMMAND_INSIDE_H

#include "tools/command.h"

/* Flags that every subcommand has; ends with a flag without name. */
extern const struct flag command_common_flags[];

/* Fills command->flags from the groups of its kind, then the common ones. */
void command_collect_flags(struct command *command);
/* Index of a flag of this command, UINT32_MAX if it has none of that name. */
uint32_t command_find_flag(const struct command *command, const char *name);
/* Reads the words behind the subcommand's name into values, positional. */
bool command_parse(struct command *command, int argc, char **argv);
void command_dump_help(struct command *command, struct text *out);
void command_dump_list(struct text *out);

#endif

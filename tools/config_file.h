/* A configuration of a runtime, given in place of the flags of a configuration. */
#ifndef SHARDPLAN_TOOLS_CONFIG_FILE_H
#define SHARDPLAN_TOOLS_CONFIG_FILE_H

#include "imports/importer.h"
#include "tools/problem_flags.h"

/* --config, then what is said beside it: --config-kind, --set. */
extern const struct flag config_file_flags[];
bool config_file_given(const struct command *command);

/* Is the file a configuration, and no saved plan? False: it cannot be read. */
bool config_file_check(struct command *command, const char *path, bool *out);

/* Reads it as a question with its plan, not checked yet. On false `refused` says whether the
 * runtime's own parser refuses the file: a negative answer, no fault in the input. */
bool config_file_read(struct command *command, const char *path, struct question *question,
                      struct plan **out, bool *refused);
/* Rules that its plan breaks stand where the file states the batch, or in the file as a whole. */
void config_file_place(const struct question *question, struct diag *diag);
/* "Understood of FILE: --tp 8 ...", for people. */
void config_file_dump(struct command *command, const struct question *question,
                      const struct plan *plan);

/* --model and --cluster for an importer, where they are given. */
bool config_file_request(struct command *command, const char *path, struct import_request *out);

#endif

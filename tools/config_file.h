/* A configuration of a runtime, given in place of the flags of a configuration. */
#ifndef SHARDPLAN_TOOLS_CONFIG_FILE_H
#define SHARDPLAN_TOOLS_CONFIG_FILE_H

#include "imports/importer.h"
#include "tools/problem_flags.h"

/* --config, --config-kind. */
extern const struct flag config_file_flags[];
bool config_file_given(const struct command *command);

/* Reads it as a question with its plan, not checked yet. On false `refused` says whether the
 * runtime's own parser refuses the file: a negative answer, no fault in the input. */
bool config_file_read(struct command *command, struct question *question, struct plan **out,
                      bool *refused);
/* "Understood of FILE: --tp 8 ...", for people. */
void config_file_dump(struct command *command, const struct question *question,
                      const struct plan *plan);

/* --model and --cluster for an importer, where they are given. */
bool config_file_request(struct command *command, const char *path, struct import_request *out);

#endif

/* A whole text file in memory. */
#ifndef SHARDPLAN_BASE_TEXT_FILE_H
#define SHARDPLAN_BASE_TEXT_FILE_H

#include <stdbool.h>

#include "base/diag.h"
#include "base/text.h"

/* Reads a file ("-": standard input) within json_limits.max_bytes. Refuses what cannot be read
 * (B101), is larger (B102), holds NUL or is no UTF-8 (B130). A byte order mark is dropped. */
bool text_file_read(const char *path, struct arena *arena, struct text *out, struct diag *diag);

#endif

/* Whole files as text. */
#ifndef SHARDPLAN_BASE_FILE_TEXT_H
#define SHARDPLAN_BASE_FILE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/text.h"

/* What messages call the file: "<stdin>" for "-", else the path, copied. */
const char *file_text_name(const char *path, struct arena *arena);
/* Reads the file ("-" is standard input) to its end. A file that cannot be read (B101) or has more
 * than `limit_bytes` (B102) is reported under `name`. */
bool file_text_read(const char *path, const char *name, uint64_t limit_bytes, struct arena *arena,
                    struct text *out, struct diag *diag);
/* The report that a text is above the limit, B102. Always false. */
bool file_text_refuse_size(const char *name, uint64_t limit_bytes, struct diag *diag);

#endif

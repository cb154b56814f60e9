/* Where shipped data files are found at run time. */
#ifndef SHARDPLAN_BASE_DATA_FOLDER_H
#define SHARDPLAN_BASE_DATA_FOLDER_H

#include "base/arena.h"

/* Absolute path of a file under the data folder: $SHARDPLAN_DATA, else the folder compiled in. */
const char *data_folder_find(const char *relative, struct arena *arena);
/* Names of the files in a data folder ending in `suffix`, without it, sorted; NULL-terminated. */
const char *const *data_folder_each(const char *relative, const char *suffix, struct arena *arena);

#endif

/* Which keys the parser of a runtime knows, with the type of each: data in imports/keys/. */
#ifndef SHARDPLAN_IMPORTS_KEYS_H
#define SHARDPLAN_IMPORTS_KEYS_H

#include "base/setting.h"

struct keys;

/* The table of NAME.json; never fails on shipped data but by a report. */
bool keys_read(const char *name, struct arena *arena, const struct keys **out, struct diag *diag);
/* Reports every setting that the parser would refuse: unknown keys (X660) with the nearest as
 * hint, values of another type or no choice (X661). False if any. */
bool keys_check(const struct keys *keys, const struct setting_list *settings, struct diag *diag);
bool keys_has(const struct keys *keys, const char *key);
/* Is the word one of those that the parser takes for it? */
bool keys_has_choice(const struct keys *keys, const char *key, const char *word);
/* Does the parser take more than one value for it? */
bool keys_take_several(const struct keys *keys, const char *key);

#endif

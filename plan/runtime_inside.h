/* What the files that read a runtime file share. */
#ifndef SHARDPLAN_PLAN_RUNTIME_INSIDE_H
#define SHARDPLAN_PLAN_RUNTIME_INSIDE_H

#include "plan/setup.h"

/* A list of names, absent or null: none. out: RUNTIME_LIST_MAX, NULL-terminated when it was. */
bool runtime_read_names(struct json_value object, const char *key, struct arena *arena,
                        const char **out, struct diag *diag);
/* "models". */
bool runtime_read_models(struct json_value object, struct arena *arena, struct runtime *out,
                         struct diag *diag);
/* "offloads", and their part of the digest. */
bool runtime_read_offloads(struct json_value object, struct arena *arena, struct runtime *out,
                           struct diag *diag);
unsigned long long runtime_offloads_digest(const struct runtime *runtime,
                                           unsigned long long digest);
/* "rank_orders", "needs". */
bool runtime_read_ranks(struct json_value object, struct arena *arena, struct runtime *out,
                        struct diag *diag);

#endif

/* The pieces that reading and writing a plan file are made of. */
#ifndef SHARDPLAN_PLAN_PLAN_PARTS_H
#define SHARDPLAN_PLAN_PLAN_PARTS_H

#include "plan/plan.h"

#define PLAN_FORMAT "shardplan/plan/1"
#define PLAN_DEGREE_MAX (1u << 24)

/* An optional list; its length, 0 when absent. False, reported, when it is something else. */
bool plan_parts_list(struct json_value object, const char *key, struct json_value *out,
                     uint32_t *count, struct diag *diag);
/* "7" or "0-15": first and how many. */
bool plan_parts_range(struct json_value object, const char *key, struct arena *arena,
                      uint32_t *first, uint32_t *count, struct diag *diag);

/* Groups and pipelines: "mesh" and "folds" at the top, or "groups" and "pipelines". */
bool plan_read_groups(struct json_value object, struct arena *arena, struct plan *out,
                      struct diag *diag);
bool plan_read_pipelines(struct json_value object, struct arena *arena, struct plan *out,
                         struct diag *diag);
bool plan_read_schedule(struct json_value object, struct arena *arena, struct plan *out,
                        struct diag *diag);

/* {"name": ZOO}, {"name": ..., "external": true, "axes": [...]}, or a model whole. */
bool plan_read_model(struct json_value value, struct arena *arena, struct model *out,
                     struct diag *diag);
bool plan_read_cluster(struct json_value value, struct arena *arena, struct cluster *out,
                       struct diag *diag);
/* embed false: by name where the zoo gives the very same, else whole all the same. */
void plan_dump_model(const struct model *model, bool embed, struct json_writer *out);
void plan_dump_cluster(const struct cluster *cluster, bool embed, struct json_writer *out);
/* What stands between here and plan_dump_unfold is written on one line; gives the writer's state to
 * restore. */
bool plan_dump_fold(struct json_writer *out);
void plan_dump_unfold(struct json_writer *out, bool before);

#endif

/* What the files that hold the rules of legality share.
 *
 * A rule says what it finds wrong and goes on; without a diag it stops at the first breach, says
 * nothing and allocates nothing, so that the search runs the same rules. */
#ifndef SHARDPLAN_PLAN_PLAN_RULE_H
#define SHARDPLAN_PLAN_PLAN_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

struct plan_rules {
    const struct problem *problem;
    const struct plan *plan;
    struct diag *diag; /* NULL: no words */
    bool good;
};

/* Marks the plan as illegal. hint may be NULL. */
void plan_rule_break(struct plan_rules *rules, enum diag_code code, const char *hint,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
/* No need to look further. */
bool plan_rule_is_settled(const struct plan_rules *rules);
/* A hint in arena memory, or NULL where nobody reads it. */
const char *plan_rule_hint(const struct plan_rules *rules, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

const char *plan_rule_dim_name(const struct mesh_dim *mesh);
/* " in group 'vision'", or "" in the common case; arena text. */
const char *plan_rule_where(const struct group *group, struct arena *arena);
/* Devices that a group may use: its slices, or the whole cluster. */
uint64_t plan_rule_count_devices(const struct group *group, const struct cluster *cluster);
uint64_t plan_rule_count_degrees(const struct group *group);

/* Meshes: dims, folds, devices, slices, what the runtime accepts of them. */
void plan_rule_mesh(struct plan_rules *rules);
/* One group's slices: devices that are there, each once. */
void plan_rule_slices(struct plan_rules *rules, const struct group *group);
/* One group's part of that: what the runtime asks to go together. */
void plan_rule_needs(struct plan_rules *rules, const struct group *group);
/* Rank orders that the runtime gives. Apart from the meshes, so that a search can ask for one
 * order after another. */
void plan_rule_order(struct plan_rules *rules);
/* Would a search try that rank order: is it one that the runtime lists? */
bool plan_rule_order_is_searched(const struct problem *problem, const struct plan *plan);
/* Divisibility of every axis that a dim cuts, and of the dims that cut nothing. */
void plan_rule_axes(struct plan_rules *rules);
/* Batch, schedule shape, layers, pipelines. */
void plan_rule_schedule(struct plan_rules *rules);
/* Policies: their own rules, and conflicts between two of a kind. */
void plan_rule_policies(struct plan_rules *rules);
/* What one policy asks of the others. */
void plan_rule_agreement(struct plan_rules *rules);
/* Policies that must not be missing. */
void plan_rule_needed(struct plan_rules *rules);
/* One policy's part of that: what it names exists. */
void plan_rule_targets(struct plan_rules *rules, const struct policy_use *use);
/* "3" or "0-11" to first and last; false when the text is no range. */
bool plan_rule_read_range(const char *text, uint64_t out[2]);

#endif

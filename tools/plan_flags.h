/* One configuration as flags: degrees of every dimension, micro-batch, chunks, schedule,
 * sharding, recomputation. */
#ifndef SHARDPLAN_TOOLS_PLAN_FLAGS_H
#define SHARDPLAN_TOOLS_PLAN_FLAGS_H

#include "planner/planner.h"
#include "tools/command.h"

/* Flags of commands that are given one configuration: what is not said has a stated default. */
const struct flag *plan_flags_build_given(struct arena *arena);
/* Flags of commands that search: each value may be "search", and what is not said is searched. */
const struct flag *plan_flags_build_searched(struct arena *arena);
/* Was any of them given? */
bool plan_flags_any(const struct command *command);

#define PLAN_FLAGS_ORDER "--rank-order"
#define PLAN_FLAGS_PLACES "--on-devices"
#define PLAN_FLAGS_USUAL "default"
#define PLAN_FLAGS_POLICY "--policy"
#define PLAN_FLAGS_ZERO "--zero"
#define PLAN_FLAGS_ZERO_POLICY "shard"
#define PLAN_FLAGS_KEEP_POLICY "keep"
#define PLAN_FLAGS_OFFLOAD "--offload"
#define PLAN_FLAGS_OFFLOAD_POLICY "offload"

/* What the flags fix, rank order but for being given left aside. */
bool plan_flags_read_values(struct command *command, struct planner_pins *out);
/* Pins for a search. */
bool plan_flags_read_pins(struct command *command, struct planner_pins *out);
/* The level of sharding that is pinned; 0: none, or it is searched. */
uint32_t plan_flags_find_zero(const struct planner_pins *pins);
/* The runtime has it. */
bool plan_flags_check_pins(struct command *command, const struct planner_pins *pins,
                           const struct runtime *runtime);
/* What is still searched of them is pinned to what takes least memory: sequences one by one, whole
 * layers recomputed,
 * one rank order. For questions about room alone. */
void plan_flags_pin_lean(struct planner_pins *pins, struct arena *arena);
/* A whole plan without layers; not checked yet. */
bool plan_flags_read(struct command *command, const struct problem *problem, struct plan *out);
/* The same from pins: what they leave open has the defaults of the flags, ranks the runtime's usual
 * order. */
void plan_flags_build(const struct problem *problem, const struct planner_pins *pins,
                      struct arena *arena, struct plan *out);
/* Recomputation of "selective" parts or of "full" layers. */
struct policy_use plan_flags_recompute(const char *granularity);

/* Uses that --offload states; 0 for "none". The flag's word for those of a plan. */
bool plan_flags_read_offload(struct command *command, struct policy_use **out, uint32_t *count);
const char *plan_flags_offload(const struct plan *plan, struct arena *arena);

/* Appends the policies that --policy states. */
bool plan_flags_read_uses(struct command *command, struct plan *plan);
/* Devices by --on-devices; " --on-devices 16-31,0-15" where the plan does not use all in their
 * order. */
bool plan_flags_read_places(struct command *command, struct planner_pins *out);
void plan_flags_dump_places(const struct plan *plan, struct text *out);
/* Is it what --zero, --recompute or --offload say? */
bool plan_flags_has_words(const struct policy_use *use);
/* " --policy '[...]'" with all others; nothing where there are none. */
void plan_flags_dump_uses(const struct plan *plan, struct arena *arena, struct text *out);

/* What a plan says in terms of these flags. */
struct plan_words {
    uint32_t degrees[DIM_MAX];      /* per dim_table entry, 1: off */
    uint32_t variants[DIM_MAX];     /* per dim_table entry */
    uint32_t zero;                  /* level of state sharding */
    const char *recompute;          /* "none", "selective", "full", "full:2" */
    const char *offload;            /* "none", "optimizer,gradients:0.5+activations" */
};
void plan_flags_describe(const struct plan *plan, struct arena *arena, struct plan_words *out);
/* The plan as flags: "--tp 8 --pp 4 ...", all that plan_flags_read needs for the same plan. */
void plan_flags_dump(const struct plan *plan, const struct runtime *runtime, struct arena *arena,
                     struct text *out);
/* The rank order is the runtime's usual one. */
bool plan_flags_is_default_order(const struct plan *plan, const struct runtime *runtime);

#endif

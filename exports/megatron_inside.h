/* What the files that write for Megatron-LM share.
 *
 * Flags and rules are those of its parser (megatron/training/arguments.py, transformer_config.py,
 * pipeline_parallel_layer_layout.py, parallel_state.py) at commit d98e8a64 of August 2026. */
#ifndef SHARDPLAN_EXPORTS_MEGATRON_INSIDE_H
#define SHARDPLAN_EXPORTS_MEGATRON_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "exports/express.h"
#include "exports/exporter.h"

#define MEGATRON "Megatron" /* what messages call it */

/* A list of arguments under way: one per line, or the lines of a bash array. */
struct megatron_arguments {
    struct text *text;
    bool script;
};

/* A comment line. */
void megatron_push_note(const struct megatron_arguments *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void megatron_push_flag(const struct megatron_arguments *out, const char *flag);
/* A flag with one value; no value has a blank or a quote in it. */
void megatron_push(const struct megatron_arguments *out, const char *flag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The mesh and the policies in the runtime's own terms. */
struct megatron_sizes {
    uint32_t tp, cp, dp, pp, ep;
    bool sequence_parallel;
    const char *context_kind; /* value of --cp-comm-type */
    bool pipeline_inside;     /* rank order tp-cp-ep-pp-dp */
};
/* Layers whose activations go to the host, 0: none. */
uint32_t megatron_count_moved(const struct problem *problem, const struct plan *plan);
void megatron_find_sizes(const struct plan *plan, struct megatron_sizes *out);
/* Do the ranks run as in its order with the pipeline outermost, or inside data parallelism? */
bool megatron_follows_order(const struct group *group, bool pipeline_inside);
/* Its parser wants CUDA_DEVICE_MAX_CONNECTIONS=1. */
bool megatron_wants_one_connection(const struct plan *plan);

bool megatron_check_model(const struct problem *problem, const struct plan *plan,
                          struct diag *diag);
void megatron_push_model(const struct problem *problem, const struct megatron_arguments *out);

/* A row of layers that scan, attend or feed forward, each alone. */
struct transformer;
struct transformer_scan;
bool megatron_is_hybrid(const struct transformer *shape);
bool megatron_check_hybrid(const struct plan *plan, uint32_t cp, struct diag *diag);
void megatron_push_pattern(const struct transformer *shape, const struct plan *plan,
                           const struct megatron_arguments *out);
void megatron_push_scan(const struct transformer_scan *scan, const struct megatron_arguments *out);

/* Setup, placement, schedule. */
bool megatron_check_plan(const struct problem *problem, const struct plan *plan, struct diag *diag);
void megatron_push_plan(const struct problem *problem, const struct plan *plan,
                        const struct megatron_arguments *out);

/* What stands before and after the arguments of a launch script. */
void megatron_open_script(const struct problem *problem, const struct plan *plan, struct text *out);
void megatron_close_script(const struct problem *problem, struct text *out);
/* Which of its programs trains the model. */
const char *megatron_find_program(const struct problem *problem);

#endif

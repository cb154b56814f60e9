/* One published training run: what its row says, and the question that it answers.
 *
 * The columns are those of docs/validate.md. Text stays as the source wrote it; what has to be
 * understood of it (accelerator, network, recomputation, overlap) is understood in one place each,
 * and what cannot be is a reason to skip the row. */
#ifndef SHARDPLAN_TOOLS_MEASURED_H
#define SHARDPLAN_TOOLS_MEASURED_H

#include "base/csv.h"
#include "planner/planner.h"
#include "prices/prices.h"

/* Cells of one row; "" where there is no such column. Numbers: 0 where the cell is empty. */
struct measured {
    const char *id, *source, *model, *arch, *accelerator, *intra_net, *inter_net, *dtype;
    const char *framework, *task, *sharding, *recompute, *schedule, *attention, *overlap;
    const char *memory_kind, *notes, *tier, *missing;
    uint32_t layers, hidden, ffn, heads, kv_heads, head_dim, vocab, seq_length;
    uint32_t experts, top_k, moe_ffn, shared_ffn, dense_layers;
    uint32_t devices, node_devices;
    uint32_t tp, pp, vpp, cp, ep, etp, dp, micro_batch, global_batch;
    bool gated, sequence_parallel;
    double step_s; /* measured */
    double memory_bytes; /* 0: not measured */
};

/* False with a reason when a number is malformed or no time can be found. */
bool measured_read(const struct csv *csv, uint32_t row, struct arena *arena, struct measured *out,
                   const char **reason);
/* Has the table the columns without which no row can be compared? */
bool measured_is_table(const struct csv *csv);

/* What of a peak the source printed. */
enum measured_memory { MEASURED_WHOLE, MEASURED_ALLOCATED };
enum measured_memory measured_memory_kind(const struct measured *row);

/* Native JSON of the model and of the cluster, which the readers read; NULL with a reason where the
 * row does not say enough. Equal texts mean equal things. */
const char *measured_model_text(const struct measured *row, struct arena *arena,
                                const char **reason);
const char *measured_cluster_text(const struct measured *row, struct arena *arena,
                                  const char **reason);
/* Name of the runtime file that speaks for the row's framework; NULL with a reason. */
const char *measured_runtime_name(const struct measured *row, const struct runtime *runtimes,
                                  uint32_t count, struct arena *arena, const char **reason);
/* The runtime as the row used it: features that its overlap column switches on or off. */
void measured_runtime_switch(const struct measured *row, struct runtime *runtime);
bool measured_setup(const struct measured *row, const struct runtime *runtime, struct setup *out,
                    struct arena *arena, const char **reason);
/* Degrees, micro-batch, schedule, sharding, recomputation. */
bool measured_pins(const struct measured *row, const struct problem *problem, struct arena *arena,
                   struct planner_pins *out, const char **reason);

/* The first of `words` (NULL-terminated) that stands in the text, without regard to case; NULL if
 * none. */
const char *measured_find_word(const char *text, const char *const *words);

#endif

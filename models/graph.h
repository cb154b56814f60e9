/* Models as graphs of operators: {"axes": [...], "parts": [{"name", "repeat", "input", "inputs",
 * "ops": [...]}]}.
 *
 * Parts stand in the order of the chain; each runs `repeat` times, from the tensor "input" that the
 * part before wrote last to the tensor that its own last op writes. An op says what it reads
 * (tensors
 * of its part, by name), its weights and what it writes; its domain is the union of their axes
 * and of
 * "axes" (of a stream: "axes" alone, where stated). FLOPs and bytes of contractions and attention
 * follow from axes and density; of others "bytes" and "flops" are stated per element.
 *
 * Dimensions cut axes by their names, so a graph is cut where it has axes called as those of
 * transformers: batch, seq, heads, ffn, experts, vocab, ... Other axes stay whole. */
#ifndef SHARDPLAN_MODELS_GRAPH_H
#define SHARDPLAN_MODELS_GRAPH_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/json.h"
#include "models/model.h"

#define GRAPH_PARTS_MIN 3 /* the two ends, which run once, and layers between */
#define GRAPH_PARTS_MAX 9 /* the two ends, and as many as a work program has room for
                           * (plan/work.h) */

/* Words of the format in the order of the enums, NULL-terminated. */
extern const char *const graph_class_names[];
extern const char *const graph_kind_names[];
extern const char *const graph_density_names[];

/* M208: a fault of the graph, at its place. out->transformer is NULL. */
bool graph_read(struct json_value graph, const char *name, struct arena *arena, struct model *out,
                struct diag *diag);
/* The object that reads back to it. */
void graph_dump(const struct model *model, struct json_writer *out);

#endif

/* What the files that read, build and dump a model share. */
#ifndef SHARDPLAN_MODELS_MODEL_INSIDE_H
#define SHARDPLAN_MODELS_MODEL_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/json.h"
#include "models/model.h"
#include "models/transformer.h"

#define MODEL_FORMAT "shardplan/model/1"

#define TRANSFORMER_NATIVE "native" /* architecture of descriptions that name none */

/* What a model file says. */
struct model_text {
    const char *name, *source; /* NULL: not stated */
    uint64_t parameters;       /* as stated for comparison, 0: not stated */
    struct transformer transformer;
    struct json_value graph; /* present: an operator graph instead */
};

/* {"format": MODEL_FORMAT, "name", "transformer": {...} or "graph": {...}, "parameters", "source",
 * "notes"}. */
bool model_native_read(struct json_value object, struct arena *arena, struct model_text *out,
                       struct diag *diag);

/* Words of the native format, in the order of the enums, NULL-terminated. */
extern const char *const model_norm_names[NORM_KIND_COUNT + 1];
extern const char *const model_position_names[POSITION_KIND_COUNT + 1];

/* Sets head_dim to hidden / heads, or reports that it is no whole number. */
bool transformer_find_head_dim(struct transformer *transformer, struct diag_place place,
                               struct diag *diag);

/* Digest of the description alone: the same computation under any name. */
unsigned long long model_build_digest(const struct model *model, struct arena *arena);

#endif

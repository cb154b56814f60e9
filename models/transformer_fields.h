/* Keys of the native format for what goes beyond a plain decoder. */
#ifndef SHARDPLAN_MODELS_TRANSFORMER_FIELDS_H
#define SHARDPLAN_MODELS_TRANSFORMER_FIELDS_H

#include <stdbool.h>

#include "base/diag.h"
#include "base/json.h"
#include "models/transformer.h"

/* The keys of one object of the description ("": its own), NULL-terminated. out: room for 33. */
void transformer_fields_each(const char *object, const char **out);
/* Those that `object`, a description, has, in it and in its parts. Of "moe" and "vision" other keys
 * are left to the caller. */
bool transformer_fields_read(struct json_value object, struct transformer *out, struct diag *diag);
/* Members of one object that differ from zero; the object is open. */
void transformer_fields_dump(const char *object, const struct transformer *shape,
                             struct json_writer *out);

#endif

/* Are two models the same computation, whatever they are called? */
#ifndef SHARDPLAN_EXPORTS_SAME_MODEL_H
#define SHARDPLAN_EXPORTS_SAME_MODEL_H

#include <stdbool.h>

#include "models/model.h"

/* Same axes, ops, tensors, parts in the same chain; names of models and files aside. */
bool same_model(const struct model *a, const struct model *b);

#endif

/* Models of which only a part is trained: whole parts frozen, or low-rank adapters beside frozen
 * matrices. */
#ifndef SHARDPLAN_MODELS_TRAINABLE_H
#define SHARDPLAN_MODELS_TRAINABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "models/model.h"

/* `model` with the weights of those parts frozen; NULL: of every part. Lists that change are
 * copies in the arena, the rest is shared; out->base is `model`. M220: a part that it does not
 * have. */
bool trainable_freeze(const struct model *model, const char *const *parts, struct arena *arena,
                      struct model *out, struct diag *diag);
/* `model` with every weight frozen, and beside each matrix W of its middle parts whose result is an
 * activation the product of two trained ones, A over (in, rank) and B over (rank, out) (LoRA, Hu et
 * al. 2021): y = W x + B A x. Matrices side by side (K and V, gate and up) get a pair each, experts
 * one each. M220: no room for another axis, or nothing to adapt. */
bool trainable_adapt(const struct model *model, uint32_t rank, struct arena *arena,
                     struct model *out, struct diag *diag);

#endif

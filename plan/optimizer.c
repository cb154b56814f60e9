/* The optimisers known by name, with the memory and traffic of one parameter. */
#include <string.h>

#include "plan/setup.h"

/* Bytes of state: states per parameter in the published recipes (the fp32 master copy is the
 * runtime's). Traffic of one fused update counts each byte once: master weights read and written (4
 * + 4), states read and written, gradient read (4, or 2 where the recipe keeps 16-bit gradients),
 * 16-bit weights written (2). That gives the published 30 B of fused Adam, 18-22 B of SGD with
 * momentum, 14-16 B of 8-bit Adam. In place: 16-bit weights read and written (2 + 2), gradient (2),
 * states of their format. Adafactor (Shazeer and Stern 2018) keeps a row and a column of second
 * moments per matrix, too few to count, and reads the gradient twice: for those, for the update.
 * Lion (Chen et al. 2023) keeps one moment. */
#define OPTIMIZERS(X) \
    X("adam", "Adam or AdamW, two fp32 moments", 8, false, 30) \
    X("adam-8bit", "Adam with block-wise quantised 8-bit moments", 2, false, 16) \
    X("adam-16bit", "Adam on 16-bit weights, gradients, moments: 8 bytes per parameter in all", 4, \
      true, 14) \
    X("adafactor", "factored second moment, no first", 0, false, 18) \
    X("lion", "sign of one fp32 moment", 4, false, 22) \
    X("sgd", "stochastic gradient descent, no state", 0, false, 14) \
    X("sgd-momentum", "stochastic gradient descent with one fp32 moment", 4, false, 22)

#define AS_OPTIMIZER(name, summary, state_bytes, in_place, update_bytes) \
    {name, summary, state_bytes, in_place, update_bytes},
#define AS_NAME(name, summary, state_bytes, in_place, update_bytes) name,

static const struct optimizer optimizers[] = {OPTIMIZERS(AS_OPTIMIZER)};
static const char *const names[] = {OPTIMIZERS(AS_NAME) NULL};

const char *const *optimizer_names(void)
{
    return names;
}

const struct optimizer *optimizer_find(const char *name)
{
    for (size_t i = 0; i < sizeof optimizers / sizeof optimizers[0]; i++) {
        if (strcmp(optimizers[i].name, name) == 0)
            return &optimizers[i];
    }
    return NULL;
}

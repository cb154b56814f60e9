/* The optimisers known by name, with the memory and traffic of one parameter. */
#include <string.h>

#include "plan/setup.h"

/* Bytes of state: states per parameter in the published recipes (the fp32 master copy is the
 * runtime's). Traffic of one fused update counts each byte once: master weights read and written (4
 * + 4), states read and written, gradient read (4, or 2 where the recipe keeps 16-bit gradients),
 * 16-bit weights written (2). That gives the published 30 B of fused Adam, 18-22 B of SGD with
 * momentum, 14-16 B of 8-bit Adam. */
#define OPTIMIZERS(X) \
    X("adam", "Adam or AdamW, two fp32 moments", 8, 30) \
    X("adam-8bit", "Adam with block-wise quantised 8-bit moments", 2, 16) \
    X("sgd", "stochastic gradient descent, no state", 0, 14) \
    X("sgd-momentum", "stochastic gradient descent with one fp32 moment", 4, 22)

#define AS_OPTIMIZER(name, summary, state_bytes, update_bytes) \
    {name, summary, state_bytes, update_bytes},
#define AS_NAME(name, summary, state_bytes, update_bytes) name,

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

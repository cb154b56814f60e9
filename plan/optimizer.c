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
 * Lion (Chen et al. 2023) keeps one moment.
 *
 * Muon (Jordan et al. 2024, arXiv 2502.16982 section 2) keeps one moment per matrix, and updates
 * embedding, output matrix and vectors by Adam; five steps as both use.
 *
 * Zeroth order: MeZO (arXiv 2305.17333 algorithm 1) perturbs the 16-bit weights by a random vector
 * that a seed makes again: +e, forward, -2e, forward, +e, update. Four passes that read and write
 * them (2 + 2); making the numbers costs no traffic where it is fused (arXiv 2410.09823). */
#define OPTIMIZERS(X) \
    X("adam", .summary = "Adam or AdamW, two fp32 moments", .state_bytes = 8, .update_bytes = 30) \
    X("adam-8bit", .summary = "Adam with block-wise quantised 8-bit moments", .state_bytes = 2, \
      .update_bytes = 16) \
    X("adam-16bit", \
      .summary = "Adam on 16-bit weights, gradients, moments: 8 bytes per parameter in all", \
      .state_bytes = 4, .in_place = true, .update_bytes = 14) \
    X("adafactor", .summary = "factored second moment, no first", .update_bytes = 18) \
    X("lion", .summary = "sign of one fp32 moment", .state_bytes = 4, .update_bytes = 22) \
    X("muon", \
      .summary = "one fp32 moment, made orthogonal, per matrix; Adam for tables and vectors", \
      .state_bytes = 4, .update_bytes = 22, .matrix_steps = 5, .rest = &optimizers[0]) \
    X("sgd", .summary = "stochastic gradient descent, no state", .update_bytes = 14) \
    X("sgd-momentum", .summary = "stochastic gradient descent with one fp32 moment", \
      .state_bytes = 4, .update_bytes = 22) \
    X("zo", \
      .summary = \
          "zeroth order (MeZO): two forwards of perturbed weights, no gradients, no states", \
      .in_place = true, .update_bytes = 16, .forwards = 2)

#define AS_OPTIMIZER(word, ...) {.name = (word), __VA_ARGS__},
#define AS_NAME(word, ...) word,

static const struct optimizer optimizers[] = {OPTIMIZERS(AS_OPTIMIZER)};
static const char *const names[] = {OPTIMIZERS(AS_NAME) NULL};

#define COUNT (sizeof optimizers / sizeof optimizers[0])

const char *const *optimizer_names(void)
{
    return names;
}

const struct optimizer *optimizer_find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(optimizers[i].name, name) == 0) {
            return &optimizers[i];
        }
    }
    return NULL;
}

const struct optimizer *optimizer_find_forwards(void)
{
    size_t i = 0;
    while (optimizers[i].forwards == 0) {
        i++;
    }
    return &optimizers[i];
}

const struct optimizer *optimizer_of(const struct optimizer *optimizer, bool is_matrix)
{
    return is_matrix || optimizer->rest == NULL ? optimizer : optimizer->rest;
}

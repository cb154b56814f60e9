/* The analytic judge: composes prices in closed form. */
#ifndef SHARDPLAN_COSTMODEL_COSTMODEL_H
#define SHARDPLAN_COSTMODEL_COSTMODEL_H

#include "costmodel/collective_cost.h"
#include "plan/estimator.h"
#include "prices/prices.h"

/* What an analytic judge remembers between questions; all in its arena. */
struct costmodel {
    const struct problem *problem;
    const struct prices *prices;
    struct arena *arena;
    struct collective_book *book;
    struct costmodel_cache *cache;
    double provenance_s[PROVENANCE_COUNT]; /* priced kernel seconds by origin, since init */
};

void costmodel_init(struct costmodel *model, const struct problem *problem,
                    const struct prices *prices, struct arena *arena);
/* Gives back what is kept per stream. */
void costmodel_release(struct costmodel *model);
/* Prices of kernels are asked for again: constants of devices or runtime have changed. */
void costmodel_forget_kernels(struct costmodel *model);
/* The judge's interface; out->state is the model, which must outlive it. */
void costmodel_estimator(struct costmodel *model, struct estimator *out);

/* Seconds of one message of a work program, alone on an idle cluster; base as in struct
 * estimator. */
double costmodel_message_s(struct costmodel *model, const struct work *work,
                           const struct work_message *message, uint32_t base);
/* One block priced on a site; like as in struct estimator. */
void costmodel_piece(struct costmodel *model, const struct work *work, uint32_t block,
                     uint32_t site, const struct piece *like, struct piece *out);
void costmodel_combine(struct costmodel *model, const struct load *load, bool detail,
                       struct arena *arena, struct estimate *out);
/* Never above what costmodel_combine gives for the same load: from paths already seen through this
 * stream, with the slowest update behind. Cheap. */
double costmodel_bound(struct costmodel *model, const struct load *load);
/* Capacity minus peak of one stage. */
double costmodel_room_bytes(struct costmodel *model, const struct load *load, uint32_t stage);

#endif

/* The fastest placement of a leaf's layers: the partition's own first, then every other that may be
 * faster still.
 *
 * A partition minimises what is known of a pipeline without its stream. What a step takes hangs on
 * more: on which stage the sums of gradients end last, on the paths that a schedule's slots make.
 * So all placements are walked whose busiest stage is not slower alone than the best step so far,
 * each bounded, then judged. Where that are too many the rest stays open, which is said. */
#include <string.h>

#include "base/number.h"
#include "planner/planner_inside.h"

/* A leaf is left open with more placements than that, with more of them bounded, or judged; and
 * where unlike layers go to more chunks than that one by one. */
#define WAYS_MAX 20000.0
#define BOUNDED_MAX 4096u
#define JUDGED_MAX 1024u
#define CHUNKS_MAX 12u

struct others {
    struct placing *placing;
    struct layout_visitor visitor;
    uint32_t bounded, judged;
};

static double find_limit_s(const struct placing *placing)
{
    return number_smaller(placing->limit_s, placing->best_s);
}

static void judge(struct placing *placing)
{
    const struct estimator *estimator = placing->search->estimator;
    const struct schedule_shape *shape = &placing->load->work->shape;
    struct estimate estimate;
    estimator->combine(estimator->state, placing->load, false, placing->arena, &estimate);
    placing->looked = true;
    if (estimate.fits && estimate.step_s <= placing->limit_s && estimate.step_s < placing->best_s) {
        placing->best_s = estimate.step_s;
        memcpy(placing->best_layers, placing->layers,
               (size_t)shape->stages * shape->chunks * sizeof *placing->best_layers);
    }
}

static bool may_win(const struct placing *placing)
{
    const struct estimator *estimator = placing->search->estimator;
    return estimator->bound(estimator->state, placing->load) * ROUNDING <= find_limit_s(placing);
}

/* The busiest stage works once per micro-batch. */
static double find_most_s(const struct placing *placing)
{
    return find_limit_s(placing) / placing->load->work->shape.micro_batches / ROUNDING;
}

static bool visit(void *state)
{
    struct others *others = state;
    struct placing *placing = others->placing;
    others->bounded++;
    if (may_win(placing)) {
        others->judged++;
        judge(placing);
        others->visitor.most_s = find_most_s(placing);
    }
    return others->bounded < BOUNDED_MAX && others->judged < JUDGED_MAX;
}

void placement_init(const struct search *search, struct load *load, uint32_t *layers,
                    double limit_s, struct arena *arena, struct placing *out)
{
    const struct schedule_shape *shape = &load->work->shape;
    *out = (struct placing){.search = search,
                            .load = load,
                            .layers = layers,
                            .limit_s = limit_s,
                            .arena = arena,
                            .best_s = 1e300};
    out->best_layers = ARENA_PUSH(arena, uint32_t, (size_t)shape->stages * shape->chunks);
}

void placement_try(struct placing *placing, struct layout_room room, uint32_t *counts)
{
    if (placing->search->options->no_prune || may_win(placing)) {
        judge(placing);
    }
    if (layout_other(placing->search, placing->load, room, placing->layers, counts,
                     placing->arena) &&
        may_win(placing)) {
        judge(placing);
    }
    /* two chains hold the same layers: the partition is all there is */
    placing->open = placing->load->stream->copies <= 1;
}

bool placement_is_walked(const struct model *model, uint32_t stages, uint32_t chunks)
{
    return chunks == 1 || stages * chunks <= CHUNKS_MAX || layout_is_alike(model);
}

void placement_walk(struct placing *placing, struct layout_room room)
{
    const struct schedule_shape *shape = &placing->load->work->shape;
    if (!placement_is_walked(placing->search->problem->model, shape->stages, shape->chunks)) {
        placing->open = true;
        return;
    }
    struct others others = {.placing = placing, .visitor.visit = visit};
    others.visitor.most_ways = WAYS_MAX;
    others.visitor.state = &others;
    others.visitor.splits = placing->splits;
    others.visitor.most_s = find_most_s(placing);
    placing->open = !layout_each(placing->search, placing->load, room, &others.visitor,
                                 placing->layers, placing->arena);
}

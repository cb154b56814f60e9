/* No partition of the layers is done sooner than the planner's bound says, under any schedule. */
#include "costmodel/replay.h"
#include "planner/planner_inside.h"
#include "tests/law/each_stream.h"

#define ROUNDS 48

struct chain {
    double forward_s, input_s, weight_s, again_s, first_s, last_s, send_s;
    uint32_t again_layers;
    bool even; /* chunks of a stage differ by one layer at most */
};

static struct chain throw_chain(void)
{
    const bool recomputes = random_pop_below(&dice, 2) == 0;
    return (struct chain){.forward_s = 0.01 + random_pop_unit(&dice),
                          .input_s = random_pop_unit(&dice),
                          .weight_s = random_pop_unit(&dice),
                          .again_s = recomputes ? random_pop_unit(&dice) : 0.0,
                          .again_layers = recomputes ? random_pop_below(&dice, 4) : 0,
                          .first_s = random_pop_below(&dice, 2) * 3.0 * random_pop_unit(&dice),
                          .last_s = random_pop_below(&dice, 2) * 3.0 * random_pop_unit(&dice),
                          .send_s = random_pop_below(&dice, 2) * random_pop_unit(&dice),
                          .even = random_pop_below(&dice, 3) > 0};
}

/* Every model chunk has one layer; the others go anywhere, or by turns within a stage. */
static uint32_t throw_layers(const struct stream *stream, bool even, uint32_t *layers)
{
    const struct schedule_shape *shape = &stream->shape;
    const uint32_t more = random_pop_below(&dice, 4 * shape->stages * shape->chunks);
    uint32_t *turns = ARENA_PUSH(&arena, uint32_t, shape->stages);
    for (uint32_t i = 0; i < shape->stages * shape->chunks; i++) {
        layers[i] = 1;
    }
    for (uint32_t i = 0; i < more; i++) {
        const uint32_t stage = random_pop_below(&dice, shape->stages);
        const uint32_t local =
            even ? turns[stage]++ % shape->chunks : random_pop_below(&dice, shape->chunks);
        layers[stream->model_chunk[stage * shape->chunks + local]]++;
    }
    return more + shape->stages * shape->chunks;
}

static double makespan_s(const struct stream *stream, const struct chain *chain,
                         const uint32_t *layers)
{
    const uint32_t chunks = stream->shape.stages * stream->shape.chunks;
    double *forward_s = ARENA_PUSH(&arena, double, chunks),
           *backward_s = ARENA_PUSH(&arena, double, chunks);
    double *input_s = ARENA_PUSH(&arena, double, chunks),
           *weight_s = ARENA_PUSH(&arena, double, chunks),
           *send_s = ARENA_PUSH(&arena, double, chunks);
    for (uint32_t i = 0; i < chunks; i++) {
        const double count = layers[i];
        const uint32_t again = layers[i] < chain->again_layers ? layers[i] : chain->again_layers;
        const double extra_s =
            (i == 0 ? chain->first_s : 0.0) + (i + 1 == chunks ? chain->last_s : 0.0);
        forward_s[i] = count * chain->forward_s + 0.5 * extra_s;
        input_s[i] = count * chain->input_s + again * chain->again_s + 0.25 * extra_s;
        weight_s[i] = count * chain->weight_s + 0.25 * extra_s;
        backward_s[i] = input_s[i] + weight_s[i];
        send_s[i] = chain->send_s;
    }
    const struct replay_times times = {.forward_s = forward_s,
                                       .backward_s = backward_s,
                                       .input_s = input_s,
                                       .weight_s = weight_s,
                                       .send_s = send_s,
                                       .send_back_s = send_s,
                                       .send_blocks = random_pop_below(&dice, 2) == 0};
    struct replay_plan plan;
    struct replay_result result;
    replay_build(stream, &arena, &plan);
    replay_find_times(&plan, &times, arena_push(&arena, 1, replay_count_scratch(&plan)), &result);
    return result.makespan_s;
}

static bool has_weight_slots(const struct stream *stream)
{
    for (uint32_t stage = 0; stage < stream->shape.stages; stage++) {
        for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
            if (stream->slots[stage][i].kind == SLOT_WEIGHT_GRADIENT) {
                return true;
            }
        }
    }
    return false;
}

static struct pipeline_terms terms_of(const struct chain *chain, const struct stream *stream,
                                      uint32_t layers, bool splits)
{
    const double layer_s = chain->forward_s + chain->input_s + chain->weight_s;
    return (struct pipeline_terms){
        .layer_s = layer_s,
        .first_s = chain->first_s,
        .last_s = chain->last_s,
        .again_s = chain->again_s,
        .layer_pass_s = {layer_s, chain->forward_s},
        .first_pass_s = {chain->first_s, 0.5 * chain->first_s},
        .layer_round_s = {layer_s, layer_s - chain->weight_s},
        .ends_round_s = {chain->first_s + chain->last_s, 0.75 * (chain->first_s + chain->last_s)},
        .send_s = chain->send_s,
        .again_layers = chain->again_layers,
        .layers = layers,
        .stages = stream->shape.stages,
        .chunks = stream->shape.chunks,
        .micro_batches = stream->shape.micro_batches,
        .splits = splits,
        .uneven = !chain->even};
}

static double best_share; /* the most of a makespan that a bound reached */

static void law(const struct schedule *schedule, const struct stream *stream)
{
    ck_assert_msg(schedule->splits || !has_weight_slots(stream), "%s does not say that it splits",
                  schedule->name);
    if (stream->copies > 1) {
        return; /* no plan has such a stream */
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const struct arena_mark mark = arena_find_mark(&arena);
        const struct chain chain = throw_chain();
        uint32_t *layers =
            ARENA_PUSH(&arena, uint32_t, stream->shape.stages * stream->shape.chunks);
        const uint32_t count = throw_layers(stream, chain.even, layers);
        const double step_s = makespan_s(stream, &chain, layers);
        const struct pipeline_terms terms = terms_of(&chain, stream, count, schedule->splits);
        const double bound_s = pipeline_bound_s(&terms);
        ck_assert_msg(bound_s * ROUNDING <= step_s && !pipeline_exceeds(&terms, step_s / ROUNDING),
                      "%s, %u stages, %u chunks, %u micro-batches, %u layers, %s, %u again: bound "
                      "%.17g s, step "
                      "%.17g s",
                      schedule->name, stream->shape.stages, stream->shape.chunks,
                      stream->shape.micro_batches, count, chain.even ? "even" : "uneven",
                      chain.again_layers, bound_s, step_s);
        best_share = bound_s / step_s > best_share && stream->shape.stages > 2 ? bound_s / step_s
                                                                               : best_share;
        arena_pop(&arena, mark);
    }
}

START_TEST(no_step_is_shorter_than_the_bound)
{
    each_stream(law);
    ck_assert_double_gt(best_share, 0.99); /* it is worth something */
}
END_TEST

TAP_MAIN("pipeline_bound", no_step_is_shorter_than_the_bound)

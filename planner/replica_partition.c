/* States are (stages so far, layers, devices, replicas of the last stage). */
#include "planner/replica_partition.h"

#include "base/number.h"

struct states {
    const struct replica_chain *chain;
    const struct replica_row *row;
    uint32_t stages, replicas; /* replicas 0: free */
    double *compute_s, *bytes; /* [layers before]: sums along the chain */
    double *best_s;            /* [state] */
    uint32_t *from;            /* [state]: layers before the last stage, replicas of the
                                         * stage before it: layer * (devices + 1) + replicas */
};

static size_t state_of(const struct states *states, uint32_t stage, uint32_t layers,
                       uint32_t devices, uint32_t replicas)
{
    const size_t wide = states->row->count + 1, deep = states->chain->layers + 1;
    const size_t place = (stage * deep + layers) * wide + devices;
    return states->replicas > 0 ? place : place * wide + replicas;
}

/* --- what stages and joints take -------------------------------------------------------------- */

static double slowest(const struct replica_row *row, uint32_t first, uint32_t count)
{
    double least = row->speeds == NULL ? 1.0 : row->speeds[first];
    for (uint32_t i = 1; i < count && row->speeds != NULL; i++) {
        least = number_smaller(least, row->speeds[first + i]);
    }
    return least;
}

static double narrowest(const struct replica_row *row, uint32_t first, uint32_t count,
                        uint32_t other, uint32_t other_count)
{
    double least = REPLICA_PARTITION_NEVER_S;
    for (uint32_t a = first; a < first + count; a++) {
        for (uint32_t b = other; b < other + other_count; b++) {
            if (a != b) {
                least = number_smaller(least, row->bandwidth_Bps[(size_t)a * row->count + b]);
            }
        }
    }
    return least;
}

/* Ring all-reduce. */
static double sum_s(const struct replica_row *row, double bytes, uint32_t first, uint32_t count)
{
    return count == 1
               ? 0.0
               : 2.0 * (count - 1) / count * bytes / narrowest(row, first, count, first, count);
}

static double joint_s(const struct replica_row *row, double bytes, const struct replica_stage *a,
                      const struct replica_stage *b)
{
    const double narrow = narrowest(row, a->first_place, a->replicas, b->first_place, b->replicas);
    return bytes / (a->replicas * (double)b->replicas * narrow);
}

static double stage_s(const struct states *states, const struct replica_stage *stage)
{
    const uint32_t end = stage->first_layer + stage->layers;
    const double compute_s = states->compute_s[end] - states->compute_s[stage->first_layer];
    return states->chain->micro_batches * compute_s /
               (stage->replicas * slowest(states->row, stage->first_place, stage->replicas)) +
           sum_s(states->row, states->bytes[end] - states->bytes[stage->first_layer],
                 stage->first_place, stage->replicas);
}

/* --- the programme ---------------------------------------------------------------------------- */

static void open_states(struct states *states, struct arena *arena)
{
    const struct replica_chain *chain = states->chain;
    const size_t all = state_of(states, states->stages + 1, 0, 0, 0);
    states->compute_s = ARENA_PUSH(arena, double, chain->layers + 1);
    states->bytes = ARENA_PUSH(arena, double, chain->layers + 1);
    states->best_s = ARENA_PUSH(arena, double, all);
    states->from = ARENA_PUSH(arena, uint32_t, all);
    for (uint32_t i = 0; i < chain->layers; i++) {
        states->compute_s[i + 1] =
            states->compute_s[i] + chain->forward_s[i] + chain->backward_s[i];
        states->bytes[i + 1] = states->bytes[i] + chain->weight_bytes[i];
    }
    for (size_t i = 0; i < all; i++) {
        states->best_s[i] = REPLICA_PARTITION_NEVER_S;
    }
}

/* Replicas of every stage stated: stages stand at multiples of them. */
static bool is_wanted(const struct states *states, uint32_t place, uint32_t replicas)
{
    return states->replicas == 0 || (replicas == states->replicas && place % states->replicas == 0);
}

/* One more stage of `stage` behind plans of one less. */
static void extend(struct states *states, uint32_t count, const struct replica_stage *stage)
{
    const size_t wide = states->row->count + 1;
    const uint32_t end = stage->first_layer + stage->layers;
    const size_t to =
        state_of(states, count, end, stage->first_place + stage->replicas, stage->replicas);
    const double own_s = stage_s(states, stage);
    for (uint32_t r = 1; r <= stage->first_place && own_s < states->best_s[to]; r++) {
        if (!is_wanted(states, 0, r)) {
            continue;
        }
        const double before_s =
            states->best_s[state_of(states, count - 1, stage->first_layer, stage->first_place, r)];
        if (before_s >= states->best_s[to]) {
            continue;
        }
        const uint32_t cut = stage->first_layer - 1;
        const struct replica_stage left = {0, 0, stage->first_place - r, r};
        const double bytes = states->chain->forward_bytes[cut] + states->chain->backward_bytes[cut];
        const double busy_s =
            number_larger(number_larger(before_s, own_s),
                          states->chain->micro_batches * joint_s(states->row, bytes, &left, stage));
        if (busy_s < states->best_s[to]) {
            states->best_s[to] = busy_s;
            states->from[to] = (uint32_t)(stage->first_layer * wide + r);
        }
    }
}

static void start(struct states *states)
{
    for (uint32_t end = 1; end <= states->chain->layers; end++) {
        for (uint32_t r = 1; r <= states->row->count; r++) {
            const struct replica_stage stage = {0, end, 0, r};
            if (is_wanted(states, 0, r)) {
                states->best_s[state_of(states, 1, end, r, r)] = stage_s(states, &stage);
            }
        }
    }
}

/* On those places, with any layers. */
static void each_cut(struct states *states, uint32_t count, uint32_t place, uint32_t replicas)
{
    for (uint32_t first = count - 1; first < states->chain->layers; first++) {
        for (uint32_t end = first + 1; end <= states->chain->layers; end++) {
            const struct replica_stage stage = {first, end - first, place, replicas};
            extend(states, count, &stage);
        }
    }
}

static void each_stage(struct states *states, uint32_t count)
{
    for (uint32_t place = count - 1; place < states->row->count; place++) {
        for (uint32_t r = 1; place + r <= states->row->count; r++) {
            if (is_wanted(states, place, r)) {
                each_cut(states, count, place, r);
            }
        }
    }
}

static void trace(const struct states *states, uint32_t replicas, struct replica_stage *out)
{
    const uint32_t wide = states->row->count + 1;
    uint32_t end = states->chain->layers, devices = states->row->count;
    for (uint32_t count = states->stages; count > 0; count--) {
        const uint32_t from = states->from[state_of(states, count, end, devices, replicas)];
        const uint32_t first = from / wide;
        out[count - 1] = (struct replica_stage){first, end - first, devices - replicas, replicas};
        end = first;
        devices -= replicas;
        replicas = from % wide;
    }
}

double replica_partition_find(const struct replica_chain *chain, const struct replica_row *row,
                              uint32_t stages, uint32_t replicas, struct arena *arena,
                              struct replica_stage *out)
{
    struct states states = {.chain = chain, .row = row, .stages = stages, .replicas = replicas};
    uint32_t best = 0;
    const struct arena_mark mark = arena_find_mark(arena);
    open_states(&states, arena);
    start(&states);
    for (uint32_t count = 2; count <= stages; count++) {
        each_stage(&states, count);
    }
    double busy_s = REPLICA_PARTITION_NEVER_S;
    for (uint32_t r = 1; r <= row->count; r++) {
        if (!is_wanted(&states, 0, r)) {
            continue;
        }
        const double all_s = states.best_s[state_of(&states, stages, chain->layers, row->count, r)];
        if (all_s < busy_s) {
            busy_s = all_s;
            best = r;
        }
    }
    if (best > 0) {
        trace(&states, best, out);
    }
    arena_pop(arena, mark);
    return busy_s;
}

/* --- times of a plan -------------------------------------------------------------------------- */

static void time_joint(const struct replica_chain *chain, const struct replica_row *row,
                       const struct replica_stage *stages, uint32_t i, struct replica_times *out)
{
    const uint32_t cut = stages[i].first_layer + stages[i].layers - 1;
    out->send_s[i] = joint_s(row, chain->forward_bytes[cut], &stages[i], &stages[i + 1]);
    out->send_back_s[i] = joint_s(row, chain->backward_bytes[cut], &stages[i], &stages[i + 1]);
}

void replica_partition_time(const struct replica_chain *chain, const struct replica_row *row,
                            const struct replica_stage *stages, uint32_t count, struct arena *arena,
                            struct replica_times *out)
{
    *out = (struct replica_times){.stages = count,
                                  .forward_s = ARENA_PUSH(arena, double, count),
                                  .backward_s = ARENA_PUSH(arena, double, count),
                                  .sum_s = ARENA_PUSH(arena, double, count),
                                  .send_s = ARENA_PUSH(arena, double, count),
                                  .send_back_s = ARENA_PUSH(arena, double, count)};
    for (uint32_t i = 0; i < count; i++) {
        const struct replica_stage *stage = &stages[i];
        const double share = stage->replicas * slowest(row, stage->first_place, stage->replicas);
        double bytes = 0.0;
        for (uint32_t k = stage->first_layer; k < stage->first_layer + stage->layers; k++) {
            out->forward_s[i] += chain->forward_s[k] / share;
            out->backward_s[i] += chain->backward_s[k] / share;
            bytes += chain->weight_bytes[k];
        }
        out->sum_s[i] = sum_s(row, bytes, stage->first_place, stage->replicas);
        if (i + 1 < count) {
            time_joint(chain, row, stages, i, out);
        }
    }
}

/* DAPPLE: stages cut one by one by a dynamic programme over its closed form, their replicas side by
 * side in servers or spread over them. */
#include "planner/pivot_latency.h"
#include "planner/strategies/usual.h"

extern const struct strategy strategy_dapple;

#define STAGES_MAX 64u
/* A stage takes so many times its even share of the layers at most: kinds of device that differ by
 * more are not joined in practice. */
#define UNEVEN_MAX 4u

/* Best cuts found of the first layers into so many stages. */
struct cuts {
    uint32_t layers[STAGES_MAX];
    double total_s;
};

/* The line, with what its plans are timed from. */
struct cutter {
    const struct strategy_line *line;
    struct replica_times times; /* of the plan that was timed last; joints stay */
    const double *one_s[3];     /* [stage]: forward, backward, sum of a chain that has 1 s, 1 s
                                     * and 1 byte per layer */
    double *before_s[3];        /* [layers before]: sums of forward, backward, bytes */
};

static double *add_up(const double *items, uint32_t count, struct arena *arena)
{
    double *sums = ARENA_PUSH(arena, double, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        sums[i + 1] = sums[i] + items[i];
    }
    return sums;
}

/* Stages of one layer each say what a second of work, a byte of gradients takes there. */
static void open_cutter(const struct strategy_line *line, struct arena *arena, struct cutter *out)
{
    const struct replica_chain *chain = &line->chain;
    struct replica_chain unit = *chain;
    double *ones = ARENA_PUSH(arena, double, chain->layers);
    struct replica_stage stages[STAGES_MAX];
    struct replica_times times;
    for (uint32_t i = 0; i < chain->layers; i++) {
        ones[i] = 1.0;
    }
    for (uint32_t i = 0; i < line->stages; i++) {
        stages[i] = (struct replica_stage){i, 1, i * line->replicas, line->replicas};
    }
    unit.forward_s = unit.backward_s = unit.weight_bytes = ones;
    out->line = line;
    replica_partition_time(&unit, &line->row, stages, line->stages, arena, &times);
    replica_partition_time(&unit, &line->row, stages, line->stages, arena, &out->times);
    out->one_s[0] = times.forward_s;
    out->one_s[1] = times.backward_s;
    out->one_s[2] = times.sum_s;
    out->before_s[0] = add_up(chain->forward_s, chain->layers, arena);
    out->before_s[1] = add_up(chain->backward_s, chain->layers, arena);
    out->before_s[2] = add_up(chain->weight_bytes, chain->layers, arena);
}

static double time_of(struct cutter *cutter, const uint32_t *layers, uint32_t count)
{
    struct replica_times *times = &cutter->times;
    double *const filled[3] = {times->forward_s, times->backward_s, times->sum_s};
    struct pivot_latency latency;
    uint32_t first = 0;
    for (uint32_t i = 0; i < count; first += layers[i++]) {
        for (uint32_t k = 0; k < 3; k++) {
            const double *before = cutter->before_s[k];
            filled[k][i] = cutter->one_s[k][i] * (before[first + layers[i]] - before[first]);
        }
    }
    times->stages = count;
    pivot_latency_find(times, cutter->line->chain.micro_batches, &latency);
    return latency.total_s;
}

/* The first `count` stages hold `done` layers, one more the rest: split the rest further. */
static void split(struct cutter *cutter, struct cuts *from, struct cuts *to, uint32_t count)
{
    const uint32_t all = cutter->line->chain.layers;
    const uint32_t most = UNEVEN_MAX * (all / cutter->line->stages + 1);
    for (uint32_t end = count + 1; end + 1 <= all; end++) {
        for (uint32_t done = end > most + count ? end - most : count; done < end; done++) {
            if (from[done].total_s >= 1e300) {
                continue;
            }
            from[done].layers[count] = end - done;
            from[done].layers[count + 1] = all - end;
            const double total_s = time_of(cutter, from[done].layers, count + 2);
            if (total_s < to[end].total_s) {
                to[end] = from[done];
                to[end].total_s = total_s;
            }
        }
    }
}

/* As its planner does: of plans with one stage more, those that start with the best of so many
 * layers. */
static bool find_cuts(const struct strategy_case *of, const struct strategy_line *line,
                      struct replica_stage *out)
{
    const uint32_t all = line->chain.layers;
    struct cuts *from = ARENA_PUSH(of->arena, struct cuts, all + 1);
    struct cuts *to = ARENA_PUSH(of->arena, struct cuts, all + 1);
    struct cutter cutter;
    const struct cuts *best = NULL;
    open_cutter(line, of->arena, &cutter);
    from[0] = (struct cuts){.layers = {all}, .total_s = 0.0};
    for (uint32_t i = 1; i <= all; i++) {
        from[i].total_s = 1e300;
    }
    for (uint32_t count = 0; count + 1 < line->stages; count++) {
        for (uint32_t i = 0; i <= all; i++) {
            to[i].total_s = 1e300;
        }
        split(&cutter, from, to, count);
        struct cuts *swapped = from;
        from = to;
        to = swapped;
    }
    for (uint32_t i = 0; i <= all; i++) {
        best = from[i].total_s < 1e300 && (best == NULL || from[i].total_s < best->total_s)
                   ? &from[i]
                   : best;
    }
    for (uint32_t i = 0; i < line->stages && best != NULL; i++) {
        out[i].layers = best->layers[i];
    }
    return best != NULL;
}

/* Stages inside replicas. */
static struct plan *build_scattered(const struct strategy_case *of, const struct usual_mesh *mesh)
{
    const struct strategy_degree degrees[] = {
        {"tp", mesh->tensor}, {"pp", mesh->stages}, {"dp", mesh->replicas}, {"sp", mesh->tensor}};
    return strategy_build_plan(of, degrees, 4, mesh->micro_batch);
}

static void cut_and_offer(const struct strategy_case *of, struct plan *plan,
                          const uint32_t *devices)
{
    struct replica_stage cut[STAGES_MAX];
    struct strategy_line line;
    if (strategy_build_line(of, plan, devices, &line) && find_cuts(of, &line, cut)) {
        strategy_set_layers(of, plan, cut, line.stages);
        usual_offer(of, plan);
    }
}

/* One stage is plain data parallelism, one replica the straight pipeline: both are among them.
 * Fresh-first and append-first fill server after server: of equal groups they are one. Scatter-
 * first spreads the replicas of a stage over the servers. */
static void try_mesh(const struct strategy_case *of, const struct usual_mesh *mesh, void *state)
{
    const uint32_t *devices = state;
    if (mesh->stages > STAGES_MAX) {
        return;
    }
    struct plan *fresh = usual_build_plan(of, mesh);
    if (of->pins->slice_count == 0) {
        strategy_place(of, fresh, devices, strategy_count_devices(of));
    }
    cut_and_offer(of, fresh, devices);
    if (mesh->stages > 1) {
        cut_and_offer(of, build_scattered(of, mesh), devices);
    }
}

static void propose(const struct strategy_case *of)
{
    usual_each_mesh(of, try_mesh, strategy_sort_kinds(of, true));
}

const struct strategy strategy_dapple = {
    .name = "dapple",
    .summary = "stages cut by its dynamic programme, replicas fresh-first, append-first or "
               "scattered",
    .source = "Fan et al., PPoPP 2021, arXiv 2007.01045",
    .lacks = "stages with unlike numbers of replicas",
    .propose = propose,
};

/* The event-driven judge behind the common interface. */
#include "sim/sim.h"

#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "sim/sim_inside.h"

/* No policy averages over more steps than this; rarer messages enter by their share. */
#define STEP_MAX 64u
/* The slowest of more ranks is hardly slower: drawing them would only take time. */
#define PEER_MAX 64u

struct sim_options sim_full_options(void)
{
    return (struct sim_options){.contention = true,
                                .arrival = true,
                                .overlap = true,
                                .rounding = true,
                                .granularity = SIM_OPS,
                                .seed = 1};
}

void sim_init(struct sim *sim, const struct problem *problem, const struct prices *prices,
              const struct sim_options *options, struct arena *arena)
{
    *sim = (struct sim){.problem = problem,
                        .prices = prices,
                        .arena = arena,
                        .book = lump_book_init(problem->cluster, prices, arena),
                        .options = *options};
}

/* --- one run ---------------------------------------------------------------------------------- */

static uint32_t find_moves(const struct step_run *run, const struct script_place *place,
                           const struct work_items *list, struct move **out)
{
    *out = ARENA_PUSH(run->arena, struct move, list->count);
    for (uint32_t i = 0; i < list->count; i++) {
        assert(list->items[i].is_message);
        (*out)[i] = script_find_move(place, &list->items[i].message);
    }
    return list->count;
}

static void prepare_site(struct step_run *run, uint32_t site)
{
    const struct work *work = run->load->work;
    const struct script_place place = {run->sim->book, run->sim->prices, work, site};
    struct site_scripts *scripts = &run->scripts[site];
    for (uint32_t b = 0; b < work->block_count; b++) {
        const struct work_block *block = &work->blocks[b];
        run->gather_counts[b] = find_moves(run, &place, &block->gather, &scripts->gathers[b]);
        run->sum_counts[b] = find_moves(run, &place, &block->sync, &scripts->sums[b]);
        if (run->sim->options.granularity == SIM_OPS) {
            script_build(&place, &block->forward, run->arena, &scripts->forward[b]);
            script_build(&place, &block->backward, run->arena, &scripts->backward[b]);
        }
    }
}

static void prepare_blocks(struct step_run *run)
{
    const uint32_t sites = work_count_sites(run->load->work);
    run->scripts = ARENA_PUSH(run->arena, struct site_scripts, sites);
    for (uint32_t site = 0; site < sites; site++) {
        prepare_site(run, site);
    }
}

const struct site_scripts *sim_find_scripts(const struct step_run *run, uint32_t stage)
{
    return &run->scripts[work_find_site(run->load->work, stage)];
}

/* Ranks of the largest group that exchanges messages in the list; at least 1. */
static uint32_t count_peers(const struct work *work, const struct work_items *list)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct work_item *item = &list->items[i];
        if (item->is_message && item->message.group != NO_INDEX &&
            work->groups[item->message.group].ranks > most) {
            most = work->groups[item->message.group].ranks;
        }
    }
    return most < PEER_MAX ? most : PEER_MAX;
}

static void find_peers(struct step_run *run)
{
    const struct work *work = run->load->work;
    run->forward_peers = run->backward_peers = 1;
    for (uint32_t b = 0; b < work->block_count; b++) {
        const uint32_t forward = count_peers(work, &work->blocks[b].forward);
        const uint32_t backward = count_peers(work, &work->blocks[b].backward);
        run->forward_peers = forward > run->forward_peers ? forward : run->forward_peers;
        run->backward_peers = backward > run->backward_peers ? backward : run->backward_peers;
    }
}

/* Steps so that each rare message is sent as often as it should be; a first one to fill what
 * runs across steps. */
static void count_steps(struct step_run *run)
{
    const struct sim_options *options = &run->sim->options;
    uint32_t rarest = 1, distance = 0;
    for (uint32_t b = 0; b < run->load->work->block_count; b++) {
        for (uint32_t i = 0; i < run->sum_counts[b] + run->gather_counts[b]; i++) {
            const bool is_sum = i < run->sum_counts[b];
            const struct work_message *message =
                is_sum ? run->scripts[0].sums[b][i].message
                       : run->scripts[0].gathers[b][i - run->sum_counts[b]].message;
            rarest = message->period > rarest ? message->period : rarest;
            distance = message->distance > distance ? message->distance : distance;
        }
    }
    run->warm_steps = distance > 0 && options->overlap ? 1 : 0;
    run->step_count = options->iterations > 0 ? options->iterations
                      : rarest <= STEP_MAX    ? rarest
                                              : 1;
    run->step_count = options->overlap ? run->step_count + run->warm_steps : 1;
}

/* Charged for gathers and sums: the dim of the largest sum. */
static uint32_t find_exchange_dim(const struct step_run *run)
{
    uint32_t dim = 0;
    double most = 0.0;
    for (uint32_t b = 0; b < run->load->work->block_count; b++) {
        for (uint32_t i = 0; i < run->sum_counts[b]; i++) {
            const struct work_message *message = run->scripts[0].sums[b][i].message;
            if (message->bytes > most) {
                most = message->bytes;
                dim = message->dim;
            }
        }
    }
    return dim;
}

static const double *find_port_slowness(const struct step_run *run)
{
    const double *places = run->sim->options.port_slowness;
    const uint32_t devices = sim_count_devices(run), stages = run->load->work->shape.stages;
    if (places == NULL) {
        return NULL;
    }
    double *out = ARENA_PUSH(run->arena, double, devices);
    for (uint32_t i = 0; i < devices; i++) {
        out[i] = places[work_find_place(run->load->work, i % stages, i / stages)];
    }
    return out;
}

static void prepare_ports(struct step_run *run)
{
    const uint32_t levels = run->sim->problem->cluster->level_count + 1;
    const size_t ports = (size_t)2 * levels * sim_count_devices(run);
    run->ports = (struct emit_ports){.levels = levels,
                                     .pairs = ARENA_PUSH(run->arena, uint32_t, ports),
                                     .slowness = find_port_slowness(run),
                                     .busy_s = ARENA_PUSH(run->arena, double, ports)};
    memset(run->ports.pairs, 0xff, ports * sizeof *run->ports.pairs);
}

/* One device for each stage, or for each of its ranks. */
static void prepare_lanes(struct step_run *run)
{
    const struct sim_options *options = &run->sim->options;
    run->lanes = 1;
    assert(options->fold != SIM_FOLDED ||
           (options->rank_slowness == NULL && options->port_slowness == NULL));
    if (options->fold != SIM_FOLDED) {
        assert(options->overlap);
        run->lanes = work_count_lanes(run->load->work);
        run->meet = ARENA_PUSH(run->arena, struct meet, 1);
        meet_init(run->meet, run->load->work, run->sim->prices, run->sim->book, &run->engine);
        run->meet->waits = options->arrival;
        run->meet->by_message = options->fold == SIM_MESSAGES;
        run->meet->streams = EMIT_STREAM_COUNT;
    }
}

static void prepare(struct step_run *run)
{
    const struct sim_options *options = &run->sim->options;
    const struct load *load = run->load;
    slots_build(load->stream, run->arena, &run->slots);
    engine_init(&run->engine, options->rounding ? WORLD_PS_PER_S : WORLD_FS_PER_S, run->arena);
    run->order_count = sim_block_order(load->work, run->order);
    prepare_blocks(run);
    count_steps(run);
    find_peers(run);
    run->exchange_dim = find_exchange_dim(run);
    random_init(&run->dice, options->seed);
    prepare_lanes(run);
    prepare_ports(run);
    run->emit = (struct emit){.engine = &run->engine,
                              .arena = run->arena,
                              .contends = options->contention,
                              .meet = run->meet,
                              .ports = &run->ports,
                              .kernel_factor = 1.0,
                              .message_factor = 1.0,
                              .cursor = ENGINE_NO_TASK};
    run->tasks = ARENA_PUSH(run->arena, struct slot_tasks,
                            (size_t)run->step_count * run->lanes * run->slots.count);
    run->ends = ARENA_PUSH(run->arena, struct step_end, run->step_count);
    for (uint32_t step = 0; step < run->step_count; step++) {
        run->ends[step].stages = ARENA_PUSH(run->arena, struct stage_end, sim_count_devices(run));
    }
}

static bool run_once(struct step_run *run, struct diag *diag)
{
    prepare(run);
    return sim_run_steps(run, diag) && (run->sim->options.overlap || sim_run_sums(run, diag));
}

/* --- what ran when ---------------------------------------------------------------------------- */

/* False: the task is worth none. */
static bool push_span(const struct step_run *run, uint32_t task, struct arena *arena,
                      struct sim_result *out)
{
    static const char *const streams[EMIT_STREAM_COUNT] = {"compute", "tensor messages", "prefetch",
                                                           "data messages", "send"};
    const struct engine_label label = engine_find_label(&run->engine, task);
    const uint64_t start = engine_find_start(&run->engine, task),
                   end = engine_find_end(&run->engine, task);
    if (label.name == NULL || start == end) {
        return false;
    }
    const struct world_flow *flow = engine_find_flow(&run->engine, task);
    const uint32_t device = label.tag / EMIT_STREAM_COUNT;
    const uint32_t stages = run->load->work->shape.stages;
    out->spans[out->span_count++] = (struct sim_span){
        .stage = device % stages,
        .rank = work_find_place(run->load->work, device % stages, device / stages),
        .stream = streams[label.tag % EMIT_STREAM_COUNT],
        .name = text_build_copy(arena, label.name, strlen(label.name)),
        .start_s = world_find_s(&run->engine.world, start),
        .end_s = world_find_s(&run->engine.world, end),
        .bytes = flow == NULL ? 0.0 : flow->bytes};
    return true;
}

/* From each send that has a span to the slot that it feeds. */
static void push_arrows(const struct step_run *run, const uint32_t *span_of, struct arena *arena,
                        struct sim_result *out)
{
    const uint32_t slots = run->step_count * run->lanes * run->slots.count;
    out->arrows = ARENA_PUSH(arena, struct sim_arrow, slots);
    for (uint32_t i = 0; i < slots; i++) {
        const uint32_t slot = i % run->slots.count, source = run->slots.source[slot];
        if (source == SLOT_NONE) {
            continue;
        }
        const uint32_t send = run->tasks[i - slot + source].send;
        if (send != ENGINE_NO_TASK && span_of[send] != ENGINE_NO_TASK) {
            out->arrows[out->arrow_count++] =
                (struct sim_arrow){span_of[send], i - slot + run->slots.begins[slot]};
        }
    }
}

static void push_spans(const struct step_run *run, struct arena *arena, struct sim_result *out)
{
    const uint32_t slots = run->step_count * run->lanes * run->slots.count;
    out->spans = ARENA_PUSH(arena, struct sim_span, (size_t)slots + run->engine.task_count);
    for (uint32_t i = 0; i < slots; i++) {
        const struct slot_tasks *tasks = &run->tasks[i];
        const char *name = engine_find_label(&run->engine, tasks->entry).name;
        const uint64_t start = engine_find_start(&run->engine, tasks->entry);
        const uint32_t stage = run->slots.stage[i % run->slots.count];
        const uint32_t lane = i / run->slots.count % run->lanes;
        out->spans[out->span_count++] =
            (struct sim_span){.stage = stage,
                              .rank = work_find_place(run->load->work, stage, lane),
                              .stream = "slots",
                              .name = text_build_copy(arena, name, strlen(name)),
                              .start_s = world_find_s(&run->engine.world, start),
                              .end_s = engine_find_end_s(&run->engine, tasks->exit)};
    }
    uint32_t *span_of = ARENA_PUSH(run->arena, uint32_t, run->engine.task_count);
    for (uint32_t task = 0; task < run->engine.task_count; task++) {
        const uint32_t span = out->span_count;
        span_of[task] = push_span(run, task, arena, out) ? span : ENGINE_NO_TASK;
    }
    push_arrows(run, span_of, arena, out);
}

static void fill_ports(const struct step_run *run, struct arena *arena, struct sim_result *out)
{
    const uint32_t levels = run->ports.levels, count = 2 * levels * out->estimate.stage_count;
    const double all_s = run->ends[run->step_count - 1].end_s;
    out->port_levels = levels;
    out->port_busy_frac = ARENA_PUSH(arena, double, count);
    for (uint32_t i = 0; i < count * run->lanes && all_s > 0.0; i++) { /* the busiest rank's */
        double *const frac = &out->port_busy_frac[i % count];
        *frac = number_larger(*frac, run->ports.busy_s[i] / all_s);
    }
}

bool sim_run(struct sim *sim, const struct load *load, struct arena *arena, struct sim_result *out,
             struct diag *diag)
{
    struct arena scratch;
    arena_init(&scratch);
    struct step_run *run = ARENA_PUSH(&scratch, struct step_run, 1);
    run->sim = sim;
    run->load = load;
    run->arena = &scratch;
    const bool good = run_once(run, diag);
    if (good) {
        const uint32_t stages = load->work->shape.stages;
        memset(out, 0, sizeof *out);
        out->estimate.stage_count = stages;
        out->estimate.stages = ARENA_PUSH(arena, struct stage_estimate, stages);
        out->stages = ARENA_PUSH(arena, struct sim_stage, stages);
        out->events = run->engine.world.events;
        out->iterations = run->step_count - run->warm_steps;
        out->lanes = run->lanes;
        sim_account(run, out);
        sim_fill_memory(run, arena, out);
        fill_ports(run, arena, out);
        if (sim->options.chain && sim->options.overlap) {
            sim_find_chain(run, arena, &out->chain);
        }
        if (sim->options.spans) {
            push_spans(run, arena, out);
        }
    }
    arena_release(&scratch);
    return good;
}

/* --- many runs -------------------------------------------------------------------------------- */

static bool run_for_time(struct sim *sim, const struct load *load, double *step_s,
                         struct diag *diag)
{
    struct arena scratch;
    arena_init(&scratch);
    struct sim_result result;
    const bool good = sim_run(sim, load, &scratch, &result, diag);
    *step_s = good ? result.estimate.step_s : 0.0;
    arena_release(&scratch);
    return good;
}

bool sim_run_many(struct sim *sim, const struct load *load, uint32_t runs, struct arena *arena,
                  double **step_s, struct diag *diag)
{
    double *times_s = ARENA_PUSH(arena, double, runs);
    struct sim seeded = *sim;
    seeded.options.spans = seeded.options.chain = false;
    for (uint32_t i = 0; i < runs; i++) {
        double time_s;
        seeded.options.seed = sim->options.seed + i;
        if (!run_for_time(&seeded, load, &time_s, diag)) {
            return false;
        }
        uint32_t at = i;
        for (; at > 0 && times_s[at - 1] > time_s; at--) {
            times_s[at] = times_s[at - 1];
        }
        times_s[at] = time_s;
    }
    *step_s = times_s;
    return true;
}

/* --- the interface ---------------------------------------------------------------------------- */

static void piece(void *state, const struct work *work, uint32_t block, uint32_t site,
                  const struct piece *like, struct piece *out)
{
    sim_piece(state, work, block, site, like, out);
}

static double message_s(void *state, const struct work *work, const struct work_message *message,
                        uint32_t base)
{
    return sim_message_s(state, work, message, base);
}

static void combine(void *state, const struct load *load, bool detail, struct arena *arena,
                    struct estimate *out)
{
    struct arena scratch;
    struct diag diag;
    struct sim_result result;
    arena_init(&scratch);
    diag_init(&diag, &scratch);
    if (!sim_run(state, load, &scratch, &result, &diag)) {
        BUG("a checked plan does not run: %s", diag.entries[0].message);
    }
    *out = result.estimate;
    out->stages = NULL;
    if (detail) {
        out->stages = ARENA_PUSH(arena, struct stage_estimate, out->stage_count);
        memcpy(out->stages, result.estimate.stages, out->stage_count * sizeof *out->stages);
    }
    arena_release(&scratch);
}

static double room_bytes(void *state, const struct load *load, uint32_t stage)
{
    struct stage_estimate row;
    struct sim_stage moment;
    (void)state;
    sim_find_memory(load, stage, &row, &moment);
    return estimator_room_bytes(&row);
}

/* A stage runs its own slots one after another, whatever it waits for besides. Messages between
 * its kernels may be hidden by rounding, kernels may not. */
static double bound(void *state, const struct load *load)
{
    (void)state;
    const struct schedule_shape *shape = &load->work->shape;
    double most_s = 0.0;
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        const struct piece *pieces = estimator_pieces(load, stage);
        double busy_s = 0.0;
        for (uint32_t local = 0; local < shape->chunks; local++) {
            const uint32_t chunk = load->stream->model_chunk[stage * shape->chunks + local];
            for (uint32_t b = 0; b < load->work->block_count; b++) {
                const struct piece *own = &pieces[b];
                const double kernels_s = own->forward_s[COST_COMPUTE] +
                                         own->backward_s[COST_COMPUTE] +
                                         own->backward_s[COST_RECOMPUTE];
                busy_s += kernels_s * (double)sim_find_counts(load, chunk)[b] *
                          (double)shape->micro_batches;
            }
        }
        most_s = busy_s > most_s ? busy_s : most_s;
    }
    return most_s * (1.0 - 1e-6);
}

void sim_estimator(struct sim *sim, struct estimator *out)
{
    *out = (struct estimator){.name = "simulator",
                              .state = sim,
                              .piece = piece,
                              .message_s = message_s,
                              .combine = combine,
                              .room_bytes = room_bytes,
                              .bound = bound};
}

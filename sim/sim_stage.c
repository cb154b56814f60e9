/* One stage's part of a step as tasks: gathers of parameters, its slots in order, sums of
 * gradients. */
#include <assert.h>
#include <string.h>

#include "sim/sim_inside.h"

uint32_t sim_block_order(const struct work *work, uint32_t order[WORK_BLOCK_MAX])
{
    uint32_t count = 0;
    for (uint32_t first = 0; first < work->block_count;) {
        uint32_t last = first;
        while (last + 1 < work->block_count &&
               work->blocks[last + 1].part == work->blocks[first].part) {
            last++;
        }
        /* of one part, layers that are recomputed come first */
        for (uint32_t i = last + 1; i-- > first;) {
            order[count++] = i;
        }
        first = last + 1;
    }
    return count;
}

const uint32_t *sim_find_counts(const struct load *load, uint32_t chunk)
{
    return &load->counts[(size_t)chunk * WORK_BLOCK_MAX];
}

static const struct runtime *runtime_of(const struct step_run *run)
{
    return run->load->work->problem->setup->runtime;
}

uint32_t sim_find_chunk(const struct step_run *run, uint32_t stage, uint32_t local)
{
    const struct stream *stream = run->load->stream;
    return stream->model_chunk[stage * stream->shape.chunks + local];
}

double sim_find_slowness(const struct step_run *run, uint32_t stage)
{
    const double *slowness = run->sim->options.slowness;
    const double *ranks = run->sim->options.rank_slowness;
    const double own =
        ranks == NULL ? 1.0 : ranks[work_find_place(run->load->work, stage, run->lane)];
    return slowness == NULL ? own : slowness[stage] * own;
}

/* --- jitter ----------------------------------------------------------------------------------- */

/* Between 1 - frac and 1 + frac, triangular. */
static double draw(struct random *dice, double frac)
{
    return 1.0 + frac * (random_pop_unit(dice) + random_pop_unit(dice) - 1.0);
}

/* Ranks that exchange messages inside a slot go at the pace of the slowest. */
static double draw_kernels(struct step_run *run, bool forward)
{
    const struct sim_options *options = &run->sim->options;
    if (options->compute_jitter_frac == 0.0) {
        return 1.0;
    }
    const uint32_t peers = !options->arrival || run->meet != NULL ? 1
                           : forward                              ? run->forward_peers
                                                                  : run->backward_peers;
    double slowest = 0.0;
    for (uint32_t i = 0; i < peers; i++) {
        const double factor = draw(&run->dice, options->compute_jitter_frac);
        slowest = factor > slowest ? factor : slowest;
    }
    return slowest;
}

void sim_draw_messages(struct step_run *run)
{
    const double frac = run->sim->options.network_jitter_frac;
    run->emit.message_factor = frac == 0.0 ? 1.0 : draw(&run->dice, frac);
}

/* --- once a step: gathers and sums ------------------------------------------------------------ */

/* Share of a message that this step carries: all of a rare one in the step it is due, or an
 * equal share in each. turn: layers of the chunk behind its own. */
static double due_share(const struct step_run *run, const struct work_message *message,
                        uint32_t step, uint32_t turn)
{
    const uint32_t period = message->period;
    if (run->step_count < period) {
        return 1.0;
    }
    return (step + 1 + (message->turns ? turn : 0)) % period == 0 ? (double)period : 0.0;
}

/* Which of a layer's messages once a step are meant, for which layer. */
struct once {
    const struct move *moves;
    uint32_t count;
    bool later; /* those that a later step waits for */
    uint32_t turn;
};

/* One layer's gathers, or sums, one after another behind a task. */
static uint32_t push_moves(struct step_run *run, const struct once *once, uint32_t step,
                           uint32_t after)
{
    const struct move *moves = once->moves;
    for (uint32_t i = 0; i < once->count; i++) {
        const double share = due_share(run, moves[i].message, step, once->turn);
        if ((moves[i].message->distance > 0) == once->later && share > 0.0) {
            sim_draw_messages(run);
            after = emit_move(&run->emit, EMIT_DATA, &moves[i], share, after);
        }
    }
    return after;
}

/* The stage's state while its part of a step is built. */
struct builder {
    struct step_run *run;
    uint32_t step, stage;
    uint32_t begin;                /* end of the step before */
    uint32_t data_last;            /* data stream */
    uint32_t **gathered;           /* [local chunk][layer in the order of the chunk] */
    uint32_t sent[BOUNDARY_LINKS]; /* as in sim_push_send */
};

static uint32_t count_layers(const struct step_run *run, uint32_t chunk)
{
    uint32_t layers = 0;
    for (uint32_t i = 0; i < run->order_count; i++) {
        layers += sim_find_counts(run->load, chunk)[run->order[i]];
    }
    return layers;
}

static void push_gathers(struct builder *builder)
{
    struct step_run *run = builder->run;
    const struct site_scripts *scripts = sim_find_scripts(run, builder->stage);
    const uint32_t chunks = run->load->work->shape.chunks;
    uint32_t last = builder->begin;
    builder->gathered = ARENA_PUSH(run->arena, uint32_t *, chunks);
    for (uint32_t local = 0; local < chunks; local++) {
        const uint32_t chunk = sim_find_chunk(run, builder->stage, local);
        const uint32_t layers = count_layers(run, chunk);
        builder->gathered[local] = ARENA_PUSH(run->arena, uint32_t, layers);
        uint32_t layer = 0;
        for (uint32_t i = 0; i < run->order_count; i++) {
            const uint32_t block = run->order[i];
            for (uint32_t k = 0; k < sim_find_counts(run->load, chunk)[block]; k++) {
                const struct once once = {scripts->gathers[block], run->gather_counts[block], false,
                                          layers - 1 - layer};
                last = push_moves(run, &once, builder->step, last);
                builder->gathered[local][layer++] = last;
            }
        }
    }
    const bool overlaps = runtime_of(run)->overlaps_parameter_gather;
    for (uint32_t local = 0; local < chunks && !overlaps; local++) {
        const uint32_t layers = count_layers(run, sim_find_chunk(run, builder->stage, local));
        for (uint32_t layer = 0; layer < layers; layer++) {
            builder->gathered[local][layer] = last;
        }
    }
    builder->data_last = last;
}

/* All sums of a chunk at once, behind the data stream; `later`: those that a later step waits
 * for. */
static void push_sums(struct builder *builder, uint32_t chunk, bool later)
{
    struct step_run *run = builder->run;
    const struct site_scripts *scripts = sim_find_scripts(run, builder->stage);
    uint32_t turn = 0;
    for (uint32_t i = run->order_count; i-- > 0;) {
        const uint32_t block = run->order[i];
        for (uint32_t k = 0; k < sim_find_counts(run->load, chunk)[block]; k++, turn++) {
            const struct once sums = {scripts->sums[block], run->sum_counts[block], later, turn};
            const struct once gathers = {scripts->gathers[block],
                                         later ? run->gather_counts[block] : 0, later, turn};
            builder->data_last = push_moves(run, &sums, builder->step, builder->data_last);
            builder->data_last = push_moves(run, &gathers, builder->step, builder->data_last);
        }
    }
}

/* --- slots ------------------------------------------------------------------------------------ */

static double layer_s(const struct piece *piece, enum slot_kind kind)
{
    switch (kind) {
    case SLOT_FORWARD: return piece->forward_total_s;
    case SLOT_BACKWARD: return piece->backward_total_s;
    case SLOT_INPUT_GRADIENT: return piece->backward_total_s - piece->weight_s;
    case SLOT_WEIGHT_GRADIENT: return piece->weight_s;
    case SLOT_KIND_COUNT: break;
    }
    BUG("a slot is of no kind");
}

static const char *slot_name(const struct step_run *run, uint32_t slot)
{
    struct text name;
    text_init(&name, run->arena);
    schedule_dump_slot(slots_find(&run->slots, slot), run->slots.stream->shape.chunks, &name);
    return name.bytes;
}

static void push_layer(struct step_run *run, uint32_t stage, uint32_t block, enum slot_kind kind)
{
    const struct site_scripts *scripts = sim_find_scripts(run, stage);
    if (run->sim->options.granularity == SIM_SLOTS) {
        emit_delay(&run->emit, "layer",
                   layer_s(&estimator_pieces(run->load, stage)[block], kind) *
                       run->emit.kernel_factor);
        return;
    }
    const enum emit_part part = kind == SLOT_INPUT_GRADIENT    ? EMIT_INPUT
                                : kind == SLOT_WEIGHT_GRADIENT ? EMIT_WEIGHT
                                                               : EMIT_ALL;
    emit_script(&run->emit,
                kind == SLOT_FORWARD ? &scripts->forward[block] : &scripts->backward[block], part);
}

static void wait_for_gather(struct step_run *run, uint32_t gathered)
{
    const uint32_t before = run->emit.cursor;
    run->emit.cursor = emit_join(&run->emit, before, gathered);
    if (run->emit.cursor != before) {
        emit_push_segment(
            &run->emit, (struct emit_segment){.task = run->emit.cursor, .dim = run->exchange_dim});
    }
}

static void push_layer_sums(struct builder *builder, uint32_t block, uint32_t turn)
{
    struct step_run *run = builder->run;
    const struct site_scripts *scripts = sim_find_scripts(run, builder->stage);
    if (run->sum_counts[block] == 0) {
        return;
    }
    builder->data_last = emit_join(&run->emit, builder->data_last, run->emit.cursor);
    const struct once once = {scripts->sums[block], run->sum_counts[block], false, turn};
    builder->data_last = push_moves(run, &once, builder->step, builder->data_last);
}

struct slot_part {
    uint32_t slot;
    bool gathers,
        sums; /* first forward: layers wait for gathers; last backward: layers feed sums */
};

static void push_layers(struct builder *builder, const struct slot_part *part)
{
    struct step_run *run = builder->run;
    const struct slot *slot = slots_find(&run->slots, part->slot);
    const uint32_t chunk = run->slots.model_chunk[part->slot];
    const bool forward = slot->kind == SLOT_FORWARD;
    uint32_t layer = 0, turn = 0;
    for (uint32_t i = 0; i < run->order_count; i++) {
        const uint32_t block = run->order[forward ? i : run->order_count - 1 - i];
        for (uint32_t k = 0; k < sim_find_counts(run->load, chunk)[block]; k++) {
            if (part->gathers) {
                wait_for_gather(run, builder->gathered[slot->chunk][layer++]);
            }
            push_layer(run, builder->stage, block, slot->kind);
            if (part->sums) {
                push_layer_sums(builder, block, turn++);
            }
        }
    }
}

static double slot_s(const struct step_run *run, uint32_t slot)
{
    const enum slot_kind kind = slots_find(&run->slots, slot)->kind;
    const uint32_t *counts = sim_find_counts(run->load, run->slots.model_chunk[slot]);
    const struct piece *pieces = estimator_pieces(run->load, run->slots.stage[slot]);
    double seconds = 0.0;
    for (uint32_t block = 0; block < run->load->work->block_count; block++) {
        seconds += layer_s(&pieces[block], kind) * (double)counts[block];
    }
    return seconds > 0.0 ? seconds : 0.0;
}

static bool has_gathers(const struct step_run *run)
{
    uint32_t count = 0;
    for (uint32_t block = 0; block < run->load->work->block_count; block++) {
        count += run->gather_counts[block];
    }
    return count > 0;
}

static void push_slot(struct builder *builder, uint32_t slot)
{
    struct step_run *run = builder->run;
    struct slot_tasks *tasks = &sim_find_tasks(run, builder->step, run->lane)[slot];
    const uint32_t chunk = run->slots.model_chunk[slot];
    const bool forward = slots_find(&run->slots, slot)->kind == SLOT_FORWARD;
    const struct slot_part part = {
        .slot = slot,
        .gathers = run->slots.first_forward[chunk] == slot && has_gathers(run),
        .sums = run->slots.last_backward[chunk] == slot &&
                runtime_of(run)->overlaps_gradient_reduce && run->sim->options.overlap};
    const bool whole = run->sim->options.granularity == SIM_SLOTS && !part.gathers && !part.sums;
    run->emit.kernel_factor = tasks->kernel_factor =
        draw_kernels(run, forward) * sim_find_slowness(run, builder->stage);
    sim_draw_messages(run);
    emit_delay(&run->emit, slot_name(run, slot),
               whole ? slot_s(run, slot) * tasks->kernel_factor : 0.0);
    tasks->entry = run->emit.cursor;
    tasks->first_segment = run->emit.segment_count;
    if (!whole) {
        push_layers(builder, &part);
    }
    tasks->segment_count = run->emit.segment_count - tasks->first_segment;
    tasks->exit = run->emit.cursor;
}

/* Behind all that the device does before. */
static void push_send(struct builder *builder, struct slot_tasks *tasks, uint32_t slot)
{
    struct step_run *run = builder->run;
    tasks->send = sim_push_send(run, builder->sent, slot);
    if (tasks->send != ENGINE_NO_TASK &&
        runtime_send_blocks(runtime_of(run), run->load->work->shape.chunks)) {
        run->emit.cursor = tasks->send;
    }
}

void sim_push_stage(struct step_run *run, uint32_t step, uint32_t stage, uint32_t begin,
                    struct step_tail *tail)
{
    struct builder builder = {.run = run, .step = step, .stage = stage, .begin = begin};
    const struct schedule_shape *shape = &run->load->work->shape;
    run->emit.cursor = begin;
    for (uint32_t i = 0; i < BOUNDARY_LINKS; i++) {
        builder.sent[i] = ENGINE_NO_TASK;
    }
    push_gathers(&builder);
    const uint32_t first = run->slots.first_of_stage[stage],
                   last = slots_find_last(&run->slots, stage);
    const uint32_t device = sim_find_device(run, stage, run->lane);
    struct slot_tasks *tasks = sim_find_tasks(run, step, run->lane);
    for (uint32_t slot = first; slot <= last; slot++) {
        push_slot(&builder, slot);
        if (run->slots.ends[slot] == slot) { /* what a pair makes is sent when both have ended */
            for (uint32_t made = run->slots.begins[slot]; made <= slot; made++) {
                push_send(&builder, &tasks[made], made);
            }
        }
    }
    const uint32_t end = tasks[last].exit;
    tail->pipeline[device] = end;
    if (run->sim->options.overlap && !runtime_of(run)->overlaps_gradient_reduce) {
        builder.data_last = emit_join(&run->emit, builder.data_last, end);
        for (uint32_t local = 0; local < shape->chunks; local++) {
            push_sums(&builder, sim_find_chunk(run, stage, local), false);
        }
    }
    tail->summed[device] = emit_join(&run->emit, builder.data_last, end);
    tail->stale[device] = ENGINE_NO_TASK;
    if (run->sim->options.overlap) {
        const uint32_t before = builder.data_last = tail->summed[device];
        for (uint32_t local = 0; local < shape->chunks; local++) {
            push_sums(&builder, sim_find_chunk(run, stage, local), true);
        }
        tail->stale[device] = builder.data_last == before ? ENGINE_NO_TASK : builder.data_last;
    }
}

/* A step from pieces: the pipeline by its longest path, parameters gathered before, gradients
 * summed after, then the update behind a barrier (the gradient norm needs every stage). */
#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "costmodel/costmodel_inside.h"

#define ROUNDING 1e-12 /* what the sum of a step's terms may miss it by */

struct stream_notes *costmodel_notes(struct costmodel *model, const struct stream *stream)
{
    struct stream_notes **bucket = &model->cache->streams[(uintptr_t)stream / 64 % NOTES_BUCKETS];
    for (struct stream_notes *notes = *bucket; notes != NULL; notes = notes->next) {
        if (notes->stream == stream) {
            return notes;
        }
    }
    struct arena *arena = &model->cache->streams_arena;
    struct stream_notes *notes = ARENA_PUSH(arena, struct stream_notes, 1);
    notes->stream = stream;
    notes->next = *bucket;
    *bucket = notes;
    live_build(stream, arena, &notes->live);
    notes->saved_bytes = ARENA_PUSH(arena, double, stream->shape.chunks);
    notes->logits_bytes = ARENA_PUSH(arena, double, stream->shape.chunks);
    return notes;
}

struct stream_notes *costmodel_timed_notes(struct costmodel *model, const struct stream *stream)
{
    struct stream_notes *notes = costmodel_notes(model, stream);
    if (notes->replayable) {
        return notes;
    }
    struct arena *arena = &model->cache->streams_arena;
    replay_build(stream, arena, &notes->replay);
    notes->scratch = arena_push(arena, 1, replay_count_scratch(&notes->replay));
    const uint32_t chunks = notes->replay.chunk_count;
    notes->forward_s = ARENA_PUSH(arena, double, chunks);
    notes->backward_s = ARENA_PUSH(arena, double, chunks);
    notes->input_s = ARENA_PUSH(arena, double, chunks);
    notes->weight_s = ARENA_PUSH(arena, double, chunks);
    notes->send_s = ARENA_PUSH(arena, double, chunks);
    notes->queue_s = ARENA_PUSH(arena, double, chunks);
    notes->release_s = ARENA_PUSH(arena, double, chunks);
    notes->replayable = true;
    return notes;
}

uint32_t costmodel_block_order(const struct work *work, uint32_t order[WORK_BLOCK_MAX])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < work->block_count;) {
        uint32_t end = i + 1;
        while (end < work->block_count && work->blocks[end].part == work->blocks[i].part) {
            end++;
        }
        for (uint32_t form = end; form > i; form--) {
            order[count++] = form - 1; /* layers in their recomputed form come first in a chunk */
        }
        i = end;
    }
    return count;
}

static const uint32_t *row(const struct load *load, uint32_t chunk)
{
    return &load->counts[(size_t)chunk * WORK_BLOCK_MAX];
}

/* Forward layers chase the gathers of their parameters: layer k starts when gather k has ended.
 * Returns how long after `start` of its gathers the chunk's forward may begin so that it never
 * waits; the largest is at an end of a run. */
static double gather_lead_s(const struct load *load, uint32_t stage, uint32_t chunk)
{
    uint32_t order[WORK_BLOCK_MAX];
    const struct piece *pieces = estimator_pieces(load, stage);
    const uint32_t blocks = costmodel_block_order(load->work, order);
    double gathered = 0.0, computed = 0.0, lead = 0.0;
    for (uint32_t i = 0; i < blocks; i++) {
        const struct piece *piece = &pieces[order[i]];
        const uint32_t count = row(load, chunk)[order[i]];
        if (count == 0) {
            continue;
        }
        lead = number_larger(lead, gathered + piece->gather_s - computed);
        gathered += piece->gather_s * count;
        computed += piece->forward_total_s * (count - 1);
        lead = number_larger(lead, gathered - computed);
        computed += piece->forward_total_s;
    }
    return lead;
}

static double chunk_gather_s(const struct load *load, uint32_t stage, uint32_t chunk)
{
    const struct piece *pieces = estimator_pieces(load, stage);
    double seconds = 0.0;
    for (uint32_t b = 0; b < load->work->block_count; b++) {
        seconds += pieces[b].gather_s * row(load, chunk)[b];
    }
    return seconds;
}

static void find_releases(const struct load *load, struct stream_notes *notes)
{
    const struct schedule_shape *shape = &load->work->shape;
    const bool overlaps = load->work->problem->setup->runtime->overlaps_parameter_gather;
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        double gathered = 0.0;
        for (uint32_t local = 0; local < shape->chunks; local++) {
            const uint32_t chunk = notes->stream->model_chunk[stage * shape->chunks + local];
            notes->release_s[chunk] =
                gathered + (overlaps ? gather_lead_s(load, stage, chunk) : 0.0);
            gathered += chunk_gather_s(load, stage, chunk);
        }
        for (uint32_t local = 0; !overlaps && local < shape->chunks; local++) {
            notes->release_s[notes->stream->model_chunk[stage * shape->chunks + local]] = gathered;
        }
    }
}

struct replay_times costmodel_times(const struct load *load, struct stream_notes *notes)
{
    const uint32_t chunks = notes->replay.chunk_count;
    const uint32_t *stages = notes->replay.chunk_stage;
    for (uint32_t chunk = 0; chunk < chunks; chunk++) {
        const struct piece *pieces = estimator_pieces(load, stages[chunk]);
        double forward = 0.0, backward = 0.0, weight = 0.0;
        for (uint32_t b = 0; b < load->work->block_count; b++) {
            const double count = row(load, chunk)[b];
            forward += pieces[b].forward_total_s * count;
            backward += pieces[b].backward_total_s * count;
            weight += pieces[b].weight_s * count;
        }
        notes->forward_s[chunk] = forward;
        notes->backward_s[chunk] = backward;
        notes->weight_s[chunk] = weight;
        notes->input_s[chunk] = backward - weight;
        notes->send_s[chunk] =
            chunk + 1 == chunks ? 0.0 : estimator_send_s(load, stages[chunk], stages[chunk + 1]);
        notes->queue_s[chunk] =
            chunk + 1 == chunks ? 0.0 : estimator_queue_s(load, stages[chunk], stages[chunk + 1]);
    }
    find_releases(load, notes);
    return (struct replay_times){
        .forward_s = notes->forward_s,
        .backward_s = notes->backward_s,
        .input_s = notes->input_s,
        .weight_s = notes->weight_s,
        .send_s = notes->send_s,
        .send_back_s = load->work->forward_only ? NULL : notes->send_s,
        .queue_s = notes->queue_s,
        .lines = load->lines,
        .release_s = notes->release_s,
        .send_blocks =
            runtime_send_blocks(load->work->problem->setup->runtime, load->work->shape.chunks)};
}

/* Barrier, norm, update. The slowest update holds everybody up once more at the next step's
 * first exchange. */
static double finish_s(const struct load *load, double summed_s)
{
    double update = 0.0, stale = 0.0;
    for (uint32_t stage = 0; stage < load->work->shape.stages; stage++) {
        const struct stage_sums sums = estimator_sum_stage(load, stage);
        update = number_larger(update, sums.update_s);
        stale = number_larger(stale, sums.stale_s);
    }
    const double overhead = load->work->problem->setup->runtime->step_overhead_s;
    return number_larger(summed_s + load->norm_s + update, stale) + overhead;
}

static double summed_s(const struct load *load, const struct stream_notes *notes,
                       const struct replay_result *result)
{
    const uint32_t stages = load->work->shape.stages;
    double last = 0.0;
    for (uint32_t stage = 0; stage < stages; stage++) {
        const double end = costmodel_sync_end_s(load, notes, result, stage);
        const bool is_end = stage == 0 || stage + 1 == stages;
        last = number_larger(last, end + (is_end ? load->tied_s : 0.0));
    }
    return last;
}

static void remember_cut(struct stream_notes *notes, const struct replay_times *times,
                         struct arena *arena)
{
    struct replay_cut *cut = &notes->cuts[notes->next_cut];
    if (notes->cut_count < CUT_MAX) {
        replay_cut_init(notes->replay.chunk_count, arena, cut);
        notes->cut_count++;
    }
    replay_find_cut(&notes->replay, times, notes->scratch, cut);
    notes->next_cut = (notes->next_cut + 1) % CUT_MAX;
}

double costmodel_bound(struct costmodel *model, const struct load *load)
{
    struct stream_notes *notes = costmodel_timed_notes(model, load->stream);
    const struct replay_times times = costmodel_times(load, notes);
    double least = 0.0;
    for (uint32_t i = 0; i < notes->cut_count; i++) {
        least = number_larger(least, replay_find_bound(&notes->cuts[i], &times));
    }
    return finish_s(load, least);
}

/* --- one stage's account ---------------------------------------------------------------------- */

static void add_busy(const struct load *load, uint32_t stage, uint32_t chunk, double *cost_s)
{
    const struct piece *pieces = estimator_pieces(load, stage);
    const double m = load->work->shape.micro_batches;
    for (uint32_t b = 0; b < load->work->block_count; b++) {
        const double count = m * row(load, chunk)[b];
        for (uint32_t c = 0; c < COST_COUNT && count > 0.0; c++) {
            cost_s[c] += count * (pieces[b].forward_s[c] + pieces[b].backward_s[c]);
        }
    }
}

static double sum_of(const double *cost_s)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < COST_COUNT; i++) {
        sum += cost_s[i];
    }
    return sum;
}

/* Dim charged for a stage's gradient sums: that of its heaviest weights. */
static uint32_t sync_dim(const struct load *load)
{
    uint32_t dim = 0;
    uint64_t most = 0;
    for (uint32_t b = 0; b < load->work->block_count; b++) {
        const struct work_block *block = &load->work->blocks[b];
        for (uint32_t i = 0; i < block->weights_count; i++) {
            if (block->weights[i].group != NO_INDEX && block->weights[i].elements >= most) {
                most = block->weights[i].elements;
                dim = block->weights[i].dim;
            }
        }
    }
    return dim;
}

struct account {
    const struct load *load;
    const struct stream_notes *notes;
    const struct replay_result *result;
    double step_s, sends_s;
};

/* Work as counted; sums and gathers by how long the stage waited for them; sends of the critical
 * path; what is left is waiting for others. */
static void fill_costs(const struct account *account, uint32_t stage, struct stage_estimate *out)
{
    const struct load *load = account->load;
    const struct work *work = load->work;
    memset(out->cost_s, 0, sizeof out->cost_s);
    for (uint32_t local = 0; local < work->shape.chunks; local++) {
        add_busy(load, stage,
                 account->notes->stream->model_chunk[stage * work->shape.chunks + local],
                 out->cost_s);
    }
    out->busy_s = sum_of(out->cost_s);
    const struct stage_sums sums = estimator_sum_stage(load, stage);
    out->cost_s[COST_OPTIMIZER] += sums.update_s - sums.update_copy_s;
    out->cost_s[COST_HOST] += sums.update_copy_s;
    out->host_copy_s = sums.update_copy_s + sums.copy_s * work->shape.micro_batches;
    out->cost_s[COST_OVERHEAD] += work->problem->setup->runtime->step_overhead_s;
    double sync = costmodel_sync_end_s(load, account->notes, account->result, stage) -
                  account->result->stage_end_s[stage];
    sync = sync < ROUNDING * account->step_s ? 0.0 : sync;
    const uint32_t first = account->notes->stream->model_chunk[stage * work->shape.chunks];
    const double start = account->result->stage_start_s[stage];
    const double gather =
        account->notes->release_s[first] < start ? account->notes->release_s[first] : start;
    out->cost_s[COST_DIM + sync_dim(load)] += sync + gather;
    if (work->norm.bytes > 0.0) {
        out->cost_s[COST_DIM + work->norm.dim] += load->norm_s;
    }
    if (work->tied.bytes > 0.0 && (stage == 0 || stage + 1 == work->shape.stages)) {
        out->cost_s[COST_DIM + work->tied.dim] += load->tied_s;
    }
    double left = account->step_s - sum_of(out->cost_s);
    left = left < ROUNDING * account->step_s ? 0.0 : left;
    const double sends = account->sends_s < left ? account->sends_s : left;
    if (work->send.bytes > 0.0) {
        out->cost_s[COST_DIM + work->send.dim] += sends;
    }
    out->cost_s[COST_BUBBLE] += left - (work->send.bytes > 0.0 ? sends : 0.0);
}

static double path_sends_s(const struct replay_cut *cut, const struct load *load,
                           const struct stream_notes *notes)
{
    double count = 0.0, beyond_s = cut->lined_s;
    for (uint32_t i = 0; i < cut->chunk_count; i++) {
        const double own =
            (double)cut->sends[i] + (load->work->forward_only ? 0.0 : (double)cut->sends_back[i]);
        count += own;
        beyond_s += own > 0.0 ? own * (notes->send_s[i] - load->send_s) : 0.0;
        beyond_s += cut->queued[i] * notes->queue_s[i];
    }
    return count * load->send_s + beyond_s;
}

static void fill_memory(struct costmodel *model, const struct load *load,
                        const struct stream_notes *notes, struct estimate *out)
{
    out->fits = true;
    for (uint32_t stage = 0; stage < load->work->shape.stages; stage++) {
        struct stage_estimate local;
        struct stage_estimate *row_out = out->stages == NULL ? &local : &out->stages[stage];
        costmodel_memory(model, load, notes, stage, row_out);
        out->fits = out->fits && estimator_fits(row_out);
        if (stage == 0 || estimator_is_fuller(row_out, out)) {
            out->peak_bytes = row_out->peak_bytes;
            out->capacity_bytes = row_out->capacity_bytes;
            out->fullest_stage = stage;
        }
    }
}

static void fill_stages(struct costmodel *model, const struct load *load,
                        struct stream_notes *notes, const struct replay_times *times,
                        struct estimate *out)
{
    /* the path first: the replay's result lives in the same scratch */
    remember_cut(notes, times, &model->cache->streams_arena);
    const uint32_t newest = (notes->next_cut + CUT_MAX - 1) % CUT_MAX;
    struct replay_result result;
    replay_find_times(&notes->replay, times, notes->scratch, &result);
    const struct account account = {.load = load,
                                    .notes = notes,
                                    .result = &result,
                                    .step_s = out->step_s,
                                    .sends_s = path_sends_s(&notes->cuts[newest], load, notes)};
    double busiest = -1.0;
    for (uint32_t stage = 0; stage < out->stage_count; stage++) {
        fill_costs(&account, stage, &out->stages[stage]);
        const double used = out->step_s - out->stages[stage].cost_s[COST_BUBBLE];
        if (used > busiest) {
            busiest = used;
            out->slowest_stage = stage;
        }
    }
}

void costmodel_combine(struct costmodel *model, const struct load *load, bool detail,
                       struct arena *arena, struct estimate *out)
{
    struct stream_notes *notes = costmodel_timed_notes(model, load->stream);
    const struct replay_times times = costmodel_times(load, notes);
    memset(out, 0, sizeof *out);
    out->stage_count = load->work->shape.stages;
    out->stages = detail ? ARENA_PUSH(arena, struct stage_estimate, out->stage_count) : NULL;
    struct replay_result result;
    replay_find_times(&notes->replay, &times, notes->scratch, &result);
    out->step_s = finish_s(load, summed_s(load, notes, &result));
    fill_memory(model, load, notes, out);
    if (detail) {
        fill_stages(model, load, notes, &times, out);
    } else if (notes->cut_count < CUT_MAX) {
        remember_cut(notes, &times, &model->cache->streams_arena);
    }
}

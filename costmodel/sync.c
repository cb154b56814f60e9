/* Gradient sums behind the last backward of each chunk: layer by layer under the backward of the
 * layers before it. */
#include "base/number.h"
#include "costmodel/costmodel_inside.h"

/* A run of equal layers: gradients ready `apart` seconds after each other, the first at `ready`,
 * each sum lasts `sum`; the sums go one after another. The last ends at the largest of starting
 * late, keeping up, catching up. */
static double run_end_s(double busy_until, double ready, double apart, double sum, double count)
{
    const double late = number_larger(busy_until, ready) + count * sum;
    const double last = ready + (count - 1.0) * apart + sum;
    return number_larger(late, last);
}

/* Sums of one chunk whose last backward ends at end_s. */
static double chunk_end_s(const struct load *load, const struct piece *pieces, uint32_t chunk,
                          double end_s, double busy_until)
{
    uint32_t order[WORK_BLOCK_MAX];
    const uint32_t blocks = costmodel_block_order(load->work, order);
    const uint32_t *counts = &load->counts[(size_t)chunk * WORK_BLOCK_MAX];
    double ready = end_s;
    for (uint32_t i = 0; i < blocks; i++) {
        ready -= pieces[order[i]].backward_total_s * counts[order[i]];
    }
    for (uint32_t left = blocks; left > 0; left--) {
        const struct piece *piece = &pieces[order[left - 1]];
        const double count = counts[order[left - 1]];
        if (count > 0.0) {
            busy_until = run_end_s(busy_until, ready + piece->backward_total_s,
                                   piece->backward_total_s, piece->sync_s, count);
            ready += piece->backward_total_s * count;
        }
    }
    return busy_until;
}

/* The stage's chunk with the earliest last backward after (time, chunk), or NO_INDEX. */
static uint32_t next_chunk(const struct load *load, const struct stream_notes *notes,
                           const struct replay_result *result, uint32_t stage, uint32_t last)
{
    const struct schedule_shape *shape = &load->work->shape;
    uint32_t found = NO_INDEX;
    for (uint32_t local = 0; local < shape->chunks; local++) {
        const uint32_t chunk = notes->stream->model_chunk[stage * shape->chunks + local];
        const double end = result->chunk_end_s[chunk];
        const bool after = last == NO_INDEX || end > result->chunk_end_s[last] ||
                           (end == result->chunk_end_s[last] && chunk > last);
        if (after && (found == NO_INDEX || end < result->chunk_end_s[found] ||
                      (end == result->chunk_end_s[found] && chunk < found))) {
            found = chunk;
        }
    }
    return found;
}

static double stage_sync_s(const struct load *load, const struct stream_notes *notes,
                           uint32_t stage)
{
    const struct schedule_shape *shape = &load->work->shape;
    const struct piece *pieces = estimator_pieces(load, stage);
    double sum = 0.0;
    for (uint32_t local = 0; local < shape->chunks; local++) {
        const uint32_t chunk = notes->stream->model_chunk[stage * shape->chunks + local];
        for (uint32_t b = 0; b < load->work->block_count; b++) {
            sum += pieces[b].sync_s * load->counts[(size_t)chunk * WORK_BLOCK_MAX + b];
        }
    }
    return sum;
}

double costmodel_sync_end_s(const struct load *load, const struct stream_notes *notes,
                            const struct replay_result *result, uint32_t stage)
{
    const double stage_end = result->stage_end_s[stage];
    if (!load->work->problem->setup->runtime->overlaps_gradient_reduce) {
        return stage_end + stage_sync_s(load, notes, stage);
    }
    double end = 0.0;
    for (uint32_t chunk = next_chunk(load, notes, result, stage, NO_INDEX); chunk != NO_INDEX;
         chunk = next_chunk(load, notes, result, stage, chunk)) {
        end = chunk_end_s(load, estimator_pieces(load, stage), chunk, result->chunk_end_s[chunk],
                          end);
    }
    return number_larger(end, stage_end);
}

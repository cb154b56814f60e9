/* What all users of a judge need: names of what seconds and bytes go to, a load filled. */
#include "plan/estimator.h"

#include <string.h>

#include "base/number.h"
#include "plan/boundary.h"

const char *estimator_cost_key(uint32_t cost, struct arena *arena)
{
    static const char *const keys[COST_DIM] = {"compute_s", "recompute_s", "optimizer_s",
                                               "overhead_s", "bubble_s"};
    if (cost < COST_DIM) {
        return keys[cost];
    }
    const uint32_t dim = cost - COST_DIM;
    if (dim == WORK_HOST) {
        return "host_copy_s";
    }
    /* a beside fold's traffic is charged to its host */
    if (dim >= dim_table_count || dim_table[dim]->kind == DIM_FOLD_BESIDE) {
        return NULL;
    }
    return text_build(arena, "%s_comm_s", dim_table[dim]->name);
}

const char *estimator_memory_key(enum memory_class class)
{
    static const char *const keys[MEMORY_CLASS_COUNT] = {
        "parameters_bytes",  "gradients_bytes", "optimizer_bytes", "kv_cache_bytes",
        "activations_bytes", "logits_bytes",    "buffers_bytes",   "context_bytes"};
    return keys[class];
}

bool estimator_fits(const struct stage_estimate *stage)
{
    return stage->peak_bytes <= stage->capacity_bytes &&
           (stage->host_bytes == 0.0 || stage->host_bytes <= stage->host_capacity_bytes);
}

double estimator_room_bytes(const struct stage_estimate *stage)
{
    const double device = stage->capacity_bytes - stage->peak_bytes;
    const double host = stage->host_capacity_bytes - stage->host_bytes;
    return stage->host_bytes > 0.0 ? number_smaller(device, host) : device;
}

bool estimator_find_shortage(const struct estimate *estimate, struct shortage *out)
{
    double most = 0.0;
    for (uint32_t i = 0; i < 2 * estimate->stage_count; i++) {
        const bool on_host = i >= estimate->stage_count;
        const uint32_t at = i % estimate->stage_count;
        const struct stage_estimate *stage = &estimate->stages[at];
        const struct shortage own = {
            .stage = at,
            .on_host = on_host,
            .needed_bytes = on_host ? stage->host_bytes : stage->peak_bytes,
            .capacity_bytes = on_host ? stage->host_capacity_bytes : stage->capacity_bytes};
        if (own.needed_bytes - own.capacity_bytes > most && !(on_host && most > 0.0)) {
            most = own.needed_bytes - own.capacity_bytes;
            *out = own;
        }
    }
    return most > 0.0;
}

bool estimator_is_fuller(const struct stage_estimate *stage, const struct estimate *than)
{
    return stage->capacity_bytes == than->capacity_bytes
               ? stage->peak_bytes > than->peak_bytes
               : stage->peak_bytes - stage->capacity_bytes >
                     than->peak_bytes - than->capacity_bytes;
}

struct stage_sums estimator_sum_stage(const struct load *load, uint32_t stage)
{
    const struct piece *pieces = estimator_pieces(load, stage);
    const uint32_t chunks = load->work->shape.chunks;
    struct stage_sums sums = {0};
    for (uint32_t local = 0; local < chunks; local++) {
        const uint32_t chunk = load->stream->model_chunk[stage * chunks + local];
        const uint32_t *counts = &load->counts[(size_t)chunk * WORK_BLOCK_MAX];
        for (uint32_t b = 0; b < load->work->block_count; b++) {
            const double layers = (double)counts[b];
            sums.sync_s += pieces[b].sync_s * layers;
            sums.stale_s += pieces[b].stale_s * layers;
            sums.update_s += pieces[b].update_s * layers;
            sums.update_copy_s += pieces[b].update_copy_s * layers;
            sums.copy_s += pieces[b].copy_s * layers;
        }
    }
    return sums;
}

/* [stage] of the boundary between two stages. */
static uint32_t find_boundary(const struct load *load, uint32_t from, uint32_t to)
{
    const uint32_t low = from < to ? from : to, high = from < to ? to : from;
    return high - low == 1 ? low : load->work->shape.stages - 1;
}

double estimator_send_s(const struct load *load, uint32_t from, uint32_t to)
{
    return load->sends_s == NULL ? load->send_s : load->sends_s[find_boundary(load, from, to)];
}

double estimator_queue_s(const struct load *load, uint32_t from, uint32_t to)
{
    return load->queues_s == NULL ? load->queue_s : load->queues_s[find_boundary(load, from, to)];
}

const struct piece *estimator_price_blocks(const struct estimator *estimator,
                                           const struct work *work, struct arena *arena)
{
    const uint32_t sites = work_count_sites(work), blocks = work->block_count;
    struct piece *pieces = ARENA_PUSH(arena, struct piece, (size_t)sites * blocks);
    for (uint32_t i = 0; i < sites * blocks; i++) {
        estimator->piece(estimator->state, work, i % blocks, i / blocks, NULL, &pieces[i]);
    }
    return pieces;
}

/* Receivers of parts of an activation gather them: as those of the first stage would. */
static double spread_s(const struct estimator *estimator, const struct work *work)
{
    return work->spread.bytes > 0.0 ? estimator->message_s(estimator->state, work, &work->spread, 0)
                                    : 0.0;
}

static double plain_send_s(const struct estimator *estimator, const struct work *work)
{
    return estimator->message_s(estimator->state, work, &work->send, 0) + spread_s(estimator, work);
}

double estimator_crowding(const struct load *load, uint32_t from, uint32_t to)
{
    return load->crowdings == NULL ? 1.0 : load->crowdings[find_boundary(load, from, to)];
}

/* Pairs that stand for a boundary: one for each kind of device that sends, and the longest way. */
static uint32_t find_sender(const struct work *work, uint32_t stage, uint32_t i,
                            const struct boundary *boundary)
{
    const bool wraps = stage + 1 == work->shape.stages;
    const uint32_t from = wraps ? 0 : stage;
    return i == work_count_kinds(work, work_find_site(work, from))
               ? boundary->slowest
               : work_find_pair(work, from, i) + (wraps ? work->sites.stride * stage : 0);
}

/* The slowest of the pairs that stand for a boundary, with so many times the bytes; each as crowded
 * as its own way is. */
static double boundary_s(const struct estimator *estimator, const struct work *work, uint32_t stage,
                         double bytes_frac, const struct boundary *boundary)
{
    const bool wraps = stage + 1 == work->shape.stages;
    const uint32_t kinds = work_count_kinds(work, work_find_site(work, wraps ? 0 : stage));
    const uint32_t pairs = kinds + (boundary->byte_s > 0.0 ? 1 : 0);
    struct work_message message = work->send;
    message.group = wraps ? work->tied.group : work->send.group;
    double seconds = 0.0;
    for (uint32_t i = 0; i < pairs; i++) {
        const uint32_t sender = find_sender(work, stage, i, boundary);
        const uint32_t base = wraps ? sender - work->sites.stride * stage : sender;
        message.bytes = bytes_frac * work->send.bytes *
                        boundary_find_crowding(work, stage, sender, boundary->byte_s);
        seconds =
            number_larger(seconds, estimator->message_s(estimator->state, work, &message, base));
    }
    return seconds + spread_s(estimator, work);
}

/* Boundaries between the same two sites take the same, where no link is shared. */
static uint32_t find_twin(const struct work *work, uint32_t stage)
{
    uint32_t twin =
        work->problem->cluster->level_count == 0 || stage + 1 == work->shape.stages ? stage : 0;
    while (twin < stage && (work_find_site(work, twin) != work_find_site(work, stage) ||
                            work_find_site(work, twin + 1) != work_find_site(work, stage + 1))) {
        twin++;
    }
    return twin;
}

/* Where one more message follows, it arrives so much later. */
static double marginal_s(double one_s, double two_s)
{
    return two_s > one_s ? two_s - one_s : 0.0;
}

static const struct boundary *find_boundaries(const struct work *work, struct arena *arena)
{
    struct boundary *boundaries = ARENA_PUSH(arena, struct boundary, work->shape.stages);
    boundary_find(work, arena, boundaries);
    return boundaries;
}

/* [stage] a boundary's messages, each with so many times the bytes. */
static const double *price_sends(const struct estimator *estimator, const struct work *work,
                                 double bytes_frac, const struct boundary *boundaries,
                                 struct arena *arena)
{
    double *sends_s = ARENA_PUSH(arena, double, work->shape.stages);
    for (uint32_t stage = 0; stage < work->shape.stages; stage++) {
        const uint32_t twin = find_twin(work, stage);
        sends_s[stage] = twin < stage
                             ? sends_s[twin]
                             : boundary_s(estimator, work, stage, bytes_frac, &boundaries[stage]);
    }
    return sends_s;
}

static void price_boundaries(const struct estimator *estimator, const struct work *work,
                             struct arena *arena, struct load *out)
{
    const uint32_t stages = work->shape.stages;
    const struct boundary *boundaries = find_boundaries(work, arena);
    const double *twos_s = price_sends(estimator, work, 2.0, boundaries, arena);
    double *queues_s = ARENA_PUSH(arena, double, stages),
           *crowdings = ARENA_PUSH(arena, double, stages);
    out->sends_s = price_sends(estimator, work, 1.0, boundaries, arena);
    for (uint32_t stage = 0; stage < stages; stage++) {
        queues_s[stage] = marginal_s(out->sends_s[stage], twos_s[stage]);
        crowdings[stage] = boundary_find_crowding(work, stage, work_find_place(work, stage, 0),
                                                  boundaries[stage].byte_s);
    }
    out->queues_s = queues_s;
    out->crowdings = crowdings;
    if (work->problem->cluster->level_count == 0) {
        uint32_t *lines = ARENA_PUSH(arena, uint32_t, (size_t)2 * BOUNDARY_LINKS * stages);
        out->lines = boundary_find_lines(work, boundaries, lines) ? lines : NULL;
    }
}

static bool sends_differ(const struct work *work)
{
    return (work->sites.count > 0 || work->problem->cluster->level_count == 0) &&
           work->shape.stages > 1;
}

static double least_of(const double *seconds, uint32_t count)
{
    double least = seconds[0];
    for (uint32_t i = 1; i < count; i++) {
        least = number_smaller(least, seconds[i]);
    }
    return least;
}

double estimator_find_send_s(const struct estimator *estimator, const struct work *work,
                             struct arena *arena)
{
    if (!sends_differ(work)) {
        return plain_send_s(estimator, work);
    }
    const struct boundary *boundaries = find_boundaries(work, arena);
    return least_of(price_sends(estimator, work, 1.0, boundaries, arena), work->shape.stages);
}

/* Between the end stages: the slowest of the pairs that stand for them. */
static double tied_s(const struct estimator *estimator, const struct work *work)
{
    double seconds = 0.0;
    for (uint32_t i = 0; i < work_count_kinds(work, 0); i++) {
        seconds = number_larger(seconds, estimator->message_s(estimator->state, work, &work->tied,
                                                              work_find_pair(work, 0, i)));
    }
    return seconds;
}

void estimator_price_messages(const struct estimator *estimator, const struct work *work,
                              struct arena *arena, struct load *out)
{
    struct work_message two = work->send;
    two.bytes *= 2.0;
    out->sends_s = out->queues_s = out->crowdings = NULL;
    out->lines = NULL;
    if (sends_differ(work)) {
        price_boundaries(estimator, work, arena, out);
        out->send_s = least_of(out->sends_s, work->shape.stages);
        out->queue_s = least_of(out->queues_s, work->shape.stages);
    } else {
        const double one_s = estimator->message_s(estimator->state, work, &work->send, 0);
        out->send_s = one_s + spread_s(estimator, work);
        out->queue_s = marginal_s(one_s, estimator->message_s(estimator->state, work, &two, 0));
    }
    out->spread_s = spread_s(estimator, work);
    out->tied_s = tied_s(estimator, work);
    out->norm_s = estimator->message_s(estimator->state, work, &work->norm, 0);
}

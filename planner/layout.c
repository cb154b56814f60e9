/* Layers of a leaf onto its stages: as fast as can be within what memory allows. */
#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "planner/partition.h"
#include "planner/planner_inside.h"

bool layout_is_alike(const struct model *model)
{
    return model->run_count <= 3;
}

/* Seconds of the layers before each end, on one site; "again": where not all is kept. */
struct prefix {
    double *plain_s, *again_s; /* [end] */
    double *least_s;           /* of the form that takes each less: moved to a host, what is made
                                * again may take less than what is kept */
};

struct layout {
    const struct search *search;
    struct load *load;
    uint32_t *counts;
    struct prefix *prefixes;               /* [site] */
    uint32_t *plain_blocks, *again_blocks; /* [layer * WORK_BLOCK_MAX + block]; of unlike layers */
    uint32_t plain_block, again_block;     /* of alike ones */
    double first_s, last_s;                /* where they stand */
    uint32_t last_place;                   /* of the last part: no end where chains turn back */
    uint32_t recomputed;                   /* per chunk */
    bool alike;                            /* one kind of middle layer */
    bool is_mixed;                         /* stages on several sites */
    bool splits;                           /* the schedule has weight gradients of its own */
    bool grows;                            /* no layer, added in front, makes a chunk shorter */
    const uint32_t *caps;                  /* most layers per stage by memory, NULL: ask */
    uint32_t *unlike_caps; /* of unlike layers, per stage and first layer; UNKNOWN: not asked */
};
#define UNKNOWN UINT32_MAX
/* Unlike layers on several chunks per stage go chunk by chunk along the chain; memory is looked
 * at afterwards. */
static bool goes_by_chunk(const struct layout *layout)
{
    return !layout->alike && layout->load->work->shape.chunks > 1;
}

static double piece_s(const struct piece *pieces, uint32_t block)
{
    return pieces[block].forward_total_s + pieces[block].backward_total_s;
}

/* One more layer: all before it, itself. */
static void push_block(uint32_t *blocks, uint32_t layer, uint32_t block)
{
    uint32_t *row = &blocks[(size_t)(layer + 1) * WORK_BLOCK_MAX];
    memcpy(row, row - WORK_BLOCK_MAX, WORK_BLOCK_MAX * sizeof *row);
    row[block]++;
}

static void open_prefix(struct layout *layout, struct arena *arena)
{
    const size_t ends = layout->search->layers + 1;
    const size_t sites = work_count_sites(layout->load->work);
    layout->prefixes = ARENA_PUSH(arena, struct prefix, sites);
    for (size_t site = 0; site < sites; site++) {
        layout->prefixes[site].plain_s = ARENA_PUSH(arena, double, ends);
        layout->prefixes[site].again_s = ARENA_PUSH(arena, double, ends);
        layout->prefixes[site].least_s = ARENA_PUSH(arena, double, ends);
    }
    if (!layout->alike) {
        layout->plain_blocks = ARENA_PUSH(arena, uint32_t, ends * WORK_BLOCK_MAX);
        layout->again_blocks = ARENA_PUSH(arena, uint32_t, ends * WORK_BLOCK_MAX);
    }
}

/* Seconds on one site. A layer in front of a chunk makes another take its plain form: the chunk
 * grows where no layer saves as much by that as the least of them takes. */
static void fill_site(struct layout *layout, uint32_t site)
{
    const struct work *work = layout->load->work;
    const struct model *model = work->problem->model;
    const struct piece *pieces = &layout->load->pieces[(size_t)site * work->block_count];
    const struct prefix *prefix = &layout->prefixes[site];
    double least_s = 1e300, most_saved_s = 0.0;
    uint32_t layer = 0;
    for (uint32_t run = 1; run + 1 < model->run_count; run++) {
        const uint32_t part = model->chain[run].part;
        const double plain_s = piece_s(pieces, work_find_block(work, part, KEEP_ALL));
        const double again_s = piece_s(pieces, work_find_block(work, part, work->keep));
        const double shorter_s = number_smaller(plain_s, again_s);
        least_s = number_smaller(least_s, shorter_s);
        most_saved_s = again_s - plain_s > most_saved_s ? again_s - plain_s : most_saved_s;
        for (uint32_t i = 0; i < model->chain[run].count; i++, layer++) {
            prefix->plain_s[layer + 1] = prefix->plain_s[layer] + plain_s;
            prefix->again_s[layer + 1] = prefix->again_s[layer] + again_s;
            prefix->least_s[layer + 1] = prefix->least_s[layer] + shorter_s;
        }
    }
    layout->grows = layout->grows && most_saved_s <= least_s * ROUNDING;
}

static void fill_blocks(struct layout *layout)
{
    const struct work *work = layout->load->work;
    const struct model *model = work->problem->model;
    uint32_t layer = 0;
    for (uint32_t run = 1; run + 1 < model->run_count; run++) {
        const uint32_t part = model->chain[run].part;
        for (uint32_t i = 0; i < model->chain[run].count; i++, layer++) {
            push_block(layout->plain_blocks, layer, work_find_block(work, part, KEEP_ALL));
            push_block(layout->again_blocks, layer, work_find_block(work, part, work->keep));
        }
    }
}

static void fill_prefix(struct layout *layout, struct arena *arena)
{
    const struct load *load = layout->load;
    const struct work *work = load->work;
    open_prefix(layout, arena);
    layout->grows = true;
    for (uint32_t site = 0; site < work_count_sites(work); site++) {
        fill_site(layout, site);
    }
    if (!layout->alike) {
        fill_blocks(layout);
    }
    layout->first_s = piece_s(estimator_pieces(load, 0), work->first_block);
    const uint32_t chunks = work->shape.chunks, end = work->shape.stages * chunks - 1;
    const uint32_t last_stage = load->stream->chunk_place[end] / chunks;
    layout->last_place = goes_by_chunk(layout) ? end : last_stage;
    layout->last_s = piece_s(estimator_pieces(load, last_stage), work->last_block);
}

static inline double chunk_s(const struct prefix *prefix, uint32_t recomputed, uint32_t first,
                             uint32_t count)
{
    const uint32_t again = count < recomputed ? count : recomputed;
    return prefix->again_s[first + again] - prefix->again_s[first] +
           prefix->plain_s[first + count] - prefix->plain_s[first + again];
}

/* Layers of a stage over its chunks: even, the odd ones away from the ends of the chain. */
static uint32_t share_of(uint32_t count, uint32_t chunks, uint32_t stage, uint32_t local)
{
    const uint32_t place = stage == 0 ? chunks - 1 - local : local;
    return count / chunks + (place < count % chunks ? 1 : 0);
}

static void fill_alike(const struct layout *layout, uint32_t count, uint32_t *row)
{
    const uint32_t again = count < layout->recomputed ? count : layout->recomputed;
    memset(row, 0, WORK_BLOCK_MAX * sizeof *row);
    if (count > 0) {
        row[layout->plain_block] += count - again;
        row[layout->again_block] += again;
    }
}

static void fill_unlike(const struct layout *layout, uint32_t first, uint32_t count, uint32_t *row)
{
    const size_t again = first + (count < layout->recomputed ? count : layout->recomputed);
    const size_t start = first, end = start + count;
    const uint32_t *const before = &layout->again_blocks[start * WORK_BLOCK_MAX];
    const uint32_t *const other = &layout->again_blocks[again * WORK_BLOCK_MAX];
    const uint32_t *const turn = &layout->plain_blocks[again * WORK_BLOCK_MAX];
    const uint32_t *const plain = &layout->plain_blocks[end * WORK_BLOCK_MAX];
    for (uint32_t b = 0; b < WORK_BLOCK_MAX; b++) {
        row[b] = other[b] - before[b] + plain[b] - turn[b];
    }
}

/* The blocks of one chunk that holds `count` layers from `first`. */
static void fill_row(const struct layout *layout, uint32_t chunk, uint32_t first, uint32_t count)
{
    const struct work *work = layout->load->work;
    uint32_t *row = &layout->counts[(size_t)chunk * WORK_BLOCK_MAX];
    if (layout->alike) {
        fill_alike(layout, count, row);
    } else {
        fill_unlike(layout, first, count, row);
    }
    row[work->first_block] += chunk == 0 ? 1 : 0;
    row[work->last_block] += chunk + 1 == work->shape.stages * work->shape.chunks ? 1 : 0;
}

static double extra_s(const struct layout *layout, uint32_t place)
{
    const double last_s = place == layout->last_place ? layout->last_s : 0.0;
    return (place == 0 ? layout->first_s : 0.0) + last_s;
}

/* By chunk a stage is a place in the chain. */
static uint32_t site_of(const struct layout *layout, uint32_t stage)
{
    const struct load *load = layout->load;
    const uint32_t chunks = load->work->shape.chunks;
    return work_find_site(
        load->work, goes_by_chunk(layout) ? load->stream->chunk_place[stage] / chunks : stage);
}

static double stage_s(void *state, uint32_t stage, uint32_t first, uint32_t count)
{
    const struct layout *layout = state;
    const struct schedule_shape *shape = &layout->load->work->shape;
    const struct prefix *prefix = &layout->prefixes[layout->is_mixed ? site_of(layout, stage) : 0];
    const uint32_t recomputed = layout->recomputed;
    if (shape->chunks == 1 || goes_by_chunk(layout)) {
        return chunk_s(prefix, recomputed, first, count) + extra_s(layout, stage);
    }
    double seconds = extra_s(layout, stage);
    for (uint32_t local = 0; local < shape->chunks; local++) {
        seconds += chunk_s(prefix, recomputed, 0, share_of(count, shape->chunks, stage, local));
    }
    return seconds;
}

/* Of unlike layers, each in the form that takes less: no less with more of them on either side. */
static double range_s(void *state, uint32_t stage, uint32_t first, uint32_t count)
{
    const struct layout *layout = state;
    const double *least_s = layout->prefixes[layout->is_mixed ? site_of(layout, stage) : 0].least_s;
    return (least_s[first + count] - least_s[first]) * ROUNDING + extra_s(layout, stage);
}

static bool ask_memory(const struct layout *layout, uint32_t stage, uint32_t first, uint32_t count)
{
    const struct load *load = layout->load;
    const struct schedule_shape *shape = &load->work->shape;
    for (uint32_t local = 0; local < shape->chunks; local++) {
        const uint32_t chunk = load->stream->model_chunk[stage * shape->chunks + local];
        fill_row(layout, chunk, shape->chunks == 1 ? first : 0,
                 share_of(count, shape->chunks, stage, local));
    }
    return layout->search->estimator->room_bytes(layout->search->estimator->state, load, stage) >=
           0.0;
}

/* Most layers from `first` on that the stage has room for: a partition asks for each beginning many
 * times, with other counts. */
static uint32_t find_cap(const struct layout *layout, uint32_t stage, uint32_t first)
{
    uint32_t low = 0, high = layout->search->layers - first;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        const bool good = ask_memory(layout, stage, first, middle);
        low = good ? middle : low;
        high = good ? high : middle - 1;
    }
    return low;
}

static bool stage_fits(void *state, uint32_t stage, uint32_t first, uint32_t count)
{
    struct layout *layout = state;
    if (layout->caps != NULL) {
        return count <= layout->caps[stage];
    }
    if (layout->unlike_caps == NULL) {
        return ask_memory(layout, stage, first, count);
    }
    uint32_t *cap = &layout->unlike_caps[stage * (layout->search->layers + 1) + first];
    if (*cap == UNKNOWN) {
        *cap = find_cap(layout, stage, first);
    }
    return count <= *cap;
}

/* Per model chunk, and the rows that go with them. */
static void spread(const struct layout *layout, const uint32_t *stage_counts, uint32_t *layers)
{
    const struct load *load = layout->load;
    const struct schedule_shape *shape = &load->work->shape;
    const uint32_t chunks = shape->stages * shape->chunks;
    for (uint32_t chunk = 0; chunk < chunks; chunk++) {
        const uint32_t place = load->stream->chunk_place[chunk];
        const uint32_t stage = place / shape->chunks, local = place % shape->chunks;
        layers[chunk] = goes_by_chunk(layout)
                            ? stage_counts[chunk]
                            : share_of(stage_counts[stage], shape->chunks, stage, local);
    }
    uint32_t first = 0;
    for (uint32_t chunk = 0; chunk < chunks; first += layers[chunk++]) {
        fill_row(layout, chunk, first, layers[chunk]);
    }
}

static bool all_fit(const struct layout *layout)
{
    const struct estimator *estimator = layout->search->estimator;
    for (uint32_t stage = 0; stage < layout->load->work->shape.stages; stage++) {
        if (estimator->room_bytes(estimator->state, layout->load, stage) < 0.0) {
            return false;
        }
    }
    return true;
}

static struct layout open_layout(const struct search *search, struct load *load, uint32_t *counts)
{
    const struct work *work = load->work;
    const struct model *model = work->problem->model;
    struct layout layout = {.search = search,
                            .load = load,
                            .counts = counts,
                            .alike = layout_is_alike(model),
                            .is_mixed = work_count_sites(work) > 1,
                            .recomputed = work->recompute_layers};
    load->counts = counts;
    if (layout.alike && search->layers > 0) {
        layout.plain_block = work_find_block(work, model->chain[1].part, KEEP_ALL);
        layout.again_block = work_find_block(work, model->chain[1].part, work->keep);
    }
    return layout;
}

/* The busiest stage works once per micro-batch, so a step within the limit has none that is
 * slower. */
static double find_ceiling_s(const struct layout *layout, const struct layout_room *room)
{
    const bool set = !layout->alike && room->step_s > 0.0;
    return set ? room->step_s / layout->load->work->shape.micro_batches / ROUNDING : 0.0;
}

/* All layers where they are fastest. */
static double least_total_s(const struct layout *layout)
{
    const size_t ends = layout->search->layers + 1;
    double least_s = layout->prefixes[0].least_s[ends - 1];
    for (uint32_t site = 1; site < work_count_sites(layout->load->work); site++) {
        least_s = number_smaller(least_s, layout->prefixes[site].least_s[ends - 1]);
    }
    return least_s + layout->first_s + layout->last_s;
}

/* Least layers of a stage, or of a chunk where layers go chunk by chunk. Where a runtime spreads
 * layers evenly, its stages divide them, which is a rule: then the least is the only number. */
static uint32_t find_least(const struct layout *layout)
{
    const struct search *search = layout->search;
    const struct schedule_shape *shape = &layout->load->work->shape;
    const bool by_chunk = goes_by_chunk(layout);
    const uint32_t places = by_chunk ? shape->stages * shape->chunks : shape->stages;
    const bool even = search->problem->setup->runtime->even_layers && search->layers >= places;
    return even ? search->layers / places : by_chunk ? 1 : shape->chunks;
}

static struct partition_problem pose(struct layout *layout, const struct layout_room *room)
{
    const struct search *search = layout->search;
    const struct work *work = layout->load->work;
    const struct schedule_shape *shape = &work->shape;
    const bool by_chunk = goes_by_chunk(layout);
    struct partition_problem problem = {
        .stages = by_chunk ? shape->stages * shape->chunks : shape->stages,
        .layers = search->layers,
        .least = find_least(layout),
        .weighs = layout->alike && layout->is_mixed,
        .weight = (double)shape->micro_batches * shape->chunks - 1.0,
        .ceiling_s = find_ceiling_s(layout, room),
        .stage_s = stage_s,
        .range_s = layout->grows ? NULL : range_s,
        .fits = room->limited && !by_chunk ? stage_fits : NULL,
        .alike = layout->alike,
        .state = layout};
    problem.floor_s = least_total_s(layout) / problem.stages * ROUNDING;
    return problem;
}

static void open_room(struct layout *layout, const struct layout_room *room, struct arena *arena)
{
    const struct schedule_shape *shape = &layout->load->work->shape;
    layout->caps = layout->alike ? room->caps : NULL;
    if (!layout->alike && room->limited && shape->chunks == 1) {
        const size_t beginnings = (size_t)shape->stages * (layout->search->layers + 1);
        layout->unlike_caps = ARENA_PUSH(arena, uint32_t, beginnings);
        memset(layout->unlike_caps, 0xff, beginnings * sizeof *layout->unlike_caps);
    }
}

enum layout_verdict layout_partition(const struct search *search, struct load *load,
                                     struct layout_room room, uint32_t *layers, uint32_t *counts,
                                     struct arena *arena)
{
    struct layout layout = open_layout(search, load, counts);
    fill_prefix(&layout, arena);
    open_room(&layout, &room, arena);
    const struct partition_problem problem = pose(&layout, &room);
    uint32_t *stage_counts = ARENA_PUSH(arena, uint32_t, problem.stages);
    double bottleneck_s;
    if (!partition_find(&problem, arena, stage_counts, &bottleneck_s)) {
        return problem.ceiling_s > 0.0 ? LAYOUT_TOO_SLOW : LAYOUT_NO_ROOM;
    }
    spread(&layout, stage_counts, layers);
    const bool known = layout.caps != NULL || !room.limited;
    return known || all_fit(&layout) ? LAYOUT_FOUND : LAYOUT_NO_ROOM;
}

bool layout_other(const struct search *search, struct load *load, struct layout_room room,
                  uint32_t *layers, uint32_t *counts, struct arena *arena)
{
    const struct schedule_shape *shape = &load->work->shape;
    struct layout layout = open_layout(search, load, counts);
    if (!layout.alike || !layout.is_mixed) {
        return false;
    }
    fill_prefix(&layout, arena);
    layout.caps = room.caps;
    const struct partition_problem problem = pose(&layout, &room);
    uint32_t *stage_counts = ARENA_PUSH(arena, uint32_t, problem.stages);
    for (uint32_t chunk = 0; chunk < shape->stages * shape->chunks; chunk++) {
        stage_counts[load->stream->chunk_place[chunk] / shape->chunks] += layers[chunk];
    }
    const bool moves = partition_climb(&problem, stage_counts);
    spread(&layout, stage_counts, layers); /* questions about memory left other rows */
    return moves;
}

/* There and back through the first chunk of a stage, once; of split backwards nobody waits for
 * more than the forward. By micro-batch, as the stage's own time is. */
static double pass_s(void *state, uint32_t stage, uint32_t first, uint32_t count)
{
    const struct layout *layout = state;
    const struct load *load = layout->load;
    const struct work *work = load->work;
    const bool splits = layout->splits, once = splits || work->forward_only;
    const struct piece *pieces = estimator_pieces(load, stage);
    double seconds = 0.0;
    if (layout->alike) {
        const double own_s = splits ? pieces[layout->plain_block].forward_total_s
                                    : piece_s(pieces, layout->plain_block);
        seconds = own_s * (count / work->shape.chunks);
    } else if (!splits && work->shape.chunks == 1) {
        seconds = stage_s(state, stage, first, count);
    }
    return (seconds + (once ? 1.0 : 2.0) * load->send_s) * ROUNDING / work->shape.micro_batches;
}

struct spreading {
    const struct layout *layout;
    const struct layout_visitor *visitor;
    struct partition_visitor inner;
    uint32_t *layers;
};

static bool visit_spread(void *state, const uint32_t *stage_counts)
{
    struct spreading *spreading = state;
    spread(spreading->layout, stage_counts, spreading->layers);
    const bool goes_on = spreading->visitor->visit(spreading->visitor->state);
    spreading->inner.most_s = spreading->visitor->most_s;
    return goes_on;
}

bool layout_each(const struct search *search, struct load *load, struct layout_room room,
                 const struct layout_visitor *visitor, uint32_t *layers, struct arena *arena)
{
    const size_t chunks = (size_t)load->work->shape.stages * load->work->shape.chunks;
    struct layout layout =
        open_layout(search, load, ARENA_PUSH(arena, uint32_t, chunks * WORK_BLOCK_MAX));
    fill_prefix(&layout, arena);
    open_room(&layout, &room, arena);
    layout.splits = visitor->splits;
    struct spreading spreading = {&layout, visitor, {.visit = visit_spread}, layers};
    spreading.inner.pass_s = goes_by_chunk(&layout) ? NULL : pass_s;
    spreading.inner.state = &spreading;
    spreading.inner.most_s = visitor->most_s;
    const struct partition_problem problem = pose(&layout, &room);
    spreading.inner.most_ways = visitor->most_ways;
    return partition_each(&problem, &spreading.inner, arena);
}

/* Most layers of one stage that memory allows; 0 when not even its least. Steps that grow from a
 * guess, then halves. */
static uint32_t cap_of(struct layout *layout, uint32_t stage, uint32_t most, uint32_t guess)
{
    const uint32_t least = find_least(layout);
    uint32_t low = least - 1, high = most;
    uint32_t middle = guess < least ? least : guess < most ? guess : most;
    for (uint32_t step = 1; low < high; step *= 2) {
        const bool good = stage_fits(layout, stage, 0, middle);
        low = good ? middle : low;
        high = good ? high : middle - 1;
        const uint32_t next = good ? middle + step : middle > step ? middle - step : 0;
        middle = next > low && next <= high ? next : low + (high - low + 1) / 2;
    }
    return low < least ? 0 : low;
}

bool layout_caps(const struct search *search, struct load *load, uint32_t *counts, uint32_t *caps)
{
    const struct schedule_shape *shape = &load->work->shape;
    struct layout layout = open_layout(search, load, counts);
    assert(layout.alike);
    uint32_t sum = 0;
    const uint32_t most = search->layers - (shape->stages - 1) * find_least(&layout);
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        caps[stage] = cap_of(&layout, stage, most,
                             stage == 0 ? search->layers / shape->stages : caps[stage - 1]);
        if (caps[stage] == 0) {
            return false;
        }
        sum += caps[stage];
    }
    return sum >= search->layers;
}

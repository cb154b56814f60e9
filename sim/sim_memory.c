/* Memory over time: what is resident, what each forward adds, what each backward gives back. */
#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "sim/sim_inside.h"

/* --- what does not change in a step ----------------------------------------------------------- */

static void add_block(const struct work_block *block, double count, struct stage_estimate *out,
                      double *moments)
{
    out->memory_bytes[MEMORY_PARAMETERS] += block->parameters_bytes * count;
    out->memory_bytes[MEMORY_GRADIENTS] += block->gradients_bytes * count;
    out->memory_bytes[MEMORY_OPTIMIZER] += block->optimizer_bytes * count;
    out->memory_bytes[MEMORY_CACHE] += block->cache_bytes * count;
    out->host_bytes += block->host_bytes * count;
    *moments += block->moments_bytes * count;
}

/* Returns the part of the optimiser's state that appears at the end of the first step only. alone:
 * a block of its own beyond the buffers, too large to leave holes. */
static double add_resident(const struct load *load, uint32_t stage, struct stage_estimate *out,
                           double *alone)
{
    const struct work *work = load->work;
    double moments = 0.0, working = 0.0, widened = 0.0, gathered = 0.0;
    for (uint32_t local = 0; local < work->shape.chunks; local++) {
        const uint32_t chunk = load->stream->model_chunk[stage * work->shape.chunks + local];
        for (uint32_t b = 0; b < work->block_count; b++) {
            const uint32_t count = sim_find_counts(load, chunk)[b];
            if (count > 0) {
                add_block(&work->blocks[b], (double)count, out, &moments);
                working = number_larger(working, work->blocks[b].working_bytes);
                widened = number_larger(widened, work->blocks[b].widened_bytes);
                gathered = number_larger(gathered, work->blocks[b].gathered_bytes);
            }
        }
    }
    /* gathered parameters of the block that runs and of the next; a message in and out each way
     * between stages */
    const double in = work->spread.bytes > 0.0 ? work->spread.bytes : work->send.bytes;
    const double sends =
        work->shape.stages == 1 ? 0.0 : (work->forward_only ? 1.0 : 2.0) * (work->send.bytes + in);
    out->memory_bytes[MEMORY_BUFFERS] = working + 2.0 * gathered + sends;
    /* a widened gradient is there when its layer's backward is over; what was needed for that, and
     * for gathering parameters after an update, the allocator keeps */
    const double bucket = (double)work->problem->setup->runtime->gather_bucket_bytes;
    const double held = out->memory_bytes[MEMORY_PARAMETERS];
    *alone = widened > working ? widened - working : 0.0;
    out->idle_bytes = widened - *alone + (bucket < held ? bucket : held);
    return moments;
}

/* --- what comes and goes ---------------------------------------------------------------------- */

struct chunk_bytes {
    double saved, logits;
    double host; /* in the host's memory, what is always there apart */
};

static struct chunk_bytes find_kept(const struct load *load, uint32_t stage, uint32_t local)
{
    const struct work *work = load->work;
    const uint32_t chunk = load->stream->model_chunk[stage * work->shape.chunks + local];
    struct chunk_bytes kept = {0.0, 0.0, 0.0};
    for (uint32_t b = 0; b < work->block_count; b++) {
        const double count = (double)sim_find_counts(load, chunk)[b];
        kept.saved += work->blocks[b].saved_bytes * count;
        kept.logits += work->blocks[b].logits_bytes * count;
        kept.host += work->blocks[b].host_saved_bytes * count;
    }
    return kept;
}

/* The block whose kept tensors take most when the stage is fullest. */
static uint32_t find_owner(const struct load *load, uint32_t stage, const uint32_t *live)
{
    const struct work *work = load->work;
    uint32_t owner = NO_INDEX;
    double most = 0.0;
    for (uint32_t b = 0; b < work->block_count; b++) {
        double held = 0.0;
        for (uint32_t local = 0; local < work->shape.chunks; local++) {
            const uint32_t chunk = load->stream->model_chunk[stage * work->shape.chunks + local];
            held += (work->blocks[b].saved_bytes + work->blocks[b].logits_bytes) *
                    (double)sim_find_counts(load, chunk)[b] * (double)live[local];
        }
        if (held > most) {
            most = held;
            owner = b;
        }
    }
    return owner;
}

/* What holds a chunk's tensors until then: the weight gradient where it is a slot of its own. */
static enum slot_kind releasing_kind(const struct stream *stream, uint32_t stage)
{
    for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
        if (stream->slots[stage][i].kind == SLOT_WEIGHT_GRADIENT) {
            return SLOT_WEIGHT_GRADIENT;
        }
    }
    return SLOT_BACKWARD;
}

struct level_log {
    struct sim_level *levels; /* NULL: not wanted */
    uint32_t count;
    const struct step_run *run;
    double base_bytes, scale;
};

static void log_level(struct level_log *log, uint32_t stage, uint32_t i, bool at_end, double held)
{
    if (log->levels == NULL) {
        return;
    }
    const struct step_run *run = log->run;
    const uint32_t slot = run->slots.first_of_stage[stage] + i;
    const struct slot_tasks *tasks = &sim_find_tasks(run, run->warm_steps, 0)[slot];
    const uint64_t ticks = at_end ? engine_find_end(&run->engine, tasks->exit)
                                  : engine_find_start(&run->engine, tasks->entry);
    log->levels[log->count++] = (struct sim_level){
        stage, work_find_place(run->load->work, stage, 0), world_find_s(&run->engine.world, ticks),
        log->base_bytes + held * log->scale};
}

/* Walks the stage's slots in order; their times do not matter for who is live. */
static void walk_stage(const struct load *load, uint32_t stage, struct stage_estimate *out,
                       struct sim_stage *moment, struct level_log *log)
{
    const struct stream *stream = load->stream;
    const enum slot_kind last = releasing_kind(stream, stage);
    struct arena arena;
    arena_init(&arena);
    uint32_t *live = ARENA_PUSH(&arena, uint32_t, stream->shape.chunks);
    struct chunk_bytes *kept = ARENA_PUSH(&arena, struct chunk_bytes, stream->shape.chunks);
    for (uint32_t local = 0; local < stream->shape.chunks; local++) {
        kept[local] = find_kept(load, stage, local);
    }
    double most = -1.0, most_host = 0.0;
    uint32_t live_count = 0;
    for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
        const struct slot *slot = &stream->slots[stage][i];
        const bool forward = slot->kind == SLOT_FORWARD;
        if (!forward && slot->kind != last && slot->kind != SLOT_BACKWARD) {
            continue;
        }
        assert(forward || live[slot->chunk] > 0);
        live[slot->chunk] += forward ? 1 : UINT32_MAX;
        live_count += forward ? 1 : UINT32_MAX;
        struct chunk_bytes held = {0.0, 0.0, 0.0};
        for (uint32_t local = 0; local < stream->shape.chunks; local++) {
            held.saved += kept[local].saved * (double)live[local];
            held.logits += kept[local].logits * (double)live[local];
            held.host += kept[local].host * (double)live[local];
        }
        most_host = number_larger(most_host, held.host);
        log_level(log, stage, i, !forward, held.saved + held.logits);
        if (held.saved + held.logits > most) {
            most = held.saved + held.logits;
            out->memory_bytes[MEMORY_ACTIVATIONS] = held.saved;
            out->memory_bytes[MEMORY_LOGITS] = held.logits;
            moment->peak_slot = i;
            moment->live_micro_batches = (double)live_count / (double)stream->shape.chunks;
            moment->peak_block = find_owner(load, stage, live);
        }
    }
    out->host_bytes += most_host;
    arena_release(&arena);
}

/* Every device of the stage holds as much: the one that has least is the limit. */
static double smallest_bytes(const struct work *work, uint32_t stage)
{
    const uint32_t site = work_find_site(work, stage);
    double least = -1.0;
    for (uint32_t i = 0; i < work_count_kinds(work, site); i++) {
        const uint32_t kind = work_find_kind(work, site, i);
        const double own = (double)work->problem->cluster->accelerators[kind].memory_bytes;
        least = least < 0.0 || own < least ? own : least;
    }
    return least;
}

static void add_all(const struct load *load, uint32_t stage, struct stage_estimate *out,
                    struct sim_stage *moment, struct level_log *log)
{
    const struct setup *setup = load->work->problem->setup;
    const struct runtime *runtime = setup->runtime;
    memset(out->memory_bytes, 0, sizeof out->memory_bytes);
    out->host_bytes = 0.0;
    out->host_capacity_bytes = work_host_bytes(load->work, work_find_site(load->work, stage));
    double alone = 0.0;
    const double moments = add_resident(load, stage, out, &alone);
    out->memory_bytes[MEMORY_CONTEXT] =
        (double)runtime->context_bytes +
        (double)runtime->communicator_bytes * load->work->group_count;
    log->scale = 1.0 + runtime->allocator_frac;
    log->base_bytes = out->memory_bytes[MEMORY_BUFFERS] * log->scale + alone +
                      out->memory_bytes[MEMORY_CONTEXT] + out->memory_bytes[MEMORY_PARAMETERS] +
                      out->memory_bytes[MEMORY_GRADIENTS] + out->memory_bytes[MEMORY_OPTIMIZER] +
                      out->memory_bytes[MEMORY_CACHE];
    walk_stage(load, stage, out, moment, log);
    /* what comes and goes leaves holes: a share of it is lost */
    const double churn = out->memory_bytes[MEMORY_ACTIVATIONS] + out->memory_bytes[MEMORY_LOGITS] +
                         out->memory_bytes[MEMORY_BUFFERS];
    out->memory_bytes[MEMORY_BUFFERS] += runtime->allocator_frac * churn + alone;
    out->idle_bytes += runtime->cached_frac * churn;
    out->peak_bytes = 0.0;
    for (uint32_t i = 0; i < MEMORY_CLASS_COUNT; i++) {
        out->peak_bytes += out->memory_bytes[i];
    }
    out->first_step_peak_bytes = out->peak_bytes - moments;
    out->capacity_bytes = smallest_bytes(load->work, stage) * (1.0 - setup->memory_headroom_frac);
    moment->peak_bytes = out->peak_bytes;
}

void sim_find_memory(const struct load *load, uint32_t stage, struct stage_estimate *out,
                     struct sim_stage *moment)
{
    struct level_log log = {.levels = NULL};
    add_all(load, stage, out, moment, &log);
}

void sim_fill_memory(const struct step_run *run, struct arena *arena, struct sim_result *out)
{
    struct estimate *estimate = &out->estimate;
    struct level_log log = {.run = run};
    if (run->sim->options.spans) {
        log.levels = ARENA_PUSH(arena, struct sim_level, run->slots.count);
    }
    estimate->fits = true;
    for (uint32_t stage = 0; stage < run->load->work->shape.stages; stage++) {
        struct stage_estimate *row = &estimate->stages[stage];
        struct sim_stage *own = &out->stages[stage];
        add_all(run->load, stage, row, own, &log);
        const uint32_t slot = run->slots.first_of_stage[stage] + own->peak_slot;
        const struct slot_tasks *tasks = &sim_find_tasks(run, run->warm_steps, 0)[slot];
        own->peak_at_s =
            world_find_s(&run->engine.world, engine_find_start(&run->engine, tasks->entry));
        estimate->fits = estimate->fits && estimator_fits(row);
        if (stage == 0 || estimator_is_fuller(row, estimate)) {
            estimate->peak_bytes = row->peak_bytes;
            estimate->capacity_bytes = row->capacity_bytes;
            estimate->fullest_stage = stage;
        }
    }
    out->levels = log.levels;
    out->level_count = log.count;
}

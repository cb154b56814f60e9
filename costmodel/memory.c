/* Memory of one stage: what is resident, what the fullest moment of its schedule keeps, what
 * runtime and libraries take. */
#include <string.h>

#include "base/number.h"
#include "costmodel/costmodel_inside.h"

/* What one micro-batch keeps of one chunk. */
struct chunk_bytes {
    double saved, logits;
};

static struct chunk_bytes chunk_bytes(const struct load *load, uint32_t chunk)
{
    struct chunk_bytes bytes = {0.0, 0.0};
    for (uint32_t b = 0; b < load->work->block_count; b++) {
        const double count = load->counts[(size_t)chunk * WORK_BLOCK_MAX + b];
        bytes.saved += load->work->blocks[b].saved_bytes * count;
        bytes.logits += load->work->blocks[b].logits_bytes * count;
    }
    return bytes;
}

/* On the host, for one device: what is there always, and with the live micro-batches of the worst
 * moment. */
static void add_host(const struct load *load, const struct stream_notes *notes, uint32_t stage,
                     struct stage_estimate *out)
{
    const uint32_t chunks = notes->live.chunks;
    double most = 0.0;
    for (uint32_t set = 0; set < notes->live.counts[stage]; set++) {
        const uint32_t *live = &notes->live.sets[stage][(size_t)set * chunks];
        double held = 0.0;
        for (uint32_t local = 0; local < chunks; local++) {
            const uint32_t chunk = notes->stream->model_chunk[stage * chunks + local];
            for (uint32_t b = 0; b < load->work->block_count; b++) {
                const struct work_block *block = &load->work->blocks[b];
                held += load->counts[(size_t)chunk * WORK_BLOCK_MAX + b] *
                        (block->host_bytes + block->host_saved_bytes * live[local]);
            }
        }
        most = number_larger(most, held);
    }
    out->host_bytes = most;
}

static bool uses_host(const struct work *work)
{
    bool uses = false;
    for (uint32_t b = 0; b < work->block_count; b++) {
        uses = uses || work->blocks[b].host_bytes + work->blocks[b].host_saved_bytes > 0.0;
    }
    return uses;
}

static void add_live(const struct load *load, const struct stream_notes *notes, uint32_t stage,
                     struct stage_estimate *out)
{
    const uint32_t chunks = notes->live.chunks;
    double most = -1.0;
    for (uint32_t local = 0; local < chunks; local++) {
        const struct chunk_bytes one =
            chunk_bytes(load, notes->stream->model_chunk[stage * chunks + local]);
        notes->saved_bytes[local] = one.saved;
        notes->logits_bytes[local] = one.logits;
    }
    for (uint32_t set = 0; set < notes->live.counts[stage]; set++) {
        const uint32_t *live = &notes->live.sets[stage][(size_t)set * chunks];
        double saved = 0.0, logits = 0.0;
        for (uint32_t local = 0; local < chunks; local++) {
            saved += live[local] * notes->saved_bytes[local];
            logits += live[local] * notes->logits_bytes[local];
        }
        if (saved + logits > most) {
            most = saved + logits;
            out->memory_bytes[MEMORY_ACTIVATIONS] = saved;
            out->memory_bytes[MEMORY_LOGITS] = logits;
        }
    }
}

/* What the gather of updated parameters wants as a step ends, when no activations are kept. */
static double bucket_bytes(const struct load *load, const struct stage_estimate *stage)
{
    const double most = (double)load->work->problem->setup->runtime->gather_bucket_bytes;
    const double whole = stage->memory_bytes[MEMORY_PARAMETERS];
    return whole < most ? whole : most;
}

/* Optimizer state that the first step ends with; what the widened gradient takes beyond the working
 * set, which is over by then: one block, of which fragmentation takes nothing. */
struct resident {
    double moments_bytes, alone_bytes;
};

/* Resident weights and states; the largest working set of any block, the two largest gathered
 * ones. */
static struct resident add_resident(const struct load *load, const struct stream_notes *notes,
                                    uint32_t stage, struct stage_estimate *out)
{
    double moments = 0.0, working = 0.0, widened = 0.0, gathered = 0.0;
    for (uint32_t local = 0; local < notes->live.chunks; local++) {
        const uint32_t chunk = notes->stream->model_chunk[stage * notes->live.chunks + local];
        for (uint32_t b = 0; b < load->work->block_count; b++) {
            const struct work_block *block = &load->work->blocks[b];
            const double count = load->counts[(size_t)chunk * WORK_BLOCK_MAX + b];
            if (count == 0.0) {
                continue;
            }
            out->memory_bytes[MEMORY_PARAMETERS] += block->parameters_bytes * count;
            out->memory_bytes[MEMORY_GRADIENTS] += block->gradients_bytes * count;
            out->memory_bytes[MEMORY_OPTIMIZER] += block->optimizer_bytes * count;
            out->memory_bytes[MEMORY_CACHE] += block->cache_bytes * count;
            moments += block->moments_bytes * count;
            working = number_larger(working, block->working_bytes);
            widened = number_larger(widened, block->widened_bytes);
            gathered = number_larger(gathered, block->gathered_bytes);
        }
    }
    /* one block in use, one prefetched; sends are double buffered each way, received whole */
    const double ways = load->work->forward_only ? 1.0 : 2.0;
    const struct work *work = load->work;
    const double received = number_larger(work->send.bytes, work->spread.bytes);
    const double send_buffers = work->shape.stages > 1 ? ways * (work->send.bytes + received) : 0.0;
    out->memory_bytes[MEMORY_BUFFERS] = working + 2.0 * gathered + send_buffers;
    const struct resident resident = {moments, number_larger(widened - working, 0.0)};
    out->idle_bytes = widened - resident.alone_bytes + bucket_bytes(load, out);
    return resident;
}

double costmodel_capacity_bytes(const struct problem *problem)
{
    const struct cluster *cluster = problem->cluster;
    uint64_t most = 0;
    for (uint32_t i = 0; i < cluster->accelerator_count; i++) {
        const uint64_t own = cluster->accelerators[i].memory_bytes;
        most = own > most ? own : most;
    }
    return (double)most * (1.0 - problem->setup->memory_headroom_frac);
}

void costmodel_memory(const struct costmodel *model, const struct load *load,
                      const struct stream_notes *notes, uint32_t stage, struct stage_estimate *out)
{
    const struct runtime *runtime = model->problem->setup->runtime;
    memset(out->memory_bytes, 0, sizeof out->memory_bytes);
    add_live(load, notes, stage, out);
    const struct resident resident = add_resident(load, notes, stage, out);
    const double churn = out->memory_bytes[MEMORY_ACTIVATIONS] + out->memory_bytes[MEMORY_LOGITS] +
                         out->memory_bytes[MEMORY_BUFFERS];
    out->memory_bytes[MEMORY_BUFFERS] += runtime->allocator_frac * churn + resident.alone_bytes;
    out->idle_bytes += runtime->cached_frac * churn;
    out->memory_bytes[MEMORY_CONTEXT] =
        (double)runtime->context_bytes +
        (double)runtime->communicator_bytes * load->work->group_count;
    out->peak_bytes = 0.0;
    for (uint32_t i = 0; i < MEMORY_CLASS_COUNT; i++) {
        out->peak_bytes += out->memory_bytes[i];
    }
    out->first_step_peak_bytes = out->peak_bytes - resident.moments_bytes;
    out->host_bytes = 0.0;
    out->host_capacity_bytes = work_host_bytes(load->work, work_find_site(load->work, stage));
    if (uses_host(load->work)) {
        add_host(load, notes, stage, out);
    }
    out->capacity_bytes = work_capacity_bytes(load->work, work_find_site(load->work, stage));
}

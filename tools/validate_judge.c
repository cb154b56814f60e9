/* Rows predicted: what many rows share is read once. */
#include "tools/validate.h"

#include <string.h>

#include "base/data_folder.h"
#include "costmodel/costmodel.h"
#include "tools/plan_flags.h"

#define BUCKETS 256u

/* A cluster with its prices under one runtime, and the judge that remembers them. */
struct joined {
    const char *cluster_text;
    unsigned long long digest; /* of the runtime with the features that rows use */
    struct runtime runtime;
    struct accelerator *devices; /* as read */
    uint32_t generation;         /* of constants, from 1 */
    const char *fault;           /* why it cannot be read, NULL: it can */
    struct cluster cluster;
    struct prices prices;
    struct costmodel judge;
    struct joined *next;
};

struct built_model {
    const char *text;
    const char *fault;
    struct model model;
    struct built_model *next;
};

struct validate_bench {
    struct arena *arena;
    struct arena scratch; /* of one row */
    struct validate_adjust adjust;
    uint32_t generation;
    struct runtime *runtimes;
    uint32_t runtime_count;
    struct joined *joined[BUCKETS];
    struct built_model *models[BUCKETS];
};

struct validate_bench *validate_bench_init(struct command *command)
{
    struct arena *arena = command->arena;
    struct validate_bench *bench = ARENA_PUSH(arena, struct validate_bench, 1);
    const char *const *names = data_folder_each("prices/runtimes", ".json", arena);
    uint32_t count = 0;
    while (names[count] != NULL) {
        count++;
    }
    bench->arena = arena;
    bench->generation = 1;
    bench->runtimes = ARENA_PUSH(arena, struct runtime, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!runtime_read(names[i], (struct diag_place){0}, arena, &bench->runtimes[i],
                          command->diag)) {
            return NULL;
        }
    }
    bench->runtime_count = count;
    return bench;
}

void validate_bench_release(struct validate_bench *bench)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        for (struct joined *joined = bench->joined[i]; joined != NULL; joined = joined->next) {
            if (joined->fault == NULL) {
                costmodel_release(&joined->judge);
            }
        }
    }
}

void validate_bench_adjust(struct validate_bench *bench, const struct validate_adjust *adjust)
{
    bench->adjust = *adjust;
    bench->generation++;
}

static uint32_t bucket_of(const char *text)
{
    return (uint32_t)(text_digest(TEXT_DIGEST_SEED, text, strlen(text)) % BUCKETS);
}

/* The first fault's message; the row is skipped for it. */
static const char *first_fault(const struct diag *diag, struct arena *arena)
{
    return diag->kept == 0 ? "refused without a word"
                           : text_build(arena, "%s [%s]", diag->entries[0].message,
                                        diag_code_name(diag->entries[0].code));
}

static struct built_model *find_model(struct validate_bench *bench, const char *text)
{
    struct built_model **bucket = &bench->models[bucket_of(text)];
    for (struct built_model *have = *bucket; have != NULL; have = have->next) {
        if (strcmp(have->text, text) == 0) {
            return have;
        }
    }
    struct built_model *model = ARENA_PUSH(bench->arena, struct built_model, 1);
    struct json *document;
    struct diag diag;
    diag_init(&diag, bench->arena);
    model->text = text_build(bench->arena, "%s", text);
    model->next = *bucket;
    *bucket = model;
    if (!json_open_text("row", text, strlen(text), false, bench->arena, &document, &diag)) {
        BUG("the text of a row's model is no JSON: %s", text);
    }
    if (!model_read_json(json_root(document), "row", bench->arena, &model->model, &diag)) {
        model->fault = first_fault(&diag, bench->arena);
    }
    json_close(document);
    return model;
}

static const struct runtime *runtime_named(const struct validate_bench *bench, const char *name)
{
    for (uint32_t i = 0; i < bench->runtime_count; i++) {
        if (strcmp(bench->runtimes[i].name, name) == 0) {
            return &bench->runtimes[i];
        }
    }
    BUG("no runtime is called '%s'", name);
}

void validate_bench_find(const struct validate_bench *bench, const char *name, bool is_runtime,
                         struct runtime *runtime, struct accelerator *device)
{
    if (is_runtime) {
        *runtime = *runtime_named(bench, name);
        return;
    }
    for (uint32_t i = 0; i < BUCKETS; i++) {
        for (const struct joined *have = bench->joined[i]; have != NULL; have = have->next) {
            if (have->fault == NULL && strcmp(have->cluster.accelerators[0].name, name) == 0) {
                *device = have->cluster.accelerators[0];
                return;
            }
        }
    }
    BUG("no row has device '%s'", name);
}

static void read_cluster(struct validate_bench *bench, struct joined *out)
{
    struct json *document;
    struct diag diag;
    const char *text = out->cluster_text;
    diag_init(&diag, bench->arena);
    if (!json_open_text("row", text, strlen(text), false, bench->arena, &document, &diag)) {
        BUG("the text of a row's cluster is no JSON: %s", text);
    }
    if (!cluster_read_json(json_root(document), "row", bench->arena, &out->cluster, &diag) ||
        !prices_read(&out->cluster, &out->runtime, bench->arena, &out->prices, &diag)) {
        out->fault = first_fault(&diag, bench->arena);
    }
    json_close(document);
    if (out->fault == NULL) {
        out->devices = ARENA_PUSH(bench->arena, struct accelerator, out->cluster.accelerator_count);
        memcpy(out->devices, out->cluster.accelerators,
               out->cluster.accelerator_count * sizeof *out->devices);
        costmodel_init(&out->judge, NULL, &out->prices, bench->arena);
    }
}

/* Constants as they are now, and a judge that has not priced anything with others. */
static void refresh(struct validate_bench *bench, const struct runtime *runtime,
                    struct joined *joined)
{
    struct accelerator *devices = joined->cluster.accelerators;
    memcpy(devices, joined->devices, joined->cluster.accelerator_count * sizeof *devices);
    for (uint32_t i = 0; bench->adjust.change != NULL && i < joined->cluster.accelerator_count;
         i++) {
        bench->adjust.change(bench->adjust.context, NULL, &devices[i]);
    }
    joined->runtime = *runtime;
    prices_adjust(&joined->prices, &joined->cluster);
    costmodel_forget_kernels(&joined->judge);
    joined->generation = bench->generation;
}

static struct joined *find_joined(struct validate_bench *bench, const char *text,
                                  const struct runtime *runtime, unsigned long long digest)
{
    struct joined **bucket = &bench->joined[bucket_of(text)], *found = *bucket;
    while (found != NULL && (found->digest != digest || strcmp(found->cluster_text, text) != 0)) {
        found = found->next;
    }
    if (found == NULL) {
        found = ARENA_PUSH(bench->arena, struct joined, 1);
        found->cluster_text = text_build(bench->arena, "%s", text);
        found->digest = digest;
        found->runtime = *runtime;
        found->next = *bucket;
        *bucket = found;
        read_cluster(bench, found);
    }
    if (found->fault == NULL && found->generation != bench->generation) {
        refresh(bench, runtime, found);
    }
    return found;
}

/* The row's runtime with the features that it used; the digest tells apart what rows use. */
static struct runtime used_runtime(const struct validate_bench *bench, const struct validated *row,
                                   unsigned long long *digest)
{
    struct runtime plain = *runtime_named(bench, row->runtime), adjusted = plain;
    measured_runtime_switch(&row->row, &plain);
    *digest = runtime_digest(&plain);
    if (bench->adjust.change != NULL) {
        bench->adjust.change(bench->adjust.context, &adjusted, NULL);
    }
    measured_runtime_switch(&row->row, &adjusted);
    return adjusted;
}

/* --- one row --------------------------------------------------------------------------------- */

/* What the framework's allocator had handed out at most: without what the driver and the libraries
 * hold and without what fragmentation loses. */
static double allocated_bytes(const struct stage_estimate *stage, double allocator_frac)
{
    const double *bytes = stage->memory_bytes;
    const double churn = bytes[MEMORY_ACTIVATIONS] + bytes[MEMORY_LOGITS];
    const double buffers =
        (bytes[MEMORY_BUFFERS] - allocator_frac * churn) / (1.0 + allocator_frac);
    return bytes[MEMORY_PARAMETERS] + bytes[MEMORY_GRADIENTS] + bytes[MEMORY_OPTIMIZER] + churn +
           buffers;
}

static double fullest_bytes(const struct measured *row, const struct estimate *estimate,
                            double allocator_frac)
{
    double most = 0.0;
    for (uint32_t i = 0; i < estimate->stage_count; i++) {
        const struct stage_estimate *stage = &estimate->stages[i];
        const double bytes = measured_memory_kind(row) == MEASURED_ALLOCATED
                                 ? allocated_bytes(stage, allocator_frac)
                                 : stage->peak_bytes + stage->idle_bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void judge_plan(struct validate_bench *bench, struct joined *joined,
                       const struct problem *problem, struct plan *plan, struct validated *out)
{
    struct estimator estimator;
    struct estimate estimate;
    joined->judge.problem = problem;
    costmodel_estimator(&joined->judge, &estimator);
    planner_complete(problem, &estimator, plan, &bench->scratch, &estimate);
    estimator.forget_streams(estimator.state);
    out->predicted_s = estimate.step_s;
    out->error_frac = estimate.step_s / out->row.step_s - 1.0;
    out->slowest = estimate.stages[estimate.slowest_stage];
    out->fullest = estimate.stages[estimate.fullest_stage];
    out->fits = estimate.fits;
    out->memory_predicted_bytes =
        out->row.memory_bytes > 0.0
            ? fullest_bytes(&out->row, &estimate, problem->setup->runtime->allocator_frac)
            : 0.0;
    joined->judge.problem = NULL;
}

/* Layers of a chunk, counted along the model: as many in each where that goes. Else embedding and
 * head count as a layer each where that makes it even (Megatron's option
 * account-for-embedding-in-pipeline-split), or the last chunk, which has the head, takes what is
 * left (layouts of the recipes for DeepSeek-V3 and Kimi K2). 0: neither. */
static uint32_t chunk_layers(uint32_t layers, uint32_t chunks, uint32_t chunk)
{
    const uint32_t most = (layers + chunks - 1) / chunks;
    const bool is_end = chunk == 0 || chunk + 1 == chunks;
    if ((layers + 2) % chunks == 0) {
        return most - (is_end ? 1 : 0);
    }
    const uint32_t before = most * (chunks - 1);
    return chunk + 1 < chunks ? most : layers > before ? layers - before : 0;
}

/* Layers of a stage where they are dealt by multiply-adds, the head's after those of all layers: a
 * stage's last one is that which passes its share (nanotron, models/base.py, build_model). */
static uint32_t share_layers(const struct measured *row, uint32_t stage)
{
    const double hidden = row->hidden;
    const double layer = (row->gated ? 3.0 : 2.0) * hidden * row->ffn +
                         4.0 * (double)row->heads * row->head_dim * hidden;
    const double whole = layer * row->layers + hidden * row->vocab;
    uint32_t before = 0, until = 0;
    for (uint32_t i = 0; i <= stage; i++) {
        before = until;
        while (until < row->layers && layer * until <= whole * (i + 1) / row->pp) {
            until++;
        }
    }
    return until - before;
}

/* Where they come out right; else the planner deals them out. */
static void state_layers(const struct problem *problem, const struct measured *row,
                         struct arena *arena, struct plan *plan)
{
    const uint32_t per_stage = plan->schedule.chunks, chunks = row->pp * per_stage;
    const bool even = row->layers % chunks == 0, dealt = problem->setup->runtime->deals_by_flops;
    if (!even && (problem->setup->runtime->even_layers ||
                  chunk_layers(row->layers, chunks, chunks - 1) == 0)) {
        return;
    }
    plan->schedule.stages = row->pp;
    plan->schedule.layers = ARENA_PUSH(arena, uint32_t, chunks);
    for (uint32_t i = 0; i < chunks; i++) {
        plan->schedule.layers[i % row->pp * per_stage + i / row->pp] =
            dealt  ? share_layers(row, i)
            : even ? row->layers / chunks
                   : chunk_layers(row->layers, chunks, i);
    }
}

/* The row as a problem with a legal, costable plan; a reason otherwise. */
static const char *judge_row(struct validate_bench *bench, struct validated *out)
{
    struct arena *scratch = &bench->scratch;
    const char *reason = NULL;
    const char *model_text = measured_model_text(&out->row, scratch, &reason);
    const char *cluster_text =
        model_text == NULL ? NULL : measured_cluster_text(&out->row, scratch, &reason);
    out->runtime = cluster_text == NULL
                       ? NULL
                       : measured_runtime_name(&out->row, bench->runtimes, bench->runtime_count,
                                               scratch, &reason);
    if (out->runtime == NULL) {
        return reason;
    }
    const struct built_model *model = find_model(bench, model_text);
    unsigned long long digest;
    const struct runtime runtime = used_runtime(bench, out, &digest);
    struct joined *joined = find_joined(bench, cluster_text, &runtime, digest);
    out->band = runtime.band;
    out->family = runtime.family;
    if (model->fault != NULL || joined->fault != NULL) {
        return model->fault != NULL ? model->fault : joined->fault;
    }
    if (out->device == NULL) {
        out->device = text_build(bench->arena, "%s", joined->cluster.accelerators[0].name);
    }
    struct setup setup;
    struct planner_pins pins;
    struct plan plan;
    struct diag diag;
    const struct problem problem = {&model->model, &joined->cluster, &setup};
    if (!measured_setup(&out->row, &joined->runtime, &setup, scratch, &reason) ||
        !measured_pins(&out->row, &problem, scratch, &pins, &reason)) {
        return reason;
    }
    diag_init(&diag, scratch);
    plan_flags_build(&problem, &pins, scratch, &plan);
    state_layers(&problem, &out->row, scratch, &plan);
    if (!plan_check(&problem, &plan, &diag) || !plan_check_costed(&problem, &plan, &diag)) {
        return first_fault(&diag, scratch);
    }
    judge_plan(bench, joined, &problem, &plan, out);
    return NULL;
}

void validate_judge(struct validate_bench *bench, struct validated *row)
{
    arena_init(&bench->scratch);
    const char *reason = judge_row(bench, row);
    row->skipped = reason == NULL ? NULL : text_build(bench->arena, "%s", reason);
    arena_release(&bench->scratch);
}

void validate_judge_all(struct validate_bench *bench, const struct validation *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->rows[i].skipped == NULL) {
            validate_judge(bench, &all->rows[i]);
        }
    }
}

/* User time and memory of whole searches, beside those of other planners.
 *
 * Each case runs in a process of its own, so that what it takes is its own. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "costmodel/costmodel.h"
#include "planner/planner.h"

#define TRIES 2

struct asked {
    const char *name, *peers;
    const char *model, *cluster, *fabric, *runtime;
    enum dtype dtype;
    uint32_t batch, sequence;
    uint64_t memory_bytes; /* of a device; 0: as its kind says */
    bool even;             /* layers divide evenly over stages, kernels begin at once */
    bool all;              /* every plan is computed */
};

static const struct asked cases[] = {
    {.name = "Calculon's space, proved",
     .peers = "Calculon: 99,148 configurations in 564 s",
     .model = "gpt3-175b",
     .cluster = "dgx-a100:512",
     .runtime = "megatron-classic",
     .dtype = DTYPE_FP16,
     .batch = 1536,
     .sequence = 2048,
     .even = true},
    {.name = "Calculon's space, all computed",
     .peers = "the same",
     .model = "gpt3-175b",
     .cluster = "dgx-a100:512",
     .runtime = "megatron-classic",
     .dtype = DTYPE_FP16,
     .batch = 1536,
     .sequence = 2048,
     .even = true,
     .all = true},
    {.name = "405B on 16,384 H100",
     .peers = "",
     .model = "llama-3.1-405b",
     .cluster = "dgx-h100:2048",
     .runtime = "any",
     .dtype = DTYPE_BF16,
     .batch = 2048,
     .sequence = 8192},
    {.name = "DeepSeek-V3 on 2,048 H100, Megatron",
     .peers = "",
     .model = "deepseek-v3",
     .cluster = "dgx-h100:256",
     .runtime = "megatron",
     .dtype = DTYPE_BF16,
     .batch = 15360,
     .sequence = 4096},
    {.name = "8 GPUs of 36 GB, 32 layers of 4096",
     .peers = "Galvatron: 205 s for 28 layers",
     .model = "llama-2-7b",
     .cluster = "dgx-a100:1",
     .runtime = "any",
     .dtype = DTYPE_BF16,
     .batch = 64,
     .sequence = 8192,
     .memory_bytes = 36000000000},
    {.name = "128 A100 and 384 V100",
     .peers = "Sailor: 20 s, AMP 27 s, Metis 332 s (OPT-350M)",
     .model = "llama-3.1-8b",
     .cluster = "dgx-a100:16,dgx-v100:48",
     .fabric = "ib-edr",
     .runtime = "any",
     .dtype = DTYPE_FP16,
     .batch = 512,
     .sequence = 2048},
    {.name = "64 A100, 64 V100, 32 H100, 126 layers",
     .peers = "",
     .model = "llama-3.1-405b",
     .cluster = "dgx-a100:8,dgx-v100:8,dgx-h100:4",
     .fabric = "ib-edr",
     .runtime = "any",
     .dtype = DTYPE_FP16,
     .batch = 512,
     .sequence = 2048},
    {.name = "a wafer of 48 dies",
     .peers = "",
     .model = "llama-3.1-8b",
     .cluster = "wafer-48",
     .runtime = "any",
     .dtype = DTYPE_BF16,
     .batch = 512,
     .sequence = 4096},
};

struct question {
    struct arena arena, judged;
    struct diag diag;
    struct model model;
    struct cluster cluster;
    struct runtime runtime;
    struct setup setup;
    struct problem problem;
    struct prices prices;
    struct costmodel costmodel;
    struct estimator estimator;
    struct planner_options options;
};

static bool read_question(const struct asked *asked, struct question *out)
{
    struct arena *arena = &out->arena;
    const struct cluster_request request = {.text = asked->cluster, .fabric = asked->fabric};
    if (!model_read(asked->model, arena, &out->model, &out->diag) ||
        !cluster_read_request(&request, arena, &out->cluster, &out->diag) ||
        !runtime_read(asked->runtime, (struct diag_place){0}, arena, &out->runtime, &out->diag) ||
        !prices_read(&out->cluster, &out->runtime, arena, &out->prices, &out->diag)) {
        return false;
    }
    out->runtime.even_layers = out->runtime.even_layers || asked->even;
    for (uint32_t i = 0; i < out->cluster.accelerator_count && asked->memory_bytes > 0; i++) {
        out->cluster.accelerators[i].memory_bytes = asked->memory_bytes;
    }
    out->setup = (struct setup){.global_batch = asked->batch,
                                .seq_length = asked->sequence,
                                .dtype = asked->dtype,
                                .optimizer = optimizer_find("adam"),
                                .runtime = &out->runtime,
                                .attention = ATTENTION_FLASH,
                                .memory_headroom_frac = 0.03,
                                .task = {.text = "pretrain"}};
    out->problem = (struct problem){&out->model, &out->cluster, &out->setup};
    out->options = (struct planner_options){.top = 1, .no_prune = asked->all};
    for (uint32_t i = 0; i < dim_table_count; i++) {
        out->options.pins.variants[i] = PIN_ANY;
    }
    return true;
}

static void say(const struct asked *asked, const struct planner_result *result)
{
    const struct certificate *certificate = &result->certificate;
    printf("%-38s %12llu legal %9llu computed", asked->name,
           (unsigned long long)certificate->space_size, (unsigned long long)certificate->evaluated);
    if (result->count > 0) {
        printf(" %8.4g s, gap %.2f %%", result->plans[0].estimate.step_s,
               100.0 * certificate->placement_gap_frac);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf(" %4ld MB", usage.ru_maxrss / 1000);
    fflush(stdout);
}

/* In the child: the exit status. */
static int run(const struct asked *asked, bool says)
{
    static struct question question;
    struct planner_result result;
    arena_init(&question.arena);
    arena_init(&question.judged);
    diag_init(&question.diag, &question.arena);
    if (!read_question(asked, &question)) {
        return 1;
    }
    costmodel_init(&question.costmodel, &question.problem, &question.prices, &question.judged);
    costmodel_estimator(&question.costmodel, &question.estimator);
    if (!planner_search(&question.problem, &question.estimator, &question.options, &question.arena,
                        &result, &question.diag)) {
        return 1;
    }
    if (says) {
        say(asked, &result);
    }
    return 0;
}

/* Of all children so far. */
static double children_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
}

/* False where the search failed. */
static bool measure(const struct asked *asked)
{
    double best_s = 1e300;
    for (uint32_t try = 0; try < TRIES; try++) {
        const double begin_s = children_s();
        int status = 0;
        const pid_t child = fork();
        if (child == 0) {
            _exit(run(asked, try == 0));
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            return false;
        }
        const double took_s = children_s() - begin_s;
        best_s = took_s < best_s ? took_s : best_s;
    }
    printf("  %.3f s  %s\n", best_s, asked->peers);
    fflush(stdout);
    return true;
}

int main(void)
{
    bool good = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        good = measure(&cases[i]) && good;
    }
    return good ? 0 : 1;
}

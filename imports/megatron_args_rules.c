/* Combinations of flags that Megatron-LM's parser refuses; flags that no plan can say. */
#include <string.h>

#include "imports/megatron_args.h"

static bool has(const struct configuration *configuration, const char *flag)
{
    return setting_find(&configuration->settings, flag) != NULL;
}

static bool is(const struct configuration *configuration, const char *flag, const char *value)
{
    const struct setting *setting = setting_find(&configuration->settings, flag);
    return setting != NULL && strcmp(setting->text, value) == 0;
}

/* `flag` wants `other`. */
static const struct {
    const char *flag, *other;
} needs[] = {
    {"overlap-param-gather", "overlap-grad-reduce"},
    {"overlap-param-gather", "use-distributed-optimizer"},
    {"overlap-param-gather-with-optimizer-step", "overlap-param-gather"},
    {"tp-comm-overlap", "sequence-parallel"},
    {"distribute-saved-activations", "recompute-granularity"},
    {"optimizer-cpu-offload", "use-precision-aware-optimizer"},
    {"delay-wgrad-compute", "overlap-moe-expert-parallel-comm"},
    {"fp4-param-gather", "fp4-format"},
};

static const struct {
    const char *flag, *other;
} excludes[] = {
    {"fp16", "bf16"},
    {"fp8-format", "fp4-format"},
    {"cpu-offloading-num-layers", "recompute-granularity"},
    {"pipeline-model-parallel-layout", "num-layers-per-virtual-pipeline-stage"},
    {"pipeline-model-parallel-layout", "num-virtual-stages-per-pipeline-rank"},
    {"num-layers-per-virtual-pipeline-stage", "num-virtual-stages-per-pipeline-rank"},
    {"pipeline-model-parallel-layout", "decoder-first-pipeline-num-layers"},
    {"pipeline-model-parallel-layout", "decoder-last-pipeline-num-layers"},
    {"pipeline-model-parallel-layout", "account-for-embedding-in-pipeline-split"},
    {"pipeline-model-parallel-layout", "account-for-loss-in-pipeline-split"},
    {"num-layers-per-virtual-pipeline-stage", "decoder-first-pipeline-num-layers"},
    {"num-layers-per-virtual-pipeline-stage", "decoder-last-pipeline-num-layers"},
    {"multi-latent-attention", "group-query-attention"},
    {"distribute-saved-activations", "sequence-parallel"},
    {"deterministic-mode", "tp-comm-overlap"},
    {"deterministic-mode", "cross-entropy-loss-fusion"},
};

static void check_pairs(struct configuration *configuration)
{
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        const bool sharded = strcmp(needs[i].other, "use-distributed-optimizer") == 0 &&
                             has(configuration, "use-megatron-fsdp");
        if (has(configuration, needs[i].flag) && !has(configuration, needs[i].other) && !sharded) {
            configuration_refuse(
                configuration, DIAG_X663, needs[i].flag,
                text_build(configuration->arena, "add --%s, or leave it out", needs[i].other),
                "--%s does nothing without --%s: Megatron refuses it", needs[i].flag,
                needs[i].other);
        }
    }
    for (size_t i = 0; i < sizeof excludes / sizeof excludes[0]; i++) {
        if (has(configuration, excludes[i].flag) && has(configuration, excludes[i].other)) {
            configuration_refuse(configuration, DIAG_X663, excludes[i].flag, "keep one of them",
                                 "--%s and --%s exclude each other", excludes[i].flag,
                                 excludes[i].other);
        }
    }
}

static void check_recompute(struct configuration *configuration)
{
    const bool full = is(configuration, "recompute-granularity", "full");
    if (full &&
        (!has(configuration, "recompute-method") || !has(configuration, "recompute-num-layers"))) {
        configuration_refuse(configuration, DIAG_X663, "recompute-granularity",
                             "--recompute-method uniform --recompute-num-layers 1",
                             "full recomputation needs --recompute-method and "
                             "--recompute-num-layers");
    }
    if (is(configuration, "recompute-granularity", "selective") &&
        has(configuration, "recompute-method")) {
        configuration_refuse(configuration, DIAG_X663, "recompute-method",
                             "leave it out, or --recompute-granularity full",
                             "--recompute-method goes with full recomputation alone");
    }
    if (has(configuration, "distribute-saved-activations") && !full) {
        configuration_refuse(configuration, DIAG_X663, "distribute-saved-activations",
                             "--recompute-granularity full",
                             "--distribute-saved-activations goes with full recomputation alone");
    }
}

/* With distributed checkpoints, its usual ones, the step does not wait for the gather. */
static void check_gather(struct configuration *configuration)
{
    static const char flag[] = "overlap-param-gather-with-optimizer-step";
    if (has(configuration, flag) && !is(configuration, "ckpt-format", "torch")) {
        configuration_refuse(configuration, DIAG_X663, flag, "--ckpt-format torch",
                             "--%s does not go with distributed checkpoints", flag);
    }
}

/* A model that is named needs no description. */
static void check_required(struct configuration *configuration)
{
    if (configuration->request->model != NULL) {
        return;
    }
    static const char *const required[] = {"hidden-size", "num-attention-heads",
                                           "max-position-embeddings", "micro-batch-size"};
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) {
        if (!has(configuration, required[i])) {
            configuration_refuse(configuration, DIAG_X663, NULL,
                                 "write it into the file, or name the model with --model",
                                 "--%s is missing: Megatron asks for it", required[i]);
        }
    }
    if (!has(configuration, "num-layers") && !has(configuration, "hybrid-layer-pattern")) {
        configuration_refuse(configuration, DIAG_X663, NULL, NULL,
                             "--num-layers is missing: Megatron asks for it");
    }
}

void megatron_args_check_flags(struct configuration *configuration)
{
    check_required(configuration);
    check_pairs(configuration);
    check_recompute(configuration);
    check_gather(configuration);
}

void megatron_args_refuse_limits(struct configuration *configuration)
{
    static const struct configuration_limit limits[] = {
        {"use-megatron-fsdp", NULL, "Megatron's own FSDP is not planned"},
        {"use-torch-fsdp2", NULL, "PyTorch's FSDP within Megatron is not planned"},
        {"fp4-format", NULL, "4-bit matrix multiplies are not planned"},
        {"cpu-offloading", NULL, "say which layers, by --cpu-offloading-num-layers"},
        {"fine-grained-activation-offloading", NULL,
         "activations of parts of a layer in host memory are not planned"},
        {"main-grads-dtype", "fp32", "main gradients in other formats are not planned"},
        {"main-params-dtype", "fp32", "master parameters in other formats are not planned"},
        {"exp-avg-dtype", "fp32", "moments in other formats are not planned"},
        {"exp-avg-sq-dtype", "fp32", "moments in other formats are not planned"},
        {"fp8-param-gather", NULL, "gathers of 8-bit parameters are not planned"},
        {"overlap-moe-expert-parallel-comm", NULL,
         "exchange of experts under other micro-batches is not planned"},
        {"distribute-saved-activations", NULL,
         "saved activations over tensor ranks are not "
         "planned"},
        {"tensor-parallel-num-weight-shards", NULL,
         "weight shards beside tensor ranks are not "
         "planned"},
        {"num-distributed-optimizer-instances", "1",
         "optimizer states over a part of the replicas are not planned"},
        {"hierarchical-context-parallel-sizes", NULL,
         "context ranks in a hierarchy are not planned"},
        {"heterogeneous-layers-config-path", NULL, "layers of different shapes are not read"},
        {"encoder-num-layers", NULL, "encoders are not read"},
        {"linear-attention-freq", NULL, "linear attention is not read"},
        {"moe-expert-capacity-factor", NULL, "dropped tokens are not planned"},
        {"moe-layer-recompute", NULL, "recomputation of expert layers alone is not planned"},
        {"defer-embedding-wgrad-compute", NULL,
         "weight gradients of the embedding after the pipeline are not planned"},
        {"perform-rl-step", NULL, "reinforcement learning is not planned"},
        {"inference-dynamic-batching", NULL, "inference is not read"},
    };
    configuration_refuse_limits(configuration, limits, sizeof limits / sizeof limits[0]);
}

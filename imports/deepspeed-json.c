/* The configuration of DeepSpeed: batch, ZeRO, formats, sizes of its parallel dimensions.
 *
 * Keys and rules are those of commit edaa7221 (version 0.19.6, August 2026), runtime/config.py and
 * the sections' own files. Model and length of sequences are the program's: they are asked for. */
#include <string.h>

#include "imports/configuration.h"

extern const struct importer importer_deepspeed_json;

static const char *const harmless[] = {
    "activation_checkpointing.",
    "allgather",
    "amp",
    "aio",
    "autotuning",
    "checkpoint",
    "comet",
    "comms_logger",
    "communication",
    "csv_monitor",
    "curriculum",
    "data_efficiency",
    "dataloader",
    "dump_state",
    "flops_profiler",
    "fp16.",
    "bf16.",
    "gradient_clipping",
    "gradient_predivide",
    "memory_breakdown",
    "optimizer.",
    "prescale",
    "scheduler.",
    "sparse_gradients",
    "steps_per_print",
    "tensorboard",
    "wall_clock",
    "wandb",
    "zero_allow",
    "zero_optimization.offload_optimizer.",
    "zero_optimization.offload_param.",
    "zero_force",
    "zero_optimization.round_robin",
    "zero_optimization.ignore",
    "zero_optimization.load",
    "zero_optimization.elastic",
    "zero_optimization.stage3_gather",
    "zero_optimization.gather",
    NULL,
};

static const struct configuration_limit limits[] = {
    {"zero_optimization.zero_hpz_partition_size", "1",
     "a second copy of parameters per node is "
     "not planned"},
    {"zero_optimization.mics_shard_size", "-1",
     "states over a part of the replicas are not "
     "planned"},
    {"zero_optimization.zero_quantized_weights", NULL, "gathers of packed weights are not planned"},
    {"zero_optimization.zero_quantized_gradients", NULL,
     "sums of packed gradients are not "
     "planned"},
    {"activation_checkpointing.partition_activations", NULL,
     "saved activations over tensor ranks are not planned"},
    {"elasticity.enabled", NULL, "batches that change with the number of devices are not planned"},
    {"compression_training", NULL, "compressed training is not planned"},
    {"hybrid_engine.enabled", NULL, "training and generation in turn are not planned"},
};

struct sizes {
    uint64_t tp, cp, pp, ep, dp;
    uint64_t world; /* what its own check of the batch multiplies by */
};

static void take_sizes(struct configuration *configuration, struct sizes *out)
{
    const uint64_t devices = configuration->cluster.device_count;
    const uint64_t tp = configuration_take_count(configuration, "tensor_parallel.autotp_size", 0);
    const struct setting *stages = setting_find(&configuration->settings, "pipeline.stages");
    const bool counted = stages != NULL && stages->kind == SETTING_NUMBER;
    *out = (struct sizes){
        .tp = tp == 0 ? 1 : tp,
        .cp = configuration_take_count(configuration, "sequence_parallel_size", 1),
        .pp = counted ? configuration_take_count(configuration, "pipeline.stages", 1) : 1,
        .ep = configuration_take_switch(configuration, "expert_parallel.enabled", false)
                  ? configuration_take_count(configuration, "expert_parallel.autoep_size", 1)
                  : 1,
    };
    const uint64_t model = out->tp * out->cp * out->pp;
    out->dp = model > 0 && devices >= model ? devices / model : 1;
    out->world = out->cp > 0 && devices % out->cp == 0 ? devices / out->cp : 0;
    const uint64_t stated =
        configuration_take_count(configuration, "data_parallel_size", out->world);
    if (out->world == 0 || stated * out->cp != devices) {
        configuration_refuse(configuration, DIAG_X663, "sequence_parallel_size",
                             "a divisor of the devices; data_parallel_size is what remains",
                             "%llu sequence ranks x %llu data ranks are not %llu devices",
                             (unsigned long long)out->cp, (unsigned long long)stated,
                             (unsigned long long)devices);
    }
}

/* Two of the three give the third (_set_batch_related_parameters); 0 stands for absent. */
static void settle_batch(uint64_t world, uint64_t batch[3])
{
    uint64_t *train = &batch[0], *micro = &batch[1], *steps = &batch[2];
    if (*train > 0 && *micro > 0 && *steps == 0) {
        *steps = *train / *micro / world;
    } else if (*train > 0 && *steps > 0 && *micro == 0) {
        *micro = *train / world / *steps;
    } else if (*train > 0 && *steps == 0) {
        *steps = 1;
        *micro = *train / world;
    } else if (*micro > 0 && *train == 0) {
        *steps = *steps == 0 ? 1 : *steps;
        *train = *micro * *steps * world;
    }
}

/* Absent is not the same as 0. False: one of the three is still open, so that nothing can be said
 * of their product. */
static bool refuse_zeros(struct configuration *configuration)
{
    static const char *const keys[] = {"train_batch_size", "train_micro_batch_size_per_gpu",
                                       "gradient_accumulation_steps"};
    bool known = true;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        known = known && !configuration_is_open(configuration, keys[i]);
        if (configuration_take_count(configuration, keys[i], 1) == 0) {
            configuration_refuse(configuration, DIAG_X663, keys[i], "1 or more, or leave it out",
                                 "%s is 0", keys[i]);
        }
    }
    return known;
}

static void take_batch(struct configuration *configuration, const struct sizes *sizes)
{
    struct setup *setup = &configuration->setup;
    uint64_t batch[3] = {
        configuration_take_count(configuration, "train_batch_size", 0),
        configuration_take_count(configuration, "train_micro_batch_size_per_gpu", 0),
        configuration_take_count(configuration, "gradient_accumulation_steps", 0)};
    const bool known = refuse_zeros(configuration);
    setup->seq_length = configuration_take_count(configuration, "seq_length", 0);
    if (setup->seq_length == 0) {
        configuration_refuse(configuration, DIAG_X662, NULL, "--set seq_length=N",
                             "the length of sequences is not in the file");
    }
    if (sizes->world == 0 || !known) {
        return;
    }
    settle_batch(sizes->world, batch);
    if (batch[0] == 0 || batch[0] != batch[1] * batch[2] * sizes->world) {
        configuration_refuse(
            configuration, DIAG_X663, batch[0] == 0 ? NULL : "train_batch_size",
            text_build(configuration->arena, "train_batch_size = %llu",
                       (unsigned long long)(batch[1] * batch[2] * sizes->world)),
            "a train_batch_size of %llu is not micro-batch %llu x %llu accumulated x %llu ranks",
            (unsigned long long)batch[0], (unsigned long long)batch[1],
            (unsigned long long)batch[2], (unsigned long long)sizes->world);
    }
    setup->global_batch = batch[1] * batch[2] * sizes->dp;
    configuration->plan.schedule.micro_batch = batch[1] > UINT32_MAX ? 0 : (uint32_t)batch[1];
}

static void push_ranks(struct configuration *configuration, const struct sizes *sizes)
{
    configuration_push_dim(configuration, "tp", sizes->tp, NULL);
    configuration_push_dim(configuration, "cp", sizes->cp, "ulysses");
    configuration_push_dim(configuration, "dp", sizes->dp, NULL);
    configuration_push_dim(configuration, "pp", sizes->pp, NULL);
    configuration_push_fold(configuration, "ep", sizes->ep);
    configuration->plan.schedule.schedule = schedule_find("1f1b");
    const uint32_t layers = plan_count_layers(&configuration->model);
    if (sizes->pp > layers || (sizes->pp > 1 && layers % sizes->pp != 0)) {
        configuration_refuse(configuration, DIAG_X664, "pipeline.stages",
                             "stages that divide the layers",
                             "how %u layers spread over %llu stages is not planned", layers,
                             (unsigned long long)sizes->pp);
    } else if (sizes->pp > 1) {
        configuration_set_even_layers(configuration, (uint32_t)sizes->pp, 1);
    }
}

/* "cpu", "nvme", "none" */
static bool is_moved(struct configuration *configuration, const char *key)
{
    const char *device = configuration_take_word(configuration, key, "none");
    if (strcmp(device, "cpu") != 0 && strcmp(device, "none") != 0) {
        configuration_refuse(configuration, DIAG_X664, key, "cpu or none",
                             "states on '%s' are not planned", device);
    }
    return strcmp(device, "cpu") == 0;
}

/* What the level shards goes along with the optimizer. */
static void take_moves(struct configuration *configuration, uint64_t level, double ratio)
{
    const char *const optimizer_key = "zero_optimization.offload_optimizer.device";
    const char *const parameter_key = "zero_optimization.offload_param.device";
    /* its older names, which it still reads, beside */
    const bool optimizer =
        configuration_take_switch(configuration, "zero_optimization.cpu_offload", false) ||
        is_moved(configuration, optimizer_key);
    const bool parameters =
        configuration_take_switch(configuration, "zero_optimization.cpu_offload_param", false) ||
        is_moved(configuration, parameter_key);
    if (parameters && level != 3) {
        configuration_refuse(configuration, DIAG_X663, parameter_key, "stage 3",
                             "parameters are moved at stage 3 alone, not at %llu",
                             (unsigned long long)level);
    } else if (optimizer && level == 0) {
        configuration_refuse(configuration, DIAG_X663, optimizer_key, "stage 1, 2 or 3",
                             "states are moved where they are sharded, not at stage 0");
    } else if (optimizer && parameters && ratio < 1) {
        configuration_refuse(configuration, DIAG_X664, "zero_optimization.offload_optimizer.ratio",
                             "1, or offload_param off",
                             "a part of the states beside all parameters is not planned");
    } else if (optimizer && parameters) {
        configuration_push_offload(configuration, "optimizer gradients parameters", 1);
    } else if (optimizer) {
        configuration_push_offload(configuration, level == 1 ? "optimizer" : "optimizer gradients",
                                   ratio);
    } else if (parameters) {
        configuration_push_offload(configuration, "parameters", 1);
    }
}

static void take_states(struct configuration *configuration)
{
    const uint64_t level = configuration_take_count(configuration, "zero_optimization.stage", 0);
    const uint64_t interval =
        configuration_take_count(configuration, "pipeline.activation_checkpoint_interval", 0);
    const uint64_t layers =
        configuration_take_count(configuration, "activation_checkpointing.number_checkpoints", 0);
    const double ratio =
        configuration_take_number(configuration, "zero_optimization.offload_optimizer.ratio", 1);
    if (level > 3) {
        configuration_refuse(configuration, DIAG_X661, "zero_optimization.stage", "0, 1, 2 or 3",
                             "there is no ZeRO level %llu", (unsigned long long)level);
        return;
    }
    if (ratio < 1 && level != 3) {
        configuration_refuse(configuration, DIAG_X663, "zero_optimization.offload_optimizer.ratio",
                             "1, or stage 3",
                             "a part of the states is moved away at stage 3 alone");
    }
    configuration_push_sharding(configuration, (uint32_t)level);
    take_moves(configuration, level, ratio);
    if (interval > 1 ||
        (layers > 0 && interval == 0 && layers != plan_count_layers(&configuration->model))) {
        configuration_refuse(configuration, DIAG_X664,
                             interval > 1 ? "pipeline.activation_checkpoint_interval"
                                          : "activation_checkpointing.number_checkpoints",
                             "one checkpoint per layer",
                             "checkpoints of other stretches than one layer are not planned");
    } else if (interval == 1 || layers > 0) {
        configuration_push_recompute(configuration, "full", 0);
    }
    if (configuration_take_switch(configuration, "activation_checkpointing.cpu_checkpointing",
                                  false) &&
        (interval == 1 || layers > 0)) {
        configuration_push_offload(configuration, "activations", 1);
    }
}

static void take_formats(struct configuration *configuration)
{
    const bool bf16 = configuration_take_switch(configuration, "bf16.enabled", false);
    const bool fp16 = configuration_take_switch(configuration, "fp16.enabled", false);
    const char *type = configuration_take_word(configuration, "optimizer.type", "AdamW");
    const double momentum =
        configuration_take_number(configuration, "optimizer.params.momentum", 0);
    const bool adam = strcmp(type, "Adam") == 0 || strcmp(type, "AdamW") == 0 ||
                      strcmp(type, "adam") == 0 || strcmp(type, "adamw") == 0;
    if (bf16 && fp16) {
        configuration_refuse(configuration, DIAG_X663, "fp16.enabled", "switch one of them off",
                             "bf16 and fp16 are both enabled");
    }
    configuration->setup.dtype = bf16 ? DTYPE_BF16 : fp16 ? DTYPE_FP16 : DTYPE_FP32;
    if (!adam && strcmp(type, "SGD") != 0 && strcmp(type, "sgd") != 0) {
        configuration_refuse(configuration, DIAG_X664, "optimizer.type", "Adam, AdamW or SGD",
                             "optimizer '%s' is not planned", type);
    }
    configuration->setup.optimizer = optimizer_find(adam           ? "adam"
                                                    : momentum > 0 ? "sgd-momentum"
                                                                   : "sgd");
}

static bool read_model(struct configuration *configuration)
{
    if (configuration->request->model == NULL) {
        return configuration_refuse(configuration, DIAG_X666, NULL, "give --model",
                                    "the configuration does not say what is trained");
    }
    return model_read(configuration->request->model, configuration->arena, &configuration->model,
                      configuration->diag);
}

static bool read_settings(struct configuration *configuration)
{
    struct json *document = NULL;
    const char *path = configuration->request->path;
    if (!json_open(path, false, configuration->arena, &document, configuration->diag)) {
        return false;
    }
    const bool good = setting_read_json(json_root(document), path, configuration->arena,
                                        &configuration->settings, configuration->diag);
    json_close(document);
    return good;
}

static bool read(const struct import_request *request, struct arena *arena, struct json_writer *out,
                 struct diag *diag)
{
    struct configuration *configuration = ARENA_PUSH(arena, struct configuration, 1);
    struct sizes sizes;
    if (!configuration_init(configuration, request, "deepspeed", arena, diag) ||
        !read_settings(configuration)) {
        return false;
    }
    configuration_fill(configuration);
    configuration_check_keys(configuration, "deepspeed");
    configuration_refuse_limits(configuration, limits, sizeof limits / sizeof limits[0]);
    if (!read_model(configuration)) {
        return false;
    }
    take_sizes(configuration, &sizes);
    take_batch(configuration, &sizes);
    push_ranks(configuration, &sizes);
    take_states(configuration);
    take_formats(configuration);
    configuration_tell_rest(configuration, harmless);
    configuration->batch_keys[0] = "train_batch_size";
    configuration->batch_keys[1] = "train_micro_batch_size_per_gpu";
    return configuration_dump(configuration, out);
}

static const char *const endings[] = {".json", NULL};

const struct importer importer_deepspeed_json = {
    .name = "deepspeed-json",
    .summary = "the configuration of DeepSpeed, to a plan (--model, --set seq_length=N)",
    .endings = endings,
    .read = read,
};

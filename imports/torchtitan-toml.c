/* A job configuration of torchtitan. */
#include <string.h>

#include "imports/torchtitan_toml.h"

extern const struct importer importer_torchtitan_toml;

#define P "parallelism."
#define OVERRIDES "modules.pre_trainer.overrides."

static const char *const harmless[] = {
    "job.",
    "profiling.",
    "metrics.",
    "optimizer.",
    "lr_scheduler.",
    "checkpoint.",
    "comm.",
    "debug.",
    "validation.",
    "fault_tolerance.",
    "model.hf",
    "model.tok",
    "memory_est",
    "experimental.",
    "training.steps",
    "training.dataset",
    "training.max_norm",
    "training.gc",
    "training.dataloader",
    "training.mixed_precision_reduce",
    "model.print",
    "quantize.",
    "activation_checkpoint.",
    NULL,
};

static const struct configuration_limit limits[] = {
    {"training.dtype", "float32", "states in bf16 alone are not planned"},
    {P "disable_loss_parallel", NULL, "logits gathered over tensor ranks are not planned"},
    {P "pipeline_parallel_schedule_csv", "", "an order of slots from a table is not read"},
    {P "context_parallel_load_balancer", "headtail",
     "another balance of causal attention is not "
     "planned"},
};

static const char *lower(const char *word, struct arena *arena)
{
    char *copy = text_build_copy(arena, word, strlen(word));
    for (char *at = copy; *at != '\0'; at++) {
        *at = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
    }
    return copy;
}

/* --- model ------------------------------------------------------------------------------------ */

static bool read_model(struct configuration *configuration)
{
    const char *name = configuration_take_word(configuration, "model.name", "llama3");
    const char *flavor = configuration_take_word(configuration, "model.flavor", "debugmodel");
    const char *whole = text_build(configuration->arena, "%s/%s", name, flavor);
    const char *model = configuration->request->model;
    for (uint32_t i = 0; i < configuration->runtime.model_count && model == NULL; i++) {
        if (strcmp(configuration->runtime.models[i].name, whole) == 0) {
            model = configuration->runtime.models[i].model;
        }
    }
    if (model == NULL) {
        return configuration_refuse(configuration, DIAG_X666, "model.flavor", "give --model",
                                    "no description of torchtitan's model '%s' is known", whole);
    }
    return model_read(model, configuration->arena, &configuration->model, configuration->diag);
}

/* --- ranks ------------------------------------------------------------------------------------ */

static void take_sizes(struct configuration *configuration, struct torchtitan_sizes *out)
{
    const struct setting *shard =
        setting_find(&configuration->settings, P "data_parallel_shard_degree");
    const bool rest = shard == NULL || strcmp(shard->text, "-1") == 0;
    const uint64_t devices = configuration->cluster.device_count;
    *out = (struct torchtitan_sizes){
        .tp = configuration_take_count(configuration, P "tensor_parallel_degree", 1),
        .cp = configuration_take_count(configuration, P "context_parallel_degree", 1),
        .pp = configuration_take_count(configuration, P "pipeline_parallel_degree", 1),
        .ep = configuration_take_count(configuration, P "expert_parallel_degree", 1),
        .etp = configuration_take_count(configuration, P "expert_tensor_parallel_degree", 1),
        .replicate = configuration_take_count(configuration, P "data_parallel_replicate_degree", 1),
    };
    const uint64_t others = out->tp * out->cp * out->pp * out->replicate;
    if (rest) {
        static const char *const key[] = {P "data_parallel_shard_degree", NULL};
        configuration_skip(configuration, key);
        out->shard = others > 0 && devices >= others ? devices / others : 1;
    } else {
        out->shard = configuration_take_count(configuration, P "data_parallel_shard_degree", 1);
    }
    out->dp = out->replicate * out->shard;
}

static void check_sizes(struct configuration *configuration, const struct torchtitan_sizes *sizes)
{
    const bool experts = model_find_axis(&configuration->model, "experts") != NO_INDEX;
    const uint64_t ranks = sizes->shard * sizes->cp * sizes->tp;
    const uint64_t devices = configuration->cluster.device_count;
    if (sizes->dp * sizes->cp * sizes->tp * sizes->pp != devices) {
        configuration_refuse(configuration, DIAG_X663, P "data_parallel_shard_degree",
                             "-1: what remains of the devices",
                             "replicas %llu x shards %llu x cp %llu x tp %llu x pp %llu are not "
                             "%llu devices",
                             (unsigned long long)sizes->replicate, (unsigned long long)sizes->shard,
                             (unsigned long long)sizes->cp, (unsigned long long)sizes->tp,
                             (unsigned long long)sizes->pp, (unsigned long long)devices);
    }
    if (sizes->replicate > 1 && (sizes->shard > 1 || sizes->cp > 1)) {
        configuration_refuse(configuration, DIAG_X664, P "data_parallel_replicate_degree",
                             "data_parallel_replicate_degree = 1",
                             "states sharded over a part of the replicas (HSDP) are not planned");
    }
    if (sizes->ep > 1 && sizes->etp != sizes->tp && sizes->etp != 1) {
        configuration_refuse(configuration, DIAG_X663, P "expert_tensor_parallel_degree",
                             "1, or as many as tensor ranks",
                             "experts over %llu tensor ranks beside %llu of all else",
                             (unsigned long long)sizes->etp, (unsigned long long)sizes->tp);
    } else if (experts && sizes->ep > 1 && sizes->etp != sizes->tp) {
        configuration_refuse(configuration, DIAG_X664, P "expert_tensor_parallel_degree",
                             "as many as tensor ranks",
                             "experts over other tensor ranks than all else are not planned");
    }
    if (sizes->ep > 1 && sizes->etp > 0 && ranks % (sizes->ep * sizes->etp) != 0) {
        configuration_refuse(configuration, DIAG_X663, P "expert_parallel_degree",
                             "a divisor of the ranks that shard, of context and tensor ranks",
                             "%llu expert ranks do not divide %llu ranks",
                             (unsigned long long)(sizes->ep * sizes->etp),
                             (unsigned long long)ranks);
    }
}

static void push_ranks(struct configuration *configuration, const struct torchtitan_sizes *sizes)
{
    const bool experts = model_find_axis(&configuration->model, "experts") != NO_INDEX;
    const char *rotate =
        configuration_take_word(configuration, P "context_parallel_rotate_method", "allgather");
    configuration_push_dim(configuration, "tp", sizes->tp, NULL);
    configuration_push_dim(configuration, "cp", sizes->cp,
                           strcmp(rotate, "alltoall") == 0 ? "ring" : "allgather");
    configuration_push_dim(configuration, "dp", sizes->dp, NULL);
    configuration_push_dim(configuration, "pp", sizes->pp, NULL);
    configuration_push_fold(configuration, "ep", experts ? sizes->ep : 1);
    configuration_push_fold(configuration, "sp", sizes->tp);
}

/* --- batch, schedule -------------------------------------------------------------------------- */

static const struct {
    const char *theirs, *ours;
    bool multi;
} schedules[] = {
    {"1f1b", "1f1b", false},
    {"gpipe", "gpipe", false},
    {"interleaved1f1b", "interleaved", true},
    {"loopedbfs", "looped-bfs", true},
    {"zbvzerobubble", "zb-v", true},
    {"dualpipev", "dualpipe-v", true},
};

static void take_schedule(struct configuration *configuration, uint64_t stages)
{
    const char *name =
        configuration_take_word(configuration, P "pipeline_parallel_schedule", "1F1B");
    const char *word = lower(name, configuration->arena);
    configuration->plan.schedule.schedule = schedule_find("1f1b");
    if (stages <= 1) {
        return;
    }
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        if (strcmp(schedules[i].theirs, word) == 0) {
            configuration->plan.schedule.schedule = schedule_find(schedules[i].ours);
            torchtitan_read_layers(configuration, (uint32_t)stages, schedules[i].multi);
            return;
        }
    }
    const bool known =
        strcmp(word, "interleavedzerobubble") == 0 || strncmp(word, "pipelines", 9) == 0;
    configuration_refuse(
        configuration, known ? DIAG_X664 : DIAG_X661, P "pipeline_parallel_schedule",
        "1F1B, Interleaved1F1B, GPipe, LoopedBFS, ZBVZeroBubble or DualPipeV",
        known ? "schedule '%s' is not planned" : "there is no schedule '%s'", name);
}

/* -1 stands for one round of all data ranks. */
static uint64_t take_global(struct configuration *configuration, uint64_t round)
{
    const struct setting *setting =
        setting_find(&configuration->settings, "training.global_batch_size");
    static const char *const key[] = {"training.global_batch_size", NULL};
    if (setting != NULL && strcmp(setting->text, "-1") == 0) {
        configuration_skip(configuration, key);
        return round;
    }
    return configuration_take_count(configuration, "training.global_batch_size", round);
}

static void take_batch(struct configuration *configuration, const struct torchtitan_sizes *sizes)
{
    struct setup *setup = &configuration->setup;
    const uint64_t local = configuration_take_count(configuration, "training.local_batch_size", 8);
    const uint64_t round = local * sizes->dp;
    const uint64_t micro =
        configuration_take_count(configuration, P "pipeline_parallel_microbatch_size", 1);
    const uint64_t cuts = 2 * sizes->cp * sizes->tp;
    setup->global_batch = take_global(configuration, round);
    setup->seq_length = configuration_take_count(configuration, "training.seq_len", 2048);
    configuration->plan.schedule.micro_batch = (uint32_t)(sizes->pp > 1 ? micro : local);
    if (round == 0 || setup->global_batch % round != 0) {
        configuration_refuse(configuration, DIAG_X663, "training.global_batch_size",
                             "a multiple of local_batch_size x data ranks",
                             "a global batch of %llu is not a multiple of %llu sequences on %llu "
                             "data ranks",
                             (unsigned long long)setup->global_batch, (unsigned long long)local,
                             (unsigned long long)sizes->dp);
    } else if (sizes->pp > 1 && setup->global_batch != round) {
        configuration_refuse(configuration, DIAG_X664, "training.global_batch_size",
                             "local_batch_size x data ranks",
                             "%llu runs of the pipeline per step are not planned",
                             (unsigned long long)(setup->global_batch / round));
    }
    if (sizes->pp > 1 && (micro == 0 || local % micro != 0)) {
        configuration_refuse(configuration, DIAG_X663, P "pipeline_parallel_microbatch_size",
                             "a divisor of local_batch_size",
                             "%llu sequences do not split into micro-batches of %llu",
                             (unsigned long long)local, (unsigned long long)micro);
    }
    if (setup->seq_length == 0 || cuts == 0 || setup->seq_length % cuts != 0) {
        configuration_refuse(configuration, DIAG_X663, "training.seq_len",
                             "a multiple of 2 x context ranks x tensor ranks",
                             "sequences of %llu tokens are no multiple of %llu",
                             (unsigned long long)setup->seq_length, (unsigned long long)cuts);
    }
}

/* --- states, formats -------------------------------------------------------------------------- */

static void take_recompute(struct configuration *configuration)
{
    const char *mode =
        configuration_take_word(configuration, "activation_checkpoint.mode", "selective");
    const char *option =
        configuration_take_word(configuration, "activation_checkpoint.selective_ac_option", "2");
    if (strcmp(mode, "full") == 0 || (strcmp(mode, "selective") == 0 && strcmp(option, "1") == 0)) {
        configuration_push_recompute(configuration, "full", 0);
    } else if (strcmp(mode, "none") != 0) {
        const bool ops = strcmp(option, "op") == 0;
        configuration_refuse(
            configuration, DIAG_X664, "activation_checkpoint.mode",
            "mode full, which takes no less time, or none, which takes no less memory",
            "activation checkpointing '%s' (%s) is not planned: it %s", mode, option,
            ops ? "keeps what attention and every other matmul of a layer put out, the first of "
                  "them on, and makes the rest again"
                : "makes every so many layers again, counted over the whole model");
    }
}

static void take_states(struct configuration *configuration, const struct torchtitan_sizes *sizes)
{
    const char *reshard =
        configuration_take_word(configuration, P "fsdp_reshard_after_forward", "default");
    const bool always =
        strcmp(reshard, "always") == 0 || (strcmp(reshard, "default") == 0 && sizes->pp <= 1);
    const bool sharded = sizes->shard > 1 || sizes->cp > 1;
    configuration_push_sharding(configuration, !sharded ? 0 : always ? 3 : 2);
    if (configuration_take_switch(configuration, "training.enable_cpu_offload", false)) {
        if (sharded) {
            configuration_push_offload(configuration, "optimizer gradients parameters", 1);
        } else {
            configuration_refuse(configuration, DIAG_X663, "training.enable_cpu_offload",
                                 "shard over two ranks at least, or leave it out",
                                 "states are moved by FSDP, and nothing is sharded");
        }
    }
    take_recompute(configuration);
}

static void take_formats(struct configuration *configuration)
{
    const char *param =
        configuration_take_word(configuration, "training.mixed_precision_param", "bfloat16");
    const char *optimizer = configuration_take_word(configuration, "optimizer.name", "AdamW");
    const struct setting *converters = configuration_take(configuration, "model.converters");
    configuration->setup.dtype = strcmp(param, "float32") == 0 ? DTYPE_FP32 : DTYPE_BF16;
    for (uint32_t i = 0; converters != NULL && i < converters->item_count; i++) {
        if (strcmp(converters->items[i].text, "float8") == 0 ||
            strcmp(converters->items[i].text, "quantize.linear.float8") == 0) {
            configuration->setup.dtype = DTYPE_FP8;
        } else {
            configuration_refuse(configuration, DIAG_X664, "model.converters", "float8",
                                 "converter '%s' is not planned", converters->items[i].text);
        }
    }
    if (strcmp(optimizer, "AdamW") != 0 && strcmp(optimizer, "Adam") != 0) {
        configuration_refuse(configuration, DIAG_X661, "optimizer.name", "Adam or AdamW",
                             "torchtitan has no optimizer '%s'", optimizer);
    }
}

/* --- the file --------------------------------------------------------------------------------- */

/* The overrides of a Primus file, without the sections that torchtitan does not have. */
static void keep_overrides(struct configuration *configuration)
{
    struct setting_list *list = &configuration->settings;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        struct setting setting = list->settings[i];
        if (strncmp(setting.key, OVERRIDES, strlen(OVERRIDES)) == 0) {
            setting.key += strlen(OVERRIDES);
            if (keys_has(configuration->keys, setting.key)) {
                list->settings[kept++] = setting;
            }
        }
    }
    list->count = kept;
}

static bool read_settings(struct configuration *configuration)
{
    const char *path = configuration->request->path;
    struct text text;
    if (!keys_read("torchtitan", configuration->arena, &configuration->keys, configuration->diag) ||
        !configuration_read_text(configuration, &text)) {
        return false;
    }
    if (strstr(text.bytes, "\n    overrides:") == NULL) {
        return setting_read_toml(path, text.bytes, text.length, configuration->arena,
                                 &configuration->settings, configuration->diag);
    }
    if (!setting_read_yaml(path, text.bytes, text.length, configuration->arena,
                           &configuration->settings, configuration->diag)) {
        return false;
    }
    keep_overrides(configuration);
    return true;
}

static bool read(const struct import_request *request, struct arena *arena, struct json_writer *out,
                 struct diag *diag)
{
    struct configuration *configuration = ARENA_PUSH(arena, struct configuration, 1);
    struct torchtitan_sizes sizes;
    if (!configuration_init(configuration, request, "torchtitan", arena, diag) ||
        !read_settings(configuration)) {
        return false;
    }
    configuration_fill(configuration);
    configuration_check_keys(configuration, "torchtitan");
    configuration_refuse_limits(configuration, limits, sizeof limits / sizeof limits[0]);
    if (!read_model(configuration)) {
        return false;
    }
    take_sizes(configuration, &sizes);
    check_sizes(configuration, &sizes);
    push_ranks(configuration, &sizes);
    take_batch(configuration, &sizes);
    take_schedule(configuration, sizes.pp);
    take_formats(configuration);
    take_states(configuration, &sizes);
    configuration_tell_rest(configuration, harmless);
    configuration->batch_keys[0] = "training.global_batch_size";
    configuration->batch_keys[1] = "training.local_batch_size";
    return configuration_dump(configuration, out);
}

static const char *const endings[] = {".toml", NULL};

const struct importer importer_torchtitan_toml = {
    .name = "torchtitan-toml",
    .summary = "a job configuration of torchtitan v0.2.2, to a plan",
    .endings = endings,
    .read = read,
};

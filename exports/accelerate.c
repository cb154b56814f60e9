/* A plan as the configuration of Hugging Face's accelerate: FSDP2, DeepSpeed, or plain replicas.
 *
 * Keys and rules are those of commit 16cb6eb8 (July 2026): commands/config/config_args.py,
 * parallelism_config.py. Batch, accumulation, length of sequences, optimizer are the training
 * program's: comments name them. */
#include <string.h>

#include "exports/exporter.h"
#include "exports/express.h"

extern const struct exporter exporter_accelerate;

#define TARGET "accelerate"

static const struct diag_place nowhere = {0};

/* --- what cannot be said ---------------------------------------------------------------------- */

static bool check_setup(const struct problem *problem, struct diag *diag)
{
    static const char *const dtypes[] = {"bf16", "fp16", "fp32", NULL};
    static const char *const optimizers[] = {"adam", "sgd", "sgd-momentum", NULL};
    bool good = express_setup(problem->setup, TARGET, dtypes, optimizers, diag);
    if (problem->model->transformer == NULL)
        good = diag_push(diag, DIAG_X601, nowhere, "a transformer of Hugging Face's library",
                         "accelerate wraps layers of transformers: model '%s' is a graph of "
                         "operators",
                         problem->model->name);
    return good;
}

static bool check_placement(const struct problem *problem, const struct plan *plan,
                            struct diag *diag)
{
    static const char *const factors[] = {"tp", "cp", "dp", NULL};
    static const char *const folds[] = {"none", NULL};
    static const char *const order[] = {"tp", "cp", "dp", NULL};
    if (!express_group(plan, TARGET, factors, folds, diag))
        return false;
    const char *variant = express_find_variant(plan, "cp");
    bool good = express_order(plan, TARGET, order, diag);
    if (variant != NULL && strcmp(variant, "ring") != 0 && strcmp(variant, "allgather") != 0)
        good = diag_push(diag, DIAG_X603, nowhere, "ring or allgather",
                         "context parallelism '%s' is not exported to accelerate", variant);
    good &= express_nodes(problem, plan, diag);
    return good;
}

/* FSDP moves all three, DeepSpeed what its level shards. */
static const struct express_move moves[] = {
    {{"optimizer"}, 1, false},
    {{"optimizer", "gradients"}, 2, false},
    {{"optimizer", "gradients", "parameters"}, 2, false},
    {{NULL}, 0, false},
};

static bool runs_deepspeed(const struct problem *problem, const struct plan *plan,
                           const struct express_states *states)
{
    const bool alone = plan_count_replicas(problem, plan) == plan_count_devices(plan) &&
                       plan_find_degree_named(plan, "cp") == 1;
    return states->zero == 1 ||
           (alone && states->zero > 0 && strcmp(problem->setup->runtime->name, "deepspeed") == 0);
}

static bool check_moves(const struct problem *problem, const struct plan *plan,
                        const struct express_states *states, struct diag *diag)
{
    const bool optimizer = express_find_moved(plan, "optimizer") > 0.0;
    const bool gradients = express_find_moved(plan, "gradients") > 0.0;
    const bool parameters = express_find_moved(plan, "parameters") > 0.0;
    const uint32_t moved = parameters ? 3 : gradients ? 2 : 1;
    if (!optimizer || (runs_deepspeed(problem, plan, states)
                           ? moved == states->zero || (moved == 2 && states->zero == 3)
                           : parameters && states->zero > 1))
        return true;
    return diag_push(
        diag, DIAG_X605, nowhere, "move optimizer, gradients and parameters at ZeRO level 3",
        "accelerate does not move these states to the host at ZeRO level %u", states->zero);
}

static bool check_states(const struct problem *problem, const struct plan *plan, struct diag *diag)
{
    struct express_states states;
    const bool alone = plan_count_replicas(problem, plan) == plan_count_devices(plan);
    express_find_states(plan, &states);
    bool good = express_policies(plan, TARGET, 3, NULL, moves, diag);
    good &= check_moves(problem, plan, &states, diag);
    if (states.zero < 2 && !alone)
        good = diag_push(diag, DIAG_X605, nowhere, "ZeRO level 2 or 3",
                         "accelerate has tensor and context ranks only with FSDP: not with ZeRO "
                         "level %u",
                         states.zero);
    return express_whole_layers(problem, plan, &states, TARGET, diag) && good;
}

static bool can_express(const struct problem *problem, const struct plan *plan, struct diag *diag)
{
    static const char *const names[] = {"1f1b", NULL};
    bool good = check_setup(problem, diag);
    good &= express_cuts(problem, plan, TARGET, diag);
    good &= check_placement(problem, plan, diag);
    good &= express_schedule(problem, plan, TARGET, names, diag);
    good &= check_states(problem, plan, diag);
    return good;
}

/* --- sections --------------------------------------------------------------------------------- */

static void push_head(const struct problem *problem, const struct plan *plan, const char *kind,
                      struct text *out)
{
    static const char *const words[DTYPE_COUNT] = {
        [DTYPE_BF16] = "bf16", [DTYPE_FP16] = "fp16", [DTYPE_FP32] = "'no'"};
    const uint64_t devices = plan_count_devices(plan);
    const uint32_t node = express_count_node_devices(problem, plan);
    text_push(out, "# %s on %s; the program's part:\n", problem->model->name,
              problem->cluster->name);
    text_push(out,
              "#   per_device_train_batch_size %u, gradient_accumulation_steps %u, sequences of "
              "%llu tokens\n",
              plan->schedule.micro_batch, plan_count_micro_batches(problem, plan),
              (unsigned long long)problem->setup->seq_length);
    text_push(out, "#   optimizer %s, %s attention\n", problem->setup->optimizer->name,
              problem->setup->attention == ATTENTION_FLASH ? "flash" : "plain");
    text_push(out, "compute_environment: LOCAL_MACHINE\ndistributed_type: %s\n", kind);
    text_push(out, "mixed_precision: %s\n", words[problem->setup->dtype]);
    text_push(out, "num_machines: %llu\nnum_processes: %llu\nmachine_rank: 0\n",
              (unsigned long long)(devices / node), (unsigned long long)devices);
    text_push(out, "main_training_function: main\nrdzv_backend: static\nuse_cpu: false\n");
}

static void push_fsdp(const struct express_states *states, bool moved, struct text *out)
{
    text_push(out, "fsdp_config:\n  fsdp_version: 2\n"
                   "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n");
    text_push(out, "  fsdp_reshard_after_forward: %s\n", states->zero == 3 ? "true" : "false");
    text_push(out, "  fsdp_activation_checkpointing: %s\n",
              states->granularity != NULL ? "true" : "false");
    text_push(out,
              "  fsdp_offload_params: %s\n  fsdp_state_dict_type: SHARDED_STATE_DICT\n"
              "  fsdp_cpu_ram_efficient_loading: true\n",
              moved ? "true" : "false");
}

/* Mesh order of accelerate: dp_replicate, dp_shard, cp, sp, tp, the last innermost. */
static void push_mesh(const struct plan *plan, struct text *out)
{
    const char *variant = express_find_variant(plan, "cp");
    text_push(out, "parallelism_config:\n  parallelism_config_dp_replicate_size: 1\n");
    text_push(out, "  parallelism_config_dp_shard_size: %u\n", plan_find_degree_named(plan, "dp"));
    text_push(out, "  parallelism_config_cp_size: %u\n", plan_find_degree_named(plan, "cp"));
    text_push(out, "  parallelism_config_tp_size: %u\n", plan_find_degree_named(plan, "tp"));
    if (variant != NULL)
        text_push(out, "  parallelism_config_cp_comm_strategy: %s\n",
                  strcmp(variant, "ring") == 0 ? "alltoall" : "allgather");
}

static void push_deepspeed(const struct problem *problem, const struct plan *plan,
                           const struct express_states *states, struct text *out)
{
    text_push(out, "# gradient_checkpointing %s in the program\n",
              states->granularity != NULL ? "on" : "off");
    text_push(out, "deepspeed_config:\n  zero_stage: %u\n  gradient_accumulation_steps: %u\n",
              states->zero, plan_count_micro_batches(problem, plan));
    text_push(out,
              "  offload_optimizer_device: %s\n  offload_param_device: %s\n"
              "  zero3_init_flag: %s\n",
              express_find_moved(plan, "optimizer") > 0.0 ? "cpu" : "none",
              express_find_moved(plan, "parameters") > 0.0 ? "cpu" : "none",
              states->zero == 3 ? "true" : "false");
}

static void write(const struct problem *problem, const struct plan *plan, bool script,
                  struct text *out)
{
    struct express_states states;
    (void)script;
    express_find_states(plan, &states);
    const bool deepspeed = runs_deepspeed(problem, plan, &states);
    push_head(problem, plan,
              deepspeed          ? "DEEPSPEED"
              : states.zero == 0 ? "MULTI_GPU"
                                 : "FSDP",
              out);
    if (deepspeed) {
        push_deepspeed(problem, plan, &states, out);
    } else if (states.zero > 0) {
        push_fsdp(&states, express_find_moved(plan, "parameters") > 0.0, out);
        push_mesh(plan, out);
    } else {
        text_push(out, "# gradient_checkpointing %s in the program\n",
                  states.granularity != NULL ? "on" : "off");
    }
}

const struct exporter exporter_accelerate = {
    .name = TARGET,
    .summary = "the configuration of Hugging Face's accelerate (YAML): FSDP, DeepSpeed or replicas",
    .can_express = can_express,
    .write = write,
};

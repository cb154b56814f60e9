/* A plan as the configuration of DeepSpeed.
 *
 * Keys and rules are those of commit edaa7221 (version 0.19.6, August 2026): runtime/config.py,
 * runtime/zero/config.py, runtime/tensor_parallel/config.py, runtime/pipe/. What no key says (the
 * length of sequences, the pipeline's modules) is the training program's: the script names it. */
#include <string.h>

#include "exports/exporter.h"
#include "exports/express.h"

extern const struct exporter exporter_deepspeed;

#define TARGET "DeepSpeed"

static const struct diag_place nowhere = {0};

struct sizes {
    uint32_t tp, cp, dp, pp, ep;
};

static struct sizes find_sizes(const struct plan *plan)
{
    return (struct sizes){.tp = plan_find_degree_named(plan, "tp"),
                          .cp = plan_find_degree_named(plan, "cp"),
                          .dp = plan_find_degree_named(plan, "dp"),
                          .pp = plan_count_stages(plan),
                          .ep = plan_find_degree_named(plan, "ep")};
}

/* --- what cannot be said ---------------------------------------------------------------------- */

static bool check_setup(const struct problem *problem, struct diag *diag)
{
    static const char *const dtypes[] = {"bf16", "fp16", "fp32", NULL};
    static const char *const optimizers[] = {"adam", "sgd", "sgd-momentum", NULL};
    bool good = express_setup(problem->setup, TARGET, dtypes, optimizers, diag);
    if (problem->setup->attention != ATTENTION_FLASH)
        good = diag_push(diag, DIAG_X602, nowhere, "attention 'flash'",
                         "plain attention is not exported to DeepSpeed: the program chooses it");
    if (problem->model->transformer == NULL)
        good = diag_push(diag, DIAG_X601, nowhere, "a transformer of Hugging Face's library",
                         "DeepSpeed cuts modules of transformers: model '%s' is a graph of "
                         "operators",
                         problem->model->name);
    return good;
}

/* Its tensor, sequence, pipeline, expert parallelism each bring groups of their own. */
static bool check_alone(const struct sizes *sizes, struct diag *diag)
{
    if ((sizes->tp > 1) + (sizes->cp > 1) + (sizes->pp > 1) + (sizes->ep > 1) <= 1)
        return true;
    return diag_push(diag, DIAG_X603, nowhere, "one of them beside data parallelism",
                     "DeepSpeed's AutoTP, Ulysses, pipeline and AutoEP do not go together: tp %u, "
                     "cp %u, pp %u, ep %u",
                     sizes->tp, sizes->cp, sizes->pp, sizes->ep);
}

static bool check_placement(const struct problem *problem, const struct plan *plan,
                            struct diag *diag)
{
    static const char *const factors[] = {"tp", "cp", "dp", "pp", NULL};
    static const char *const folds[] = {"ep", NULL};
    static const char *const order[] = {"tp", "cp", "dp", "pp", NULL};
    const struct sizes sizes = find_sizes(plan);
    if (!express_group(plan, TARGET, factors, folds, diag))
        return false;
    const char *variant = express_find_variant(plan, "cp");
    bool good = express_order(plan, TARGET, order, diag);
    if (variant != NULL && strcmp(variant, "ulysses") != 0)
        good = diag_push(diag, DIAG_X603, nowhere, "ulysses",
                         "DeepSpeed has no context parallelism '%s'", variant);
    good &= check_alone(&sizes, diag);
    good &= express_nodes(problem, plan, diag);
    return good;
}

/* PipelineModule spreads layers itself; equal numbers are what it can be held to. */
static bool check_schedule(const struct problem *problem, const struct plan *plan,
                           struct diag *diag)
{
    static const char *const names[] = {"1f1b", NULL};
    bool good = express_schedule(problem, plan, TARGET, names, diag);
    for (uint32_t i = 1; good && plan->schedule.layers != NULL && i < plan_count_stages(plan);
         i++) {
        if (express_find_layers(plan, i) != express_find_layers(plan, 0))
            good = diag_push(diag, DIAG_X604, nowhere, "as many layers on every stage",
                             "DeepSpeed's PipelineModule spreads layers evenly: not %u on stage 0, "
                             "%u on stage %u",
                             express_find_layers(plan, 0), express_find_layers(plan, i), i);
    }
    return good;
}

/* offload_optimizer moves the gradients that its level shards; a part of the states at level 3
 * alone (runtime/zero/stage3.py). */
static const struct express_move moves[] = {
    {{"optimizer"}, 1, false},
    {{"optimizer", "gradients"}, 2, true},
    {{"optimizer", "gradients", "parameters"}, 3, false},
    {{"parameters"}, 3, false},
    {{"activations"}, 0, false},
    {{NULL}, 0, false},
};

/* Level that a plan has; one that is implied where a single replica moves states. */
static uint32_t find_stage(const struct plan *plan)
{
    struct express_states states;
    express_find_states(plan, &states);
    const uint32_t moved = express_find_moved(plan, "parameters") > 0.0   ? 3
                           : express_find_moved(plan, "gradients") == 1.0 ? 2
                           : express_find_moved(plan, "gradients") > 0.0  ? 3
                           : express_find_moved(plan, "optimizer") > 0.0  ? 1
                                                                          : 0;
    return states.zero > moved ? states.zero : moved;
}

static bool check_moves(const struct plan *plan, const struct express_states *states,
                        struct diag *diag)
{
    const double optimizer = express_find_moved(plan, "optimizer");
    const double gradients = express_find_moved(plan, "gradients");
    bool good = true;
    if (express_find_moved(plan, "activations") > 0.0 && states->granularity == NULL)
        good = diag_push(diag, DIAG_X605, nowhere, "recompute whole layers",
                         "DeepSpeed moves to the host what recomputed layers keep, nothing else "
                         "of activations");
    if (optimizer > 0.0 && gradients == 0.0 && states->zero > 1)
        good = diag_push(diag, DIAG_X605, nowhere, "move the gradients too, or ZeRO level 1",
                         "DeepSpeed moves gradients with the optimizer at ZeRO level %u",
                         states->zero);
    if (gradients > 0.0 && gradients < 1.0 && states->zero < 3 && states->zero > 0)
        good = diag_push(diag, DIAG_X605, nowhere, "leave share_frac out, or ZeRO level 3",
                         "DeepSpeed moves a part of the states, %g, at ZeRO level 3 alone, not at "
                         "%u",
                         gradients, states->zero);
    return good;
}

static bool check_states(const struct problem *problem, const struct plan *plan, struct diag *diag)
{
    struct express_states states;
    express_find_states(plan, &states);
    bool good = express_policies(plan, TARGET, 3, NULL, moves, diag);
    good &= check_moves(plan, &states, diag);
    if (states.zero > 1 && plan_count_stages(plan) > 1)
        good = diag_push(diag, DIAG_X605, nowhere, "ZeRO level 1, or one stage",
                         "DeepSpeed's pipeline refuses ZeRO level %u", states.zero);
    return express_whole_layers(problem, plan, &states, TARGET, diag) && good;
}

static bool can_express(const struct problem *problem, const struct plan *plan, struct diag *diag)
{
    bool good = check_setup(problem, diag);
    good &= express_cuts(problem, plan, TARGET, diag);
    good &= check_placement(problem, plan, diag);
    good &= check_schedule(problem, plan, diag);
    good &= check_states(problem, plan, diag);
    return good;
}

/* --- sections --------------------------------------------------------------------------------- */

/* Its check multiplies by all ranks where tensor or pipeline ranks are its own (runtime/config.py):
 * the product is then left to it. */
static void push_batch(const struct problem *problem, const struct plan *plan,
                       struct json_writer *out)
{
    const struct sizes sizes = find_sizes(plan);
    if (sizes.tp * sizes.pp == 1)
        json_push_key_u64(out, "train_batch_size", problem->setup->global_batch);
    json_push_key_u64(out, "train_micro_batch_size_per_gpu", plan->schedule.micro_batch);
    json_push_key_u64(out, "gradient_accumulation_steps", plan_count_micro_batches(problem, plan));
}

static void push_moved(const char *section, double share, struct json_writer *out)
{
    if (share == 0.0)
        return;
    json_push_key(out, section);
    json_push_object(out);
    json_push_key_string(out, "device", "cpu");
    json_push_key_bool(out, "pin_memory", true);
    if (share < 1.0)
        json_push_key_double(out, "ratio", share);
    json_pop_object(out);
}

static void push_zero(const struct problem *problem, const struct plan *plan,
                      struct json_writer *out)
{
    const uint32_t stage = find_stage(plan);
    json_push_key(out, "zero_optimization");
    json_push_object(out);
    json_push_key_u64(out, "stage", stage);
    if (stage > 0) {
        json_push_key_bool(out, "overlap_comm", problem->setup->runtime->overlaps_gradient_reduce);
        json_push_key_bool(out, "contiguous_gradients", true);
        json_push_key_bool(out, "reduce_scatter", true);
    }
    push_moved("offload_optimizer", express_find_moved(plan, "optimizer"), out);
    push_moved("offload_param", express_find_moved(plan, "parameters"), out);
    json_pop_object(out);
    /* its own Adam is the one optimizer that it takes for tested on the host */
    if (express_find_moved(plan, "optimizer") > 0.0 &&
        strcmp(problem->setup->optimizer->name, "adam") != 0)
        json_push_key_bool(out, "zero_force_ds_cpu_optimizer", false);
}

static void push_formats(const struct setup *setup, struct json_writer *out)
{
    const bool momentum = strcmp(setup->optimizer->name, "sgd-momentum") == 0;
    if (setup->dtype != DTYPE_FP32) {
        json_push_key(out, setup->dtype == DTYPE_FP16 ? "fp16" : "bf16");
        json_push_object(out);
        json_push_key_bool(out, "enabled", true);
        json_pop_object(out);
    }
    json_push_key(out, "optimizer");
    json_push_object(out);
    json_push_key_string(out, "type",
                         strcmp(setup->optimizer->name, "adam") == 0 ? "AdamW" : "SGD");
    if (momentum) {
        json_push_key(out, "params");
        json_push_object(out);
        json_push_key_double(out, "momentum", 0.9);
        json_pop_object(out);
    }
    json_pop_object(out);
}

static void push_size(const char *section, const char *key, uint32_t size, struct json_writer *out)
{
    json_push_key(out, section);
    json_push_object(out);
    if (strcmp(section, "expert_parallel") == 0)
        json_push_key_bool(out, "enabled", true);
    json_push_key_u64(out, key, size);
    json_pop_object(out);
}

static void push_pipeline(const struct plan *plan, bool recompute, struct json_writer *out)
{
    json_push_key(out, "pipeline");
    json_push_object(out);
    json_push_key_u64(out, "stages", plan_count_stages(plan));
    json_push_key_string(out, "partition", "uniform");
    json_push_key_u64(out, "activation_checkpoint_interval", recompute ? 1 : 0);
    json_pop_object(out);
}

/* How many, without a pipeline, which counts its own; where they are. */
static void push_checkpoints(const struct problem *problem, const struct plan *plan,
                             struct json_writer *out)
{
    const bool moved = express_find_moved(plan, "activations") > 0.0;
    if (plan_count_stages(plan) > 1 && !moved)
        return;
    json_push_key(out, "activation_checkpointing");
    json_push_object(out);
    if (plan_count_stages(plan) == 1)
        json_push_key_u64(out, "number_checkpoints", plan_count_layers(problem->model));
    if (moved)
        json_push_key_bool(out, "cpu_checkpointing", true);
    json_pop_object(out);
}

static void push_parallel(const struct problem *problem, const struct plan *plan,
                          struct json_writer *out)
{
    const struct sizes sizes = find_sizes(plan);
    struct express_states states;
    express_find_states(plan, &states);
    if (sizes.tp > 1)
        push_size("tensor_parallel", "autotp_size", sizes.tp, out);
    if (sizes.ep > 1)
        push_size("expert_parallel", "autoep_size", sizes.ep, out);
    if (sizes.cp > 1) {
        json_push_key_u64(out, "sequence_parallel_size", sizes.cp);
        json_push_key_u64(out, "data_parallel_size", sizes.dp);
    }
    if (sizes.pp > 1)
        push_pipeline(plan, states.granularity != NULL, out);
    if (states.granularity != NULL)
        push_checkpoints(problem, plan, out);
}

static void push_json(const struct problem *problem, const struct plan *plan, struct text *out)
{
    struct json_writer writer;
    json_writer_init(&writer, out, false);
    json_push_object(&writer);
    push_batch(problem, plan, &writer);
    push_zero(problem, plan, &writer);
    push_formats(problem->setup, &writer);
    push_parallel(problem, plan, &writer);
    json_pop_object(&writer);
    text_push(out, "\n");
}

/* --- script ----------------------------------------------------------------------------------- */

/* What the training program has to do, since no key says it. */
static void push_duties(const struct problem *problem, const struct plan *plan, struct text *out)
{
    const struct sizes sizes = find_sizes(plan);
    struct express_states states;
    express_find_states(plan, &states);
    text_push(out, "#   sequences of %llu tokens, flash attention\n",
              (unsigned long long)problem->setup->seq_length);
    if (sizes.pp > 1)
        text_push(out,
                  "#   PipelineModule(layers, num_stages=%u, partition_method=\"type:LAYER\", "
                  "activation_checkpoint_interval=%u)\n",
                  sizes.pp, states.granularity == NULL ? 0 : 1);
    else if (states.granularity != NULL)
        text_push(out, "#   deepspeed.checkpointing around every layer (gradient_checkpointing "
                       "in Hugging Face's trainer)\n");
    if (sizes.cp > 1)
        text_push(out, "#   DistributedAttention (Ulysses) over the sequence ranks\n");
}

static void push_script(const struct problem *problem, const struct plan *plan, struct text *out)
{
    const uint64_t devices = plan_count_devices(plan);
    const uint32_t node = express_count_node_devices(problem, plan);
    text_push(out, "#!/usr/bin/env bash\n# %s on %s, %llu devices, with DeepSpeed:\n",
              problem->model->name, problem->cluster->name, (unsigned long long)devices);
    text_push(out, "#   PROGRAM=train.py HOSTFILE=hostfile bash THIS [ARGUMENT...]\n"
                   "# The program's part:\n");
    push_duties(problem, plan, out);
    text_push(out, "set -euo pipefail\n\ncat > ds_config.json <<'JSON'\n");
    push_json(problem, plan, out);
    text_push(out,
              "JSON\n\nexec deepspeed --hostfile \"${HOSTFILE:-/job/hostfile}\" --num_nodes "
              "%llu --num_gpus %u \\\n    \"${PROGRAM:?}\" --deepspeed --deepspeed_config "
              "ds_config.json \"$@\"\n",
              (unsigned long long)(devices / node), node);
}

static void write(const struct problem *problem, const struct plan *plan, bool script,
                  struct text *out)
{
    if (script)
        push_script(problem, plan, out);
    else
        push_json(problem, plan, out);
}

const struct exporter exporter_deepspeed = {
    .name = "deepspeed",
    .summary = "the configuration of DeepSpeed (JSON)",
    .script = "a bash script that writes it and launches a program with it",
    .can_express = can_express,
    .write = write,
};

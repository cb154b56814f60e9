/* A plan as a job configuration of torchtitan.
 *
 * Keys and rules are those of tag v0.2.2 of February 2026, the last that reads TOML:
 * torchtitan/config/job_config.py, distributed/parallel_dims.py, distributed/pipeline_parallel.py,
 * models/llama3/infra/parallelize.py. */
#include <string.h>

#include "exports/exporter.h"
#include "exports/express.h"
#include "exports/same_model.h"

extern const struct exporter exporter_torchtitan;

#define TARGET "torchtitan"

static const struct diag_place nowhere = {0};

static const struct {
    const char *ours, *theirs;
    bool multi; /* two model parts or more on each stage */
} schedules[] = {
    {"1f1b", "1F1B", false},
    {"gpipe", "GPipe", false},
    {"interleaved", "Interleaved1F1B", true},
    {"looped-bfs", "LoopedBFS", true},
    {"zb-v", "ZBVZeroBubble", true},
    {"dualpipe-v", "DualPipeV", true},
};

#define SCHEDULES (sizeof schedules / sizeof schedules[0])

static uint32_t find_schedule(const struct plan *plan)
{
    uint32_t i = 0;
    while (plan->schedule.schedule != NULL && i < SCHEDULES &&
           strcmp(schedules[i].ours, plan->schedule.schedule->name) != 0)
        i++;
    return plan->schedule.schedule == NULL ? 0 : i;
}

/* --- what cannot be said ---------------------------------------------------------------------- */

static bool check_setup(const struct setup *setup, struct diag *diag)
{
    static const char *const dtypes[] = {"bf16", "fp8", "fp32", NULL};
    static const char *const optimizers[] = {"adam", NULL};
    bool good = express_setup(setup, TARGET, dtypes, optimizers, diag);
    if (setup->attention != ATTENTION_FLASH)
        good = diag_push(diag, DIAG_X602, nowhere, "attention 'flash'",
                         "torchtitan calls scaled_dot_product_attention: plain attention is not "
                         "exported");
    return good;
}

/* seq_len_divisor of parallel_dims.py. */
static bool check_length(const struct problem *problem, const struct plan *plan, struct diag *diag)
{
    const uint64_t divisor =
        2 * (uint64_t)plan_find_degree_named(plan, "cp") * plan_find_degree_named(plan, "tp");
    if (problem->setup->seq_length % divisor == 0)
        return true;
    return diag_push(diag, DIAG_X603, nowhere, "a longer or shorter sequence, fewer ranks",
                     "torchtitan wants sequences that are a multiple of 2 x cp x tp = %llu tokens: "
                     "%llu is none",
                     (unsigned long long)divisor, (unsigned long long)problem->setup->seq_length);
}

static bool check_placement(const struct problem *problem, const struct plan *plan,
                            struct diag *diag)
{
    static const char *const factors[] = {"tp", "cp", "dp", "pp", NULL};
    static const char *const folds[] = {"sp", "ep", NULL};
    static const char *const order[] = {"tp", "cp", "dp", "pp", NULL};
    if (!express_group(plan, TARGET, factors, folds, diag))
        return false;
    const char *variant = express_find_variant(plan, "cp");
    bool good = express_order(plan, TARGET, order, diag);
    if (plan_find_degree_named(plan, "tp") != plan_find_degree_named(plan, "sp"))
        good = diag_push(diag, DIAG_X603, nowhere, "switch sequence parallelism on",
                         "torchtitan's tensor ranks cut the sequence too");
    if (variant != NULL && strcmp(variant, "ring") != 0 && strcmp(variant, "allgather") != 0)
        good = diag_push(diag, DIAG_X603, nowhere, "ring or allgather",
                         "torchtitan has no context parallelism '%s'", variant);
    good &= check_length(problem, plan, diag);
    good &= express_nodes(problem, plan, diag);
    return good;
}

static bool check_schedule(const struct problem *problem, const struct plan *plan,
                           struct diag *diag)
{
    const char *names[SCHEDULES + 1] = {NULL};
    const uint32_t stages = plan_count_stages(plan), i = find_schedule(plan);
    for (uint32_t k = 0; k < SCHEDULES; k++)
        names[k] = schedules[k].ours;
    bool good = express_schedule(problem, plan, TARGET, names, diag);
    if (stages > 1 && i < SCHEDULES && schedules[i].multi != (plan->schedule.chunks > 1))
        good = diag_push(diag, DIAG_X604, nowhere, schedules[i].multi ? "2 chunks" : "1 chunk",
                         "%s does not run with %u chunks on a stage", schedules[i].theirs,
                         plan->schedule.chunks);
    return good;
}

/* training.enable_cpu_offload moves what FSDP shards. */
static const struct express_move moves[] = {
    {{"optimizer", "gradients", "parameters"}, 2, false},
    {{NULL}, 0, false},
};

/* FSDP spreads over data and context ranks together; without it nothing else may be parallel, and
 * no formats are mixed. */
static bool check_states(const struct problem *problem, const struct plan *plan, struct diag *diag)
{
    struct express_states states;
    const uint64_t devices = plan_count_devices(plan);
    express_find_states(plan, &states);
    bool good = express_policies(plan, TARGET, 3, NULL, moves, diag);
    if (states.zero == 0 && express_find_moved(plan, "parameters") > 0.0)
        good = diag_push(diag, DIAG_X605, nowhere, "ZeRO level 2 or 3 over two ranks at least",
                         "torchtitan moves states to the host with FSDP alone");
    if (states.zero == 1)
        good = diag_push(diag, DIAG_X605, nowhere, "ZeRO level 2 or 3",
                         "torchtitan does not shard the optimizer alone");
    if (states.zero == 0 && plan_count_replicas(problem, plan) != devices)
        good = diag_push(diag, DIAG_X605, nowhere, "ZeRO level 2 or 3",
                         "torchtitan keeps whole states on replicas only where nothing else is "
                         "parallel");
    return express_whole_layers(problem, plan, &states, TARGET, diag) && good;
}

/* "llama3/8B", NULL: none of its flavors is such a model. */
static const char *find_flavor(const struct problem *problem, struct arena *arena)
{
    struct runtime runtime;
    struct diag diag;
    diag_init(&diag, arena);
    if (!runtime_read(TARGET, nowhere, arena, &runtime, &diag))
        return NULL;
    for (uint32_t i = 0; i < runtime.model_count; i++) {
        struct model model;
        if (model_read(runtime.models[i].model, arena, &model, &diag) &&
            same_model(problem->model, &model))
            return runtime.models[i].name;
    }
    return NULL;
}

static bool check_model(const struct problem *problem, struct diag *diag)
{
    if (find_flavor(problem, diag->arena) != NULL)
        return true;
    return diag_push(diag, DIAG_X601, nowhere,
                     "define one (torchtitan/models) and write its name into the file of another "
                     "flavor",
                     "torchtitan v0.2.2 has no flavor of the sizes of model '%s'",
                     problem->model->name);
}

static bool can_express(const struct problem *problem, const struct plan *plan, struct diag *diag)
{
    bool good = check_setup(problem->setup, diag);
    good &= check_placement(problem, plan, diag);
    good &= check_schedule(problem, plan, diag);
    good &= check_states(problem, plan, diag);
    return good && check_model(problem, diag);
}

/* --- sections --------------------------------------------------------------------------------- */

static void push_model(const struct problem *problem, struct text *out)
{
    const char *flavor = find_flavor(problem, out->arena);
    const char *slash = strchr(flavor, '/');
    text_push(out, "\n[model]\nname = \"%.*s\"\nflavor = \"%s\"\n", (int)(slash - flavor), flavor,
              slash + 1);
    if (problem->setup->dtype == DTYPE_FP8)
        text_push(out, "converters = [\"float8\"]\n");
    text_push(out, "\n[optimizer]\nname = \"AdamW\"\n");
}

/* Without a pipeline a local batch is one micro-batch, gradients of several are accumulated; with
 * one it is all micro-batches of a step. */
static void push_training(const struct problem *problem, const struct plan *plan, struct text *out)
{
    const bool pipeline = plan_count_stages(plan) > 1;
    const uint32_t runs = pipeline ? plan_count_micro_batches(problem, plan) : 1;
    text_push(out, "\n[training]\nlocal_batch_size = %llu\n",
              (unsigned long long)plan->schedule.micro_batch * runs);
    text_push(out, "global_batch_size = %llu\nseq_len = %llu\n",
              (unsigned long long)problem->setup->global_batch,
              (unsigned long long)problem->setup->seq_length);
    text_push(out, "mixed_precision_param = \"%s\"\nmixed_precision_reduce = \"float32\"\n",
              problem->setup->dtype == DTYPE_FP32 ? "float32" : "bfloat16");
    if (express_find_moved(plan, "parameters") > 0.0)
        text_push(out, "enable_cpu_offload = true\n");
}

static void push_part(uint32_t part, uint32_t parts, uint32_t first, uint32_t count,
                      struct text *out)
{
    const char *comma = "";
    text_push(out, "    [");
    if (part == 0) {
        text_push(out, "\"tok_embeddings\"");
        comma = ", ";
    }
    for (uint32_t i = 0; i < count; i++, comma = ", ")
        text_push(out, "%s\"layers.%u\"", comma, first + i);
    if (part + 1 == parts)
        text_push(out, "%s\"norm\", \"output\"", comma);
    text_push(out, "],\n");
}

static void push_pipeline(const struct plan *plan, struct text *out)
{
    const uint32_t parts = plan_count_stages(plan) * plan->schedule.chunks;
    uint32_t first = 0;
    text_push(out, "pipeline_parallel_schedule = \"%s\"\n", schedules[find_schedule(plan)].theirs);
    text_push(out, "pipeline_parallel_microbatch_size = %u\n", plan->schedule.micro_batch);
    text_push(out, "module_fqns_per_model_part = [\n");
    for (uint32_t i = 0; i < parts; i++) {
        const uint32_t count = express_find_layers(plan, i);
        push_part(i, parts, first, count, out);
        first += count;
    }
    text_push(out, "]\n");
}

static void push_parallelism(const struct problem *problem, const struct plan *plan,
                             struct text *out)
{
    struct express_states states;
    const uint32_t tp = plan_find_degree_named(plan, "tp"), cp = plan_find_degree_named(plan, "cp");
    const uint32_t dp = plan_find_degree_named(plan, "dp"), pp = plan_count_stages(plan);
    const char *variant = express_find_variant(plan, "cp");
    express_find_states(plan, &states);
    text_push(out, "\n[parallelism]\ndata_parallel_replicate_degree = %u\n",
              states.zero == 0 ? dp : 1);
    text_push(out, "data_parallel_shard_degree = %u\n", states.zero == 0 ? 1 : dp);
    text_push(out, "fsdp_reshard_after_forward = \"%s\"\n", states.zero == 2 ? "never" : "always");
    text_push(out, "tensor_parallel_degree = %u\ncontext_parallel_degree = %u\n", tp, cp);
    if (variant != NULL)
        text_push(out, "context_parallel_rotate_method = \"%s\"\n",
                  strcmp(variant, "ring") == 0 ? "alltoall" : "allgather");
    if (model_find_axis(problem->model, "experts") != NO_INDEX)
        text_push(out, "expert_parallel_degree = %u\nexpert_tensor_parallel_degree = %u\n",
                  plan_find_degree_named(plan, "ep"), tp);
    text_push(out, "pipeline_parallel_degree = %u\n", pp);
    if (pp > 1)
        push_pipeline(plan, out);
}

static void write(const struct problem *problem, const struct plan *plan, bool script,
                  struct text *out)
{
    struct express_states states;
    const uint32_t node = express_count_node_devices(problem, plan);
    const uint64_t devices = plan_count_devices(plan);
    (void)script;
    express_find_states(plan, &states);
    text_push(out, "# %s on %s, %llu devices; torchtitan v0.2.2\n", problem->model->name,
              problem->cluster->name, (unsigned long long)devices);
    text_push(out,
              "# torchrun --nnodes %llu --nproc-per-node %u ... -m torchtitan.train "
              "--job.config_file THIS\n",
              (unsigned long long)(devices / node), node);
    text_push(out, "# not in a plan: assets, data, learning rate, length of training, "
                   "checkpoints, compile\n");
    push_model(problem, out);
    push_training(problem, plan, out);
    push_parallelism(problem, plan, out);
    text_push(out, "\n[activation_checkpoint]\nmode = \"%s\"\n",
              states.granularity == NULL ? "none" : "full");
}

const struct exporter exporter_torchtitan = {
    .name = TARGET,
    .summary = "a job configuration of torchtitan v0.2.2 (TOML)",
    .sample = "llama-3.1-8b",
    .can_express = can_express,
    .write = write,
};

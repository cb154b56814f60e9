/* Degrees, batch, schedule, states that the flags of Megatron-LM ask for. */
#include <string.h>

#include "imports/megatron_args.h"

struct sizes {
    uint64_t tp, pp, cp, ep, dp;
};

/* --- ranks ------------------------------------------------------------------------------------ */

static const char *take_context_kind(struct configuration *configuration)
{
    static const char *const kinds[][2] = {
        {"p2p", "ring"}, {"a2a", "ulysses"}, {"allgather", "allgather"}};
    const struct setting *setting = configuration_take(configuration, "cp-comm-type");
    const char *word = setting == NULL                 ? "p2p"
                       : setting->kind != SETTING_LIST ? setting->text
                       : setting->item_count == 1      ? setting->items[0].text
                                                       : "one kind per layer";
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i][0], word) == 0) {
            return kinds[i][1];
        }
    }
    configuration_refuse(configuration, DIAG_X664, "cp-comm-type", "p2p, a2a or allgather",
                         "context parallelism '%s' is not planned", word);
    return NULL;
}

static void take_experts(struct configuration *configuration, struct sizes *sizes)
{
    const uint64_t etp =
        configuration_take_count(configuration, "expert-tensor-parallel-size", sizes->tp);
    const bool experts = setting_find(&configuration->settings, "num-experts") != NULL ||
                         model_find_axis(&configuration->model, "experts") != NO_INDEX;
    sizes->ep = configuration_take_count(configuration, "expert-model-parallel-size", 1);
    if (sizes->ep > 1 && !experts) {
        configuration_refuse(configuration, DIAG_X663, "expert-model-parallel-size",
                             "--expert-model-parallel-size 1",
                             "%llu expert ranks have no experts: the model is dense",
                             (unsigned long long)sizes->ep);
    }
    if (experts && etp != sizes->tp) {
        configuration_refuse(configuration, DIAG_X664, "expert-tensor-parallel-size",
                             "as many as tensor ranks",
                             "experts over %llu tensor ranks beside %llu of all else are not "
                             "planned",
                             (unsigned long long)etp, (unsigned long long)sizes->tp);
    }
}

/* Data ranks are what remains of the world; where nothing whole remains the mesh shows it. */
static void push_ranks(struct configuration *configuration, struct sizes *sizes)
{
    const bool inside = configuration_take_switch(configuration, "use-tp-pp-dp-mapping", false);
    const bool cuts = configuration_take_switch(configuration, "sequence-parallel", false);
    sizes->tp = configuration_take_count(configuration, "tensor-model-parallel-size", 1);
    sizes->pp = configuration_take_count(configuration, "pipeline-model-parallel-size", 1);
    sizes->cp = configuration_take_count(configuration, "context-parallel-size", 1);
    take_experts(configuration, sizes);
    const uint64_t model = sizes->tp * sizes->pp * sizes->cp;
    const uint64_t devices = configuration->cluster.device_count;
    sizes->dp = model > 0 && devices >= model ? devices / model : 1;
    if (model == 0 || devices % model != 0) {
        configuration_refuse(configuration, DIAG_X663, "tensor-model-parallel-size",
                             "degrees whose product divides the devices",
                             "%llu devices are no multiple of tp %llu x pp %llu x cp %llu",
                             (unsigned long long)devices, (unsigned long long)sizes->tp,
                             (unsigned long long)sizes->pp, (unsigned long long)sizes->cp);
    }
    const char *kind = take_context_kind(configuration);
    configuration_push_dim(configuration, "tp", sizes->tp, NULL);
    configuration_push_dim(configuration, "cp", sizes->cp, kind);
    configuration_push_dim(configuration, inside ? "pp" : "dp", inside ? sizes->pp : sizes->dp,
                           NULL);
    configuration_push_dim(configuration, inside ? "dp" : "pp", inside ? sizes->dp : sizes->pp,
                           NULL);
    configuration_push_fold(configuration, "ep", sizes->ep == 0 ? 1 : sizes->ep);
    configuration_push_fold(configuration, "sp", cuts && sizes->tp > 0 ? sizes->tp : 1);
}

/* --- layers ----------------------------------------------------------------------------------- */

/* What would be right: a layout, the first and the last chunk one layer short if need be. */
static const char *suggest_layout(struct configuration *configuration, uint32_t layers,
                                  uint32_t parts)
{
    if (parts > layers) {
        return text_build(configuration->arena, "at most %u stages and chunks", layers);
    }
    struct text text;
    text_init(&text, configuration->arena);
    text_push(&text, "--pipeline-model-parallel-layout 'E");
    for (uint32_t i = 0; i < parts; i++) {
        /* The odd layers away from the ends, which hold embedding and loss. */
        const uint32_t extra = layers % parts;
        const bool more = i > 0 && i <= extra;
        const uint32_t here = layers / parts + (more ? 1 : 0);
        text_push(&text, "%st*%u", i == 0 ? "" : "|", here);
    }
    text_push(&text, "L'");
    return text.bytes;
}

/* Stages of as many layers, but for a first and a last that are given, or hold an end that counts
 * as a layer. */
static bool spread(struct configuration *configuration, uint32_t stages, uint32_t *layers)
{
    const uint32_t total = plan_count_layers(&configuration->model);
    const uint64_t given[2] = {
        configuration_take_count(configuration, "decoder-first-pipeline-num-layers", 0),
        configuration_take_count(configuration, "decoder-last-pipeline-num-layers", 0)};
    const uint32_t ends[2] = {
        configuration_take_switch(configuration, "account-for-embedding-in-pipeline-split", false),
        configuration_take_switch(configuration, "account-for-loss-in-pipeline-split", false)};
    const uint32_t stated = (given[0] > 0 ? 1u : 0u) + (given[1] > 0 ? 1u : 0u);
    const uint32_t free_stages = stages > stated ? stages - stated : 0;
    const uint64_t taken = given[0] + given[1];
    const uint64_t left = taken > total ? 0 : total - taken + ends[0] + ends[1];
    if (free_stages == 0 ? left != 0 : left % free_stages != 0 || left == 0) {
        return configuration_refuse(configuration, DIAG_X663, "num-layers",
                                    suggest_layout(configuration, total, stages),
                                    "%llu layers do not spread evenly over %u pipeline stages",
                                    (unsigned long long)left, free_stages);
    }
    for (uint32_t i = 0; i < stages; i++) {
        const uint32_t last = i + 1 == stages;
        const uint64_t even = free_stages == 0 ? 0 : left / free_stages;
        layers[i] = (uint32_t)(i == 0 && given[0] > 0 ? given[0]
                               : last && given[1] > 0 ? given[1]
                                                      : even);
        layers[i] -= (i == 0 ? ends[0] : 0) + (last ? ends[1] : 0);
    }
    return true;
}

/* Chunks of a stage as even parts of its layers: of 0, 1, ... in the order of the chain. */
static bool split_stages(struct configuration *configuration, uint32_t stages, uint32_t chunks,
                         uint32_t *layers)
{
    for (uint32_t i = stages; i > 0; i--) {
        if (layers[i - 1] % chunks != 0) {
            return configuration_refuse(configuration, DIAG_X663, "num-layers", NULL,
                                        "%u layers of stage %u do not split into %u chunks",
                                        layers[i - 1], i - 1, chunks);
        }
    }
    for (uint32_t chunk = chunks; chunk > 0; chunk--) {
        for (uint32_t stage = 0; stage < stages; stage++) {
            layers[(chunk - 1) * stages + stage] = layers[stage] / chunks;
        }
    }
    return true;
}

static uint32_t take_chunks(struct configuration *configuration, uint32_t stages)
{
    const uint64_t per_rank =
        configuration_take_count(configuration, "num-virtual-stages-per-pipeline-rank", 0);
    const uint64_t layers =
        configuration_take_count(configuration, "num-layers-per-virtual-pipeline-stage", 0);
    const uint32_t total = plan_count_layers(&configuration->model);
    uint64_t chunks = per_rank == 0 ? 1 : per_rank;
    if (layers > 0) {
        if (total % stages != 0 || total / stages % layers != 0) {
            configuration_refuse(configuration, DIAG_X663, "num-layers-per-virtual-pipeline-stage",
                                 total % stages != 0 ? suggest_layout(configuration, total, stages)
                                                     : "a divisor of the layers of a stage",
                                 "%u layers on %u stages do not split into chunks of %llu", total,
                                 stages, (unsigned long long)layers);
            return 1;
        }
        chunks = total / stages / layers;
    }
    if (chunks > MEGATRON_ARGS_CHUNKS / stages) {
        configuration_refuse(configuration, DIAG_X663, "num-virtual-stages-per-pipeline-rank", NULL,
                             "%llu chunks on each of %u stages are too many",
                             (unsigned long long)chunks, stages);
        return 1;
    }
    if (chunks > 1 && stages == 1) {
        configuration_refuse(configuration, DIAG_X663, NULL, "more pipeline stages, or no chunks",
                             "chunks of a stage want more than 1 pipeline stage");
    }
    return (uint32_t)chunks;
}

static void read_layout(struct configuration *configuration, const char *layout, uint32_t stages,
                        uint32_t *layers)
{
    const uint32_t total = plan_count_layers(&configuration->model);
    uint32_t chunks = 0, sum = 0;
    if (!megatron_args_read_layout(configuration, layout, layers, &chunks)) {
        return;
    }
    for (uint32_t i = 0; i < chunks; i++) {
        sum += layers[i];
    }
    if (sum != total) {
        configuration_refuse(configuration, DIAG_X663, "pipeline-model-parallel-layout",
                             suggest_layout(configuration, total, stages),
                             "the layout places %u layers, the model has %u", sum, total);
    } else if (chunks % stages != 0) {
        configuration_refuse(configuration, DIAG_X663, "pipeline-model-parallel-layout",
                             suggest_layout(configuration, total, stages),
                             "the layout has %u chunks, which %u stages cannot share evenly",
                             chunks, stages);
    } else {
        configuration_set_layers(configuration, layers, stages, chunks / stages);
    }
}

/* Chunks that | of a pattern of layers sets apart. */
static void set_segments(struct configuration *configuration, uint32_t stages, uint32_t *layers,
                         uint32_t segments)
{
    if (segments % stages != 0) {
        configuration_refuse(configuration, DIAG_X663, "hybrid-layer-pattern",
                             text_build(configuration->arena, "a multiple of %u", stages),
                             "the pattern has %u chunks, which %u stages cannot share evenly",
                             segments, stages);
        return;
    }
    configuration_set_layers(configuration, layers, stages, segments / stages);
}

static void take_layers(struct configuration *configuration, uint32_t stages)
{
    const char *layout =
        configuration_take_word(configuration, "pipeline-model-parallel-layout", NULL);
    uint32_t *layers = ARENA_PUSH(configuration->arena, uint32_t, MEGATRON_ARGS_CHUNKS);
    if (layout != NULL) {
        read_layout(configuration, layout, stages, layers);
        return;
    }
    const uint32_t segments = megatron_args_split_hybrid(configuration, layers);
    if (segments > 1) {
        set_segments(configuration, stages, layers, segments);
        return;
    }
    const uint32_t chunks = take_chunks(configuration, stages);
    const bool stated =
        setting_find(&configuration->settings, "decoder-first-pipeline-num-layers") != NULL ||
        setting_find(&configuration->settings, "decoder-last-pipeline-num-layers") != NULL;
    if ((stages > 1 || stated) && configuration->good && spread(configuration, stages, layers) &&
        split_stages(configuration, stages, chunks, layers)) {
        configuration_set_layers(configuration, layers, stages, chunks);
    }
}

static void take_schedule(struct configuration *configuration, const struct sizes *sizes)
{
    struct plan_schedule *schedule = &configuration->plan.schedule;
    const uint64_t group = configuration_take_count(
        configuration, "microbatch-group-size-per-virtual-pipeline-stage", sizes->pp);
    const bool blocking =
        configuration_take_switch(configuration, "no-overlap-p2p-communication", false);
    schedule->schedule = schedule_find("1f1b");
    if (sizes->pp == 0 || sizes->pp > MEGATRON_ARGS_CHUNKS) {
        configuration_refuse(configuration, DIAG_X661, "pipeline-model-parallel-size", NULL,
                             "%llu pipeline stages", (unsigned long long)sizes->pp);
        return;
    }
    take_layers(configuration, (uint32_t)sizes->pp);
    if (schedule->chunks > 1) {
        schedule->schedule = schedule_find("interleaved");
    }
    if (schedule->chunks > 1 && sizes->pp == 2 && blocking) {
        configuration_refuse(configuration, DIAG_X663, "no-overlap-p2p-communication",
                             "leave it out, or use 3 stages or more",
                             "chunks on 2 stages want sends that overlap");
    }
    if (schedule->chunks > 1 && group != sizes->pp) {
        configuration_refuse(
            configuration, DIAG_X664, "microbatch-group-size-per-virtual-pipeline-stage",
            "as many as stages", "micro-batches in groups of %llu on %llu stages are not planned",
            (unsigned long long)group, (unsigned long long)sizes->pp);
    }
}

/* --- states ----------------------------------------------------------------------------------- */

static bool is_only(const struct setting *setting, const char *word)
{
    return strcmp(setting->text, word) == 0 ||
           (setting->item_count == 1 && strcmp(setting->items[0].text, word) == 0);
}

static void take_recompute(struct configuration *configuration)
{
    const bool activations =
        configuration_take_switch(configuration, "recompute-activations", false);
    const char *kind = configuration_take_word(configuration, "recompute-granularity",
                                               activations ? "selective" : NULL);
    const char *method = configuration_take_word(configuration, "recompute-method", "uniform");
    const uint64_t layers = configuration_take_count(configuration, "recompute-num-layers", 1);
    const struct setting *modules = configuration_take(configuration, "recompute-modules");
    const bool core = modules == NULL || is_only(modules, "core_attn");
    const bool latents = modules != NULL && is_only(modules, "mla_up_proj");
    if (kind == NULL) {
        return;
    }
    if (strcmp(kind, "selective") == 0 && !core && !latents) {
        configuration_refuse(configuration, DIAG_X664, "recompute-modules",
                             "core_attn or mla_up_proj",
                             "recomputation of other modules than the attention core or the "
                             "up-projections of latents is not planned");
    } else if (strcmp(kind, "selective") == 0) {
        configuration_push_recompute(configuration, latents ? "latents" : "selective", 0);
    } else if (strcmp(method, "uniform") == 0 && layers != 1) {
        configuration_refuse(
            configuration, DIAG_X664, "recompute-num-layers", "--recompute-num-layers 1",
            "groups of %llu layers recomputed as one are not planned", (unsigned long long)layers);
    } else {
        configuration_push_recompute(configuration, "full",
                                     strcmp(method, "uniform") == 0 ? 0 : layers);
    }
}

static void warn_overlap(struct configuration *configuration, const char *flag, bool wanted)
{
    if (wanted && !configuration_take_switch(configuration, flag, false)) {
        diag_push_warning(configuration->diag, DIAG_X664,
                          (struct diag_place){.file = configuration->settings.file}, NULL,
                          "--%s is not given; times are told as if it were", flag);
    }
}

/* The precision-aware optimizer keeps halves of master parameters on the device, none on the
 * host. */
static void take_moves(struct configuration *configuration, const struct sizes *sizes, bool sharded)
{
    const double fraction =
        configuration_take_number(configuration, "optimizer-offload-fraction", 1);
    const uint64_t layers = configuration_take_count(configuration, "cpu-offloading-num-layers", 0);
    const uint32_t all = plan_count_layers(&configuration->model);
    const bool moved = configuration_take_switch(configuration, "optimizer-cpu-offload", false);
    const bool aware =
        configuration_take_switch(configuration, "use-precision-aware-optimizer", false);
    if (aware && !moved) {
        configuration_refuse(configuration, DIAG_X664, "use-precision-aware-optimizer",
                             "--optimizer-cpu-offload beside it, or leave it out",
                             "optimizer states in other formats are not planned");
    } else if (moved && !sharded) {
        configuration_refuse(configuration, DIAG_X664, "optimizer-cpu-offload",
                             "--use-distributed-optimizer",
                             "whole states in host memory are not planned");
    } else if (moved && (fraction <= 0 || fraction > 1)) {
        configuration_refuse(configuration, DIAG_X661, "optimizer-offload-fraction",
                             "above 0, at most 1", "a share of %g of the states", fraction);
    } else if (moved) {
        configuration_push_offload(configuration, "optimizer", fraction);
    }
    if (layers >= all) {
        configuration_refuse(configuration, DIAG_X663, "cpu-offloading-num-layers",
                             text_build(configuration->arena, "0 to %u", all - 1),
                             "activations of %llu layers in host memory: one of the %u stays",
                             (unsigned long long)layers, all);
    } else if (layers > 0 && sizes->pp > 1) {
        configuration_refuse(configuration, DIAG_X663, "cpu-offloading-num-layers",
                             "one pipeline stage, or leave it out",
                             "activations go to host memory without a pipeline alone, not with "
                             "%llu stages",
                             (unsigned long long)sizes->pp);
    } else if (layers > 0) {
        configuration_push_offload(configuration, "activations", (double)layers / all);
    }
}

static void take_states(struct configuration *configuration, const struct sizes *sizes)
{
    const bool flag = configuration_take_switch(configuration, "use-distributed-optimizer", false);
    const bool sharded =
        flag || strcmp(configuration_take_word(configuration, "optimizer", ""), "dist_muon") == 0;
    const bool replicas = sizes->dp * sizes->cp > 1;
    configuration_push_sharding(configuration, sharded ? 1 : 0);
    take_recompute(configuration);
    take_moves(configuration, sizes, sharded);
    warn_overlap(configuration, "overlap-grad-reduce", replicas);
    warn_overlap(configuration, "overlap-param-gather", replicas && sharded);
}

/* Other ways than the planned one to make matrices orthogonal. */
static void check_matrices(struct configuration *configuration, const struct optimizer *optimizer,
                           uint64_t tp)
{
    const char *mode = configuration_take_word(configuration, "muon-tp-mode", "duplicated");
    const char *rest = configuration_take_word(configuration, "muon-scalar-optimizer", "adam");
    const uint64_t steps = configuration_take_count(configuration, "muon-num-ns-steps", 5);
    if (tp > 1 && strcmp(mode, "blockwise") != 0) {
        configuration_refuse(configuration, DIAG_X664, "muon-tp-mode", "--muon-tp-mode blockwise",
                             "matrices made orthogonal across %llu tensor ranks are not planned",
                             (unsigned long long)tp);
    }
    if (strcmp(rest, "adam") != 0 || steps != optimizer->matrix_steps) {
        configuration_refuse(
            configuration, DIAG_X664,
            steps != optimizer->matrix_steps ? "muon-num-ns-steps" : "muon-scalar-optimizer",
            "5 steps, and adam", "muon of %llu steps with %s for tables and vectors is not planned",
            (unsigned long long)steps, rest);
    }
}

static void take_optimizer(struct configuration *configuration, uint64_t tp)
{
    const char *name = configuration_take_word(configuration, "optimizer", "adam");
    const double momentum = configuration_take_number(configuration, "sgd-momentum", 0.9);
    const char *ours = strcmp(name, "dist_muon") == 0 ? "muon"
                       : strcmp(name, "sgd") != 0     ? name
                       : momentum > 0                 ? "sgd-momentum"
                                                      : "sgd";
    const struct optimizer *optimizer = optimizer_find(ours);
    if (optimizer == NULL) {
        configuration_refuse(configuration, DIAG_X664, "optimizer", "adam, sgd, lion or muon",
                             "optimizer '%s' is not planned", name);
        return;
    }
    if (optimizer->matrix_steps > 0) {
        check_matrices(configuration, optimizer, tp);
    }
    configuration->setup.optimizer = optimizer;
}

static void take_formats(struct configuration *configuration)
{
    struct setup *setup = &configuration->setup;
    const bool bf16 = configuration_take_switch(configuration, "bf16", false);
    const bool fp16 = configuration_take_switch(configuration, "fp16", false);
    const bool fp8 = configuration_take_word(configuration, "fp8-format", NULL) != NULL;
    const char *backend = configuration_take_word(configuration, "attention-backend", "auto");
    const bool flash = configuration_take_switch(configuration, "use-flash-attn", false);
    setup->dtype = fp8 ? DTYPE_FP8 : bf16 ? DTYPE_BF16 : fp16 ? DTYPE_FP16 : DTYPE_FP32;
    setup->attention =
        strcmp(backend, "unfused") == 0 && !flash ? ATTENTION_PLAIN : ATTENTION_FLASH;
}

static void take_batch(struct configuration *configuration, const struct sizes *sizes)
{
    const uint64_t micro = configuration_take_count(configuration, "micro-batch-size", 1);
    const uint64_t global =
        configuration_take_count(configuration, "global-batch-size", micro * sizes->dp);
    configuration->setup.global_batch = global;
    configuration->setup.seq_length = configuration_take_count(configuration, "seq-length", 0);
    configuration->plan.schedule.micro_batch = micro > UINT32_MAX ? 0 : (uint32_t)micro;
    if (configuration->setup.seq_length == 0 || global == 0 || micro == 0) {
        configuration_refuse(configuration, DIAG_X663, NULL, NULL,
                             "sequence length %llu, micro-batch %llu, global batch %llu: none may "
                             "be 0",
                             (unsigned long long)configuration->setup.seq_length,
                             (unsigned long long)micro, (unsigned long long)global);
    }
}

void megatron_args_read_plan(struct configuration *configuration)
{
    struct sizes sizes;
    push_ranks(configuration, &sizes);
    take_schedule(configuration, &sizes);
    take_batch(configuration, &sizes);
    take_optimizer(configuration, sizes.tp);
    take_formats(configuration);
    take_states(configuration, &sizes);
}

/* Model, cluster, training setup from flags. */
#include "tools/problem_flags.h"

#include <stdlib.h>
#include <string.h>

#include "prices/profile.h"

static const struct diag_place nowhere = {0};

#define RUNS_ON \
    "what it runs on: a name of the zoo with its number of nodes (dgx-h100:64), several with " \
    "commas between them, a JSON file, a topology file of NCCL, hwloc or nvidia-smi " \
    "(node.xml:4 for four of them)"
#define HEADROOM_FLAG "--memory-headroom"
#define LENGTHS_FLAG "--lengths"
#define DEVICE_FLAG \
    { \
        .name = "--device", .kind = FLAG_TEXT, .value = "KIND", \
        .help = "kind of the devices that a topology file does not name (shardplan list " \
                "accelerators)", \
        .absent = "as the file says" \
    }
#define FABRIC_FLAG \
    { \
        .name = "--fabric", .kind = FLAG_TEXT, .value = "LINK", \
        .help = "network that joins the clusters between commas, or the computers of a topology " \
                "file, such as ib-hdr", \
        .absent = "as the file says" \
    }

const struct flag problem_flags_topology[] = {DEVICE_FLAG, FABRIC_FLAG, {.name = NULL}};

static const struct flag problem_list[] = {
    {.name = "--model",
     .kind = FLAG_TEXT,
     .value = "M",
     .help = "what is trained: a name of the zoo, a Hugging Face config.json, a model file"},
    PROBLEM_FLAG_CLUSTER(RUNS_ON),
    DEVICE_FLAG,
    FABRIC_FLAG,
    {.name = "--global-batch-size",
     .kind = FLAG_COUNT,
     .value = "N",
     .help = "sequences per training step, over all devices",
     .min = 1,
     .max = SETUP_BATCH_MAX},
    {.name = "--seq-length",
     .kind = FLAG_COUNT,
     .value = "N",
     .help = "tokens per sequence",
     .min = 1,
     .max = SETUP_LENGTH_MAX},
    {.name = "--dtype",
     .kind = FLAG_CHOICE,
     .help = "number format of matrix multiplies",
     .fallback = "bf16"},
    {.name = "--optimizer", .kind = FLAG_CHOICE, .help = "optimizer", .fallback = "adam"},
    PROBLEM_FLAG_RUNTIME("training framework: what it accepts, overlaps, costs (shardplan list "
                         "runtimes)"),
    PROBLEM_FLAG_PROFILE(
        "measurements of the accelerator (shardplan calibrate --output) beside the "
        "formulas",
        "formulas alone"),
    {.name = "--attention", .kind = FLAG_CHOICE, .help = "attention kernel", .fallback = "flash"},
    {.name = "--task",
     .kind = FLAG_TEXT,
     .value = "TASK",
     .help = "what is done with the model: pretrain, sft, lora:RANK, freeze:PART[,PART...], zo "
             "(pretrain by --optimizer zo), prefill, decode",
     .fallback = "pretrain"},
    {.name = "--prompt-length",
     .kind = FLAG_COUNT,
     .value = "N",
     .help = "prefill and decode: tokens of a prompt; else --seq-length is",
     .absent = "not stated",
     .min = 1,
     .max = SETUP_LENGTH_MAX / 2},
    {.name = "--output-length",
     .kind = FLAG_COUNT,
     .value = "N",
     .help = "decode: tokens that are generated behind the prompt",
     .absent = "none",
     .max = SETUP_LENGTH_MAX / 2},
    {.name = "--concurrency",
     .kind = FLAG_COUNT,
     .value = "N",
     .help = "prefill and decode: requests at once; another word for --global-batch-size",
     .absent = "as --global-batch-size",
     .min = 1,
     .max = SETUP_BATCH_MAX},
    {.name = "--kv-dtype",
     .kind = FLAG_CHOICE,
     .help = "number format of keys and values that are kept",
     .absent = "as --dtype"},
    {.name = LENGTHS_FLAG,
     .kind = FLAG_TEXT,
     .value = "N:F,...",
     .help = "lengths of the sequences with their shares, such as 2048:0.7,8192:0.3",
     .absent = "all of --seq-length"},
    {.name = "--packing",
     .kind = FLAG_CHOICE,
     .help = "shorter sequences are padded, or packed into rows of --seq-length (then "
             "--global-batch-size counts rows)",
     .fallback = "padded"},
    {.name = "--expert-load",
     .kind = FLAG_NUMBER,
     .value = "F",
     .help = "tokens of the busiest expert-parallel rank over the mean",
     .fallback = "1"},
    {.name = HEADROOM_FLAG,
     .kind = FLAG_NUMBER,
     .value = "F",
     .help = "share of each device's memory that a plan must leave free",
     .fallback = "0.03"},
    {.name = "--spares",
     .kind = FLAG_COUNT,
     .value = "N",
     .help = "devices that a plan may leave idle",
     .fallback = "0",
     .max = UINT32_MAX},
    {.name = NULL},
};

static const char *const *dtype_names(struct arena *arena)
{
    const char **names = ARENA_PUSH(arena, const char *, DTYPE_COUNT + 1);
    for (uint32_t i = 0; i < DTYPE_COUNT; i++) {
        names[i] = dtype_name((enum dtype)i);
    }
    return names;
}

const struct flag *problem_flags_build(struct arena *arena)
{
    const uint32_t count = sizeof problem_list / sizeof problem_list[0];
    struct flag *flags = ARENA_PUSH(arena, struct flag, count);
    memcpy(flags, problem_list, sizeof problem_list);
    for (uint32_t i = 0; flags[i].name != NULL; i++) {
        if (strcmp(flags[i].name, "--dtype") == 0 || strcmp(flags[i].name, "--kv-dtype") == 0) {
            flags[i].choices = dtype_names(arena);
        } else if (strcmp(flags[i].name, "--optimizer") == 0) {
            flags[i].choices = optimizer_names();
        } else if (strcmp(flags[i].name, "--attention") == 0) {
            flags[i].choices = setup_attention_names();
        } else if (strcmp(flags[i].name, "--packing") == 0) {
            flags[i].choices = setup_packing_names();
        }
    }
    return flags;
}

/* Of two flags that say the same the first that is given; neither: the second is missed. */
static bool read_either(struct command *command, const char *first, const char *second,
                        uint64_t *out)
{
    const bool other = !command_has(command, first) && command_has(command, second);
    return command_count(command, other ? second : first, out);
}

/* Batch and lengths: a task that generates has words of its own for them. */
static bool read_sizes(struct command *command, struct setup *setup)
{
    static const char *const own[] = {"--concurrency", "--prompt-length", "--output-length"};
    bool good = true;
    if (!task_generates(&setup->task)) {
        for (uint32_t i = 0; i < sizeof own / sizeof own[0]; i++) {
            if (command_has(command, own[i])) {
                good = diag_push(command->diag, DIAG_C709, nowhere,
                                 "leave it out, or name --task prefill or decode",
                                 "%s has no meaning for task '%s'", own[i], setup->task.text);
            }
        }
        good = command_count(command, "--global-batch-size", &setup->global_batch) && good;
        return command_count(command, "--seq-length", &setup->seq_length) && good;
    }
    good = read_either(command, "--concurrency", "--global-batch-size", &setup->global_batch);
    good = read_either(command, "--prompt-length", "--seq-length", &setup->prompt_length) && good;
    return (!command_has(command, "--output-length") ||
            command_count(command, "--output-length", &setup->output_length)) &&
           good;
}

static bool read_task(struct command *command, struct setup *setup)
{
    const char *text = NULL;
    uint32_t cache = (uint32_t)setup->dtype;
    if (!command_text(command, "--task", &text) ||
        !task_read(text, nowhere, command->arena, &setup->task, command->diag) ||
        (command_has(command, "--kv-dtype") && !command_choice(command, "--kv-dtype", &cache))) {
        return false;
    }
    setup->cache_dtype = (enum dtype)cache;
    return read_sizes(command, setup);
}

static bool refuse_lengths(struct command *command, const char *text)
{
    return diag_push(command->diag, DIAG_C704, nowhere, "such as 2048:0.7,8192:0.3",
                     "%s is '%s': it must be lengths in tokens with their shares of the sequences",
                     LENGTHS_FLAG, text);
}

static bool read_lengths(struct command *command, struct setup *setup)
{
    const char *text = NULL;
    uint32_t count = 1;
    if (!command_has(command, LENGTHS_FLAG)) {
        return true;
    }
    if (!command_text(command, LENGTHS_FLAG, &text)) {
        return false;
    }
    for (const char *at = text; *at != '\0'; at++) {
        count += *at == ',' ? 1 : 0;
    }
    struct length_share *lengths = ARENA_PUSH(command->arena, struct length_share, count);
    const char *at = text;
    for (uint32_t i = 0; i < count; i++, at++) {
        char *end;
        lengths[i].length = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : 0;
        if (lengths[i].length == 0 || lengths[i].length > SETUP_LENGTH_MAX || *end != ':' ||
            end[1] < '0' || end[1] > '9') {
            return refuse_lengths(command, text);
        }
        lengths[i].frac = strtod(end + 1, &end);
        at = end;
        if (*at != (i + 1 < count ? ',' : '\0') || !(lengths[i].frac <= 1.0)) {
            return refuse_lengths(command, text);
        }
    }
    setup->lengths = lengths;
    setup->length_count = count;
    return true;
}

static bool read_load(struct command *command, struct setup *setup)
{
    uint32_t packing = 0;
    if (!command_choice(command, "--packing", &packing) ||
        !command_number(command, "--expert-load", &setup->expert_load)) {
        return false;
    }
    if (setup->expert_load == 0.0) { /* in a setup: not stated */
        return diag_push(command->diag, DIAG_C704, nowhere, "1: all have as many",
                         "--expert-load is 0: the busiest has at least the mean");
    }
    setup->packing = (enum packing)packing;
    return read_lengths(command, setup);
}

static bool read_setup(struct command *command, struct question *out)
{
    struct setup *setup = &out->setup;
    uint32_t dtype = 0, optimizer = 0, attention = 0;
    uint64_t spares = 0;
    bool good = true;
    good = command_choice(command, "--dtype", &dtype) && good;
    good = command_choice(command, "--optimizer", &optimizer) && good;
    good = command_choice(command, "--attention", &attention) && good;
    good = command_number(command, HEADROOM_FLAG, &setup->memory_headroom_frac) && good;
    good = command_count(command, "--spares", &spares) && good;
    good = read_load(command, setup) && good;
    if (!good) {
        return false;
    }
    setup->dtype = (enum dtype)dtype;
    setup->optimizer = optimizer_find(optimizer_names()[optimizer]);
    setup->attention = (enum attention_kind)(attention + ATTENTION_ANY + 1);
    setup->spare_devices = (uint32_t)spares;
    setup->runtime = &out->runtime;
    return read_task(command, setup) && setup_settle(setup, command->arena, command->diag) &&
           setup_check(setup, command->diag);
}

static bool read_profile(struct command *command, struct prices *prices)
{
    const char *path;
    struct profile *profile = ARENA_PUSH(command->arena, struct profile, 1);
    return !command_has(command, PROFILE_FLAG) ||
           (command_text(command, PROFILE_FLAG, &path) &&
            profile_read(path, command->arena, profile, command->diag) &&
            profile_apply(profile, command->arena, prices, command->diag));
}

bool problem_flags_read_prices(struct command *command, const struct cluster *cluster,
                               const struct runtime *runtime, struct prices *out)
{
    return prices_read(cluster, runtime, command->arena, out, command->diag) &&
           read_profile(command, out);
}

static bool join(struct command *command, struct question *out)
{
    if (!problem_flags_read_prices(command, &out->cluster, &out->runtime, &out->prices)) {
        return false;
    }
    costmodel_init(&out->costmodel, &out->problem, &out->prices, command->arena);
    costmodel_estimator(&out->costmodel, &out->estimator);
    return true;
}

static void link_problem(struct question *out)
{
    out->runtime = *out->setup.runtime;
    out->setup.runtime = &out->runtime;
    out->problem = (struct problem){&out->model, &out->cluster, &out->setup};
}

bool problem_flags_find_cluster(struct command *command, const char *text, struct cluster *out)
{
    struct cluster_request request = {.text = text};
    return (!command_has(command, "--device") ||
            command_text(command, "--device", &request.device)) &&
           (!command_has(command, "--fabric") ||
            command_text(command, "--fabric", &request.fabric)) &&
           cluster_read_request(&request, command->arena, out, command->diag);
}

bool problem_flags_read_cluster(struct command *command, struct cluster *out)
{
    const char *cluster;
    return command_text(command, "--cluster", &cluster) &&
           problem_flags_find_cluster(command, cluster, out);
}

bool problem_flags_read_runtime(struct command *command, struct runtime *out)
{
    const char *runtime;
    return command_text(command, "--runtime", &runtime) &&
           runtime_read(runtime, nowhere, command->arena, out, command->diag);
}

/* A format that a kind of device has no units for is priced by another: said, not silent. */
static void warn_of_format(struct command *command, const struct question *question)
{
    const enum dtype dtype = question->setup.dtype;
    for (uint32_t i = 0; i < question->cluster.accelerator_count; i++) {
        const struct accelerator *kind = &question->cluster.accelerators[i];
        const enum dtype used = prices_find_format(kind, dtype);
        if (used != dtype) {
            diag_push_warning(command->diag, DIAG_C709, nowhere,
                              text_build(command->arena, "--dtype %s", dtype_name(used)),
                              "%s has no %s rate of its own: matrices are priced at that of %s",
                              kind->name, dtype_name(dtype), dtype_name(used));
        }
    }
}

/* A question of the kind "what if" may be asked: it has an answer, without a band. */
static void warn_of_devices(struct command *command, const struct question *question)
{
    struct text devices;
    text_init(&devices, command->arena);
    for (uint32_t i = 0; question->runtime.devices[i] != NULL; i++) {
        text_push(&devices, "%s%s", i == 0 ? "" : ", ", question->runtime.devices[i]);
    }
    for (uint32_t i = 0; i < question->cluster.accelerator_count; i++) {
        const struct accelerator *kind = &question->cluster.accelerators[i];
        if (!runtime_runs_on(&question->runtime, kind)) {
            diag_push_warning(command->diag, DIAG_P427, nowhere,
                              text_build(command->arena, "it runs on: %s", devices.bytes),
                              "runtime '%s' is not known to run on %s, a %s of %s: times are what "
                              "they would be if it did",
                              question->runtime.name, kind->name, kind->kind, kind->vendor);
        }
    }
}

bool problem_flags_read(struct command *command, struct question *out)
{
    const char *model;
    memset(out, 0, sizeof *out);
    bool good = command_text(command, "--model", &model) &&
                model_read(model, command->arena, &out->model, command->diag);
    good = problem_flags_read_cluster(command, &out->cluster) && good;
    good = problem_flags_read_runtime(command, &out->runtime) && good;
    good = read_setup(command, out) && good;
    const struct model *read =
        memcpy(ARENA_PUSH(command->arena, struct model, 1), &out->model, sizeof *read);
    if (!good || !task_adapt(&out->setup.task, read, command->arena, &out->model, command->diag)) {
        return false;
    }
    link_problem(out);
    warn_of_format(command, out);
    warn_of_devices(command, out);
    return join(command, out);
}

/* Beside a configuration of a runtime stands what it does not say: the cluster, the model, memory
 * to keep free; beside any file the measurements to judge it by. */
static bool is_told(const struct command *command, const char *flag)
{
    static const char *const untold[] = {"--model", "--cluster", HEADROOM_FLAG};
    bool told = strcmp(flag, PROFILE_FLAG) != 0;
    for (uint32_t i = 0; i < sizeof untold / sizeof untold[0]; i++) {
        told = told && !(command->config && strcmp(flag, untold[i]) == 0);
    }
    return told;
}

bool problem_flags_adopt(struct command *command, const struct problem *problem,
                         struct question *out)
{
    bool good = true;
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; problem_list[i].name != NULL; i++) {
        if (command_has(command, problem_list[i].name) && is_told(command, problem_list[i].name)) {
            good = diag_push(command->diag, DIAG_C709, nowhere,
                             "edit the plan file, or leave it out and give all flags",
                             "%s is given beside a saved plan, which states it already",
                             problem_list[i].name);
        }
    }
    out->model = *problem->model;
    out->cluster = *problem->cluster;
    out->setup = *problem->setup;
    out->runtime = *problem->setup->runtime;
    if (command->config) {
        good = command_number(command, HEADROOM_FLAG, &out->setup.memory_headroom_frac) && good;
    }
    link_problem(out);
    warn_of_format(command, out);
    warn_of_devices(command, out);
    return good && setup_check(&out->setup, command->diag) && join(command, out);
}

bool problem_flags_move(struct command *command, const struct question *from,
                        const struct cluster *cluster, struct question *out)
{
    *out = *from;
    out->cluster = *cluster;
    link_problem(out);
    return join(command, out);
}

#define DEVICES_MAX 262144u

bool problem_flags_scale(struct command *command, const struct question *from, uint32_t domains,
                         struct question *out)
{
    struct cluster cluster = from->cluster;
    struct diag diag;
    const uint32_t last = cluster.level_count - 1;
    const uint64_t inner = cluster.device_count / cluster.levels[last].degree;
    diag_init(&diag, command->arena);
    cluster.levels[last].degree = domains;
    cluster.device_count = (uint32_t)(inner * domains);
    return inner * domains <= DEVICES_MAX && cluster_build(&cluster, command->arena, &diag) &&
           problem_flags_move(command, from, &cluster, out);
}

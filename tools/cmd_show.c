/* `shardplan show`: a model, a cluster, a plan, an accelerator as a table. */
#include <string.h>

#include "base/table.h"
#include "tools/problem_flags.h"
#include "tools/report.h"

extern const struct command_kind command_show;

struct show_kind {
    const char *name;
    bool (*show)(struct command *command, const char *what);
};

static void open_json(struct command *command, struct json_writer *out)
{
    json_writer_init(out, &command->out, false);
    json_push_object(out);
}

static void close_json(struct command *command, struct json_writer *out)
{
    json_pop_object(out);
    text_push(&command->out, "\n");
}

/* --- model --------------------------------------------------------------------------------- */

static void push_parts(const struct model *model, struct json_writer *out)
{
    json_push_key(out, "parts");
    json_push_array(out);
    for (uint32_t i = 0; i < model->run_count; i++) {
        const uint32_t part = model->chain[i].part;
        json_push_object(out);
        json_push_key_string(out, "name", model->parts[part].name);
        json_push_key_u64(out, "count", model->chain[i].count);
        json_push_key_u64(out, "parameters", model_count_part_parameters(model, part));
        json_push_key_u64(out, "ops", model->parts[part].op_count);
        json_pop_object(out);
    }
    json_pop_array(out);
}

static void dump_model_json(struct command *command, const struct model *model, uint64_t seq_length)
{
    struct json_writer out;
    open_json(command, &out);
    report_push_head_of(command, "model", model->digest, &out);
    json_push_key_string(&out, "name", model->name);
    json_push_key_u64(&out, "layers", plan_count_layers(model));
    json_push_key_u64(&out, "parameters", model_count_parameters(model));
    json_push_key_u64(&out, "active_parameters", model_count_active_parameters(model));
    json_push_key_u64(&out, "seq_length", seq_length);
    json_push_key_double(&out, "flops_per_token_causal",
                         model_flops_per_token(model, seq_length, true));
    json_push_key_double(&out, "flops_per_token_full",
                         model_flops_per_token(model, seq_length, false));
    push_parts(model, &out);
    json_push_key(&out, "model");
    model_dump(model, &out);
    close_json(command, &out);
}

/* Runs of a chain that are shown one by one. */
#define LONG_CHAIN 12

static bool was_before(const struct model *model, uint32_t run)
{
    for (uint32_t i = 0; i < run; i++) {
        if (model->chain[i].part == model->chain[run].part) {
            return true;
        }
    }
    return false;
}

static uint32_t count_all(const struct model *model, uint32_t run)
{
    uint32_t count = 0;
    for (uint32_t i = run; i < model->run_count; i++) {
        count += model->chain[i].part == model->chain[run].part ? model->chain[i].count : 0;
    }
    return count;
}

static void dump_parts(struct command *command, const struct model *model)
{
    static const char *const headings[] = {"part", ">times", ">parameters each", "operations",
                                           NULL};
    struct table table;
    table_init(&table, command->arena, headings);
    const bool folds = model->run_count > LONG_CHAIN;
    for (uint32_t i = 0; i < model->run_count; i++) {
        const struct part *part = &model->parts[model->chain[i].part];
        if (folds && was_before(model, i)) {
            continue;
        }
        struct text ops;
        text_init(&ops, command->arena);
        for (uint32_t op = 0; op < part->op_count && op < 5; op++) {
            text_push(&ops, "%s%s", op == 0 ? "" : ", ", model->ops[part->first_op + op].name);
        }
        if (part->op_count > 5) {
            text_push(&ops, " and %u more", part->op_count - 5);
        }
        table_push(&table, "%s", part->name);
        table_push(&table, "%u", folds ? count_all(model, i) : model->chain[i].count);
        table_push(
            &table, "%s",
            report_count(command->arena, model_count_part_parameters(model, model->chain[i].part)));
        table_push(&table, "%s", ops.bytes);
    }
    table_dump(&table, &command->out);
    if (folds) {
        text_push(&command->out, "each kind of part in one row: %u runs of equal parts in all\n",
                  model->run_count);
    }
}

static void dump_model(struct command *command, const struct model *model, uint64_t seq_length)
{
    struct text *out = &command->out;
    const uint64_t parameters = model_count_parameters(model),
                   active = model_count_active_parameters(model);
    const bool has_tokens = model_find_axis(model, "seq") != NO_INDEX;
    const double scale = (has_tokens ? 1.0 : (double)seq_length) / 1e9;
    text_push(out, "model       %s\n", model->name);
    text_push(out, "parameters  %s", report_count(command->arena, parameters));
    if (active != parameters) {
        text_push(out, ", of which a token meets %s", report_count(command->arena, active));
    }
    text_push(out, "\nwork        %.4g GFLOP per %s, forward and backward",
              model_flops_per_token(model, seq_length, true) * scale,
              has_tokens ? "token" : "sample");
    if (has_tokens) {
        text_push(out, ", at %s tokens per sequence", report_count(command->arena, seq_length));
    }
    text_push(out, "\n            (%.4g GFLOP with masked attention counted too)\n\n",
              model_flops_per_token(model, seq_length, false) * scale);
    dump_parts(command, model);
}

static bool show_model(struct command *command, const char *what)
{
    struct model model;
    uint64_t seq_length;
    if (!model_read(what, command->arena, &model, command->diag) ||
        !command_count(command, "--seq-length", &seq_length)) {
        return false;
    }
    if (command->json) {
        dump_model_json(command, &model, seq_length);
    } else {
        dump_model(command, &model, seq_length);
    }
    return true;
}

/* --- cluster ------------------------------------------------------------------------------- */

/* "switch that reduces", "4 x 8 torus". */
static const char *level_words(struct command *command, const struct level *level)
{
    static const char *const words[LEVEL_KIND_COUNT] = {
        [LEVEL_SWITCH] = "switch", [LEVEL_FULLMESH] = "full mesh", [LEVEL_RING] = "ring",
        [LEVEL_MESH] = "mesh",     [LEVEL_TORUS] = "torus",
    };
    struct text text;
    text_init(&text, command->arena);
    for (uint32_t i = 0; i < level->axis_count; i++) {
        text_push(&text, "%s%u%s", i == 0 ? "" : "x", level->shape[i],
                  i + 1 == level->axis_count ? " " : "");
    }
    text_push(&text, "%s%s", words[level->kind], level->reduces ? " that reduces" : "");
    return text.bytes;
}

static const char *quantity(struct command *command, enum unit_kind unit, double value)
{
    struct text text;
    text_init(&text, command->arena);
    unit_dump_short(unit, value, &text);
    return text.bytes;
}

static void dump_levels(struct command *command, const struct cluster *cluster)
{
    static const char *const headings[] = {"level",      ">joins",   ">devices", "by",
                                           ">bandwidth", ">latency", "link",     NULL};
    struct table table;
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < cluster->level_count; i++) {
        const struct level *level = &cluster->levels[i];
        table_push(&table, "%s", level->name);
        table_push(&table, "%u", level->degree);
        table_push(&table, "%s", report_count(command->arena, cluster_count_domain(cluster, i)));
        table_push(&table, "%s", level_words(command, level));
        table_push(&table, "%s", quantity(command, UNIT_BYTES_PER_SECOND, level->bandwidth_Bps));
        table_push(&table, "%s", quantity(command, UNIT_SECONDS, level->latency_s));
        table_push(&table, "%s", level->link);
    }
    table_dump(&table, &command->out);
    text_push(&command->out,
              "bandwidth per device and direction; latency on top of the link's own\n");
}

static void dump_host(struct command *command, const struct host *host)
{
    if (host->memory_bytes > 0) {
        text_push(&command->out, "host     %s at %s for %u devices, %s each way to each\n",
                  report_bytes(command->arena, (double)host->memory_bytes),
                  quantity(command, UNIT_BYTES_PER_SECOND, host->memory_Bps), host->devices,
                  quantity(command, UNIT_BYTES_PER_SECOND, host_copy_Bps(host)));
    }
}

static void dump_cluster(struct command *command, const struct cluster *cluster)
{
    struct text *out = &command->out;
    text_push(out, "cluster  %s: %s devices\n", cluster->name,
              report_count(command->arena, cluster->device_count));
    for (uint32_t i = 0; i < cluster->accelerator_count; i++) {
        const struct accelerator *accelerator = &cluster->accelerators[i];
        text_push(
            out, "device   %s, %s, %s dense bf16\n", accelerator->name,
            report_bytes(command->arena, (double)accelerator->memory_bytes),
            quantity(command, UNIT_FLOPS_PER_SECOND, accelerator->peak_flops_per_s[DTYPE_BF16]));
        dump_host(command, &accelerator->host);
    }
    text_push(out, "\n");
    if (cluster->level_count > 0) {
        dump_levels(command, cluster);
    } else {
        text_push(out,
                  "a graph of %u devices and %u switches joined by %u links; --json has them all\n",
                  cluster->device_count, cluster->node_count - cluster->device_count,
                  cluster->link_count);
    }
}

static bool show_cluster(struct command *command, const char *what)
{
    struct cluster cluster;
    if (!problem_flags_find_cluster(command, what, &cluster)) {
        return false;
    }
    if (!command->json) {
        dump_cluster(command, &cluster);
        return true;
    }
    struct json_writer out;
    open_json(command, &out);
    report_push_head_of(command, "cluster", cluster.digest, &out);
    json_push_key_u64(&out, "device_count", cluster.device_count);
    json_push_key(&out, "cluster");
    cluster_dump(&cluster, &out);
    close_json(command, &out);
    return true;
}

/* --- plan ---------------------------------------------------------------------------------- */

static void dump_plan(struct command *command, const struct plan_file *file)
{
    struct text *out = &command->out;
    text_push(out, "model    %s\ncluster  %s: %s devices\n", file->model->name, file->cluster->name,
              report_count(command->arena, file->cluster->device_count));
    text_push(out, "step     %llu sequences of %llu tokens, %s, %s, runtime %s\n",
              (unsigned long long)file->setup->global_batch,
              (unsigned long long)file->setup->seq_length, dtype_name(file->setup->dtype),
              file->setup->optimizer->name, file->setup->runtime->name);
    if (file->plan->note != NULL) {
        text_push(out, "note     %s\n", file->plan->note);
    }
    report_dump_flags(command, "plan", file->plan, file->setup->runtime);
    if (file->plan->group_count > 1 || file->plan->pipeline_count > 0) {
        text_push(
            out,
            "         of the first of %u groups of devices, %u pipelines; --json has them all\n",
            file->plan->group_count, file->plan->pipeline_count);
    }
    for (uint32_t i = 0; i < file->plan->policy_count; i++) {
        text_push(out, "policy   %s: %s\n", file->plan->policies[i].kind->name,
                  file->plan->policies[i].kind->summary);
    }
}

static bool show_plan(struct command *command, const char *what)
{
    struct plan_file file;
    if (!plan_read(what, command->arena, &file, command->diag)) {
        return false;
    }
    if (!command->json) {
        dump_plan(command, &file);
        return true;
    }
    const struct problem problem = {file.model, file.cluster, file.setup};
    struct json_writer out;
    open_json(command, &out);
    report_push_head(command, &problem, &out);
    json_push_key(&out, "plan");
    plan_dump(&problem, file.plan, true, &out);
    close_json(command, &out);
    return true;
}

/* --- accelerator --------------------------------------------------------------------------- */

static void dump_accelerator(struct command *command, const struct accelerator *accelerator)
{
    struct text *out = &command->out;
    text_push(out, "device       %s by %s\n", accelerator->name, accelerator->vendor);
    text_push(out, "memory       %s at %s\n",
              report_bytes(command->arena, (double)accelerator->memory_bytes),
              quantity(command, UNIT_BYTES_PER_SECOND, accelerator->memory_Bps));
    for (uint32_t i = 0; i < DTYPE_COUNT; i++) {
        if (accelerator->peak_flops_per_s[i] > 0.0) {
            text_push(out, "%-11s  %s dense\n", dtype_name((enum dtype)i),
                      quantity(command, UNIT_FLOPS_PER_SECOND, accelerator->peak_flops_per_s[i]));
        }
    }
    text_push(out,
              "large matrix multiplies reach %.1f %% of the peak, streaming kernels %.1f %% of the "
              "bandwidth\n",
              100.0 * accelerator->gemm_efficiency_frac,
              100.0 * accelerator->memory_efficiency_frac);
    if (accelerator->source != NULL) {
        text_push(out, "source       %s\n", accelerator->source);
    }
}

static bool show_accelerator(struct command *command, const char *what)
{
    struct accelerator accelerator;
    if (!accelerator_read(what, (struct diag_place){0}, command->arena, &accelerator,
                          command->diag)) {
        return false;
    }
    if (!command->json) {
        dump_accelerator(command, &accelerator);
        return true;
    }
    struct json_writer out;
    open_json(command, &out);
    json_push_key_string(&out, "version", SHARDPLAN_VERSION);
    json_push_key(&out, "accelerator");
    accelerator_dump(&accelerator, &out);
    close_json(command, &out);
    return true;
}

/* ---------------------------------------------------------------------------------------------- */

static const struct show_kind kinds[] = {
    {"model", show_model},
    {"cluster", show_cluster},
    {"plan", show_plan},
    {"accelerator", show_accelerator},
};

#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

static int run(struct command *command)
{
    const char *names[KIND_COUNT];
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        names[i] = kinds[i].name;
        if (strcmp(names[i], command->positional[0]) == 0) {
            return kinds[i].show(command, command->positional[1]) ? 0 : command_fail(command);
        }
    }
    diag_push(command->diag, DIAG_C710, (struct diag_place){0},
              command_hint(command, command->positional[0], names, KIND_COUNT, NULL),
              "'%s' is no kind of thing to show: model, cluster, plan, accelerator",
              command->positional[0]);
    return command_fail(command);
}

static const struct flag flags[] = {
    {.name = "--seq-length",
     .kind = FLAG_COUNT,
     .value = "N",
     .help = "tokens per sequence, for the work per token of a model",
     .fallback = "4096",
     .min = 1},
    {.name = NULL},
};

static const struct flag_group groups[] = {
    {.title = "A model", .flags = flags},
    {.title = "What a topology file leaves out", .flags = problem_flags_topology},
    {.title = NULL},
};

const struct command_kind command_show = {
    .name = "show",
    .usage = "shardplan show (model|cluster|plan|accelerator) X",
    .summary = "what a model, a cluster, a plan, an accelerator consists of",
    .lesson = "X is a name of the zoo or a file.\n\n"
              "  shardplan show model llama-3.1-405b --seq-length 8192\n"
              "  shardplan show cluster dgx-h100:64\n"
              "  shardplan show plan plan.json\n",
    .groups = groups,
    .positional_min = 2,
    .positional_max = 2,
    .run = run,
};

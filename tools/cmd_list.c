/* `shardplan list`: what there is to name. */
#include <string.h>

#include "base/data_folder.h"
#include "base/table.h"
#include "exports/exporter.h"
#include "imports/importer.h"
#include "plan/collective.h"
#include "plan/dim.h"
#include "plan/policy.h"
#include "plan/schedule.h"
#include "planner/strategy.h"
#include "tools/report.h"

extern const struct command_kind command_list;

struct row {
    const char *name, *summary;
};

struct rows {
    struct row *items;
    uint32_t count;
};

struct list_kind {
    const char *name, *summary;
    void (*fill)(struct command *command, struct rows *out);
};

static void open_rows(struct command *command, uint32_t count, struct rows *out)
{
    out->items = ARENA_PUSH(command->arena, struct row, count);
    out->count = 0;
}

static void push_row(struct rows *rows, const char *name, const char *summary)
{
    rows->items[rows->count++] = (struct row){name, summary};
}

/* --- tables of members --------------------------------------------------------------------- */

#define FILL_TABLE(noun) \
    static void fill_##noun##s(struct command *command, struct rows *out) \
    { \
        open_rows(command, noun##_table_count, out); \
        for (uint32_t i = 0; i < noun##_table_count; i++) { \
            push_row(out, noun##_table[i]->name, noun##_table[i]->summary); \
        } \
    }

FILL_TABLE(dim)
FILL_TABLE(schedule)
FILL_TABLE(collective)
FILL_TABLE(policy)
FILL_TABLE(exporter)
FILL_TABLE(importer)

static void fill_strategies(struct command *command, struct rows *out)
{
    open_rows(command, strategy_table_count, out);
    for (uint32_t i = 0; i < strategy_table_count; i++) {
        const struct strategy *strategy = strategy_table[i];
        push_row(out, strategy->name,
                 text_build(command->arena, "%s (%s)", strategy->summary, strategy->source));
    }
}

static void fill_optimizers(struct command *command, struct rows *out)
{
    const char *const *names = optimizer_names();
    uint32_t count = 0;
    while (names[count] != NULL) {
        count++;
    }
    open_rows(command, count, out);
    for (uint32_t i = 0; i < count; i++) {
        push_row(out, names[i], optimizer_find(names[i])->summary);
    }
}

/* --- data files ---------------------------------------------------------------------------- */

/* One line about the entry of that name; NULL when it cannot be read, which is reported. */
static const char *describe_model(struct command *command, const char *name)
{
    struct model model;
    if (!model_read(name, command->arena, &model, command->diag)) {
        return NULL;
    }
    const double all = (double)model_count_parameters(&model),
                 active = (double)model_count_active_parameters(&model);
    return active < 0.99 * all
               ? text_build(command->arena,
                            "%u layers, %.4g billion parameters, %.4g billion active",
                            plan_count_layers(&model), all / 1e9, active / 1e9)
               : text_build(command->arena, "%u layers, %.4g billion parameters",
                            plan_count_layers(&model), all / 1e9);
}

static const char *describe_cluster(struct command *command, const char *name)
{
    struct cluster cluster;
    if (!cluster_read(name, command->arena, &cluster, command->diag)) {
        return NULL;
    }
    const char *kind = cluster.accelerators[0].name;
    if (cluster.level_count == 0) {
        return cluster.accelerator_count > 1
                   ? report_devices(command->arena, &cluster)
                   : text_build(command->arena, "%u devices, %s", cluster.device_count, kind);
    }
    const struct level *last = &cluster.levels[cluster.level_count - 1];
    const uint32_t inner = cluster.device_count / last->degree;
    return last->degree == 1 && inner > 1
               ? text_build(command->arena, "%u %s in a node; :N joins N of them by %s", inner,
                            kind, last->name)
               : text_build(command->arena, "%u x %u %s, joined by %s", last->degree, inner, kind,
                            last->name);
}

static const char *describe_accelerator(struct command *command, const char *name)
{
    struct accelerator accelerator;
    if (!accelerator_read(name, (struct diag_place){0}, command->arena, &accelerator,
                          command->diag)) {
        return NULL;
    }
    enum dtype dtype = DTYPE_BF16;
    dtype = accelerator.peak_flops_per_s[dtype] > 0.0 ? dtype : DTYPE_FP16;
    dtype = accelerator.peak_flops_per_s[dtype] > 0.0 ? dtype : DTYPE_FP32;
    return text_build(command->arena, "%s, %s, %.4g TFLOP/s dense %s", accelerator.vendor,
                      report_bytes(command->arena, (double)accelerator.memory_bytes),
                      accelerator.peak_flops_per_s[dtype] / 1e12, dtype_name(dtype));
}

static const char *describe_runtime(struct command *command, const char *name)
{
    struct runtime runtime;
    return runtime_read(name, (struct diag_place){0}, command->arena, &runtime, command->diag)
               ? runtime.summary
               : NULL;
}

/* The name inside the file, which is what flags take. */
static const char *name_in(struct command *command, const char *folder, const char *file)
{
    struct json *document;
    const char *name = file;
    const char *path =
        data_folder_find(text_build(command->arena, "%s/%s.json", folder, file), command->arena);
    if (json_open(path, true, command->arena, &document, command->diag)) {
        json_read_string_or(json_root(document), "name", file, command->arena, &name,
                            command->diag);
        json_close(document);
    }
    return name;
}

static void fill_folder(struct command *command, const char *folder,
                        const char *(*describe)(struct command *command, const char *name),
                        struct rows *out)
{
    const char *const *files = data_folder_each(folder, ".json", command->arena);
    uint32_t count = 0;
    while (files[count] != NULL) {
        count++;
    }
    open_rows(command, count, out);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = name_in(command, folder, files[i]);
        const char *summary = describe(command, name);
        push_row(out, name, summary == NULL ? "cannot be read" : summary);
    }
}

static void fill_models(struct command *command, struct rows *out)
{
    fill_folder(command, "models/zoo", describe_model, out);
}

static void fill_clusters(struct command *command, struct rows *out)
{
    fill_folder(command, "topologies/zoo", describe_cluster, out);
}

static void fill_accelerators(struct command *command, struct rows *out)
{
    fill_folder(command, "topologies/accelerators", describe_accelerator, out);
}

static void fill_runtimes(struct command *command, struct rows *out)
{
    fill_folder(command, "prices/runtimes", describe_runtime, out);
}

static const struct list_kind kinds[] = {
    {"models", "models of the zoo, for --model", fill_models},
    {"clusters", "clusters of the zoo, for --cluster NAME[:NODES]", fill_clusters},
    {"accelerators", "kinds of devices", fill_accelerators},
    {"dims", "kinds of parallelism", fill_dims},
    {"schedules", "pipeline schedules, for --schedule", fill_schedules},
    {"collectives", "algorithms of collective operations", fill_collectives},
    {"policies", "what else a plan can say", fill_policys},
    {"runtimes", "training frameworks, for --runtime", fill_runtimes},
    {"exporters", "formats that `export --to` writes", fill_exporters},
    {"importers", "kinds of files that `import` reads", fill_importers},
    {"strategies", "published planning methods, for plan --strategy", fill_strategies},
    {"optimizers", "optimizers, for --optimizer", fill_optimizers},
};

#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

static void dump_json(struct command *command, const struct list_kind *kind,
                      const struct rows *rows)
{
    struct json_writer out;
    json_writer_init(&out, &command->out, false);
    json_push_object(&out);
    json_push_key_string(&out, "version", SHARDPLAN_VERSION);
    json_push_key(&out, kind->name);
    json_push_array(&out);
    for (uint32_t i = 0; i < rows->count; i++) {
        json_push_object(&out);
        json_push_key_string(&out, "name", rows->items[i].name);
        json_push_key_string(&out, "summary", rows->items[i].summary);
        json_pop_object(&out);
    }
    json_pop_array(&out);
    json_pop_object(&out);
    text_push(&command->out, "\n");
}

static void dump_people(struct command *command, const struct rows *rows)
{
    static const char *const headings[] = {"name", "what it is", NULL};
    struct table table;
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < rows->count; i++) {
        table_push(&table, "%s", rows->items[i].name);
        table_push(&table, "%s", rows->items[i].summary);
    }
    table_dump(&table, &command->out);
}

static bool find_kind(struct command *command, const struct list_kind **out)
{
    const char *names[KIND_COUNT];
    const char *word = command->positional[0];
    struct text all;
    text_init(&all, command->arena);
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        names[i] = kinds[i].name;
        text_push(&all, "%s%s", i == 0 ? "" : ", ", kinds[i].name);
        if (strcmp(kinds[i].name, word) == 0) {
            *out = &kinds[i];
            return true;
        }
    }
    return diag_push(command->diag, DIAG_C710, (struct diag_place){0},
                     command_hint(command, word, names, KIND_COUNT, NULL),
                     "'%s' is no kind of thing to list: %s", word, all.bytes);
}

static int run(struct command *command)
{
    const struct list_kind *kind = NULL;
    struct rows rows;
    if (!find_kind(command, &kind)) {
        return command_fail(command);
    }
    kind->fill(command, &rows);
    if (command->diag->count > 0) {
        return command_fail(command);
    }
    if (command->json) {
        dump_json(command, kind, &rows);
    } else {
        dump_people(command, &rows);
    }
    return 0;
}

static const struct flag_group groups[] = {{.title = NULL}};

const struct command_kind command_list = {
    .name = "list",
    .usage = "shardplan list KIND",
    .summary = "names of models, clusters, schedules, ... with one line each",
    .lesson = "Prints what can be named in flags and files. KIND is one of: models, clusters, "
              "accelerators,\n"
              "dims, schedules, collectives, policies, runtimes, exporters, "
              "importers,\n"
              "strategies, optimizers.\n\n"
              "  shardplan list models\n",
    .groups = groups,
    .positional_min = 1,
    .positional_max = 1,
    .run = run,
};

/* `shardplan check`: is a configuration legal? */
#include <string.h>

#include "tools/config_file.h"
#include "tools/plan_flags.h"
#include "tools/report.h"
#include "tools/saved_plan.h"

extern const struct command_kind command_check;

static bool read_plan(struct command *command, struct question *question, struct plan **out)
{
    const char *path;
    if (command->positional_count > 0) {
        return saved_plan_read(command, command->positional[0], question, out);
    }
    if (command_has(command, "--plan")) {
        return command_text(command, "--plan", &path) &&
               saved_plan_read(command, path, question, out);
    }
    *out = ARENA_PUSH(command->arena, struct plan, 1);
    return problem_flags_read(command, question) &&
           plan_flags_read(command, &question->problem, *out);
}

static void push_faults(const struct diag *diag, const char *key, struct json_writer *out)
{
    json_push_key(out, key);
    json_push_array(out);
    for (uint32_t i = 0; i < diag->kept; i++) {
        if (diag->entries[i].warning) {
            continue;
        }
        json_push_object(out);
        json_push_key_string(out, "code", diag_code_name(diag->entries[i].code));
        json_push_key_string(out, "message", diag->entries[i].message);
        json_push_key_string(out, "hint", diag->entries[i].hint);
        json_pop_object(out);
    }
    json_pop_array(out);
}

/* Ranks from the first to the last of a fold's group; folds take hosts from the inside out. */
static uint64_t find_span(const struct group *group, const struct mesh_fold *fold)
{
    uint64_t stride = 1, span = 1;
    uint32_t left = fold->degree;
    for (uint32_t i = 0; i < group->mesh_count && left > 1; i++) {
        const struct mesh_dim *mesh = &group->mesh[i];
        for (uint32_t h = 0; h < 3 && fold->dim->hosts[h] != NULL && mesh->dim != NULL; h++) {
            if (strcmp(fold->dim->hosts[h], mesh->dim->name) == 0 && mesh->degree > 1) {
                const uint32_t take = left < mesh->degree ? left : mesh->degree;
                span = stride * take;
                left /= take;
            }
        }
        stride *= mesh->degree;
    }
    return span;
}

/* Groups that exchange all with all beyond the innermost level of the cluster; NULL: there are
 * none. */
static const char *find_far_groups(struct command *command, const struct problem *problem,
                                   const struct plan *plan)
{
    const struct cluster *cluster = problem->cluster;
    const struct group *group = &plan->groups[0];
    for (uint32_t i = 0; i < group->fold_count && cluster->level_count > 1; i++) {
        const struct mesh_fold *fold = &group->folds[i];
        const uint64_t span = find_span(group, fold);
        if (fold->dim->kind == DIM_FOLD_INSTEAD && span > cluster->levels[0].degree) {
            return text_build(command->arena,
                              "groups of %s %u lie across %llu ranks, more than the %u devices of "
                              "one %s: what they exchange takes the slower network",
                              fold->dim->name, fold->degree, (unsigned long long)span,
                              cluster->levels[0].degree, cluster->levels[0].name);
        }
    }
    return NULL;
}

/* A pipeline that never fills. */
static const char *find_few_passes(struct command *command, const struct problem *problem,
                                   const struct plan *plan)
{
    const uint32_t stages = plan_count_stages(plan), passes = plan_count_passes(problem, plan);
    return passes >= stages
               ? NULL
               : text_build(command->arena,
                            "%u micro-batches never fill %u stages: give a step as many at least, "
                            "by a smaller micro-batch or fewer replicas",
                            passes, stages);
}

/* Legal, but slow; "" where nothing is. */
static const char *find_advice(struct command *command, const struct problem *problem,
                               const struct plan *plan)
{
    const char *far = find_far_groups(command, problem, plan);
    const char *few = find_few_passes(command, problem, plan);
    return text_build(command->arena, "%s%s%s", far == NULL ? "" : far,
                      far != NULL && few != NULL ? "; " : "", few == NULL ? "" : few);
}

static void dump_json(struct command *command, const struct problem *problem,
                      const struct diag *broken, const struct diag *uncosted, const char *advice)
{
    struct json_writer out;
    json_writer_init(&out, &command->out, false);
    json_push_object(&out);
    report_push_head(command, problem, &out);
    json_push_key_bool(&out, "legal", broken->count == 0);
    push_faults(broken, "errors", &out);
    json_push_key_bool(&out, "costed", broken->count == 0 && uncosted->count == 0);
    push_faults(uncosted, "not_costed", &out);
    json_push_key_string(&out, "advice", advice[0] == '\0' ? NULL : advice);
    json_pop_object(&out);
    text_push(&command->out, "\n");
}

/* The runtime's own parser refuses the file: the rules that it breaks, without a plan. */
static int dump_refused(struct command *command)
{
    struct json_writer out;
    if (!command->json) {
        text_push(&command->out, "Not legal: %u rule%s broken.\n", command->diag->count,
                  command->diag->count == 1 ? " is" : "s are");
        return 1;
    }
    json_writer_init(&out, &command->out, false);
    json_push_object(&out);
    json_push_key_bool(&out, "legal", false);
    push_faults(command->diag, "errors", &out);
    json_pop_object(&out);
    text_push(&command->out, "\n");
    return 1;
}

static void dump_people(struct command *command, const struct question *question,
                        const struct diag *broken, const struct diag *uncosted, const char *advice)
{
    struct text *out = &command->out;
    if (broken->count > 0) {
        text_push(out, "Not legal: %u rule%s broken.\n", broken->count,
                  broken->count == 1 ? " is" : "s are");
        return;
    }
    text_push(out, "Legal for %s on %s with runtime %s.\n", question->model.name,
              question->cluster.name, question->runtime.name);
    for (uint32_t i = 0; i < uncosted->kept; i++) {
        text_push(out, "%s  %s\n", i == 0 ? "But its time and memory cannot be told yet:\n" : "",
                  uncosted->entries[i].message);
    }
    if (advice[0] != '\0') {
        text_push(out, "But %s.\n", advice);
    }
}

static int run(struct command *command)
{
    struct question question;
    struct plan *plan;
    struct diag uncosted;
    bool refused = false;
    const char *path;
    const bool good = config_file_given(command)
                          ? command_text(command, "--config", &path) &&
                                config_file_read(command, path, &question, &plan, &refused)
                          : read_plan(command, &question, &plan);
    if (!good) {
        return refused ? dump_refused(command) : command_fail(command);
    }
    if (config_file_given(command) && !command->json) {
        config_file_dump(command, &question, plan);
    }
    diag_init(&uncosted, command->arena);
    const bool legal = plan_check(&question.problem, plan, command->diag);
    config_file_place(&question, command->diag);
    if (legal) {
        plan_check_costed(&question.problem, plan, &uncosted);
    }
    const char *advice = legal ? find_advice(command, &question.problem, plan) : "";
    if (command->json) {
        dump_json(command, &question.problem, command->diag, &uncosted, advice);
    } else {
        dump_people(command, &question, command->diag, &uncosted, advice);
    }
    return legal ? 0 : 1;
}

static const struct flag file_flags[] = {
    {.name = "--plan",
     .kind = FLAG_TEXT,
     .value = "FILE",
     .help = "a saved plan, instead of all the flags below"},
    {.name = NULL},
};

static const struct flag_group groups[] = {
    {.title = "A saved plan", .flags = file_flags},
    {.title = "A configuration of a runtime", .flags = config_file_flags},
    {.title = "What is trained, on what", .build = problem_flags_build},
    {.title = "How the work is split", .build = plan_flags_build_given},
    {.title = NULL},
};

const struct command_kind command_check = {
    .name = "check",
    .usage = "shardplan check (PLAN | --config FILE --cluster C | --model M --cluster C "
             "--global-batch-size N --seq-length N [...])",
    .summary = "is a configuration legal, and if not, which rules does it break",
    .lesson =
        "Says whether a model, a cluster and a runtime accept a configuration: divisibility, "
        "products of\n"
        "degrees, shapes that schedules run, what the runtime refuses. Nothing is computed or "
        "searched.\n"
        "Exit status 1 when a rule is broken; each is named with what would be right.\n\n"
        "  shardplan check --model llama-3.1-70b --cluster dgx-h100:8 --global-batch-size 256 \\\n"
        "      --seq-length 8192 --tp 16 --pp 4 --runtime megatron\n"
        "  shardplan check --config train.sh --cluster dgx-h100:8\n",
    .groups = groups,
    .positional_min = 0,
    .positional_max = 1,
    .run = run,
};

/* `shardplan estimate`: time and memory of one configuration. */
#include "tools/compare.h"
#include "tools/config_file.h"
#include "tools/contributors.h"
#include "tools/plan_flags.h"
#include "tools/report.h"
#include "tools/saved_plan.h"
#include "tools/simulated.h"

extern const struct command_kind command_estimate;

static bool read_plan(struct command *command, struct question *question, struct plan **out)
{
    const char *path;
    bool refused = false;
    if (config_file_given(command)) {
        return command_text(command, "--config", &path) &&
               config_file_read(command, path, question, out, &refused);
    }
    if (command->positional_count > 0) {
        return saved_plan_read(command, command->positional[0], question, out);
    }
    *out = ARENA_PUSH(command->arena, struct plan, 1);
    return problem_flags_read(command, question) &&
           plan_flags_read(command, &question->problem, *out);
}

/* What is printed. */
struct answer {
    struct question question;
    struct plan *plan;
    struct verdict verdict;
    bool compares;
    struct compared first;
    struct contributors contributors;
    double wall_s;
};

static void dump_json(struct command *command, const struct answer *answer)
{
    const struct question *question = &answer->question;
    const struct verdict *verdict = &answer->verdict;
    struct json_writer out;
    json_writer_init(&out, &command->out, false);
    json_push_object(&out);
    report_push_head(command, &question->problem, &out);
    report_push_verdict(command, question, verdict, &out);
    contributors_push(&answer->contributors, &out);
    report_push_run(command, question, verdict->estimate.step_s, &out);
    if (answer->compares) {
        compare_push(command, &answer->first, verdict, &out);
    }
    if (command->timing) {
        json_push_key_double(&out, "wall_s", answer->wall_s);
    }
    json_pop_object(&out);
    text_push(&command->out, "\n");
}

static void dump_next(struct command *command, const struct verdict *verdict)
{
    const char *path = command->positional_count > 0 ? command->positional[0] : NULL;
    if (path != NULL || (config_file_given(command) && command_text(command, "--config", &path))) {
        text_push(&command->out,
                  "\nNext: `shardplan plan --from %s`%s says which change gains most.\n", path,
                  command->config ? " with the flags that stand beside it here" : "");
        return;
    }
    if (verdict->estimate.fits) {
        text_push(&command->out,
                  "\nNext: the same flags with `shardplan plan` search for something better.\n");
        return;
    }
    text_push(&command->out, "\nNext: `shardplan plan` with the model, the cluster, the batch "
                             "searches for what fits.\n");
}

static void dump_people(struct command *command, const struct answer *answer)
{
    report_dump_question(command, &answer->question);
    report_dump_verdict(command, &answer->question, &answer->verdict);
    report_dump_run(command, &answer->question, answer->verdict.estimate.step_s);
    report_dump_provenance(command, &answer->verdict);
    contributors_dump(command, &answer->contributors);
    if (answer->compares) {
        compare_dump(command, &answer->first, &answer->question, &answer->verdict);
    } else {
        dump_next(command, &answer->verdict);
    }
}

static bool judge(struct command *command, struct answer *out)
{
    out->compares = command_has(command, COMPARE_FLAG);
    if ((out->compares && !compare_read(command, &out->first)) ||
        !read_plan(command, &out->question, &out->plan) || !report_check_run(command) ||
        !plan_check(&out->question.problem, out->plan, command->diag) ||
        !plan_check_costed(&out->question.problem, out->plan, command->diag)) {
        return false;
    }
    const double start_s = command_now_s();
    report_judge(command, &out->question, out->plan, &out->verdict);
    const bool good = simulated_judge(command, &out->question, &out->verdict) &&
                      contributors_find(command, &out->question, &out->verdict, &out->contributors);
    out->wall_s = command_now_s() - start_s;
    return good;
}

static int run(struct command *command)
{
    struct answer *answer = ARENA_PUSH(command->arena, struct answer, 1);
    if (!judge(command, answer)) {
        config_file_place(&answer->question, command->diag);
        return command_fail(command);
    }
    if (command->json) {
        dump_json(command, answer);
    } else {
        dump_people(command, answer);
    }
    return 0;
}

static const struct flag answer_flags[] = {
    {.name = COMPARE_FLAG,
     .kind = FLAG_TEXT,
     .value = "FILE",
     .help = "another saved plan, to compare with line by line"},
    {.name = NULL},
};

static const struct flag_group groups[] = {
    {.title = "A configuration of a runtime", .flags = config_file_flags},
    {.title = "What is trained, on what", .build = problem_flags_build},
    {.title = "How the work is split", .build = plan_flags_build_given},
    {.title = "The answer", .flags = answer_flags},
    {.title = "A whole run", .flags = report_run_flags},
    {.title = NULL},
};

const struct command_kind command_estimate = {
    .name = "estimate",
    .usage = "shardplan estimate (PLAN | --config FILE --cluster C | --model M --cluster C "
             "--global-batch-size N --seq-length N [...])",
    .summary = "how long a step of one given configuration takes, how much memory it needs",
    .lesson =
        "Answers for one configuration, given by flags or as a saved plan: seconds per step, where "
        "they\n"
        "go, memory of each pipeline stage, whether it fits. Layers are spread over the stages as\n"
        "evenly in time as memory allows.\n\n"
        "  shardplan estimate --model llama-3.1-70b --cluster dgx-h100:8 --global-batch-size 256 "
        "\\\n"
        "      --seq-length 8192 --tp 8 --pp 4 --zero 1\n"
        "  shardplan estimate plan.json\n"
        "  shardplan estimate --compare first.json second.json\n"
        "  shardplan estimate --config train.sh --cluster dgx-h100:8\n",
    .groups = groups,
    .positional_min = 0,
    .positional_max = 1,
    .run = run,
};

/* `shardplan plan`: the best plan, with a certificate. */
#include "tools/advise.h"
#include "tools/both_judges.h"
#include "tools/config_file.h"
#include "tools/contenders.h"
#include "tools/decompose.h"
#include "tools/explain.h"
#include "tools/next_step.h"
#include "tools/objective.h"
#include "tools/pareto.h"
#include "tools/plan_flags.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/saved_plan.h"
#include "tools/shortage.h"

#define TOP_MAX 1000u

extern const struct command_kind command_plan;

/* A search with what is said about its best plans. */
struct answer {
    struct planner_options options;
    struct planner_result result;
    struct verdict *verdicts;    /* per plan of the result */
    struct decomposition *parts; /* per plan of the result; keys[0] NULL: the judges agree */
    double search_s;
    const struct ranked_plan *runner; /* the best that is not printed; NULL: there is none */
    struct both_judges judges;
    struct next_step next;
    struct objective_choice choice;
    struct pareto *pareto; /* NULL: not asked for */
    bool advised;          /* --from was given */
    struct advice advice;
    struct contenders contenders;
    double best_s; /* of the search and all contenders; 0: nothing fits */
};

static bool read_options(struct command *command, struct planner_options *out)
{
    uint64_t top = 1, budget = 0;
    bool good = plan_flags_read_pins(command, &out->pins);
    good = command_count(command, "--top", &top) && good;
    good = command_count(command, "--budget", &budget) && good;
    out->top = (uint32_t)top + 1; /* with the runner-up */
    out->budget = budget;
    out->no_prune = command_has(command, "--no-prune");
    return good;
}

static bool judge_all(struct command *command, const struct question *question,
                      struct answer *answer)
{
    const uint32_t count = answer->result.count;
    answer->verdicts = ARENA_PUSH(command->arena, struct verdict, count);
    answer->parts = ARENA_PUSH(command->arena, struct decomposition, count);
    for (uint32_t i = 0; i < count; i++) {
        struct verdict *verdict = &answer->verdicts[i];
        struct plan *plan = answer->result.plans[i].plan;
        if (plan == answer->judges.chosen.plan) {
            *verdict = answer->judges.chosen;
        } else {
            report_judge(command, question, plan, verdict);
        }
        if ((!verdict->simulated && !simulated_judge(command, question, verdict)) ||
            (!both_judges_agree(verdict) &&
             !decompose_find(command, question, plan, &answer->parts[i]))) {
            return false;
        }
    }
    return true;
}

static bool save(struct command *command, const struct question *question, const struct plan *plan)
{
    struct text text;
    struct json_writer writer;
    if (!command_has(command, "-o")) {
        return true;
    }
    text_init(&text, command->arena);
    json_writer_init(&writer, &text, false);
    plan_dump(&question->problem, plan, true, &writer);
    text_push(&text, "\n");
    return command_write_flag(command, "-o", &text);
}

/* --- JSON ---------------------------------------------------------------------------------- */

static void push_parts(const struct decomposition *parts, struct json_writer *out)
{
    if (parts->keys[0] != NULL) {
        decompose_push_json(parts, out);
    }
}

static void push_alternatives(struct command *command, const struct question *question,
                              const struct answer *answer, struct json_writer *out)
{
    json_push_key(out, "alternatives");
    json_push_array(out);
    for (uint32_t i = 1; i < answer->result.count; i++) {
        json_push_object(out);
        report_push_verdict(command, question, &answer->verdicts[i], out);
        push_parts(&answer->parts[i], out);
        json_pop_object(out);
    }
    json_pop_array(out);
}

static void push_answer(struct command *command, const struct question *question,
                        const struct answer *answer, struct json_writer *out)
{
    if (answer->result.count == 0) {
        json_push_key(out, "plan");
        json_push_null(out);
        if (answer->best_s == 0.0) {
            shortage_push(command, question, &answer->options, &answer->result, out);
        }
    } else {
        report_push_verdict(command, question, &answer->verdicts[0], out);
        push_parts(&answer->parts[0], out);
        report_push_run(command, question, answer->result.plans[0].estimate.step_s, out);
        next_step_push(&answer->next, out);
        if (answer->contenders.named == NULL) {
            both_judges_push(command, question, &answer->judges, out);
        }
    }
    report_push_certificate(&answer->result.certificate, out);
    objective_push(&answer->choice, out);
    push_alternatives(command, question, answer, out);
    if (answer->advised) {
        advise_push(command, question, &answer->advice, out);
    }
    contenders_push(command, question, &answer->contenders, answer->best_s, out);
    if (answer->pareto != NULL) {
        pareto_push(answer->pareto, out);
    }
    if (answer->result.count > 0 && command_has(command, "--explain")) {
        explain_push(command, question, &answer->options, &answer->result.plans[0], out);
    }
}

static void dump_json(struct command *command, const struct question *question,
                      const struct answer *answer)
{
    struct json_writer out;
    json_writer_init(&out, &command->out, false);
    json_push_object(&out);
    report_push_head(command, &question->problem, &out);
    push_answer(command, question, answer, &out);
    if (command->timing) {
        json_push_key_double(&out, "search_s", answer->search_s);
    }
    json_pop_object(&out);
    text_push(&command->out, "\n");
}

/* --- people -------------------------------------------------------------------------------- */

static void dump_alternatives(struct command *command, const struct question *question,
                              const struct answer *answer)
{
    const struct planner_result *result = &answer->result;
    if (result->count < 2) {
        return;
    }
    text_push(&command->out, both_judges_differ(&answer->judges)
                                 ? "\nThe best by the cost model alone:\n"
                                 : "\nThe next best:\n");
    for (uint32_t i = 1; i < result->count; i++) {
        text_push(&command->out, "%s (%+.2f %%), simulated %s\n",
                  report_seconds(command->arena, result->plans[i].estimate.step_s),
                  100.0 *
                      (result->plans[i].estimate.step_s / result->plans[0].estimate.step_s - 1.0),
                  report_seconds(command->arena, answer->verdicts[i].simulated_step_s));
        report_dump_flags(command, "", result->plans[i].plan, question->setup.runtime);
    }
}

/* The best is better by less than the model errs: both are worth a try. */
static void dump_runner(struct command *command, const struct question *question,
                        const struct answer *answer)
{
    const double best_s = answer->result.plans[0].estimate.step_s;
    double low_s, high_s;
    if (answer->runner == NULL || answer->result.count > 1 || answer->judges.simulated > 1 ||
        !report_find_band(question, best_s, &low_s, &high_s) ||
        answer->runner->estimate.step_s > high_s) {
        return;
    }
    text_push(&command->out,
              "\nThe runner-up is %.2f %% slower, within the band: the model cannot tell which is "
              "faster.\n",
              100.0 * (answer->runner->estimate.step_s / best_s - 1.0));
    report_dump_flags(command, "", answer->runner->plan, question->setup.runtime);
}

static void dump_front(struct command *command, const struct answer *answer)
{
    if (answer->pareto != NULL && answer->pareto->count > 0) {
        pareto_dump(command, answer->pareto);
    }
}

/* A level of sharding that is pinned, with one rank alone to each weight. */
static void dump_unshared(struct command *command, const struct answer *answer)
{
    struct plan_words words;
    plan_flags_describe(answer->result.plans[0].plan, command->arena, &words);
    if (words.zero == 0 && plan_flags_find_zero(&answer->options.pins) > 0) {
        text_push(&command->out,
                  "\nEach weight is on one rank alone: there is nothing that " PLAN_FLAGS_ZERO
                  " could share.\n");
    }
}

static void dump_people(struct command *command, const struct question *question,
                        const struct answer *answer)
{
    const struct planner_result *result = &answer->result;
    report_dump_question(command, question);
    if (result->count == 0 && answer->best_s > 0.0) {
        text_push(&command->out, "\n%s has no plan here; other plans fit, the best takes %s.\n",
                  answer->contenders.named->name, report_seconds(command->arena, answer->best_s));
        contenders_dump(command, question, &answer->contenders, answer->best_s);
        return;
    }
    if (result->count == 0) {
        shortage_dump(command, question, &answer->options, result);
        dump_front(command, answer);
        return;
    }
    report_dump_verdict(command, question, &answer->verdicts[0]);
    dump_unshared(command, answer);
    report_dump_run(command, question, result->plans[0].estimate.step_s);
    report_dump_certificate(command, &result->certificate, result->plans[0].estimate.step_s);
    both_judges_dump(command, question, &answer->judges);
    for (uint32_t i = 0; i < result->count; i++) {
        if (answer->parts[i].keys[0] != NULL) {
            text_push(&command->out, "\nThe judges differ about plan %u by over %g %%:\n", i + 1,
                      100.0 * BOTH_JUDGES_AGREE_FRAC);
            decompose_dump(command, &answer->parts[i]);
        }
    }
    objective_dump(command, &answer->choice);
    dump_front(command, answer);
    dump_alternatives(command, question, answer);
    dump_runner(command, question, answer);
    contenders_dump(command, question, &answer->contenders, answer->best_s);
    if (answer->advised) {
        advise_dump(command, question, &answer->advice, result->plans[0].estimate.step_s);
    }
    if (command_has(command, "--explain")) {
        explain_dump(command, question, &answer->options, &result->plans[0]);
    }
    if (command->timing) {
        text_push(&command->out, "\nThe search took %s.\n",
                  report_seconds(command->arena, answer->search_s));
    }
    next_step_dump(command, &answer->next, answer->options.top - 1);
}

/* From flags, or from the plan or the configuration of a runtime that --from names. */
static bool read_question(struct command *command, struct question *question, struct plan **from)
{
    const char *path;
    bool config, refused;
    *from = NULL;
    if (!command_has(command, "--from")) {
        return problem_flags_read(command, question);
    }
    if (!command_text(command, "--from", &path) || !config_file_check(command, path, &config)) {
        return false;
    }
    return config ? config_file_read(command, path, question, from, &refused)
                  : saved_plan_read(command, path, question, from);
}

static bool search(struct command *command, const struct question *question, struct answer *answer)
{
    struct progress progress;
    const double start_s = command_now_s();
    progress_init(&progress);
    answer->options.progress = progress_push;
    answer->options.progress_state = &progress;
    const bool found = planner_search(&question->problem, &question->estimator, &answer->options,
                                      command->arena, &answer->result, command->diag);
    progress_release(&progress);
    answer->options.progress = NULL;
    answer->search_s = command_now_s() - start_s;
    answer->best_s =
        found && answer->result.count > 0 ? answer->result.plans[0].estimate.step_s : 0.0;
    if (found && answer->result.count == answer->options.top) {
        answer->runner = &answer->result.plans[--answer->result.count];
    }
    return found;
}

static int run(struct command *command)
{
    struct question question;
    struct plan *from;
    struct answer answer = {.verdicts = NULL};
    if (!read_question(command, &question, &from) || !read_options(command, &answer.options) ||
        !plan_flags_check_pins(command, &answer.options.pins, &question.runtime) ||
        !report_check_run(command)) {
        return command_fail(command);
    }
    if (command_has(command, "--pareto-axes") && !command_has(command, "--pareto")) {
        diag_push(command->diag, DIAG_C707, (struct diag_place){0}, NULL,
                  "--pareto is missing: --pareto-axes says of what");
        return command_fail(command);
    }
    if (command_has(command, "--pareto")) {
        answer.pareto = ARENA_PUSH(command->arena, struct pareto, 1);
    }
    if ((answer.pareto != NULL &&
         !pareto_find(command, &question, &answer.options, answer.pareto)) ||
        !objective_choose(command, &question, &answer.options, &answer.choice) ||
        !contenders_find(command, &question, &answer.options, &answer.contenders) ||
        !search(command, &question, &answer) ||
        !contenders_judge(command, &question, &answer.contenders)) {
        return command_fail(command);
    }
    contenders_choose(command, &answer.contenders, &answer.result);
    answer.advised = from != NULL;
    if (from != NULL && !advise_find(command, &question, from, &answer.options, &answer.advice)) {
        config_file_place(&question, command->diag);
        return command_fail(command);
    }
    if (answer.contenders.named == NULL &&
        !both_judges_choose(command, &question, &answer.options, answer.runner, &answer.result,
                            &answer.judges)) {
        return command_fail(command);
    }
    if (answer.result.count > 0) {
        next_step_find(command, &question, answer.result.plans[0].plan, &answer.next);
    }
    if (!judge_all(command, &question, &answer) ||
        (answer.result.count > 0 && !save(command, &question, answer.result.plans[0].plan))) {
        return command_fail(command);
    }
    if (command->json) {
        dump_json(command, &question, &answer);
    } else {
        dump_people(command, &question, &answer);
    }
    return answer.result.count > 0 ? 0 : 1;
}

static const struct flag answer_flags[] = {
    {.name = "--top",
     .kind = FLAG_COUNT,
     .value = "K",
     .help = "print the K best plans",
     .fallback = "1",
     .min = 1,
     .max = TOP_MAX},
    {.name = "-o",
     .kind = FLAG_TEXT,
     .value = "FILE",
     .help = "save the plan that is printed first with all that it was made for"},
    {.name = "--from",
     .kind = FLAG_TEXT,
     .value = "FILE",
     .help = "start from this saved plan, or this configuration of a runtime with --cluster, "
             "instead of all flags above: which single change of it gains most, and what next"},
    {.name = "--explain",
     .kind = FLAG_SWITCH,
     .help = "search again with each choice of the best plan forced to its neighbours, and print "
             "those times"},
    {.name = "--no-prune",
     .kind = FLAG_SWITCH,
     .help = "compute every plan in full; slow, same winner: a check of the bounds"},
    {.name = "--budget",
     .kind = FLAG_COUNT,
     .value = "N",
     .help = "stop after computing N plans and state the gap that is left",
     .fallback = "0",
     .absent = "no limit"},
    {.name = NULL},
};

static const struct flag_group groups[] = {
    {.title = "A configuration of a runtime", .flags = &config_file_flags[1]},
    {.title = "What is trained, on what", .build = problem_flags_build},
    {.title = "What is fixed; the rest is searched", .build = plan_flags_build_searched},
    {.title = "What is best", .flags = objective_flags},
    {.title = "What is best for what it costs", .flags = pareto_flags},
    {.title = "Published methods", .build = contenders_build_flags},
    {.title = "The answer", .flags = answer_flags},
    {.title = "A whole run", .flags = report_run_flags},
    {.title = NULL},
};

const struct command_kind command_plan = {
    .name = "plan",
    .usage = "shardplan plan (--model M --cluster C --global-batch-size N --seq-length N | --from "
             "PLAN | --from FILE --cluster C) [...]",
    .summary = "the fastest way to split a training step over a cluster, with a proof",
    .lesson =
        "Finds the configuration with the shortest step that fits in memory: degrees of all kinds "
        "of\n"
        "parallelism, micro-batch, schedule, sharding, recomputation, layers per stage. Every "
        "legal\n"
        "plan is either computed or ruled out by a bound, so the answer comes with a certificate.\n"
        "Exit status 1 when nothing fits; then it says what is over and which cluster would do.\n\n"
        "  shardplan plan --model llama-3.1-8b --cluster dgx-h100:2 --global-batch-size 128 \\\n"
        "      --seq-length 4096 -o plan.json\n"
        "  shardplan plan --model llama-3.1-405b --cluster dgx-h100:64 --global-batch-size 1024 "
        "\\\n"
        "      --seq-length 8192 --tp 8 --runtime megatron --explain\n",
    .groups = groups,
    .positional_min = 0,
    .positional_max = 0,
    .run = run,
};

/* `shardplan validate`: predictions against published or own measurements. */
#include <string.h>

#include "tools/validate.h"

extern const struct command_kind command_validate;

static const struct flag flags[] = {
    {.name = "--where",
     .kind = FLAG_TEXT,
     .value = "LIST",
     .help = "only rows whose cells hold these texts: \"tier=A,framework!=vTrain\"",
     .absent = "all rows"},
    {.name = "--max-median-error",
     .kind = FLAG_NUMBER,
     .value = "F",
     .help = "largest median of absolute errors of time, as a share (0.05)",
     .absent = "no limit"},
    {.name = "--max-p90-error",
     .kind = FLAG_NUMBER,
     .value = "F",
     .help = "largest 90th percentile of absolute errors of time",
     .absent = "no limit"},
    {.name = "--max-bias",
     .kind = FLAG_NUMBER,
     .value = "F",
     .help = "largest mean error of time, either way",
     .absent = "no limit"},
    {.name = "--max-memory-median-error",
     .kind = FLAG_NUMBER,
     .value = "F",
     .help = "largest median of absolute errors of memory",
     .absent = "no limit"},
    {.name = "--baseline",
     .kind = FLAG_TEXT,
     .value = "FILE",
     .help = "earlier answer of `validate --json`, to compare every group of rows with",
     .absent = "no comparison"},
    {.name = "--max-regression",
     .kind = FLAG_NUMBER,
     .value = "F",
     .help = "beside --baseline: how much the median error of a group may grow",
     .fallback = "0.005"},
    {.name = "--max-drift",
     .kind = FLAG_NUMBER,
     .value = "F",
     .help = "beside --baseline: how far the predictions of a group may move (median)",
     .fallback = "0.01"},
    {.name = "--write-baseline",
     .kind = FLAG_TEXT,
     .value = "FILE",
     .help =
         "writes what a later --baseline compares with: id, predicted time, error of every row"},
    {.name = "--junit", .kind = FLAG_TEXT, .value = "FILE", .help = "writes a JUnit XML report"},
    {.name = "--gnuplot",
     .kind = FLAG_TEXT,
     .value = "FILE",
     .help = "writes a gnuplot script: predicted over measured time"},
    {.name = NULL},
};

/* --- answering ------------------------------------------------------------------------------- */

static bool write_files(struct command *command, const struct validation *all,
                        const struct validate_verdict *verdict)
{
    struct text junit, baseline, gnuplot;
    text_init(&junit, command->arena);
    text_init(&baseline, command->arena);
    text_init(&gnuplot, command->arena);
    validate_dump_junit(all, verdict, &junit);
    validate_dump_baseline(all, &baseline);
    validate_dump_gnuplot(all, &gnuplot);
    return command_write_flag(command, "--junit", &junit) &&
           command_write_flag(command, "--write-baseline", &baseline) &&
           command_write_flag(command, "--gnuplot", &gnuplot);
}

static void dump_failures(struct command *command, const struct validate_verdict *verdict)
{
    for (uint32_t i = 0; i < verdict->count; i++) {
        text_push(&command->out, "%sFAILED %s: %s\n", i == 0 ? "\n" : "", verdict->failures[i].name,
                  verdict->failures[i].message);
    }
}

static int run(struct command *command)
{
    struct validation all;
    struct validate_verdict verdict;
    if (!validate_read(command, &all)) {
        return command_fail(command);
    }
    struct validate_bench *bench = validate_bench_init(command);
    if (bench == NULL) {
        return command_fail(command);
    }
    validate_judge_all(bench, &all);
    validate_bench_release(bench);
    if (!validate_check(command, &all, &verdict) || !write_files(command, &all, &verdict)) {
        return command_fail(command);
    }
    if (command->json) {
        validate_dump_json(command, &all);
    } else {
        text_push(&command->out, "%s%s", all.others, all.others[0] != '\0' ? "\n" : "");
        validate_dump_people(command, &all);
        dump_failures(command, &verdict);
    }
    return verdict.count > 0 ? 1 : 0;
}

static const struct flag_group groups[] = {
    {.title = "Validation", .flags = flags},
    {.title = NULL},
};

const struct command_kind command_validate = {
    .name = "validate",
    .usage = "shardplan validate FILE... [...]",
    .summary = "how far predictions are from measured training steps in CSV files",
    .lesson = "Each row of a table of measured steps (docs/validate.md lists the columns) is "
              "expressed as\n"
              "model, cluster, setup, plan, runtime; its time and memory are predicted and "
              "compared. Rows\n"
              "that cannot be expressed are skipped, each with its reason.\n\n"
              "  shardplan validate runs.csv\n"
              "  shardplan validate runs.csv --where tier=A --max-median-error 0.08\n"
              "  shardplan validate runs.csv --json > before.json\n"
              "  shardplan validate runs.csv --baseline before.json --junit report.xml\n",
    .groups = groups,
    .positional_min = 1,
    .positional_max = UINT32_MAX,
    .run = run,
};

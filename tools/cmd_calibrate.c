/* `shardplan calibrate`: measured kernels and collectives beside their prices, made a profile. */
#include <string.h>

#include "tools/micro.h"

extern const struct command_kind command_calibrate;

static const struct flag flags[] = {
    {.name = "--accelerator",
     .kind = FLAG_TEXT,
     .value = "NAME",
     .help = "only rows of this accelerator, as the tables name it",
     .absent = "all rows"},
    {.name = "--output",
     .kind = FLAG_TEXT,
     .value = "FILE",
     .help = "writes a profile for --profile; needs rows of one accelerator",
     .absent = "only the table of errors"},
    {.name = "--source",
     .kind = FLAG_TEXT,
     .value = "TEXT",
     .help = "only rows whose source holds this text",
     .absent = "all rows"},
    {.name = "--max-median-error",
     .kind = FLAG_NUMBER,
     .value = "F",
     .help = "largest median error of the formula in any group, as a share (0.1)",
     .absent = "no limit"},
    {.name = "--max-p90-error",
     .kind = FLAG_NUMBER,
     .value = "F",
     .help = "largest 90th percentile of the formula's errors in any group",
     .absent = "no limit"},
    {.name = "--min-rows",
     .kind = FLAG_COUNT,
     .value = "N",
     .help = "rows from which on a group is held to the limits",
     .fallback = "20",
     .min = 1,
     .max = 1000000},
    {.name = NULL},
};

static const struct flag_group groups[] = {
    {.title = "The rows", .flags = flags},
    {.title = NULL},
};

/* --- choosing rows ---------------------------------------------------------------------------- */

static bool same_device(struct micro_bench *bench, const char *a, const char *b)
{
    const struct accelerator *x = micro_find_accelerator(bench, a);
    const char *first = x == NULL ? a : x->name;
    const struct accelerator *y = micro_find_accelerator(bench, b);
    return strcmp(first, y == NULL ? b : y->name) == 0;
}

static bool keep_rows(struct command *command, struct micro_bench *bench, struct micro *all)
{
    const char *accelerator = NULL, *source = NULL;
    if ((command_has(command, "--accelerator") &&
         !command_text(command, "--accelerator", &accelerator)) ||
        (command_has(command, "--source") && !command_text(command, "--source", &source))) {
        return false;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct micro_row *row = &all->rows[i];
        if ((accelerator == NULL || same_device(bench, row->accelerator, accelerator)) &&
            (source == NULL || strstr(row->source, source) != NULL)) {
            all->rows[kept++] = all->rows[i];
        }
    }
    all->count = kept;
    return kept > 0 || diag_push(command->diag, DIAG_C741, (struct diag_place){.file = NULL}, NULL,
                                 "no row is left after --accelerator and --source");
}

/* --- a profile -------------------------------------------------------------------------------- */

static bool is_one_device(struct command *command, struct micro_bench *bench,
                          const struct micro *all, const char **out)
{
    *out = NULL;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct micro_row *row = &all->rows[i];
        if (row->skipped != NULL) {
            continue;
        }
        if (*out != NULL && !same_device(bench, *out, row->accelerator)) {
            return diag_push(command->diag, DIAG_C741, (struct diag_place){.file = NULL},
                             "choose one with --accelerator",
                             "a profile is of one accelerator: the rows are of '%s' and '%s'", *out,
                             row->accelerator);
        }
        *out = *out == NULL ? row->accelerator : *out;
    }
    return *out != NULL || diag_push(command->diag, DIAG_C741, (struct diag_place){.file = NULL},
                                     NULL, "no row can be compared");
}

/* Kernels proper: what a library does besides in the same call is taken off in proportion. */
static void push_kernels(const struct micro *all, struct profile *out)
{
    for (uint32_t i = 0; i < all->count; i++) {
        const struct micro_row *row = &all->rows[i];
        const double proper_s =
            row->skipped == NULL ? row->seconds * row->kernel_s / row->predicted_s : 0.0;
        if (row->skipped != NULL) {
            continue;
        }
        switch (row->kind) {
        case PROFILE_GEMM:
            out->matmuls[out->matmul_count] = row->matmul;
            out->matmuls[out->matmul_count++].seconds = proper_s;
            break;
        case PROFILE_ATTENTION:
            out->attentions[out->attention_count] = row->attention;
            out->attentions[out->attention_count++].seconds = proper_s;
            break;
        case PROFILE_STREAM:
            out->streams[out->stream_count] = row->stream;
            out->streams[out->stream_count++].seconds = proper_s;
            break;
        case PROFILE_COLLECTIVES:
            out->collectives[out->collective_count] = row->collective;
            out->collectives[out->collective_count++].seconds = row->seconds;
            break;
        case PROFILE_KIND_COUNT: BUG("no kind of row");
        }
    }
}

static void fit_links(struct micro_bench *bench, const struct micro *all, struct profile *out)
{
    out->links = ARENA_PUSH(micro_arena(bench), struct link_kind, all->count);
    for (uint32_t i = 0; i < all->count; i++) {
        const struct micro_row *row = &all->rows[i];
        bool known = row->skipped != NULL || row->kind != PROFILE_COLLECTIVES;
        for (uint32_t k = 0; k < i && !known; k++) {
            known = all->rows[k].skipped == NULL && all->rows[k].kind == PROFILE_COLLECTIVES &&
                    strcmp(all->rows[k].collective.link, row->collective.link) == 0;
        }
        if (!known &&
            micro_fit_link(bench, all, row->collective.link, &out->links[out->link_count])) {
            out->link_count++;
        }
    }
}

static bool write_profile(struct command *command, struct micro_bench *bench,
                          const struct micro *all)
{
    const char *accelerator;
    struct text text;
    struct json_writer writer;
    if (!is_one_device(command, bench, all, &accelerator)) {
        return false;
    }
    struct profile profile = {.name = accelerator, .accelerator = accelerator, .notes = ""};
    profile.source = text_build(command->arena, "shardplan calibrate, %u rows", all->count);
    profile.matmuls = ARENA_PUSH(command->arena, struct profile_matmul, all->count);
    profile.attentions = ARENA_PUSH(command->arena, struct profile_attention, all->count);
    profile.streams = ARENA_PUSH(command->arena, struct profile_stream, all->count);
    profile.collectives = ARENA_PUSH(command->arena, struct profile_collective, all->count);
    push_kernels(all, &profile);
    fit_links(bench, all, &profile);
    for (uint32_t i = 0; i < PROFILE_KIND_COUNT; i++) {
        profile.residuals[i] = micro_summary(command, all, (enum profile_kind)i, true);
    }
    text_init(&text, command->arena);
    json_writer_init(&writer, &text, false);
    profile_dump(&profile, &writer);
    text_push(&text, "\n");
    return command_write_flag(command, "--output", &text);
}

/* Exit status by the limits. */
static bool check(struct command *command, const struct micro *all, int *status)
{
    double median_max_frac = 0.0, p90_max_frac = 0.0;
    uint64_t rows_min;
    if ((command_has(command, "--max-median-error") &&
         !command_number(command, "--max-median-error", &median_max_frac)) ||
        (command_has(command, "--max-p90-error") &&
         !command_number(command, "--max-p90-error", &p90_max_frac)) ||
        !command_count(command, "--min-rows", &rows_min)) {
        return false;
    }
    *status = micro_check(command, all, (uint32_t)rows_min, median_max_frac, p90_max_frac) > 0;
    return true;
}

static int run(struct command *command)
{
    struct micro all = {.count = 0};
    struct micro_bench *bench = micro_bench_init(command);
    bool good = true;
    for (uint32_t i = 0; i < command->positional_count; i++) {
        good = micro_read(command, command->positional[i], &all) && good;
    }
    if (!good || !keep_rows(command, bench, &all)) {
        return command_fail(command);
    }
    micro_judge(bench, &all);
    if (command_has(command, "--output") && !write_profile(command, bench, &all)) {
        return command_fail(command);
    }
    if (command->json) {
        micro_dump_json(command, &all);
    } else {
        micro_dump_people(command, &all);
    }
    int status = 0;
    return check(command, &all, &status) ? status : command_fail(command);
}

const struct command_kind command_calibrate = {
    .name = "calibrate",
    .usage = "shardplan calibrate FILE... [--accelerator NAME] [--output PROFILE]",
    .summary = "measured kernels and collectives beside their prices; makes a profile",
    .lesson = "FILE is a CSV of GEMM, attention or collective times (docs/calibrate.md), the "
              "output of nccl-tests,\n"
              "or a profile of tools/profiler. Prints how far prices are off, by kind and "
              "accelerator, by formula\n"
              "alone and with each row predicted from the others. --output writes what plan, "
              "estimate and simulate\n"
              "read with --profile.\n\n"
              "  shardplan calibrate gemm.csv --accelerator H100 --output h100.json\n",
    .groups = groups,
    .positional_min = 1,
    .positional_max = UINT32_MAX,
    .run = run,
};

/* `shardplan collective`: what an all-reduce or its kin takes, size by size. */
#include <string.h>

#include "base/table.h"
#include "plan/collective_group.h"
#include "sim/collective_run.h"
#include "tools/problem_flags.h"
#include "tools/report.h"

#define SIZES_MAX 256u
#define AUTO "auto"
/* Of one size: beyond them the simulator, which follows each, would take minutes. */
#define MESSAGES_MAX 2.5e6

extern const struct command_kind command_collective;

struct collective_row {
    double bytes, costmodel_s, simulated_s, busbw_Bps;
    const char *algorithm, *simulated_algorithm;
    bool simulated;
};

struct answer {
    struct cluster cluster;
    struct runtime runtime;
    struct prices prices;
    enum collective_kind kind;
    struct rank_group group;
    const struct collective *member; /* NULL: the cheapest */
    double sizes[SIZES_MAX];
    uint32_t size_count;
    struct collective_row *rows;
};

static bool read_kind(struct command *command, enum collective_kind *out)
{
    const char *names[COLLECTIVE_KIND_COUNT];
    const char *word = command->positional[0];
    for (uint32_t i = 0; i < COLLECTIVE_KIND_COUNT; i++) {
        names[i] = collective_kind_name((enum collective_kind)i);
        if (strcmp(names[i], word) == 0) {
            *out = (enum collective_kind)i;
            return true;
        }
    }
    return diag_push(
        command->diag, DIAG_C710, (struct diag_place){0},
        command_hint(command, word, names, COLLECTIVE_KIND_COUNT, NULL),
        "'%s' is no collective: all-reduce, all-gather, reduce-scatter, all-to-all, send", word);
}

static bool read_size(struct command *command, const char *word, double *out)
{
    const char *at = word;
    const bool plain = command_parse_number(&at, out) && *at == '\0';
    if ((plain || unit_read(word, UNIT_BYTES, out)) && *out >= 1.0 && *out <= 1e15) {
        return true;
    }
    return diag_push(command->diag, DIAG_C704, (struct diag_place){0},
                     "write 1048576 or 1MiB, with commas between sizes",
                     "--bytes has '%s': a size is from 1 to 1e15 bytes", word);
}

static bool read_sizes(struct command *command, struct answer *out)
{
    const char *text;
    if (!command_text(command, "--bytes", &text)) {
        return false;
    }
    bool good = true;
    for (const char *at = text; at != NULL;) {
        const size_t length = strcspn(at, ",");
        if (out->size_count == SIZES_MAX) {
            return diag_push(command->diag, DIAG_C704, (struct diag_place){0}, NULL,
                             "--bytes has more than %u sizes", SIZES_MAX);
        }
        good = read_size(command, text_build_copy(command->arena, at, length),
                         &out->sizes[out->size_count++]) &&
               good;
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return good;
}

static bool read_algorithm(struct command *command, const struct collective **out)
{
    const char *name;
    if (!command_text(command, "--algorithm", &name)) {
        return false;
    }
    *out = strcmp(name, AUTO) == 0 ? NULL : collective_find(name);
    if (*out != NULL || strcmp(name, AUTO) == 0) {
        return true;
    }
    return diag_push(command->diag, DIAG_C704, (struct diag_place){0},
                     command_hint(command, name, collective_names(), collective_table_count,
                                  "`shardplan list collectives` names them"),
                     "--algorithm is '%s': there is no such algorithm", name);
}

static bool read_ranks(struct command *command, const struct cluster *cluster,
                       enum collective_kind kind, struct rank_group *out)
{
    uint64_t ranks = kind == COLLECTIVE_SEND ? 2 : cluster->device_count;
    if (command_has(command, "--ranks") && !command_count(command, "--ranks", &ranks)) {
        return false;
    }
    if (kind == COLLECTIVE_SEND && ranks != 2) {
        return diag_push(command->diag, DIAG_C704, (struct diag_place){0}, NULL,
                         "--ranks is %llu: a send has 2 ranks", (unsigned long long)ranks);
    }
    if (ranks > cluster->device_count) {
        return diag_push(command->diag, DIAG_C704, (struct diag_place){0}, NULL,
                         "%llu ranks on a cluster of %u devices: each has one of its own",
                         (unsigned long long)ranks, cluster->device_count);
    }
    *out = (struct rank_group){.ranks = (uint32_t)ranks, .step_count = ranks > 1 ? 1 : 0};
    out->steps[0].stride = 1;
    out->steps[0].size = (uint32_t)ranks;
    return true;
}

static bool read_question(struct command *command, struct answer *out)
{
    return read_kind(command, &out->kind) && problem_flags_read_cluster(command, &out->cluster) &&
           problem_flags_read_runtime(command, &out->runtime) &&
           problem_flags_read_prices(command, &out->cluster, &out->runtime, &out->prices) &&
           read_ranks(command, &out->cluster, out->kind, &out->group) &&
           read_algorithm(command, &out->member) && read_sizes(command, out);
}

/* As nccl-tests: what each rank's link carries, whatever the algorithm. */
static double busbw_factor(enum collective_kind kind, uint32_t ranks)
{
    const double others_frac = (double)(ranks - 1) / ranks;
    return kind == COLLECTIVE_SEND         ? 1.0
           : kind == COLLECTIVE_ALL_REDUCE ? 2.0 * others_frac
                                           : others_frac;
}

/* Messages of the choice, as many from each rank as from rank 0. */
static double count_messages(const struct answer *answer, const struct collective_choice *choice)
{
    const struct collective *member = choice->member;
    struct collective_group shape;
    struct collective_step step;
    collective_group_find(&answer->cluster, &answer->group, 0, &shape);
    shape.pipeline = choice->pipeline;
    const uint32_t rounds = member->round_count(answer->kind, &shape);
    double sends = 0.0;
    for (uint32_t round = 0; round < rounds;) {
        const uint32_t alike =
            member->alike == NULL ? 1 : member->alike(answer->kind, &shape, round);
        uint32_t index = 0;
        while (member->step(answer->kind, &shape, round, 0, index, &step)) {
            index++;
        }
        sends += (double)index * alike;
        round += alike;
    }
    return sends * shape.ranks;
}

static bool judge(struct command *command, const struct answer *answer,
                  struct collective_book *book, struct collective_row *row)
{
    const struct collective_request request = {.cluster = &answer->cluster,
                                               .prices = &answer->prices,
                                               .kind = answer->kind,
                                               .group = &answer->group,
                                               .bytes = row->bytes,
                                               .member = answer->member};
    const struct collective_choice choice = collective_cost_find(book, &request);
    if (choice.member == NULL && answer->group.ranks > 1) {
        return diag_push(command->diag, DIAG_C721, (struct diag_place){0},
                         "--algorithm auto picks one that can",
                         "algorithm '%s' cannot do %s among these %u ranks",
                         answer->member == NULL ? AUTO : answer->member->name,
                         collective_kind_name(answer->kind), answer->group.ranks);
    }
    const struct collective_run_request run = {.cluster = &answer->cluster,
                                               .prices = &answer->prices,
                                               .kind = answer->kind,
                                               .group = &answer->group,
                                               .bytes = row->bytes,
                                               .member = choice.member,
                                               .protocol = choice.protocol,
                                               .pipeline = choice.pipeline};
    struct collective_run_result result = {.seconds = 0.0};
    row->simulated = choice.member == NULL || count_messages(answer, &choice) <= MESSAGES_MAX;
    if (answer->group.ranks > 1 && row->simulated &&
        !collective_run(&run, command->arena, &result, command->diag)) {
        return false;
    }
    row->costmodel_s = choice.seconds;
    row->simulated_s = result.seconds;
    row->algorithm = choice.member == NULL ? "none" : choice.member->name;
    row->busbw_Bps = choice.seconds > 0.0 ? row->bytes / choice.seconds *
                                                busbw_factor(answer->kind, answer->group.ranks)
                                          : 0.0;
    return true;
}

static bool judge_all(struct command *command, struct answer *answer)
{
    struct collective_book *book = collective_book_init(command->arena);
    answer->rows = ARENA_PUSH(command->arena, struct collective_row, answer->size_count);
    for (uint32_t i = 0; i < answer->size_count; i++) {
        answer->rows[i].bytes = answer->sizes[i];
        if (!judge(command, answer, book, &answer->rows[i])) {
            return false;
        }
    }
    return true;
}

static void dump_json(struct command *command, const struct answer *answer)
{
    struct json_writer out;
    json_writer_init(&out, &command->out, false);
    json_push_object(&out);
    report_push_head_of(command, "cluster", answer->cluster.digest, &out);
    json_push_key_string(&out, "kind", collective_kind_name(answer->kind));
    json_push_key_u64(&out, "ranks", answer->group.ranks);
    json_push_key(&out, "rows");
    json_push_array(&out);
    for (uint32_t i = 0; i < answer->size_count; i++) {
        const struct collective_row *row = &answer->rows[i];
        json_push_object(&out);
        json_push_key_double(&out, "bytes", row->bytes);
        json_push_key_string(&out, "algorithm", row->algorithm);
        json_push_key_double(&out, "costmodel_s", row->costmodel_s);
        json_push_key(&out, "simulated_s");
        row->simulated ? json_push_double(&out, row->simulated_s) : json_push_null(&out);
        json_push_key_double(&out, "busbw_Bps", row->busbw_Bps);
        json_pop_object(&out);
    }
    json_pop_array(&out);
    json_pop_object(&out);
    text_push(&command->out, "\n");
}

static void dump_people(struct command *command, const struct answer *answer)
{
    static const char *const headings[] = {">size",      "algorithm",      ">cost model",
                                           ">simulator", ">bus bandwidth", NULL};
    struct table table;
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < answer->size_count; i++) {
        const struct collective_row *row = &answer->rows[i];
        struct text rate;
        text_init(&rate, command->arena);
        unit_dump_short(UNIT_BYTES_PER_SECOND, row->busbw_Bps, &rate);
        table_push(&table, "%s", report_bytes(command->arena, row->bytes));
        table_push(&table, "%s", row->algorithm);
        table_push(&table, "%s", report_seconds(command->arena, row->costmodel_s));
        table_push(&table, "%s",
                   row->simulated ? report_seconds(command->arena, row->simulated_s) : "not run");
        table_push(&table, "%s", rate.bytes);
    }
    text_push(&command->out, "%s among %u ranks on %s\n\n", collective_kind_name(answer->kind),
              answer->group.ranks, answer->cluster.name);
    table_dump(&table, &command->out);
    for (uint32_t i = 0; i < answer->size_count; i++) {
        if (!answer->rows[i].simulated) {
            text_push(&command->out, "not run: more than %.2g messages for the simulator\n",
                      MESSAGES_MAX);
            break;
        }
    }
    text_push(&command->out,
              "bus bandwidth as nccl-tests prints it, of the cost model's time: size / time%s\n",
              answer->kind == COLLECTIVE_SEND         ? ""
              : answer->kind == COLLECTIVE_ALL_REDUCE ? " x 2(n-1)/n"
                                                      : " x (n-1)/n");
}

static int run(struct command *command)
{
    struct answer answer = {.size_count = 0};
    if (!read_question(command, &answer) || !judge_all(command, &answer)) {
        return command_fail(command);
    }
    if (command->json) {
        dump_json(command, &answer);
    } else {
        dump_people(command, &answer);
    }
    return 0;
}

static const struct flag flags[] = {
    PROBLEM_FLAG_CLUSTER("where the ranks sit: devices 0, 1, ... of this cluster"),
    {.name = "--ranks",
     .kind = FLAG_COUNT,
     .value = "N",
     .help = "how many",
     .absent = "all devices",
     .min = 1,
     .max = 1048576},
    {.name = "--bytes",
     .kind = FLAG_TEXT,
     .value = "S[,S...]",
     .help = "sizes of the whole buffer, as nccl-tests counts them: 1048576 or 1MiB",
     .fallback = "1MiB,16MiB,256MiB,1GiB"},
    {.name = "--algorithm",
     .kind = FLAG_TEXT,
     .value = "A",
     .help = "one of `shardplan list collectives`, or auto: the fastest for each size",
     .fallback = AUTO},
    PROBLEM_FLAG_RUNTIME("training framework"),
    PROBLEM_FLAG_PROFILE("measured collectives of the accelerator: fitted links beside the shipped "
                         "ones",
                         "shipped links"),
    {.name = NULL},
};

static const struct flag_group groups[] = {
    {.title = "The collective", .flags = flags},
    {.title = "What a topology file leaves out", .flags = problem_flags_topology},
    {.title = NULL},
};

const struct command_kind command_collective = {
    .name = "collective",
    .usage = "shardplan collective KIND --cluster C [--ranks N] [--bytes S,...] [--algorithm A]",
    .summary = "predicted times of one collective, like nccl-tests",
    .lesson = "KIND is all-reduce, all-gather, reduce-scatter, all-to-all or send. Prints seconds "
              "by the cost\n"
              "model, by the simulator on the cluster's own links, next to the bus bandwidth of "
              "nccl-tests.\n\n"
              "  shardplan collective all-reduce --cluster dgx-h100:2 --bytes 1MiB,1GiB\n",
    .groups = groups,
    .positional_min = 1,
    .positional_max = 1,
    .run = run,
};

/* A whole training run from the time of one step: days, device hours, money, energy. */
#include "tools/report.h"

/* Sanity: all text that there is comes to some 1e15 tokens. */
#define TOKENS_MAX 1e18
#define PRICE_MAX 1e9

const struct flag report_run_flags[] = {
    {.name = "--tokens",
     .kind = FLAG_NUMBER,
     .value = "N",
     .help = "tokens of a whole run, such as 15e12: adds days, device hours, energy",
     .absent = "no run"},
    {.name = "--price",
     .kind = FLAG_NUMBER,
     .value = "P",
     .help = "money for one device hour: adds what the run costs",
     .absent = "no price"},
    {.name = NULL},
};

/* A run of so many tokens; devices busy at their rated power all the time. */
struct run {
    double tokens, run_s, device_hours, money, energy_j;
    bool priced;
};

static bool find_run(struct command *command, const struct question *question, double step_s,
                     struct run *out)
{
    struct report_rates rates;
    double price = 0.0;
    if (!command_has(command, "--tokens") || !command_number(command, "--tokens", &out->tokens)) {
        return false;
    }
    out->priced = command_has(command, "--price") && command_number(command, "--price", &price);
    report_find_rates(question, step_s, &rates);
    out->run_s = out->tokens / rates.tokens_per_s;
    out->device_hours = out->run_s / 3600.0 * question->cluster.device_count;
    out->money = out->device_hours * price;
    out->energy_j = out->run_s * report_power_w(&question->cluster);
    return true;
}

bool report_check_run(struct command *command)
{
    double number;
    static const char *const names[] = {"--tokens", "--price"};
    static const double most[] = {TOKENS_MAX, PRICE_MAX};
    for (uint32_t i = 0; i < 2; i++) {
        if (!command_has(command, names[i])) {
            continue;
        }
        if (!command_number(command, names[i], &number)) {
            return false;
        }
        if (!(number > 0.0 && number <= most[i])) {
            return diag_push(command->diag, DIAG_C704, (struct diag_place){0}, NULL,
                             "%s is %g: it must be above 0 and at most %g", names[i], number,
                             most[i]);
        }
    }
    if (command_has(command, "--price") && !command_has(command, "--tokens")) {
        return diag_push(command->diag, DIAG_C707, (struct diag_place){0}, NULL,
                         "--tokens N is missing: --price is for a run of so many tokens");
    }
    return true;
}

void report_push_run(struct command *command, const struct question *question, double step_s,
                     struct json_writer *out)
{
    struct run run = {.tokens = 0.0};
    if (!find_run(command, question, step_s, &run)) {
        return;
    }
    json_push_key(out, "run");
    json_push_object(out);
    json_push_key_double(out, "tokens", run.tokens);
    json_push_key_double(out, "run_s", run.run_s);
    json_push_key_double(out, "days", run.run_s / 86400.0);
    json_push_key_double(out, "device_hours", run.device_hours);
    json_push_key(out, "energy_j");
    if (run.energy_j > 0.0) {
        json_push_double(out, run.energy_j);
    } else {
        json_push_null(out);
    }
    if (run.priced) {
        json_push_key_double(out, "money", run.money);
    }
    json_pop_object(out);
}

/* Whole numbers where they can be counted. */
static const char *amount(struct arena *arena, double value)
{
    return value < 1e15 ? report_count(arena, (uint64_t)(value + 0.5))
                        : text_build(arena, "%.4g", value);
}

void report_dump_run(struct command *command, const struct question *question, double step_s)
{
    struct arena *arena = command->arena;
    struct run run = {.tokens = 0.0};
    if (!find_run(command, question, step_s, &run)) {
        return;
    }
    text_push(&command->out, "\n%.4g tokens take %.4g days, %s device hours", run.tokens,
              run.run_s / 86400.0, amount(arena, run.device_hours));
    if (run.energy_j > 0.0) {
        text_push(&command->out, ", %.4g MWh of devices at rated power", run.energy_j / 3.6e9);
    }
    if (run.priced) {
        text_push(&command->out, ";\nthat costs %s", amount(arena, run.money));
    }
    text_push(&command->out, ".\n");
}

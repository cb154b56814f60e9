/* Mean times from flags to what is left of a run. */
#include "tools/failures.h"

#include "tools/report.h"

#define SECONDS_MAX 1e12

bool failures_read(struct command *command, bool *asked, struct failures *out)
{
    *asked = command_has(command, "--device-mtbf");
    *out = (struct failures){0};
    if (!*asked) {
        return (!command_has(command, "--save-time") && !command_has(command, "--restart-time")) ||
               diag_push(command->diag, DIAG_C707, (struct diag_place){0}, NULL,
                         "--save-time and --restart-time count where devices fail: give "
                         "--device-mtbf too");
    }
    if (!command_quantity(command, "--device-mtbf", &out->device_mtbf_s) ||
        !command_quantity(command, "--save-time", &out->request.save_s) ||
        !command_quantity(command, "--restart-time", &out->request.restart_s)) {
        return false;
    }
    return (out->device_mtbf_s > 0.0 && out->device_mtbf_s <= SECONDS_MAX &&
            out->request.save_s <= SECONDS_MAX && out->request.restart_s <= SECONDS_MAX) ||
           diag_push(command->diag, DIAG_C704, (struct diag_place){0}, NULL,
                     "--device-mtbf is above 0 s, it and the other times at most 1e12 s");
}

void failures_find(const struct plan *plan, double step_s, struct failures *out)
{
    out->request.step_s = step_s;
    out->request.between_failures_s = out->device_mtbf_s / (double)plan_count_devices(plan);
    goodput_find(&out->request, &out->goodput);
}

static double between_saves_s(const struct failures *failures)
{
    return (double)failures->goodput.steps * failures->request.step_s;
}

void failures_push_json(const struct failures *failures, struct json_writer *out)
{
    json_push_key(out, "failures");
    json_push_object(out);
    json_push_key_double(out, "mean_time_between_s", failures->request.between_failures_s);
    json_push_key_u64(out, "steps_between_saves", failures->goodput.steps);
    json_push_key_double(out, "between_saves_s", between_saves_s(failures));
    json_push_key_double(out, "young_s", failures->goodput.young_s);
    json_push_key_double(out, "goodput_frac", failures->goodput.useful_frac);
    json_push_key_double(out, "save_frac", failures->goodput.save_frac);
    json_push_key_double(out, "lost_frac", failures->goodput.lost_frac);
    json_pop_object(out);
}

/* Long times in hours or days. */
static const char *duration(struct arena *arena, double seconds)
{
    return seconds >= 2.0 * 86400.0  ? text_build(arena, "%.1f days", seconds / 86400.0)
           : seconds >= 2.0 * 3600.0 ? text_build(arena, "%.1f hours", seconds / 3600.0)
                                     : report_seconds(arena, seconds);
}

void failures_dump(struct command *command, const struct failures *failures)
{
    struct arena *arena = command->arena;
    const struct goodput *goodput = &failures->goodput;
    if (goodput->useful_frac == 0.0) {
        text_push(
            &command->out,
            "\nfailures one in %s on average: no step and its save ever get done in between\n",
            duration(arena, failures->request.between_failures_s));
        return;
    }
    text_push(&command->out, "\nfailures one in %s on average; saved every %s step%s (%s)\n",
              duration(arena, failures->request.between_failures_s),
              report_count(arena, goodput->steps), goodput->steps == 1 ? "" : "s",
              duration(arena, between_saves_s(failures)));
    text_push(&command->out,
              "goodput  %.2f %% of the time; saves take %.2f %%, restarts and work done again "
              "%.2f %%\n",
              100.0 * goodput->useful_frac, 100.0 * goodput->save_frac, 100.0 * goodput->lost_frac);
}

/* What a device holds for the hours of a training run, among its like. */
#include "topologies/accelerator_inside.h"

#include "topologies/member.h"

#define SPREAD_MAX 0.2
#define FRAC_MIN 0.05
#define CLOCK_MAX 1.5

bool accelerator_read_training(struct json_value object, struct arena *arena,
                               struct accelerator_training *out, struct diag *diag)
{
    static const char *const keys[] = {
        "clock_frac", "narrow_clock_frac", "portable_attention", "spread", "source", NULL};
    struct accelerator_training read = {
        .clock_frac = 1.0, .narrow_clock_frac = 1.0, .portable_attention_frac = 1.0, .source = ""};
    struct json_value training;
    *out = read;
    if (json_is_absent(json_find(object, "training"))) {
        return true;
    }
    if (!member_read_object(object, "training", "what holds for hours", &training, diag)) {
        return false;
    }
    bool good = json_check_keys(training, keys, diag);
    good = json_read_double_or(training, "clock_frac", FRAC_MIN, CLOCK_MAX, 1.0, &read.clock_frac,
                               diag) &&
           good;
    good = json_read_double_or(training, "narrow_clock_frac", FRAC_MIN, CLOCK_MAX, read.clock_frac,
                               &read.narrow_clock_frac, diag) &&
           good;
    good = json_read_double_or(training, "portable_attention", FRAC_MIN, 1.0, 1.0,
                               &read.portable_attention_frac, diag) &&
           good;
    good = json_read_double_or(training, "spread", 0.0, SPREAD_MAX, 0.0, &read.spread_frac, diag) &&
           good;
    good = json_read_string(training, "source", arena, &read.source, diag) && good;
    if (good) {
        *out = read;
    }
    return good;
}

void accelerator_dump_training(const struct accelerator_training *training, struct json_writer *out)
{
    if (training->source == NULL || training->source[0] == '\0') {
        return; /* none was given */
    }
    json_push_key(out, "training");
    json_push_object(out);
    json_push_key_double(out, "clock_frac", training->clock_frac);
    json_push_key_double(out, "narrow_clock_frac", training->narrow_clock_frac);
    json_push_key_double(out, "portable_attention", training->portable_attention_frac);
    json_push_key_double(out, "spread", training->spread_frac);
    json_push_key_string(out, "source", training->source);
    json_pop_object(out);
}

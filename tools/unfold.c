/* A fold is refused where something tells the ranks of a stage apart. */
#include "tools/unfold.h"

#include <string.h>

#include "tools/slow_list.h"

/* Layers run in a step by all ranks together: each is some thirty tasks of a hundred bytes, message
 * by message ten times as many. */
#define LAYERS_MAX 600000u
#define LAYERS_BY_MESSAGE_MAX 60000u

static const char *const names[SIM_FOLD_COUNT] = {
    [SIM_FOLDED] = "stages", [SIM_RANKS] = "ranks", [SIM_MESSAGES] = "messages"};

const char *unfold_name(enum sim_fold fold)
{
    return names[fold];
}

static bool read_fold(struct command *command, enum sim_fold *out)
{
    const char *text;
    *out = SIM_FOLDED;
    if (!command_has(command, "--unfold")) {
        return true;
    }
    if (command_has(command, "--decompose")) {
        return diag_push(command->diag, DIAG_C709, (struct diag_place){0}, NULL,
                         "--decompose sets one rank of each stage beside the cost model: leave out "
                         "one of it and --unfold");
    }
    if (!command_text(command, "--unfold", &text)) {
        return false;
    }
    for (uint32_t fold = SIM_RANKS; fold < SIM_FOLD_COUNT; fold++) {
        if (strcmp(text, names[fold]) == 0) {
            *out = (enum sim_fold)fold;
            return true;
        }
    }
    return diag_push(command->diag, DIAG_C704, (struct diag_place){0}, "write ranks or messages",
                     "--unfold is '%s': what is simulated one by one is not known by that name",
                     text);
}

static bool needs_ranks(struct command *command, const char *flag, const char *reason)
{
    return diag_push(command->diag, DIAG_C709, (struct diag_place){0}, "add --unfold ranks",
                     "%s: %s", flag, reason);
}

bool unfold_read(struct command *command, const struct plan *plan, struct sim_options *out)
{
    const uint32_t ranks = (uint32_t)plan_count_devices(plan);
    if (!read_fold(command, &out->fold) ||
        !slow_list_read(command, "--slow-ranks", "rank", ranks, &out->rank_slowness) ||
        !slow_list_read(command, "--slow-links", "rank", ranks, &out->port_slowness)) {
        return false;
    }
    if (out->rank_slowness != NULL && out->fold == SIM_FOLDED) {
        return needs_ranks(command, "--slow-ranks",
                           "where one rank stands for all of its stage none can be slower");
    }
    if (out->port_slowness != NULL && out->fold != SIM_RANKS) {
        return needs_ranks(command, "--slow-links",
                           "ports are slowed rank by rank, neither for a whole stage nor on the "
                           "links between switches");
    }
    return true;
}

static uint64_t count_layers(const struct load *load)
{
    const struct schedule_shape *shape = &load->work->shape;
    uint64_t layers = 0;
    for (uint32_t i = 0; i < shape->stages * shape->chunks; i++) {
        for (uint32_t block = 0; block < load->work->block_count; block++) {
            layers += load->counts[(size_t)i * WORK_BLOCK_MAX + block];
        }
    }
    return 2 * layers * shape->micro_batches * work_count_lanes(load->work);
}

static bool check_size(struct command *command, const struct sim *sim, const struct load *load)
{
    const uint64_t layers = count_layers(load);
    const uint64_t most = sim->options.fold == SIM_MESSAGES ? LAYERS_BY_MESSAGE_MAX : LAYERS_MAX;
    return layers <= most ||
           diag_push(command->diag, DIAG_S805, (struct diag_place){0},
                     "without --unfold one rank stands for all of its stage",
                     "--unfold %s: the ranks run %llu layers in a step, of which at most %llu can "
                     "be held",
                     names[sim->options.fold], (unsigned long long)layers,
                     (unsigned long long)most);
}

bool unfold_check(struct command *command, struct sim *sim, const struct load *load)
{
    struct sim_unlike unlike;
    if (sim->options.fold != SIM_FOLDED) {
        return check_size(command, sim, load);
    }
    if (sim_compare_ranks(sim, load->work, &unlike)) {
        return true;
    }
    const uint64_t layers = count_layers(load);
    const bool sends = unlike.cause == CAUSE_COUNT, unfolds = layers <= LAYERS_MAX;
    const char *then =
        unfolds ? "every rank is simulated"
                : text_build(command->arena,
                             "the first stands for them, since all run %llu layers in a step, of "
                             "which at most %u can be held",
                             (unsigned long long)layers, LAYERS_MAX);
    diag_push_warning(command->diag, DIAG_S804, (struct diag_place){0}, NULL,
                      "simulation: one rank does not stand for all of its stage, %s%s at rank %u "
                      "take another way than at the first: %s",
                      sends ? "sends between stages" : work_cause_name(unlike.cause),
                      sends ? "" : " messages", unlike.place, then);
    if (!unfolds) {
        return true;
    }
    sim->options.fold = SIM_RANKS;
    return true;
}

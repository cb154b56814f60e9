/* A plan as the command line of Megatron-LM. */
#include "exports/megatron_inside.h"

extern const struct exporter exporter_megatron;

static bool can_express(const struct problem *problem, const struct plan *plan, struct diag *diag)
{
    bool good = megatron_check_plan(problem, plan, diag);
    good &= megatron_check_model(problem, plan, diag);
    return good;
}

static void write(const struct problem *problem, const struct plan *plan, bool script,
                  struct text *out)
{
    const struct megatron_arguments arguments = {.text = out, .script = script};
    if (script)
        megatron_open_script(problem, plan, out);
    else
        megatron_push_note(&arguments, "%s on %s, %llu devices; %s of Megatron-LM",
                           problem->model->name, problem->cluster->name,
                           (unsigned long long)plan_count_devices(plan),
                           megatron_find_program(problem));
    if (!script && megatron_wants_one_connection(plan))
        megatron_push_note(&arguments,
                           "needs CUDA_DEVICE_MAX_CONNECTIONS=1 in the environment on Hopper and "
                           "before");
    megatron_push_plan(problem, plan, &arguments);
    megatron_push_model(problem, &arguments);
    if (script)
        megatron_close_script(problem, out);
}

const struct exporter exporter_megatron = {
    .name = "megatron",
    .summary = "arguments of Megatron-LM's pretrain_gpt.py or pretrain_hybrid.py, one per line",
    .script = "a bash script that launches it with torchrun",
    .can_express = can_express,
    .write = write,
};

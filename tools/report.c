/* Judging one plan; rates that follow from its time. */
#include "tools/report.h"

#include <string.h>

static void find_provenance(const struct costmodel *judge, struct verdict *out)
{
    double total_s = 0.0;
    for (uint32_t i = 0; i < PROVENANCE_COUNT; i++) {
        total_s += judge->provenance_s[i];
    }
    for (uint32_t i = 0; i < PROVENANCE_COUNT; i++) {
        out->provenance_frac[i] = total_s > 0.0 ? judge->provenance_s[i] / total_s : 0.0;
    }
}

void report_judge(struct command *command, const struct question *question, struct plan *plan,
                  struct verdict *out)
{
    struct costmodel judge;
    struct estimator estimator;
    memset(out, 0, sizeof *out);
    costmodel_init(&judge, &question->problem, &question->prices, command->arena);
    costmodel_estimator(&judge, &estimator);
    planner_complete(&question->problem, &estimator, plan, command->arena, &out->estimate);
    out->plan = plan;
    find_provenance(&judge, out);
}

/* 0 where a device has none. */
static double peak_flops_per_s(const struct question *question)
{
    const struct cluster *cluster = &question->cluster;
    double peak = 0.0;
    bool all = true;
    for (uint32_t device = 0; device < cluster->device_count; device++) {
        const double own =
            cluster_find_accelerator(cluster, device)->peak_flops_per_s[question->setup.dtype];
        all = all && own > 0.0;
        peak += own;
    }
    return all ? peak : 0.0;
}

/* Of sequences as long as they are. */
static double flops_per_token(const struct question *question, bool causal)
{
    const struct setup *setup = &question->setup;
    double sum = 0.0;
    if (setup->length_count == 0) {
        return model_flops_per_token(&question->model, setup->seq_length, causal);
    }
    for (uint32_t i = 0; i < setup->length_count; i++) {
        sum += setup_length_frac(setup, i) *
               model_flops_per_token(&question->model, setup->lengths[i].length, causal);
    }
    return sum;
}

void report_find_rates(const struct question *question, double step_s, struct report_rates *out)
{
    const struct setup *setup = &question->setup;
    const double peak = peak_flops_per_s(question);
    out->tokens_per_s = (double)setup->global_batch * (double)setup_count_positions(setup, false) *
                        setup_token_frac(setup) / step_s;
    out->tokens_per_s_per_device = out->tokens_per_s / question->cluster.device_count;
    const bool all = (setup->task.kind == TASK_PRETRAIN || setup->task.kind == TASK_SFT) &&
                     setup_has_backward(setup);
    const double causal_flops = flops_per_token(question, true);
    const double full_flops = flops_per_token(question, false);
    out->mfu_frac = all && peak > 0.0 ? causal_flops * out->tokens_per_s / peak : 0.0;
    out->mfu_full_attention_frac = all && peak > 0.0 ? full_flops * out->tokens_per_s / peak : 0.0;
}

/* Steps were measured on devices that the runtime runs on, in formats that they have. */
static bool is_measured(const struct question *question)
{
    bool measured = question->runtime.band.rows > 0 && question->setup.task.kind == TASK_PRETRAIN;
    for (uint32_t i = 0; i < question->cluster.accelerator_count; i++) {
        const struct accelerator *kind = &question->cluster.accelerators[i];
        measured = measured && runtime_runs_on(&question->runtime, kind) &&
                   prices_find_format(kind, question->setup.dtype) == question->setup.dtype;
    }
    return measured;
}

bool report_find_band(const struct question *question, double step_s, double *low_s, double *high_s)
{
    const struct runtime_band *band = &question->runtime.band;
    *low_s = step_s * (1.0 + band->low_frac);
    *high_s = step_s * (1.0 + band->high_frac);
    return is_measured(question);
}

double report_power_w(const struct cluster *cluster)
{
    double sum_w = 0.0;
    for (uint32_t device = 0; device < cluster->device_count; device++) {
        const double own_w = cluster_find_accelerator(cluster, device)->tdp_w;
        if (own_w <= 0.0) {
            return 0.0;
        }
        sum_w += own_w;
    }
    return sum_w;
}

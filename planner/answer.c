/* What a finished search says: ranked plans, the certificate, or why there is none. */
#include <string.h>

#include "base/number.h"
#include "planner/planner_inside.h"

void answer_refuse(const struct search *search, struct diag *diag)
{
    const struct problem *problem = search->problem;
    const struct space_faults *faults = &search->faults;
    if (faults->meshes == 0) {
        diag_push(diag, DIAG_P460, (struct diag_place){0},
                  "degrees multiply to the devices, or leave --spares of them idle",
                  "no mesh of model '%s' on %u devices has the given degrees", problem->model->name,
                  problem->cluster->device_count);
        return;
    }
    diag_push(
        diag, DIAG_P460, (struct diag_place){0},
        faults->batch == faults->meshes
            ? "a global batch that is a multiple of replicas x micro-batch, or fewer replicas"
            : "`shardplan check` with the same flags and all degrees given names the broken rules",
        "no plan of model '%s' on %u devices is legal with the given flags: global batch "
        "%llu, sequence %llu; of "
        "%llu meshes %llu break a rule of dimensions or of runtime '%s', %llu do not divide "
        "what they cut, %llu "
        "do not divide the batch, %llu run no schedule with the given policies",
        problem->model->name, space_count_devices(search),
        (unsigned long long)problem->setup->global_batch,
        (unsigned long long)problem->setup->seq_length, (unsigned long long)faults->meshes,
        (unsigned long long)faults->mesh, problem->setup->runtime->name,
        (unsigned long long)faults->axes, (unsigned long long)faults->batch,
        (unsigned long long)faults->shapes);
}

static void judge_again(const struct search *search, struct ranked_plan *out)
{
    planner_complete(search->problem, search->estimator, out->plan, search->arena, &out->estimate);
}

static void fill_ranked(struct search *search, const struct leaf *leaf, struct ranked_plan *out)
{
    out->plan = leaf_plan(search, leaf, search->arena);
    const uint32_t stages = plan_count_stages(out->plan), chunks = leaf->form.chunks;
    struct plan_schedule *schedule = &out->plan->schedule;
    schedule->stages = stages;
    schedule->layers = ARENA_PUSH(search->arena, uint32_t, (size_t)stages * chunks);
    const struct schedule_shape shape = {stages, chunks,
                                         plan_count_passes(search->problem, out->plan)};
    const struct stream *stream = stream_cache_find(search, &leaf->form, &shape);
    for (uint32_t chunk = 0; chunk < stages * chunks; chunk++) {
        schedule->layers[stream->chunk_place[chunk]] = leaf->layers[chunk];
    }
    judge_again(search, out);
}

void answer_fill(struct search *search, struct planner_result *out)
{
    memset(out, 0, sizeof *out);
    out->count = search->best_count;
    out->plans = ARENA_PUSH(search->arena, struct ranked_plan, search->best_count);
    for (uint32_t i = 0; i < search->best_count; i++) {
        fill_ranked(search, &search->best[i], &out->plans[i]);
    }
    struct certificate *certificate = &search->certificate;
    if (!certificate->complete && search->open_s > 0.0) {
        certificate->lower_bound_s = number_smaller(search->open_s, certificate->lower_bound_s);
    }
    if (out->count > 0) {
        const double best = search->best[0].step_s;
        if (certificate->complete || certificate->lower_bound_s > best) {
            certificate->lower_bound_s = best;
        }
        certificate->gap_frac = (best - certificate->lower_bound_s) / best;
        certificate->placement_bound_s =
            search->open_s > 0.0 ? number_smaller(search->open_s, certificate->lower_bound_s)
                                 : certificate->lower_bound_s;
        certificate->placement_gap_frac = (best - certificate->placement_bound_s) / best;
    } else {
        certificate->placement_bound_s = search->open_s;
        if (search->least_over.layers != NULL) {
            fill_ranked(search, &search->least_over, &out->least_over);
            out->least_over_bytes = search->least_over_bytes;
        }
    }
    out->certificate = *certificate;
}

/* The plan whose slower time is least: what one judge alone finds fast is not recommended. */
#include "tools/both_judges.h"

#include "tools/plan_flags.h"
#include "tools/simulated.h"

/* As many plans are simulated at most before one is recommended, or as many as are printed. */
#define PLANS_MAX 16u

bool both_judges_agree(const struct verdict *verdict)
{
    const double apart_frac = verdict->simulated_step_s / verdict->estimate.step_s - 1.0;
    return !verdict->simulated ||
           (apart_frac <= BOTH_JUDGES_AGREE_FRAC && apart_frac >= -BOTH_JUDGES_AGREE_FRAC);
}

double both_judges_worse_s(const struct verdict *verdict)
{
    return verdict->simulated && verdict->simulated_step_s > verdict->estimate.step_s
               ? verdict->simulated_step_s
               : verdict->estimate.step_s;
}

static bool judge(struct command *command, const struct question *question, struct plan *plan,
                  struct verdict *out)
{
    *out = (struct verdict){.plan = NULL};
    report_judge(command, question, plan, out);
    return simulated_judge(command, question, out);
}

/* Slower to the simulator than another plan is to the cost model. */
static bool is_doubtful(const struct verdict *first, const struct ranked_plan *runner)
{
    return runner != NULL && !both_judges_agree(first) &&
           both_judges_worse_s(first) > runner->estimate.step_s;
}

/* Fastest first by the cost model, so none after one that is slower than the best so far can be
 * better. */
static bool simulate_next(struct command *command, const struct question *question,
                          const struct planner_result *next, uint32_t asked,
                          struct both_judges *out)
{
    double best_s = both_judges_worse_s(&out->first);
    uint32_t i = 1;
    for (; i < next->count && next->plans[i].estimate.step_s < best_s; i++) {
        struct verdict verdict;
        if (!judge(command, question, next->plans[i].plan, &verdict)) {
            return false;
        }
        out->simulated++;
        if (both_judges_worse_s(&verdict) < best_s) {
            best_s = both_judges_worse_s(&verdict);
            out->chosen = verdict;
        }
    }
    out->exhausted = i < next->count || next->count < asked;
    if (best_s > both_judges_worse_s(&out->first) * (1.0 - BOTH_JUDGES_AGREE_FRAC)) {
        out->chosen = out->first;
    }
    return true;
}

/* The chosen plan, then the cost model's ranking without it, as many as there were. */
static void put_first(struct command *command, const struct planner_result *next,
                      const struct both_judges *judges, struct planner_result *result)
{
    struct ranked_plan *plans = ARENA_PUSH(command->arena, struct ranked_plan, result->count);
    struct certificate *certificate = &result->certificate;
    uint32_t count = 1;
    for (uint32_t i = 0; i < next->count; i++) {
        if (next->plans[i].plan == judges->chosen.plan) {
            plans[0] = next->plans[i];
        } else if (count < result->count) {
            plans[count++] = next->plans[i];
        }
    }
    result->plans = plans;
    const double step_s = plans[0].estimate.step_s;
    certificate->gap_frac = (step_s - certificate->lower_bound_s) / step_s;
    certificate->placement_gap_frac = (step_s - certificate->placement_bound_s) / step_s;
}

bool both_judges_choose(struct command *command, const struct question *question,
                        const struct planner_options *options, const struct ranked_plan *runner,
                        struct planner_result *result, struct both_judges *out)
{
    struct planner_options wider = *options;
    struct planner_result next;
    wider.top = options->top > PLANS_MAX ? options->top : PLANS_MAX;
    *out = (struct both_judges){.simulated = 1, .exhausted = true};
    if (result->count == 0) {
        return true;
    }
    if (!judge(command, question, result->plans[0].plan, &out->first)) {
        return false;
    }
    out->chosen = out->first;
    if (!is_doubtful(&out->first, runner)) {
        return true;
    }
    if (!planner_search(&question->problem, &question->estimator, &wider, command->arena, &next,
                        command->diag) ||
        !simulate_next(command, question, &next, wider.top, out)) {
        return false;
    }
    if (both_judges_differ(out)) {
        put_first(command, &next, out, result);
    }
    return true;
}

/* --- the answer ------------------------------------------------------------------------------- */

bool both_judges_differ(const struct both_judges *judges)
{
    return judges->chosen.plan != judges->first.plan;
}

static void push_first(struct command *command, const struct question *question,
                       const struct verdict *first, struct json_writer *out)
{
    struct text flags;
    text_init(&flags, command->arena);
    plan_flags_dump(first->plan, &question->runtime, command->arena, &flags);
    json_push_object(out);
    json_push_key_double(out, "step_s", first->estimate.step_s);
    json_push_key_double(out, "simulated_step_s", first->simulated_step_s);
    json_push_key_string(out, "flags", flags.bytes);
    json_pop_object(out);
}

void both_judges_push(struct command *command, const struct question *question,
                      const struct both_judges *judges, struct json_writer *out)
{
    json_push_key(out, "choice");
    json_push_object(out);
    json_push_key_string(out, "by", both_judges_differ(judges) ? "both judges" : "cost model");
    json_push_key_u64(out, "simulated_plans", judges->simulated);
    json_push_key_bool(out, "exhausted", judges->exhausted);
    json_push_key(out, "cost_model_best");
    if (both_judges_differ(judges)) {
        push_first(command, question, &judges->first, out);
    } else {
        json_push_null(out);
    }
    json_pop_object(out);
}

void both_judges_dump(struct command *command, const struct question *question,
                      const struct both_judges *judges)
{
    struct arena *arena = command->arena;
    const double gain_frac =
        1.0 - both_judges_worse_s(&judges->chosen) / both_judges_worse_s(&judges->first);
    if (judges->simulated == 1) {
        return;
    }
    if (!both_judges_differ(judges)) {
        text_push(&command->out,
                  "\nThe simulator doubts this plan, but of %u that it was asked about none is "
                  "better by over %g %%\nby the slower of its two times.\n",
                  judges->simulated, 100.0 * BOTH_JUDGES_AGREE_FRAC);
        return;
    }
    text_push(&command->out,
              "\nRecommended by both judges: of %u plans that were simulated, the one above has "
              "the least of the\nslower of its two times, %.1f %% less than the cost model's best, "
              "%s and simulated %s:\n",
              judges->simulated, 100.0 * gain_frac,
              report_seconds(arena, judges->first.estimate.step_s),
              report_seconds(arena, judges->first.simulated_step_s));
    report_dump_flags(command, "", judges->first.plan, &question->runtime);
    if (!judges->exhausted) {
        text_push(&command->out, "Others that were not simulated may be better still: "
                                 "--top K simulates K.\n");
    }
}

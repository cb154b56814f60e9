/* Choices of a plan are freed one at a time, everything else pinned: what does each gain? */
#include "tools/advise.h"

#include <string.h>

#include "base/table.h"
#include "tools/plan_flags.h"

/* A change that gains less is not worth its trouble. */
#define WORTH_FRAC 1e-3
#define REST_DIM "dp" /* takes the devices that are left, so it follows the other degrees */

/* What can be freed: a dimension, the micro-batch, the schedule with its chunks, a policy. */
enum choice_kind { CHOICE_DIM, CHOICE_MICRO_BATCH, CHOICE_SCHEDULE, CHOICE_POLICY };

struct choice {
    enum choice_kind kind;
    uint32_t index; /* of the dimension or policy */
};

struct search_for {
    struct command *command;
    const struct question *question;
    struct planner_options options;
    struct choice *choices;
    uint32_t choice_count;
};

/* --- pins ------------------------------------------------------------------------------------- */

static bool is_rest(const struct dim *dim)
{
    return strcmp(dim->name, REST_DIM) == 0;
}

/* Everything as the plan has it, but for the degree that follows the others and for rank orders,
 * which a search tries all. */
static struct planner_pins pin_all(const struct search_for *search, const struct plan *plan)
{
    struct planner_pins pins = {.micro_batch = plan->schedule.micro_batch,
                                .chunks = plan->schedule.chunks,
                                .schedule = plan->schedule.schedule,
                                .slices = plan->groups[0].slices,
                                .slice_count = plan->groups[0].slice_count,
                                .uses = plan->policies,
                                .use_count = plan->policy_count};
    struct plan_words words;
    plan_flags_describe(plan, search->command->arena, &words);
    for (uint32_t i = 0; i < dim_table_count; i++) {
        const bool on = dim_table[i]->on_or_off && words.degrees[i] > 1;
        pins.degrees[i] = is_rest(dim_table[i]) ? PIN_SEARCH : on ? PIN_ON : words.degrees[i];
        pins.variants[i] = words.degrees[i] > 1 ? words.variants[i] : PIN_ANY;
    }
    for (uint32_t i = 0; i < policy_table_count; i++) {
        pins.policy_pinned[i] = true;
    }
    return pins;
}

static bool is_hosted(const struct dim *fold, const struct dim *host)
{
    for (uint32_t i = 0; i < 3 && fold->hosts[i] != NULL; i++) {
        if (strcmp(fold->hosts[i], host->name) == 0) {
            return true;
        }
    }
    return false;
}

/* Folds that are on or off go with their hosts. */
static void free_dim(struct planner_pins *pins, uint32_t index)
{
    pins->degrees[index] = PIN_SEARCH;
    pins->variants[index] = PIN_ANY;
    for (uint32_t i = 0; i < dim_table_count; i++) {
        if (dim_table[i]->on_or_off && is_hosted(dim_table[i], dim_table[index])) {
            pins->degrees[i] = PIN_SEARCH;
        }
    }
}

static void free_choice(struct planner_pins *pins, const struct choice *choice)
{
    switch (choice->kind) {
    case CHOICE_DIM: free_dim(pins, choice->index); return;
    case CHOICE_MICRO_BATCH: pins->micro_batch = 0; return;
    case CHOICE_SCHEDULE:
        pins->schedule = NULL;
        pins->chunks = 0;
        return;
    case CHOICE_POLICY:
        pins->policy_pinned[choice->index] = false;
        pins->policy_asked[choice->index] = true;
        return;
    }
}

static void list_choices(struct search_for *search)
{
    search->choices =
        ARENA_PUSH(search->command->arena, struct choice, dim_table_count + policy_table_count + 2);
    for (uint32_t i = 0; i < dim_table_count; i++) {
        if (!is_rest(dim_table[i])) {
            search->choices[search->choice_count++] = (struct choice){CHOICE_DIM, i};
        }
    }
    search->choices[search->choice_count++] = (struct choice){CHOICE_MICRO_BATCH, 0};
    search->choices[search->choice_count++] = (struct choice){CHOICE_SCHEDULE, 0};
    for (uint32_t i = 0; i < policy_table_count; i++) {
        if (policy_table[i]->choose != NULL) {
            search->choices[search->choice_count++] = (struct choice){CHOICE_POLICY, i};
        }
    }
}

/* --- words ------------------------------------------------------------------------------------ */

static void push_change(struct text *out, const char *words)
{
    text_push(out, "%s%s", out->length == 0 ? "" : ", ", words);
}

static void push_dims(const struct plan_words *from, const struct plan_words *to, bool rest,
                      struct arena *arena, struct text *out)
{
    for (uint32_t i = 0; i < dim_table_count; i++) {
        const struct dim *dim = dim_table[i];
        const uint32_t degree = to->degrees[i];
        if (is_rest(dim) != rest) {
            continue;
        }
        if (dim->on_or_off && (from->degrees[i] > 1) != (degree > 1)) {
            push_change(out, text_build(arena, "%s %s", dim->flag, degree > 1 ? "on" : "off"));
        } else if (!dim->on_or_off && from->degrees[i] != degree) {
            push_change(out, text_build(arena, "%s %u", dim->flag, degree));
        }
        if (degree > 1 && dim->variant_count > 1 && from->variants[i] != to->variants[i]) {
            push_change(out, text_build(arena, "%s-type %s", dim->flag,
                                        dim->variants[to->variants[i]].name));
        }
    }
}

static void push_schedule(const struct plan_schedule *from, const struct plan_schedule *to,
                          struct arena *arena, struct text *out)
{
    if (from->micro_batch != to->micro_batch) {
        push_change(out, text_build(arena, "--micro-batch-size %u", to->micro_batch));
    }
    if (from->schedule != to->schedule) {
        push_change(out, text_build(arena, "--schedule %s", to->schedule->name));
    }
    if (from->chunks != to->chunks) {
        push_change(out, text_build(arena, "--vpp %u", to->chunks));
    }
}

static uint32_t find_place(const struct group *group, const struct dim *dim)
{
    uint32_t place = 0;
    while (place < group->mesh_count && group->mesh[place].dim != dim) {
        place++;
    }
    return place;
}

/* Do the ranks of some two dimensions that both plans cut along lie the other way round? */
static bool is_reordered(const struct group *from, const struct group *to)
{
    for (uint32_t i = 0; i < to->mesh_count; i++) {
        for (uint32_t k = i + 1; k < to->mesh_count; k++) {
            const uint32_t inner = find_place(from, to->mesh[i].dim);
            const uint32_t outer = find_place(from, to->mesh[k].dim);
            if (to->mesh[i].degree > 1 && to->mesh[k].degree > 1 && inner > outer &&
                inner < from->mesh_count && from->mesh[inner].degree > 1 &&
                from->mesh[outer].degree > 1) {
                return true;
            }
        }
    }
    return false;
}

static void push_order(const struct group *from, const struct group *to, struct text *out)
{
    if (!is_reordered(from, to)) {
        return;
    }
    push_change(out, "--rank-order");
    bool first = true;
    for (uint32_t i = 0; i < to->mesh_count; i++) {
        if (to->mesh[i].degree > 1) {
            text_push(out, "%c%s", first ? ' ' : ',', to->mesh[i].dim->name);
            first = false;
        }
    }
}

/* What the second plan has otherwise, as flags. */
static const char *describe(const struct plan *from, const struct plan *to, struct arena *arena)
{
    struct plan_words before, after;
    struct text out;
    text_init(&out, arena);
    plan_flags_describe(from, arena, &before);
    plan_flags_describe(to, arena, &after);
    push_dims(&before, &after, false, arena, &out);
    push_order(from->groups, to->groups, &out);
    push_schedule(&from->schedule, &to->schedule, arena, &out);
    if (before.zero != after.zero) {
        push_change(&out, text_build(arena, "--zero %u", after.zero));
    }
    if (strcmp(before.recompute, after.recompute) != 0) {
        push_change(&out, text_build(arena, "--recompute %s", after.recompute));
    }
    if (strcmp(before.offload, after.offload) != 0) {
        push_change(&out, text_build(arena, "%s %s", PLAN_FLAGS_OFFLOAD, after.offload));
    }
    if (out.length == 0) {
        push_dims(&before, &after, true, arena, &out);
    }
    return out.length > 0 ? out.bytes : "other layers per stage";
}

/* --- the search ------------------------------------------------------------------------------- */

/* The best plan with these choices freed, if it beats what stands in `best`. */
static void try_freed(struct search_for *search, const struct plan *plan,
                      const struct choice *const freed[2], struct ranked_plan *best)
{
    struct planner_result result;
    struct planner_options options = search->options;
    struct diag diag;
    diag_init(&diag, search->command->arena);
    options.pins = pin_all(search, plan);
    for (uint32_t i = 0; i < 2 && freed[i] != NULL; i++) {
        free_choice(&options.pins, freed[i]);
    }
    if (planner_search(&search->question->problem, &search->question->estimator, &options,
                       search->command->arena, &result, &diag) &&
        result.count > 0 &&
        (best->plan == NULL || result.plans[0].estimate.step_s < best->estimate.step_s)) {
        *best = result.plans[0];
    }
}

static void try_singles(struct search_for *search, const struct plan *plan,
                        struct ranked_plan *best)
{
    for (uint32_t i = 0; i < search->choice_count; i++) {
        const struct choice *const freed[2] = {&search->choices[i], NULL};
        try_freed(search, plan, freed, best);
    }
}

static void try_pairs(struct search_for *search, const struct plan *plan, struct ranked_plan *best)
{
    for (uint32_t i = 0; i < search->choice_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const struct choice *const freed[2] = {&search->choices[i], &search->choices[k]};
            try_freed(search, plan, freed, best);
        }
    }
}

static bool gains(const struct ranked_plan *best, const struct estimate *now)
{
    return best->plan != NULL &&
           (!now->fits || best->estimate.step_s < now->step_s * (1.0 - WORTH_FRAC));
}

static void climb(struct search_for *search, struct advice *out)
{
    const struct plan *plan = out->plan;
    struct estimate now = out->estimate;
    while (out->count < ADVICE_MAX) {
        struct ranked_plan best = {.plan = NULL};
        try_singles(search, plan, &best);
        if (!gains(&best, &now)) {
            try_pairs(search, plan, &best);
        }
        if (!gains(&best, &now)) {
            return;
        }
        out->steps[out->count++] =
            (struct advice_step){.change = describe(plan, best.plan, search->command->arena),
                                 .plan = best.plan,
                                 .step_s = best.estimate.step_s,
                                 .gain_frac = 1.0 - best.estimate.step_s / out->estimate.step_s};
        plan = best.plan;
        now = best.estimate;
    }
}

/* Bounds of a search hold for what policies offer to it, and for what leaves forwards alone. */
static bool can_start(struct command *command, const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->policy_count; i++) {
        const struct policy *kind = plan->policies[i].kind;
        if (kind->choose == NULL && (kind->touches >> POLICY_EVENT_FORWARD & 1) != 0) {
            return diag_push(command->diag, DIAG_C709, (struct diag_place){0},
                             "leave the policy out, or compare plans with `shardplan estimate`",
                             "a search cannot start from a plan with policy '%s'", kind->name);
        }
    }
    return true;
}

bool advise_find(struct command *command, const struct question *question, struct plan *plan,
                 const struct planner_options *options, struct advice *out)
{
    struct search_for search = {.command = command, .question = question, .options = *options};
    struct verdict verdict;
    memset(out, 0, sizeof *out);
    if (!plan_check(&question->problem, plan, command->diag) ||
        !plan_check_costed(&question->problem, plan, command->diag) || !can_start(command, plan)) {
        return false;
    }
    report_judge(command, question, plan, &verdict);
    out->plan = plan;
    out->estimate = verdict.estimate;
    search.options.top = 1;
    search.options.no_prune = false;
    list_choices(&search);
    climb(&search, out);
    return true;
}

/* --- the answer ------------------------------------------------------------------------------- */

static const char *flags_of(const struct command *command, const struct question *question,
                            const struct plan *plan)
{
    struct text flags;
    text_init(&flags, command->arena);
    plan_flags_dump(plan, &question->runtime, command->arena, &flags);
    return flags.bytes;
}

void advise_push(struct command *command, const struct question *question,
                 const struct advice *advice, struct json_writer *out)
{
    json_push_key(out, "from");
    json_push_object(out);
    json_push_key_double(out, "step_s", advice->estimate.step_s);
    json_push_key_bool(out, "fits", advice->estimate.fits);
    json_push_key_string(out, "flags", flags_of(command, question, advice->plan));
    json_push_key(out, "changes");
    json_push_array(out);
    for (uint32_t i = 0; i < advice->count; i++) {
        const struct advice_step *step = &advice->steps[i];
        json_push_object(out);
        json_push_key_string(out, "change", step->change);
        json_push_key_double(out, "step_s", step->step_s);
        json_push_key_double(out, "gain_frac", step->gain_frac);
        json_push_key_string(out, "flags", flags_of(command, question, step->plan));
        json_pop_object(out);
    }
    json_pop_array(out);
    json_pop_object(out);
}

static void dump_steps(struct command *command, const struct advice *advice, double best_s)
{
    static const char *const headings[] = {"change", ">time", ">shorter by", NULL};
    struct arena *arena = command->arena;
    struct table table;
    table_init(&table, arena, headings);
    for (uint32_t i = 0; i < advice->count; i++) {
        const struct advice_step *step = &advice->steps[i];
        table_push(&table, "%s%s", i == 0 ? "" : "then ", step->change);
        table_push(&table, "%s", report_seconds(arena, step->step_s));
        table_push(&table, "%.2f %%", 100.0 * step->gain_frac);
    }
    if (best_s > 0.0) {
        table_push(&table, "everything, as in the best plan");
        table_push(&table, "%s", report_seconds(arena, best_s));
        table_push(&table, "%.2f %%", 100.0 * (1.0 - best_s / advice->estimate.step_s));
    }
    table_dump(&table, &command->out);
}

void advise_dump(struct command *command, const struct question *question,
                 const struct advice *advice, double best_s)
{
    text_push(&command->out, "\n");
    report_dump_flags(command, "yours", advice->plan, &question->runtime);
    text_push(&command->out, "time     %s per step%s\n\n",
              report_seconds(command->arena, advice->estimate.step_s),
              advice->estimate.fits ? "" : "; it DOES NOT FIT in memory");
    text_push(&command->out,
              advice->count == 0
                  ? "No change of one or two choices gains anything to speak of.\n\n"
                  : "Changed first: what gains most alone; then more, from there.\n\n");
    dump_steps(command, advice, best_s);
}

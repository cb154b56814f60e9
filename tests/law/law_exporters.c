/* What holds for every exporter: one text per plan, a reason or a text, nothing left out in
 * silence. */
#include <string.h>

#include "exports/exporter.h"
#include "models/transformer.h"
#include "tests/law/random_plan.h"
#include "tests/samples.h"

#define PLANS 60 /* legal ones, per model */
#define EXPORTER_MAX 256
#define WRITTEN 20 /* by each exporter at least */

static struct text first, second;

static bool export_to(const struct exporter *exporter, const struct plan *plan, bool script,
                      struct text *out)
{
    text_init(out, &arena);
    text_push(out, "before\n");
    diag_init(&diag, &arena);
    return exporter_write(exporter, &problem, plan, script, out, &diag);
}

/* --- data ------------------------------------------------------------------------------------- */

START_TEST(every_member_is_sound)
{
    ck_assert_uint_ge(exporter_table_count, 2);
    for (uint32_t i = 0; i < exporter_table_count; i++) {
        const struct exporter *exporter = exporter_table[i];
        ck_assert_msg(exporter->summary[0] != '\0', "%s says nothing", exporter->name);
        ck_assert_ptr_eq(exporter_find(exporter->name), exporter);
        ck_assert_str_eq(exporter_names()[i], exporter->name);
        ck_assert_ptr_nonnull(exporter->write);
    }
    ck_assert_ptr_null(exporter_names()[exporter_table_count]);
    ck_assert_ptr_null(exporter_find("megatrom"));
}
END_TEST

/* --- random plans ----------------------------------------------------------------------------- */

/* Half of the plans say how the layers spread, a third shard or recompute. */
static void settle(struct random *random, struct plan *plan)
{
    static const char *const kinds[] = {"shard", "keep"};
    const uint32_t chunks = plan_count_stages(plan) * plan->schedule.chunks;
    const uint32_t layers = plan_count_layers(&model);
    if (random_pop_below(random, 2) == 0 && chunks > 0 && chunks <= layers) {
        plan->schedule.stages = plan_count_stages(plan);
        plan->schedule.layers = ARENA_PUSH(&arena, uint32_t, chunks);
        for (uint32_t i = 0; i < layers; i++)
            plan->schedule.layers[i < chunks ? i : random_pop_below(random, chunks)]++;
    }
    const uint32_t kind = random_pop_below(random, 6);
    struct policy_use *use = ARENA_PUSH(&arena, struct policy_use, 1);
    if (kind < 2 && policy_find(kinds[kind])
                        ->choose(&problem, plan, random_pop_below(random, 3), &arena, use)) {
        plan->policies = use;
        plan->policy_count = 1;
    }
}

/* Refused: reasons of the exporter's own, nothing written. Written: the same twice, whole lines. */
static bool expect_answer(const struct exporter *exporter, const struct plan *plan, bool script)
{
    const bool good = export_to(exporter, plan, script, &first);
    ck_assert_msg(good == (diag.count == 0), "%s: written with %u errors", exporter->name,
                  diag.count);
    for (uint32_t i = 0; i < diag.kept; i++)
        ck_assert_msg(diag_code_name(diag.entries[i].code)[0] == 'X',
                      "%s refuses a legal plan with %s", exporter->name,
                      diag_code_name(diag.entries[i].code));
    if (!good) {
        ck_assert_str_eq(first.bytes, "before\n");
        return false;
    }
    ck_assert(export_to(exporter, plan, script, &second));
    ck_assert_str_eq(first.bytes, second.bytes);
    ck_assert_msg(first.length > 7 && first.bytes[first.length - 1] == '\n', "%s: no whole lines",
                  exporter->name);
    ck_assert_ptr_null(strstr(first.bytes, "(null)"));
    return true;
}

/* Exporters that know certain models only are asked about one of those, all others about any. */
static bool takes(const struct exporter *exporter, const char *name)
{
    return exporter->sample == NULL ? name[0] == 't' : strcmp(exporter->sample, name) == 0;
}

/* Every exporter on one plan: how often each has written and refused. */
static void export_to_all(const struct plan *plan, uint32_t *written, uint32_t *refused)
{
    for (uint32_t i = 0; i < exporter_table_count; i++) {
        if (!takes(exporter_table[i], model.name))
            continue;
        const bool good = expect_answer(exporter_table[i], plan, false);
        (*(good ? &written[i] : &refused[i]))++;
        if (exporter_table[i]->script != NULL)
            ck_assert(expect_answer(exporter_table[i], plan, true) == good);
    }
}

static uint32_t find_least(const uint32_t *counts)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < exporter_table_count; i++) {
        if (takes(exporter_table[i], model.name))
            least = counts[i] < least ? counts[i] : least;
    }
    return least;
}

/* Legal random plans of a model; of the last of its kind until enough are written. Runtimes that
 * know certain models only take few of all plans: their own are drawn. */
static void ask_about(const char *name, const char *runtime_name, bool last, uint32_t *written,
                      uint32_t *refused)
{
    struct random random;
    random_init(&random, 7);
    begin(name);
    ck_assert(runtime_read(runtime_name, (struct diag_place){0}, &arena, &runtime, &diag));
    const struct arena_mark mark = arena_find_mark(&arena);
    const uint32_t plans = count_samples(PLANS), least = count_samples(WRITTEN);
    for (uint32_t i = 0; i < plans || (last && !is_enough(i, find_least(written), least)); i++) {
        struct group group;
        struct plan plan;
        fill_legal(&random, &group, &plan);
        settle(&random, &plan);
        if (plan_is_legal(&problem, &plan))
            export_to_all(&plan, written, refused);
        arena_pop(&arena, mark);
    }
    arena_release(&arena);
}

START_TEST(each_plan_is_written_or_refused)
{
    uint32_t written[EXPORTER_MAX] = {0}, refused[EXPORTER_MAX] = {0};
    ck_assert_uint_le(exporter_table_count, EXPORTER_MAX);
    for (size_t m = 0; m < MODEL_COUNT; m++)
        ask_about(models[m], RUNTIME_DEFAULT, m + 1 == MODEL_COUNT, written, refused);
    for (uint32_t i = 0; i < exporter_table_count; i++) {
        if (exporter_table[i]->sample != NULL)
            ask_about(exporter_table[i]->sample, exporter_table[i]->name, true, written, refused);
    }
    for (uint32_t i = 0; i < exporter_table_count; i++)
        ck_assert_msg(refused[i] == 0 || exporter_table[i]->can_express != NULL,
                      "%s: %u plans refused", exporter_table[i]->name, refused[i]);
}
END_TEST

/* An illegal plan is never written, a script never where there is none. */
START_TEST(what_is_wrong_is_refused)
{
    struct group group = {.mesh_count = 1};
    struct plan plan = {
        .groups = &group, .group_count = 1, .schedule = {.micro_batch = 3, .chunks = 1}};
    for (uint32_t i = 0; i < exporter_table_count; i++) {
        begin(exporter_table[i]->sample != NULL ? exporter_table[i]->sample : "toy-gqa-8l");
        group.mesh[0] = (struct mesh_dim){.dim = dim_find("dp"), .degree = 32};
        ck_assert(export_to(exporter_table[i], &plan, false, &first));
        if (exporter_table[i]->script == NULL) {
            ck_assert(!export_to(exporter_table[i], &plan, true, &first));
            ck_assert_int_eq(diag.entries[0].code, DIAG_X607);
        }
        group.mesh[0].degree = 31;
        ck_assert(!export_to(exporter_table[i], &plan, false, &first));
        ck_assert_str_eq(first.bytes, "before\n");
        arena_release(&arena);
    }
}
END_TEST

/* --- nothing in silence ----------------------------------------------------------------------- */

/* A change that changes what runs must change the text, or be refused. */
static void expect_change(const struct exporter *exporter, const struct plan *plan,
                          const char *what)
{
    if (export_to(exporter, plan, false, &second))
        ck_assert_msg(strcmp(first.bytes, second.bytes) != 0, "%s does not see %s", exporter->name,
                      what);
}

#define BASE_COUNT 3

/* Meshes of 32 devices; every exporter writes a plan on at least one of them. */
static const struct {
    uint32_t tp, cp, pp, dp, sp;
} bases[BASE_COUNT] = {{2, 4, 4, 1, 2}, {2, 1, 1, 16, 1}, {1, 1, 1, 32, 1}};

static void add_factor(struct group *group, const char *dim, uint32_t degree)
{
    if (degree > 1)
        group->mesh[group->mesh_count++] =
            (struct mesh_dim){.dim = dim_find(dim), .degree = degree};
}

static void fill_base(uint32_t base, struct group *group)
{
    *group = (struct group){.mesh_count = 0};
    add_factor(group, "tp", bases[base].tp);
    add_factor(group, "cp", bases[base].cp);
    add_factor(group, "pp", bases[base].pp);
    add_factor(group, "dp", bases[base].dp);
    if (bases[base].sp > 1)
        group->folds[group->fold_count++] =
            (struct mesh_fold){.dim = dim_find("sp"), .degree = bases[base].sp};
}

static void change_schedule(const struct exporter *exporter, struct plan *plan)
{
    struct plan_schedule old = plan->schedule;
    if (plan->schedule.stages > 1) {
        uint32_t other[] = {old.layers[0] - 1, old.layers[0], old.layers[0] + 1, old.layers[0]};
        plan->schedule.layers = other;
        expect_change(exporter, plan, "the layers");
        plan->schedule = old;
        plan->schedule.schedule = schedule_find("gpipe");
        expect_change(exporter, plan, "the schedule");
        plan->schedule = old;
    }
    plan->schedule.micro_batch = 3;
    expect_change(exporter, plan, "the micro-batch");
    plan->schedule = old;
    plan->schedule.staleness = 1;
    expect_change(exporter, plan, "staleness");
    plan->schedule = old;
    plan->schedule.travels = "weights";
    expect_change(exporter, plan, "what travels");
    plan->schedule = old;
}

/* The first two factors change places; a fold follows what it is hosted by. */
static void change_order(const struct exporter *exporter, struct plan *plan)
{
    struct group *group = plan->groups;
    const struct mesh_dim inner = group->mesh[0];
    group->mesh[0] = group->mesh[1];
    group->mesh[1] = inner;
    expect_change(exporter, plan, "the order");
}

static void change_group(const struct exporter *exporter, struct plan *plan, uint32_t base)
{
    struct group *group = plan->groups;
    struct slice_range slice = {.first_device = 0, .device_count = 32, .compute_frac = 0.5};
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        group->mesh[i].variant = group->mesh[i].dim->variant_count - 1;
        if (group->mesh[i].variant > 0)
            expect_change(exporter, plan, "the variant");
        group->mesh[i].variant = 0;
        group->mesh[i].dim = dim_find(strcmp(group->mesh[i].dim->name, "dp") == 0 ? "cp" : "dp");
        if (base != 0 || i != 0) /* tensor ranks are the fold's */
            expect_change(exporter, plan, "another dimension");
        fill_base(base, group);
    }
    if (group->fold_count > 0) {
        group->fold_count = 0;
        expect_change(exporter, plan, "the fold");
        fill_base(base, group);
    }
    if (group->mesh_count > 1) {
        change_order(exporter, plan);
        fill_base(base, group);
    }
    group->slices = &slice;
    group->slice_count = 1;
    expect_change(exporter, plan, "half a device");
    fill_base(base, group);
}

/* Every kind of policy that can be tried: one use of it is seen, or refused. */
static void change_policies(const struct exporter *exporter, struct plan *plan)
{
    for (uint32_t i = 0; i < policy_table_count; i++) {
        struct policy_use use = {.kind = policy_table[i]};
        if (policy_table[i]->choose != NULL)
            ck_assert(policy_table[i]->choose(&problem, plan, 0, &arena, &use));
        plan->policies = &use;
        plan->policy_count = 1;
        /* An empty use of 'sync' says what is so anyway. */
        if (policy_table[i]->choose != NULL || !policy_table[i]->reconciles)
            expect_change(exporter, plan, policy_table[i]->name);
        plan->policy_count = 0;
    }
}

/* The exporter writes the base, and sees every change of it; false: it refuses the base. */
static bool sees_changes(const struct exporter *exporter, uint32_t base)
{
    const uint32_t each = plan_count_layers(&model) / 4;
    uint32_t layers[] = {each, each, each, each};
    struct group group;
    const uint32_t stages = bases[base].pp;
    struct plan plan = {.groups = &group,
                        .group_count = 1,
                        .schedule = {.schedule = schedule_find("1f1b"),
                                     .micro_batch = 1,
                                     .chunks = 1,
                                     .layers = stages > 1 ? layers : NULL,
                                     .stages = stages > 1 ? stages : 0}};
    fill_base(base, &group);
    if (!export_to(exporter, &plan, false, &first))
        return false;
    change_schedule(exporter, &plan);
    change_group(exporter, &plan, base);
    change_policies(exporter, &plan);
    return true;
}

/* Exporters whose subject is the whole plan; the map of ranks is about placement alone. */
START_TEST(nothing_is_left_out_in_silence)
{
    for (uint32_t i = 0; i < exporter_table_count; i++) {
        uint32_t written = 0;
        begin(exporter_table[i]->sample != NULL ? exporter_table[i]->sample : "toy-gqa-8l");
        for (uint32_t base = 0; base < BASE_COUNT && exporter_table[i]->can_express != NULL; base++)
            written += sees_changes(exporter_table[i], base);
        ck_assert_msg(written > 0 || exporter_table[i]->can_express == NULL,
                      "%s writes none of %d plain plans: %s", exporter_table[i]->name, BASE_COUNT,
                      diag.entries[0].message);
        arena_release(&arena);
    }
}
END_TEST

TAP_MAIN("exporters", every_member_is_sound, each_plan_is_written_or_refused,
         what_is_wrong_is_refused, nothing_is_left_out_in_silence)

/* A policy's rewrite changes what it declares, by moving or spreading the work: it loses none. */
#include <string.h>

#include "plan/work.h"
#include "tests/law/random_plan.h"

#define PLANS 12     /* legal ones per model */
#define SAMPLE_MAX 6 /* values tried per field */

static struct work *lower(const struct plan *plan)
{
    struct work *work = ARENA_PUSH(&arena, struct work, 1);
    work_build(&problem, plan, &arena, work);
    return work;
}

/* --- what a judge reads, by event ------------------------------------------------------------- */

static void push_message(struct text *text, const struct work_message *message)
{
    text_push(text, " %d:%u:%a:%u:%d:%d:%u:%u:%u", (int)message->kind, message->group,
              message->bytes, message->dim, (int)message->cause, (int)message->overlap,
              message->pieces, message->period, message->distance);
}

static void push_items(struct text *text, const struct work_items *items)
{
    for (uint32_t i = 0; i < items->count; i++) {
        const struct work_compute *compute = &items->items[i].compute;
        if (items->items[i].is_message) {
            push_message(text, &items->items[i].message);
        } else {
            text_push(text, " %s:%d:%d:%a:%a", compute->name, (int)compute->pass,
                      compute->recompute, compute->flops, compute->bytes);
        }
    }
}

static void push_block(struct text *text, const struct work_block *block, enum policy_event event)
{
    text_push(text, "\n%u:%d", block->part, (int)block->keep);
    switch (event) {
    case POLICY_EVENT_FORWARD: push_items(text, &block->forward); return;
    case POLICY_EVENT_BACKWARD: push_items(text, &block->backward); return;
    case POLICY_EVENT_GATHER: push_items(text, &block->gather); return;
    case POLICY_EVENT_SYNC: push_items(text, &block->sync); return;
    case POLICY_EVENT_UPDATE: push_items(text, &block->update); return;
    case POLICY_EVENT_RESIDENT:
        text_push(text, " %a:%a:%a:%a:%a", block->parameters_bytes, block->gradients_bytes,
                  block->optimizer_bytes, block->moments_bytes, block->gathered_bytes);
        return;
    case POLICY_EVENT_SAVED:
        text_push(text, " %a:%a:%a", block->saved_bytes, block->logits_bytes, block->working_bytes);
        return;
    case POLICY_EVENT_SEND:
    case POLICY_EVENT_TIED:
    case POLICY_EVENT_NORM:
    case POLICY_EVENT_COUNT: return;
    }
}

static const char *dump_event(const struct work *work, enum policy_event event)
{
    struct text text;
    text_init(&text, &arena);
    for (uint32_t b = 0; b < work->block_count; b++) {
        push_block(&text, &work->blocks[b], event);
    }
    if (event == POLICY_EVENT_SAVED) {
        text_push(&text, " %d:%u", (int)work->keep,
                  work->keep == KEEP_ALL ? 0 : work->recompute_layers);
    }
    const struct work_message *const once[POLICY_EVENT_COUNT] = {[POLICY_EVENT_SEND] = &work->send,
                                                                 [POLICY_EVENT_TIED] = &work->tied,
                                                                 [POLICY_EVENT_NORM] = &work->norm};
    if (once[event] != NULL) {
        push_message(&text, once[event]);
    }
    return text.bytes;
}

/* --- conservation ----------------------------------------------------------------------------- */

/* Sums over a list: compute that is no repetition, and bytes of one cause. */
struct sums {
    double flops, bytes, gradient_bytes, parameter_bytes;
};

static void add_items(const struct work_items *items, struct sums *sums)
{
    for (uint32_t i = 0; i < items->count; i++) {
        const struct work_item *item = &items->items[i];
        if (item->is_message) {
            sums->gradient_bytes += item->message.cause == CAUSE_GRADIENT ? item->message.bytes : 0;
            sums->parameter_bytes +=
                item->message.cause == CAUSE_PARAMETER ? item->message.bytes : 0;
        } else if (!item->compute.recompute) {
            sums->flops += item->compute.flops;
            sums->bytes += item->compute.bytes;
        }
    }
}

static bool is_near(double a, double b)
{
    const double larger = a > b ? a : b;
    return a - b <= 1e-12 * larger && b - a <= 1e-12 * larger;
}

/* States are shared among ranks that have the same weights, all shares alike. */
static bool spreads_well(const struct work *work, const struct work_weights *weights)
{
    const uint32_t ranks = weights->group == NO_INDEX ? 1 : work->groups[weights->group].ranks;
    return ranks % weights->parameter_shards == 0 && ranks % weights->gradient_shards == 0 &&
           ranks % weights->optimizer_shards == 0;
}

/* What is lost or made from nothing, or NULL. */
static const char *find_loss(const struct work *work, const struct work_block *before,
                             const struct work_block *after)
{
    struct sums old = {0}, new = {0};
    const struct work_items *const lists[][2] = {{&before->forward, &after->forward},
                                                 {&before->backward, &after->backward},
                                                 {&before->gather, &after->gather},
                                                 {&before->sync, &after->sync}};
    double elements = 0.0;
    if (before->weights_count != after->weights_count) {
        return "groups of weights";
    }
    for (uint32_t i = 0; i < before->weights_count; i++) {
        elements += (double)before->weights[i].elements;
        if (before->weights[i].elements != after->weights[i].elements ||
            !spreads_well(work, &after->weights[i])) {
            return "weights";
        }
    }
    for (uint32_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct sums here = {0};
        add_items(lists[i][0], &old);
        add_items(lists[i][1], &new);
        add_items(lists[i][1], &here);
        if (here.parameter_bytes > elements * 4.0) {
            return "more parameters than there are";
        }
    }
    return !is_near(old.flops, new.flops) || !is_near(old.bytes, new.bytes) ? "compute"
           : !is_near(old.gradient_bytes, new.gradient_bytes)               ? "gradients"
                                                                            : NULL;
}

/* What is wrong with a rewrite; NULL: nothing. */
static const char *find_fault(const struct policy *policy, const struct work *before,
                              const struct work *after)
{
    if (!work_check(after)) {
        return "the program is unsound";
    }
    if (before->block_count != after->block_count) {
        return "blocks came or went";
    }
    for (enum policy_event event = 0; event < POLICY_EVENT_COUNT; event++) {
        if ((policy->touches >> event & 1) == 0 &&
            strcmp(dump_event(before, event), dump_event(after, event)) != 0) {
            return text_build(&arena, "event %d differs, which it does not say it touches",
                              (int)event);
        }
    }
    for (uint32_t b = 0; b < before->block_count; b++) {
        const char *loss = find_loss(after, &before->blocks[b], &after->blocks[b]);
        if (loss != NULL) {
            return text_build(&arena, "%s of part '%s' are not conserved", loss,
                              model.parts[before->blocks[b].part].name);
        }
    }
    return NULL;
}

/* --- uses ------------------------------------------------------------------------------------- */

static uint32_t count_words(const char *const *words)
{
    uint32_t count = 0;
    while (words != NULL && words[count] != NULL) {
        count++;
    }
    return count;
}

/* The index-th value to try of a field; false when there are no more, or none to think of. */
static bool find_sample(const struct policy_field *field, uint32_t index, struct policy_value *out)
{
    static const char *const ranks[] = {"dp", "cp"};
    const uint32_t words = count_words(field->choices);
    *out = (struct policy_value){.present = true};
    switch (field->kind) {
    case POLICY_FIELD_WORD: out->word = index; return index < words;
    case POLICY_FIELD_WORDS:
        out->words = field->target == POLICY_TARGET_RANKS ? ranks : field->choices;
        out->word_count = index + 1;
        return index < (field->target == POLICY_TARGET_RANKS ? 2 : words);
    case POLICY_FIELD_COUNT: out->count = 2 * index + 1; return index < 3;
    case POLICY_FIELD_NUMBER:
    case POLICY_FIELD_QUANTITY: out->number = 4.0 * index; return index < 3;
    case POLICY_FIELD_FRACTION: out->number = 0.5 * index; return index < 3;
    case POLICY_FIELD_BOOL: out->flag = index == 1; return index < 2;
    case POLICY_FIELD_TEXT:
    case POLICY_FIELD_NUMBERS:
    case POLICY_FIELD_KIND_COUNT: break;
    }
    return false;
}

/* The index-th use of a kind: required fields take their values in turn, and of the others one at
 * a time is said. False: what is required has no such value. */
static bool find_use(const struct policy *policy, uint32_t index, struct policy_use *out)
{
    const uint32_t said = index / SAMPLE_MAX % (policy->field_count + 1);
    uint32_t turn = index / SAMPLE_MAX / (policy->field_count + 1);
    memset(out, 0, sizeof *out);
    out->kind = policy;
    for (uint32_t f = 0; f < policy->field_count; f++) {
        const struct policy_field *field = &policy->fields[f];
        if (field->required) {
            if (!find_sample(field, turn % SAMPLE_MAX, &out->values[f])) {
                return false;
            }
            turn /= SAMPLE_MAX;
        } else if (f == said && !find_sample(field, index % SAMPLE_MAX, &out->values[f])) {
            return false;
        }
    }
    return said < policy->field_count ? !policy->fields[said].required : index % SAMPLE_MAX == 0;
}

static uint32_t count_uses(const struct policy *policy)
{
    uint32_t count = SAMPLE_MAX * (policy->field_count + 1);
    for (uint32_t f = 0; f < policy->field_count; f++) {
        count *= policy->fields[f].required ? SAMPLE_MAX : 1;
    }
    return count;
}

static bool is_costed(const struct plan *plan)
{
    diag_init(&diag, &arena);
    return plan_is_legal(&problem, plan) && plan_check_costed(&problem, plan, &diag);
}

/* Uses of a kind that could be costed on this plan; all are held to the law. */
static uint32_t try_uses(const struct policy *policy, struct plan *plan)
{
    const struct work *before = lower(plan);
    uint32_t tried = 0;
    for (uint32_t i = 0; i < count_uses(policy); i++) {
        const struct arena_mark mark = arena_find_mark(&arena);
        struct policy_use use;
        if (find_use(policy, i, &use)) {
            plan->policies = &use;
            plan->policy_count = 1;
            if (is_costed(plan)) {
                const char *fault = find_fault(policy, before, lower(plan));
                ck_assert_msg(fault == NULL, "policy '%s', use %u: %s", policy->name, i, fault);
                tried++;
            }
            plan->policy_count = 0;
        }
        arena_pop(&arena, mark);
    }
    return tried;
}

static void each_plan(uint32_t (*visit)(const struct policy *, struct plan *))
{
    for (size_t m = 0; m < MODEL_COUNT; m++) {
        struct random random;
        random_init(&random, 31 + m);
        begin(models[m]);
        for (uint32_t p = 0; p < policy_table_count; p++) {
            uint32_t seen = 0;
            for (uint32_t i = 0;
                 policy_table[p]->rewrite != NULL && (i < PLANS || !is_enough(i, seen, 1)); i++) {
                const struct arena_mark mark = arena_find_mark(&arena);
                struct group group;
                struct plan plan;
                fill_legal(&random, &group, &plan);
                seen += visit(policy_table[p], &plan);
                arena_pop(&arena, mark);
            }
        }
        arena_release(&arena);
    }
}

START_TEST(rewrites_change_what_they_declare_and_lose_nothing)
{
    each_plan(try_uses);
}
END_TEST

/* --- identities ------------------------------------------------------------------------------- */

static struct policy_use read_use(const char *text)
{
    struct json *document;
    struct policy_use use = {0};
    diag_init(&diag, &arena);
    ck_assert(json_open_text("t.json", text, strlen(text), false, &arena, &document, &diag));
    ck_assert_msg(policy_read_json(json_root(document), &arena, &use, &diag), "%s: %s", text,
                  diag.entries[0].message);
    json_close(document);
    return use;
}

static uint32_t try_identities(const struct policy *policy, struct plan *plan)
{
    const struct work *before = lower(plan);
    uint32_t tried = policy->identities == NULL ? 1 : 0;
    for (uint32_t i = 0; policy->identities != NULL && policy->identities[i] != NULL; i++) {
        struct policy_use use = read_use(policy->identities[i]);
        struct policy nothing = *use.kind;
        ck_assert_ptr_eq(use.kind, policy);
        plan->policies = &use;
        plan->policy_count = 1;
        nothing.touches = 0;
        if (is_costed(plan)) {
            const char *fault = find_fault(&nothing, before, lower(plan));
            ck_assert_msg(fault == NULL, "%s: %s", policy->identities[i], fault);
            tried++;
        }
        plan->policy_count = 0;
    }
    return tried;
}

START_TEST(stating_what_holds_changes_nothing)
{
    each_plan(try_identities);
}
END_TEST

/* --- the law itself --------------------------------------------------------------------------- */

static struct work_block *any_block(struct work *work)
{
    return &work->blocks[work->first_block + 1 < work->block_count ? 1 : 0];
}

static void damage_weights(struct work *work)
{
    any_block(work)->weights[0].elements /= 2;
}

static void damage_shares(struct work *work)
{
    any_block(work)->weights[0].optimizer_shards *= 7;
}

static void damage_forward(struct work *work)
{
    any_block(work)->forward.count--;
}

static void damage_backward(struct work *work)
{
    any_block(work)->backward.items[0].compute.recompute = true;
}

static void damage_gather(struct work *work)
{
    any_block(work)->gather = any_block(work)->sync;
}

static void damage_sync(struct work *work)
{
    any_block(work)->sync.items[0].message.bytes /= 2.0;
}

static void damage_update(struct work *work)
{
    any_block(work)->update.items[0].compute.bytes *= 2.0;
}

static void damage_resident(struct work *work)
{
    any_block(work)->gradients_bytes = 0.0;
}

static void damage_saved(struct work *work)
{
    work->keep = KEEP_BOUNDARY;
}

static void damage_send(struct work *work)
{
    work->send.bytes /= 2.0;
}

static void damage_tied(struct work *work)
{
    work->tied.bytes += 1.0;
}

static void damage_norm(struct work *work)
{
    work->norm.bytes = 0.0;
}

/* What each damage may hide behind: declared or not, the last column sees it. */
static const struct {
    void (*damage)(struct work *);
    bool though_declared; /* a loss, whatever the policy touches */
} damages[] = {
    {damage_weights, true}, {damage_shares, true}, {damage_forward, true}, {damage_backward, true},
    {damage_gather, true},  {damage_sync, true},   {damage_update, false}, {damage_resident, false},
    {damage_saved, false},  {damage_send, false},  {damage_tied, false},   {damage_norm, false},
};

/* The program of a plan with everything in it, damaged. */
START_TEST(wrong_rewrites_are_seen)
{
    struct group group = {.mesh_count = 3};
    begin("toy-4l");
    group.mesh[0] = (struct mesh_dim){.dim = dim_find("tp"), .degree = 2};
    group.mesh[1] = (struct mesh_dim){.dim = dim_find("pp"), .degree = 2};
    group.mesh[2] = (struct mesh_dim){.dim = dim_find("dp"), .degree = 8};
    struct plan plan = {
        .groups = &group,
        .group_count = 1,
        .schedule = {.schedule = schedule_find("1f1b"), .micro_batch = 1, .chunks = 1}};
    ck_assert(plan_is_legal(&problem, &plan));
    for (uint32_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct policy some = {.name = "some", .touches = 0};
        struct work *after = lower(&plan);
        damages[i].damage(after);
        ck_assert_msg(find_fault(&some, lower(&plan), after) != NULL, "damage %u is not seen", i);
        some.touches = (1u << POLICY_EVENT_COUNT) - 1;
        ck_assert_msg(!damages[i].though_declared || find_fault(&some, lower(&plan), after) != NULL,
                      "damage %u is not seen where it is declared", i);
    }
    arena_release(&arena);
}
END_TEST

TAP_MAIN("rewrites", rewrites_change_what_they_declare_and_lose_nothing,
         stating_what_holds_changes_nothing, wrong_rewrites_are_seen)

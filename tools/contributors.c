/* What takes most of a step on its slowest stage, with the origin of each price. */
#include "tools/contributors.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/table.h"
#include "tools/simulated.h"

#define JOINED_MAX 64u

struct search {
    struct arena *arena;
    struct costmodel judge;
    const struct simulated *plan;
    uint32_t site;
    struct contributor *items;
    uint32_t count, capacity;
};

static void add(struct search *search, const struct contributor *one)
{
    for (uint32_t i = 0; i < search->count; i++) {
        struct contributor *known = &search->items[i];
        if (strcmp(known->op, one->op) == 0 && strcmp(known->direction, one->direction) == 0 &&
            known->origin == one->origin && known->beside == one->beside) {
            known->seconds += one->seconds;
            return;
        }
    }
    ARENA_MAKE_ROOM(search->arena, search->items, search->count, search->capacity);
    search->items[search->count++] = *one;
}

/* --- kernels ---------------------------------------------------------------------------------- */

static const char *kernel_basis(const struct work_compute *item, enum provenance origin)
{
    if (origin != PROVENANCE_ANALYTIC) {
        return "table of the profile";
    }
    return item->kind == OP_CONTRACT    ? "tiles and waves at the rate of the number format"
           : item->kind == OP_ATTENTION ? "share of peak by head size"
                                        : "bytes over memory bandwidth";
}

static const char *direction_of(const struct work_compute *item)
{
    switch (item->pass) {
    case PASS_FORWARD: return item->recompute ? "again" : "forward";
    case PASS_INPUT_GRADIENT: return "input gradient";
    case PASS_WEIGHT_GRADIENT: return "weight gradient";
    case PASS_UPDATE: return "update";
    case PASS_COUNT: break;
    }
    BUG("no pass");
}

/* "q+kv": those that are one kernel. */
static const char *name_of(struct arena *arena, const struct work_compute *const *items,
                           uint32_t count)
{
    const char *name = items[0]->name;
    for (uint32_t i = 1; i < count; i++) {
        name = text_build(arena, "%s+%s", name, items[i]->name);
    }
    return name;
}

static void add_kernel(struct search *search, const struct work_compute *const *items,
                       uint32_t count, double times)
{
    const struct work *work = search->plan->work;
    struct contributor one = {.op = name_of(search->arena, items, count),
                              .direction = direction_of(items[0])};
    for (uint32_t i = 0; i < work_count_kinds(work, search->site); i++) {
        enum provenance origin;
        const double own_s =
            times * prices_compute_s(search->judge.prices, work_find_kind(work, search->site, i),
                                     items, count, &origin);
        one.origin = i == 0 || own_s > one.seconds ? origin : one.origin;
        one.seconds = number_larger(one.seconds, own_s);
    }
    one.basis = kernel_basis(items[0], one.origin);
    add(search, &one);
}

/* --- messages --------------------------------------------------------------------------------- */

/* Did a profile bring the constants of all links between its ranks? */
static bool is_fitted(const struct search *search, const struct rank_group *group, uint32_t base)
{
    const struct prices *prices = search->judge.prices;
    const uint32_t first = rank_group_find_device(group, base, 0);
    for (uint32_t i = 1; i < group->ranks; i++) {
        struct path path;
        if (cluster_find_path(search->plan->work->problem->cluster, first,
                              rank_group_find_device(group, base, i), &path) &&
            !prices_find_link(prices, path.link)->fitted) {
            return false;
        }
    }
    return group->ranks > 1;
}

/* The slowest of the kinds of device that the site has. */
static void add_copy(struct search *search, const struct work_message *message,
                     const char *direction, double times)
{
    const struct work *work = search->plan->work;
    struct contributor one = {.op = work_cause_name(message->cause),
                              .direction = direction,
                              .origin = PROVENANCE_ANALYTIC,
                              .basis = "link of the host tier",
                              .beside = message->overlap != OVERLAP_NONE};
    for (uint32_t i = 0; i < work_count_kinds(work, search->site); i++) {
        const uint32_t kind = work_find_kind(work, search->site, i);
        one.seconds = number_larger(
            one.seconds, times * prices_copy_s(search->judge.prices, kind, message->bytes));
    }
    add(search, &one);
}

static void add_message(struct search *search, const struct work_message *message,
                        const char *direction, double times)
{
    const struct work *work = search->plan->work;
    const struct prices *prices = search->judge.prices;
    const struct rank_group *group = &work->groups[message->group];
    bool fitted = true;
    struct contributor one = {.direction = direction, .beside = message->overlap != OVERLAP_NONE};
    one.op = text_build(search->arena, "%s %s", dim_table[message->dim]->name,
                        collective_kind_name(message->kind));
    for (uint32_t i = 0; i < work_count_kinds(work, search->site); i++) {
        const uint32_t base = work_find_base(work, search->site, i, group);
        one.seconds =
            number_larger(one.seconds, costmodel_message_s(&search->judge, work, message, base));
        fitted = fitted && is_fitted(search, group, base);
    }
    one.origin = fitted ? PROVENANCE_INTERPOLATED : PROVENANCE_ANALYTIC;
    one.basis = fitted ? "link constants of the profile" : "link constants";
    one.seconds *= times / (double)message->period * prices_exposed_frac(prices, message);
    add(search, &one);
}

static void add_list(struct search *search, const struct work_items *list, const char *direction,
                     double times)
{
    const struct work_compute *joined[JOINED_MAX];
    for (uint32_t i = 0; i < list->count;) {
        if (list->items[i].is_message) {
            const struct work_message *message = &list->items[i++].message;
            (message->dim == WORK_HOST ? add_copy : add_message)(search, message, direction, times);
            continue;
        }
        uint32_t count = 0;
        do {
            joined[count++] = &list->items[i++].compute;
        } while (i < list->count && count < JOINED_MAX && !list->items[i].is_message &&
                 list->items[i].compute.joined);
        add_kernel(search, joined, count, times);
    }
}

/* --- a stage ---------------------------------------------------------------------------------- */

static void add_stage(struct search *search, uint32_t stage, double passes)
{
    const struct simulated *plan = search->plan;
    const uint32_t chunks = plan->stream.shape.chunks;
    for (uint32_t local = 0; local < chunks; local++) {
        const uint32_t chunk = plan->stream.model_chunk[stage * chunks + local];
        for (uint32_t b = 0; b < plan->work->block_count; b++) {
            const struct work_block *block = &plan->work->blocks[b];
            const double layers = (double)plan->load.counts[(size_t)chunk * WORK_BLOCK_MAX + b];
            if (layers > 0.0) {
                add_list(search, &block->forward, "forward", layers * passes);
                add_list(search, &block->backward, "backward", layers * passes);
                add_list(search, &block->gather, "per step", layers);
                add_list(search, &block->sync, "per step", layers);
                add_list(search, &block->update, "per step", layers);
            }
        }
    }
}

static int by_seconds(const void *a, const void *b)
{
    const struct contributor *x = a, *y = b;
    if (x->seconds != y->seconds) {
        return x->seconds > y->seconds ? -1 : 1;
    }
    const int names = strcmp(x->op, y->op);
    return names != 0 ? names : strcmp(x->direction, y->direction);
}

bool contributors_find(struct command *command, const struct question *question,
                       const struct verdict *verdict, struct contributors *out)
{
    struct simulated plan;
    const struct sim_options options = sim_full_options();
    struct search search = {.arena = command->arena, .plan = &plan};
    if (!simulated_build(command, question, verdict->plan, &options, &plan)) {
        return false;
    }
    costmodel_init(&search.judge, &question->problem, &question->prices, command->arena);
    *out = (struct contributors){.stage = verdict->estimate.slowest_stage};
    search.site = work_find_site(plan.work, out->stage);
    add_stage(&search, out->stage, (double)plan_count_passes(&question->problem, verdict->plan));
    costmodel_release(&search.judge);
    if (search.count > 0) {
        qsort(search.items, search.count, sizeof *search.items, by_seconds);
    }
    for (; out->count < CONTRIBUTORS_MAX && out->count < search.count &&
           search.items[out->count].seconds > 0.0;
         out->count++) {
        out->items[out->count] = search.items[out->count];
        out->items[out->count].share_frac =
            out->items[out->count].seconds / verdict->estimate.step_s;
    }
    return true;
}

void contributors_push(const struct contributors *found, struct json_writer *out)
{
    json_push_key(out, "contributors");
    json_push_array(out);
    for (uint32_t i = 0; i < found->count; i++) {
        const struct contributor *one = &found->items[i];
        json_push_object(out);
        json_push_key_string(out, "op", one->op);
        json_push_key_string(out, "direction", one->direction);
        json_push_key_u64(out, "stage", found->stage);
        json_push_key_double(out, "time_s", one->seconds);
        json_push_key_double(out, "share_frac", one->share_frac);
        json_push_key_bool(out, "beside_compute", one->beside);
        json_push_key_string(out, "provenance", prices_provenance_name(one->origin));
        json_push_key_string(out, "basis", one->basis);
        json_pop_object(out);
    }
    json_pop_array(out);
}

void contributors_dump(struct command *command, const struct contributors *found)
{
    static const char *const headings[] = {"what takes most", "direction", ">time",
                                           ">of the step",    "price",     NULL};
    struct table table;
    bool beside = false;
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < found->count; i++) {
        const struct contributor *one = &found->items[i];
        table_push(&table, "%s%s", one->op, one->beside ? " *" : "");
        table_push(&table, "%s", one->direction);
        table_push(&table, "%s", report_seconds(command->arena, one->seconds));
        table_push(&table, "%.1f %%", 100.0 * one->share_frac);
        table_push(&table, "%s: %s", prices_provenance_name(one->origin), one->basis);
        beside = beside || one->beside;
    }
    text_push(&command->out, "\n");
    table_dump(&table, &command->out);
    text_push(&command->out, "on stage %u, the slowest, all layers and micro-batches%s\n",
              found->stage, beside ? "; * beside compute" : "");
}

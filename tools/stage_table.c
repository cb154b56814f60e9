/* The stages of a judged plan as a table, one row each. */
#include "base/table.h"
#include "plan/work_site.h"
#include "tools/report.h"

#define STAGES_SHOWN 16u

static double comm_s(const struct stage_estimate *stage)
{
    double sum_s = 0.0;
    for (uint32_t i = COST_DIM; i < COST_COUNT; i++) {
        sum_s += stage->cost_s[i];
    }
    return sum_s;
}

static const char *layers_of(const struct plan_schedule *schedule, uint32_t stage,
                             struct arena *arena)
{
    struct text text;
    text_init(&text, arena);
    for (uint32_t chunk = 0; schedule->layers != NULL && chunk < schedule->chunks && chunk < 8;
         chunk++) {
        text_push(&text, "%s%u", chunk == 0 ? "" : "+",
                  schedule->layers[stage * schedule->chunks + chunk]);
    }
    text_push(&text, schedule->chunks > 8 ? "+..." : "");
    return text.bytes;
}

/* "V100-SXM2-32GB", or several: those on which the stage stands. */
static const char *kinds_of(const struct cluster *cluster, const struct work_site *site,
                            struct arena *arena)
{
    struct text text;
    text_init(&text, arena);
    for (uint32_t i = 0; i < site->kind_count; i++) {
        text_push(&text, "%s%s", i == 0 ? "" : "+", cluster->accelerators[site->kinds[i]].name);
    }
    return text.bytes;
}

static void push_stage(struct command *command, const struct verdict *verdict, uint32_t index,
                       struct table *table)
{
    struct arena *arena = command->arena;
    const struct stage_estimate *stage = &verdict->estimate.stages[index];
    const double *cost_s = stage->cost_s;
    table_push(table, "%u", index);
    table_push(table, "%s", layers_of(&verdict->plan->schedule, index, arena));
    table_push(table, "%s", report_seconds(arena, cost_s[COST_COMPUTE] + cost_s[COST_RECOMPUTE]));
    table_push(table, "%s", report_seconds(arena, comm_s(stage)));
    table_push(table, "%s", report_seconds(arena, cost_s[COST_BUBBLE]));
    table_push(table, "%s", report_seconds(arena, cost_s[COST_OPTIMIZER] + cost_s[COST_OVERHEAD]));
    table_push(table, "%s", report_bytes(arena, stage->peak_bytes));
}

void report_dump_stages(struct command *command, const struct question *question,
                        const struct verdict *verdict)
{
    static const char *const headings[] = {">stage", ">layers",   ">compute", ">communication",
                                           ">idle",  ">the rest", ">memory",  NULL};
    static const char *const mixed_headings[] = {">stage",         ">layers", ">compute",
                                                 ">communication", ">idle",   ">the rest",
                                                 ">memory",        "on",      NULL};
    const uint32_t count = verdict->estimate.stage_count;
    const uint32_t shown = count > STAGES_SHOWN ? STAGES_SHOWN : count;
    struct table table;
    if (count < 2) {
        return;
    }
    struct work_sites sites;
    work_sites_build(&question->problem, verdict->plan, command->arena, &sites);
    table_init(&table, command->arena, sites.count > 0 ? mixed_headings : headings);
    for (uint32_t i = 0; i < shown; i++) {
        const uint32_t stage = i + 1 < shown ? i : count - 1;
        push_stage(command, verdict, stage, &table);
        if (sites.count > 0) {
            table_push(
                &table, "%s",
                kinds_of(&question->cluster, &sites.items[sites.of_stage[stage]], command->arena));
        }
    }
    text_push(&command->out, "\n");
    table_dump(&table, &command->out);
    if (shown < count) {
        text_push(&command->out, "stages %u to %u are left out here; --json has all\n", shown - 1,
                  count - 2);
    }
}

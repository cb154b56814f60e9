/* Where each rank sits: a table of ranks, their devices, their coordinates along every dimension.
 */
#include <string.h>

#include "exports/exporter.h"

extern const struct exporter exporter_rank_map;

#define COLUMN_MAX (2 * DIM_MAX)

struct columns {
    const char *names[COLUMN_MAX];
    uint32_t count;
};

static const char *name_of(const struct mesh_dim *mesh)
{
    return mesh->dim != NULL ? mesh->dim->name : mesh->declared;
}

static void add(struct columns *columns, const char *name)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        if (strcmp(columns->names[i], name) == 0)
            return;
    }
    if (columns->count == COLUMN_MAX)
        BUG("more than %d dimensions in the groups of one plan", COLUMN_MAX);
    columns->names[columns->count++] = name;
}

/* Every dimension of any group, in the order in which they first appear. */
static void collect(const struct plan *plan, struct columns *out)
{
    out->count = 0;
    for (uint32_t g = 0; g < plan->group_count; g++) {
        for (uint32_t i = 0; i < plan->groups[g].mesh_count; i++)
            add(out, name_of(&plan->groups[g].mesh[i]));
        for (uint32_t i = 0; i < plan->groups[g].fold_count; i++)
            add(out, plan->groups[g].folds[i].dim->name);
    }
}

/* The place-th device of the group: over its slices, or in cluster order. */
static uint32_t device_of(const struct group *group, uint32_t rank)
{
    uint32_t place = group->coordinates != NULL ? group->coordinates[rank] : rank;
    for (uint32_t i = 0; i < group->slice_count; i++) {
        if (place < group->slices[i].device_count)
            return group->slices[i].first_device + place;
        place -= group->slices[i].device_count;
    }
    return place;
}

static bool hosts(const struct dim *dim, const char *name)
{
    for (uint32_t i = 0; i < 3 && dim->hosts[i] != NULL; i++) {
        if (strcmp(dim->hosts[i], name) == 0)
            return true;
    }
    return false;
}

/* A fold counts through the ranks of its hosts, the innermost first. */
static uint32_t fold_coordinate(const struct group *group, const struct mesh_fold *fold,
                                uint32_t rank)
{
    uint32_t place = 0, scale = 1;
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        const struct mesh_dim *mesh = &group->mesh[i];
        if (hosts(fold->dim, name_of(mesh))) {
            place += rank % mesh->degree * scale;
            scale *= mesh->degree;
        }
        rank /= mesh->degree;
    }
    return place % fold->degree;
}

static void push_coordinate(const struct group *group, const char *name, uint32_t rank,
                            struct text *out)
{
    uint32_t rest = rank;
    text_push(out, ",");
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        if (strcmp(name_of(&group->mesh[i]), name) == 0)
            text_push(out, "%u", rest % group->mesh[i].degree);
        rest /= group->mesh[i].degree;
    }
    for (uint32_t i = 0; i < group->fold_count; i++) {
        if (strcmp(group->folds[i].dim->name, name) == 0)
            text_push(out, "%u", fold_coordinate(group, &group->folds[i], rank));
    }
}

static void write_group(const struct problem *problem, const struct group *group, uint32_t index,
                        const struct columns *columns, struct text *out)
{
    uint32_t ranks = 1;
    for (uint32_t i = 0; i < group->mesh_count; i++)
        ranks *= group->mesh[i].degree;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const uint32_t device = device_of(group, rank);
        text_push(out, "%u,%u,%u,%s", index, rank, device,
                  problem->cluster->node_count > 0 ? problem->cluster->nodes[device].id : "");
        for (uint32_t i = 0; i < columns->count; i++)
            push_coordinate(group, columns->names[i], rank, out);
        text_push(out, "\n");
    }
}

static void write(const struct problem *problem, const struct plan *plan, bool script,
                  struct text *out)
{
    struct columns columns;
    (void)script;
    collect(plan, &columns);
    text_push(out, "group,rank,device,id");
    for (uint32_t i = 0; i < columns.count; i++)
        text_push(out, ",%s", columns.names[i]);
    text_push(out, "\n");
    for (uint32_t g = 0; g < plan->group_count; g++)
        write_group(problem, &plan->groups[g], g, &columns, out);
}

const struct exporter exporter_rank_map = {
    .name = "rank-map",
    .summary = "the device and the coordinates of every rank, as CSV",
    .write = write,
};

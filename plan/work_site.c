/* Stages by the kinds of device on which their ranks sit. */
#include "plan/work_site.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "plan/work.h"

/* --- places as devices ------------------------------------------------------------------------ */

static uint32_t find_sliced(const struct group *group, uint32_t place)
{
    for (uint32_t i = 0; i < group->slice_count; i++) {
        if (place < group->slices[i].device_count) {
            return group->slices[i].first_device + place;
        }
        place -= group->slices[i].device_count;
    }
    assert(group->slice_count == 0);
    return place;
}

/* NULL: places are devices. */
static const struct rank_map *build_map(const struct problem *problem, const struct plan *plan,
                                        struct arena *arena)
{
    const struct group *group = &plan->groups[0];
    if (group->slice_count == 0 && group->coordinates == NULL) {
        return NULL;
    }
    const uint32_t count = (uint32_t)plan_count_devices(plan);
    uint32_t *devices = ARENA_PUSH(arena, uint32_t, count);
    bool moved = false;
    for (uint32_t rank = 0; rank < count; rank++) {
        devices[rank] =
            find_sliced(group, group->coordinates == NULL ? rank : group->coordinates[rank]);
        assert(devices[rank] < problem->cluster->device_count);
        moved = moved || devices[rank] != rank;
    }
    if (!moved) {
        return NULL;
    }
    struct rank_map *map = ARENA_PUSH(arena, struct rank_map, 1);
    *map = (struct rank_map){count, devices,
                             text_digest(TEXT_DIGEST_SEED, devices, count * sizeof *devices)};
    return map;
}

/* --- sites ------------------------------------------------------------------------------------ */

struct survey {
    const struct cluster *cluster;
    const struct rank_map *map;
    uint32_t stages, stride, places;
};

static uint32_t kind_of(const struct survey *survey, uint32_t place)
{
    const uint32_t device = survey->map == NULL ? place : survey->map->devices[place];
    return survey->cluster->device_kind == NULL ? 0 : survey->cluster->device_kind[device];
}

/* First place of each kind on the stage, or NO_INDEX. */
static void look_at_stage(const struct survey *survey, uint32_t stage, uint32_t *first)
{
    memset(first, 0xff, survey->cluster->accelerator_count * sizeof *first);
    for (uint32_t place = stage * survey->stride; place < survey->places;
         place += survey->stages * survey->stride) {
        for (uint32_t i = 0; i < survey->stride; i++) {
            const uint32_t kind = kind_of(survey, place + i);
            first[kind] = first[kind] == NO_INDEX ? place + i : first[kind];
        }
    }
}

static bool has_kinds(const struct work_site *site, const uint32_t *first, uint32_t kinds)
{
    uint32_t count = 0;
    for (uint32_t kind = 0; kind < kinds; kind++) {
        if (first[kind] != NO_INDEX &&
            (count == site->kind_count || site->kinds[count++] != kind)) {
            return false;
        }
    }
    return count == site->kind_count;
}

static struct work_site new_site(uint32_t stage, const uint32_t *first, uint32_t kinds,
                                 struct arena *arena)
{
    uint32_t *own = ARENA_PUSH(arena, uint32_t, kinds),
             *places = ARENA_PUSH(arena, uint32_t, kinds);
    uint32_t count = 0;
    for (uint32_t kind = 0; kind < kinds; kind++) {
        if (first[kind] != NO_INDEX) {
            own[count] = kind;
            places[count++] = first[kind];
        }
    }
    return (struct work_site){stage, count, own, places};
}

static uint32_t chain_stride(const struct plan *plan)
{
    const struct group *group = &plan->groups[0];
    uint32_t stride = 1;
    for (uint32_t i = 0; i < group->mesh_count && !group->mesh[i].dim->cuts_chain; i++) {
        stride *= group->mesh[i].degree;
    }
    return stride;
}

static void list_sites(const struct survey *survey, struct arena *arena, struct work_sites *out)
{
    const uint32_t kinds = survey->cluster->accelerator_count;
    struct work_site *items = ARENA_PUSH(arena, struct work_site, survey->stages);
    uint32_t *of_stage = ARENA_PUSH(arena, uint32_t, survey->stages);
    uint32_t *first = ARENA_PUSH(arena, uint32_t, kinds);
    for (uint32_t stage = 0; stage < survey->stages; stage++) {
        look_at_stage(survey, stage, first);
        uint32_t site = 0;
        while (site < out->count && !has_kinds(&items[site], first, kinds)) {
            site++;
        }
        if (site == out->count) {
            items[out->count++] = new_site(stage, first, kinds, arena);
        }
        of_stage[stage] = site;
    }
    out->items = items;
    out->of_stage = of_stage;
}

void work_sites_build(const struct problem *problem, const struct plan *plan, struct arena *arena,
                      struct work_sites *out)
{
    *out =
        (struct work_sites){.map = build_map(problem, plan, arena), .stride = chain_stride(plan)};
    const struct survey survey = {problem->cluster, out->map, plan_count_stages(plan), out->stride,
                                  (uint32_t)plan_count_devices(plan)};
    if (problem->cluster->accelerator_count > 1) {
        list_sites(&survey, arena, out);
    }
}

void work_sites_split(struct work *work, struct arena *arena)
{
    const uint32_t kinds = work->problem->cluster->accelerator_count;
    if (work->sites.count == 0) {
        return;
    }
    struct work_site *items = ARENA_PUSH(arena, struct work_site, kinds);
    uint32_t *own = ARENA_PUSH(arena, uint32_t, kinds),
             *places = ARENA_PUSH(arena, uint32_t, kinds);
    for (uint32_t kind = 0; kind < kinds; kind++) {
        own[kind] = kind;
        places[kind] = 0;
        items[kind] = (struct work_site){0, 1, &own[kind], &places[kind]};
    }
    work->sites.count = kinds;
    work->sites.items = items;
    work->sites.of_stage = NULL;
}

uint32_t work_find_pair(const struct work *work, uint32_t stage, uint32_t i)
{
    if (work->sites.count == 0) {
        return stage * work->sites.stride;
    }
    const struct work_site *site = &work->sites.items[work_find_site(work, stage)];
    return site->places[i] + (stage - site->stage) * work->sites.stride;
}

double work_capacity_bytes(const struct work *work, uint32_t site)
{
    const struct accelerator *kinds = work->problem->cluster->accelerators;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < work_count_kinds(work, site); i++) {
        const uint64_t own = kinds[work_find_kind(work, site, i)].memory_bytes;
        least = own < least ? own : least;
    }
    return (double)least * (1.0 - work->problem->setup->memory_headroom_frac);
}

double work_host_bytes(const struct work *work, uint32_t site)
{
    const struct accelerator *kinds = work->problem->cluster->accelerators;
    double least = host_share_bytes(&kinds[work_find_kind(work, site, 0)].host);
    for (uint32_t i = 1; i < work_count_kinds(work, site); i++) {
        const double own = host_share_bytes(&kinds[work_find_kind(work, site, i)].host);
        least = own < least ? own : least;
    }
    return least;
}

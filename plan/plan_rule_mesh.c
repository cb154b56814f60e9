/* Is each mesh one that its devices, folds and runtime can hold? */
#include "plan/plan_rule.h"

#include <string.h>

const char *plan_rule_dim_name(const struct mesh_dim *mesh)
{
    return mesh->dim != NULL ? mesh->dim->name : mesh->declared;
}

const char *plan_rule_where(const struct group *group, struct arena *arena)
{
    return group->name == NULL ? "" : text_build(arena, " in group '%s'", group->name);
}

uint64_t plan_rule_count_devices(const struct group *group, const struct cluster *cluster)
{
    uint64_t devices = 0;
    for (uint32_t i = 0; i < group->slice_count; i++)
        devices += group->slices[i].device_count;
    return group->slice_count == 0 ? cluster->device_count : devices;
}

uint64_t plan_rule_count_degrees(const struct group *group)
{
    uint64_t product = 1;
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        const uint64_t degree = group->mesh[i].degree;
        if (degree != 0 && product > UINT64_MAX / degree)
            return UINT64_MAX;
        product *= degree;
    }
    return product;
}

static const char *where(const struct plan_rules *rules, const struct group *group)
{
    return rules->diag == NULL ? "" : plan_rule_where(group, rules->diag->arena);
}

static void check_accepted(struct plan_rules *rules, const struct dim *dim, uint32_t variant)
{
    const struct runtime *runtime = rules->problem->setup->runtime;
    if (!runtime_accepts_dim(runtime, dim->name))
        plan_rule_break(rules, DIAG_P420,
                        plan_rule_hint(rules, "set %s to 1 or name another runtime", dim->name),
                        "runtime '%s' has no dimension %s", runtime->name, dim->name);
    else if (!runtime_accepts_variant(runtime, dim->variants[variant].name))
        plan_rule_break(rules, DIAG_P420,
                        plan_rule_hint(rules, "name another variant, or set %s to 1", dim->name),
                        "runtime '%s' does not know the variant '%s' of %s", runtime->name,
                        dim->variants[variant].name, dim->name);
}

static void check_mesh_dim(struct plan_rules *rules, const struct group *group, uint32_t index)
{
    const struct mesh_dim *mesh = &group->mesh[index];
    const char *name = plan_rule_dim_name(mesh);
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(plan_rule_dim_name(&group->mesh[i]), name) == 0)
            plan_rule_break(rules, DIAG_P411, NULL, "dimension %s stands twice in the mesh%s", name,
                            where(rules, group));
    }
    if (mesh->degree == 0)
        plan_rule_break(rules, DIAG_P411, NULL, "dimension %s has degree 0%s: 1 switches it off",
                        name, where(rules, group));
    if (mesh->dim == NULL)
        return;
    if (mesh->dim->kind != DIM_FACTOR)
        plan_rule_break(rules, DIAG_P411, "write it under \"folds\"",
                        "dimension %s reuses the ranks of others, so it cannot stand in the mesh%s",
                        name, where(rules, group));
    if (mesh->degree > 1)
        check_accepted(rules, mesh->dim, mesh->variant);
}

static bool is_host(const struct dim *fold, const struct mesh_dim *mesh)
{
    for (uint32_t host = 0; host < 3 && fold->hosts[host] != NULL; host++) {
        if (strcmp(plan_rule_dim_name(mesh), fold->hosts[host]) == 0)
            return true;
    }
    return false;
}

/* Ranks of all hosts of a fold together. */
static uint64_t host_ranks(const struct group *group, const struct dim *dim)
{
    uint64_t ranks = 1;
    for (uint32_t i = 0; i < group->mesh_count; i++)
        ranks *= is_host(dim, &group->mesh[i]) ? group->mesh[i].degree : 1;
    return ranks;
}

static const char *host_names(const struct plan_rules *rules, const struct dim *dim)
{
    if (rules->diag == NULL)
        return "";
    struct text text;
    text_init(&text, rules->diag->arena);
    for (uint32_t host = 0; host < 3 && dim->hosts[host] != NULL; host++)
        text_push(&text, "%s%s", host == 0 ? "" : " x ", dim->hosts[host]);
    return text.bytes;
}

/* A fold that replaces its hosts' cuts takes their ranks from the inside out: whole hosts, then an
 * even part of one. */
static bool nests(const struct group *group, const struct mesh_fold *fold)
{
    uint32_t left = fold->degree;
    for (uint32_t i = 0; i < group->mesh_count && left > 1; i++) {
        const uint32_t degree = group->mesh[i].degree;
        if (!is_host(fold->dim, &group->mesh[i]) || degree == 0)
            continue;
        if (left < degree)
            return degree % left == 0;
        if (left % degree != 0)
            return false;
        left /= degree;
    }
    return left == 1;
}

static void check_fold(struct plan_rules *rules, const struct group *group, uint32_t index)
{
    const struct mesh_fold *fold = &group->folds[index];
    const struct dim *dim = fold->dim;
    const uint64_t ranks = host_ranks(group, dim);
    for (uint32_t i = 0; i < index; i++) {
        if (group->folds[i].dim == dim)
            plan_rule_break(rules, DIAG_P412, NULL, "dimension %s is folded twice%s", dim->name,
                            where(rules, group));
    }
    if (dim->kind == DIM_FACTOR) {
        plan_rule_break(rules, DIAG_P412, "write it in the mesh",
                        "dimension %s has ranks of its own, it is no fold", dim->name);
    } else if (fold->degree == 0 || ranks % fold->degree != 0) {
        plan_rule_break(
            rules, DIAG_P412,
            plan_rule_hint(rules, "a degree that divides %llu", (unsigned long long)ranks),
            "%s %u does not divide the %llu ranks of %s that it reuses%s", dim->name, fold->degree,
            (unsigned long long)ranks, host_names(rules, dim), where(rules, group));
    } else if (dim->kind == DIM_FOLD_INSTEAD && !nests(group, fold)) {
        plan_rule_break(rules, DIAG_P412,
                        "take whole hosts from the inside out, then an even part of the next one",
                        "%s %u does not nest in the ranks of %s%s", dim->name, fold->degree,
                        host_names(rules, dim), where(rules, group));
    } else if (dim->on_or_off && fold->degree != 1 && fold->degree != ranks) {
        plan_rule_break(rules, DIAG_P412, NULL,
                        "%s is over all %llu ranks of %s or off (1), not %u%s", dim->name,
                        (unsigned long long)ranks, host_names(rules, dim), fold->degree,
                        where(rules, group));
    }
    if (dim->kind != DIM_FACTOR && fold->degree > 1)
        check_accepted(rules, dim, 0);
}

/* Compute claimed on one device by all slices of all groups that share devices by fractions. */
static double claimed_frac(const struct plan *plan, uint32_t device)
{
    double sum = 0;
    for (uint32_t g = 0; g < plan->group_count; g++) {
        for (uint32_t i = 0; i < plan->groups[g].slice_count; i++) {
            const struct slice_range *slice = &plan->groups[g].slices[i];
            if (device >= slice->first_device && device - slice->first_device < slice->device_count)
                sum += slice->compute_frac;
        }
    }
    return sum;
}

static void check_slice(struct plan_rules *rules, const struct group *group,
                        const struct slice_range *slice)
{
    const uint32_t devices = rules->problem->cluster->device_count;
    if (slice->device_count == 0 || slice->first_device >= devices ||
        slice->device_count > devices - slice->first_device)
        plan_rule_break(rules, DIAG_P410, plan_rule_hint(rules, "devices are 0 to %u", devices - 1),
                        "devices %u to %u%s are not all in cluster '%s'", slice->first_device,
                        slice->first_device + slice->device_count - 1, where(rules, group),
                        rules->problem->cluster->name);
    if (!(slice->compute_frac > 0 && slice->compute_frac <= 1))
        plan_rule_break(rules, DIAG_P410, NULL,
                        "a slice%s takes %g of a device: it must be above 0, at most 1",
                        where(rules, group), slice->compute_frac);
    else if (slice->compute_frac < 1 && claimed_frac(rules->plan, slice->first_device) > 1 + 1e-9)
        plan_rule_break(rules, DIAG_P410, NULL,
                        "the slices of device %u claim %g of it together: at most 1",
                        slice->first_device, claimed_frac(rules->plan, slice->first_device));
}

/* Two slices that share devices: the first device of one is in the other. */
static void check_apart(struct plan_rules *rules, const struct group *group)
{
    for (uint32_t i = 0; i < group->slice_count; i++) {
        const struct slice_range *one = &group->slices[i];
        for (uint32_t k = 0; k < group->slice_count; k++) {
            const struct slice_range *other = &group->slices[k];
            if (k != i && one->compute_frac == 1 && one->first_device >= other->first_device &&
                one->first_device - other->first_device < other->device_count &&
                (one->first_device > other->first_device || i < k))
                plan_rule_break(rules, DIAG_P410, "name every device once",
                                "device %u%s stands in two slices", one->first_device,
                                where(rules, group));
        }
    }
}

void plan_rule_slices(struct plan_rules *rules, const struct group *group)
{
    for (uint32_t i = 0; i < group->slice_count; i++)
        check_slice(rules, group, &group->slices[i]);
    check_apart(rules, group);
}

static void check_devices(struct plan_rules *rules, const struct group *group)
{
    const struct cluster *cluster = rules->problem->cluster;
    const uint64_t have = plan_rule_count_devices(group, cluster),
                   used = plan_rule_count_degrees(group);
    const uint64_t spare = group->slice_count == 0 ? rules->problem->setup->spare_devices : 0;
    plan_rule_slices(rules, group);
    if (used > have)
        plan_rule_break(rules, DIAG_P413, "lower a degree, or name a larger cluster",
                        "the degrees%s multiply to %llu devices, but there are %llu",
                        where(rules, group), (unsigned long long)used, (unsigned long long)have);
    else if (have - used > spare)
        plan_rule_break(rules, DIAG_P413,
                        plan_rule_hint(rules, "raise a degree, or state %llu spare devices",
                                       (unsigned long long)(have - used)),
                        "the degrees%s multiply to %llu devices of %llu: %llu would idle",
                        where(rules, group), (unsigned long long)used, (unsigned long long)have,
                        (unsigned long long)(have - used));
    for (uint64_t i = 0; group->coordinates != NULL && i < have; i++) {
        if (group->coordinates[i] >= have)
            plan_rule_break(rules, DIAG_P410, NULL,
                            "coordinate %u%s is no place among %llu devices", group->coordinates[i],
                            where(rules, group), (unsigned long long)have);
    }
}

static void check_shares(struct plan_rules *rules, const struct group *group,
                         const struct dim_shares *shares)
{
    double sum = 0;
    uint32_t degree = 0;
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        if (strcmp(plan_rule_dim_name(&group->mesh[i]), shares->dim) == 0)
            degree = group->mesh[i].degree;
    }
    for (uint32_t i = 0; i < shares->count; i++)
        sum += shares->fracs[i];
    if (degree != shares->count)
        plan_rule_break(rules, DIAG_P414, NULL,
                        "%u shares are given along %s%s, which has degree %u: one per rank",
                        shares->count, shares->dim, where(rules, group), degree);
    if (sum < 1 - 1e-6 || sum > 1 + 1e-6)
        plan_rule_break(rules, DIAG_P414, NULL,
                        "the shares along %s%s sum to %g: they must sum to 1", shares->dim,
                        where(rules, group), sum);
}

void plan_rule_mesh(struct plan_rules *rules)
{
    for (uint32_t g = 0; g < rules->plan->group_count && !plan_rule_is_settled(rules); g++) {
        const struct group *group = &rules->plan->groups[g];
        for (uint32_t i = 0; i < group->mesh_count; i++)
            check_mesh_dim(rules, group, i);
        for (uint32_t i = 0; i < group->fold_count; i++)
            check_fold(rules, group, i);
        for (uint32_t i = 0; i < group->share_count; i++)
            check_shares(rules, group, &group->shares[i]);
        check_devices(rules, group);
        plan_rule_needs(rules, group);
    }
}

/* Where a plan puts work: groups of device slices with their meshes. */
#include <string.h>

#include "plan/plan_parts.h"
#include "plan/plan_rule.h"

bool plan_parts_list(struct json_value object, const char *key, struct json_value *out,
                     uint32_t *count, struct diag *diag)
{
    *out = json_find(object, key);
    *count = json_is_array(*out) ? json_count(*out) : 0;
    if (json_is_null(*out) || json_is_array(*out))
        return true;
    return diag_push(diag, DIAG_B107, json_place(*out), NULL, "%s must be a list", key);
}

bool plan_parts_range(struct json_value object, const char *key, struct arena *arena,
                      uint32_t *first, uint32_t *count, struct diag *diag)
{
    const char *text = NULL;
    uint64_t range[2] = {0};
    if (!json_read_string(object, key, arena, &text, diag))
        return false;
    if (!plan_rule_read_range(text, range) || range[1] < range[0] || range[1] >= UINT32_MAX)
        return diag_push(diag, DIAG_B108, json_place(json_find(object, key)),
                         "write one, \"7\", or a range, \"0-15\"", "%s '%s' is no range", key,
                         text);
    *first = (uint32_t)range[0];
    *count = (uint32_t)(range[1] - range[0] + 1);
    return true;
}

/* The hosts of a fold may be left out; those written must be the dim's own. */
static bool check_hosts(struct json_value object, const struct dim *dim, struct diag *diag)
{
    struct json_value list;
    uint32_t count = 0, hosts = 0;
    if (!plan_parts_list(object, "on", &list, &count, diag))
        return false;
    while (hosts < 3 && dim->hosts[hosts] != NULL)
        hosts++;
    bool same = count == 0 || count == hosts;
    for (uint32_t i = 0; same && i < count; i++) {
        const char *name = NULL;
        same =
            json_value_string(json_find_index(list, i), &name) && strcmp(name, dim->hosts[i]) == 0;
    }
    if (same)
        return true;
    return diag_push(diag, DIAG_P412, json_place(list), NULL, "%s folds on %s%s%s", dim->name,
                     hosts > 0 ? dim->hosts[0] : "nothing", hosts > 1 ? ", " : "",
                     hosts > 1 ? dim->hosts[1] : "");
}

static bool read_variant(struct json_value object, const struct dim *dim, uint32_t *out,
                         struct diag *diag)
{
    const char *names[DIM_VARIANT_MAX + 1] = {NULL};
    *out = 0;
    if (json_is_null(json_find(object, "variant")))
        return true;
    for (uint32_t i = 0; i < dim->variant_count; i++)
        names[i] = dim->variants[i].name == NULL ? "" : dim->variants[i].name;
    return json_read_choice(object, "variant", names, out, diag);
}

static bool read_mesh_dim(struct json_value object, struct arena *arena, struct mesh_dim *out,
                          struct diag *diag)
{
    static const char *const keys[] = {"dim", "degree", "variant", "axis", NULL};
    uint32_t index = 0;
    bool good = json_check_keys(object, keys, diag);
    good = json_read_u32(object, "degree", 1, PLAN_DEGREE_MAX, &out->degree, diag) && good;
    if (!json_is_absent(json_find(object, "axis"))) {
        good = json_read_string(object, "dim", arena, &out->declared, diag) && good;
        return json_read_string(object, "axis", arena, &out->axis, diag) && good;
    }
    if (!json_read_choice(object, "dim", dim_names(), &index, diag))
        return false;
    out->dim = dim_table[index];
    return read_variant(object, out->dim, &out->variant, diag) && good;
}

static uint32_t host_ranks(const struct group *group, const struct dim *dim)
{
    uint64_t ranks = 1;
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        for (uint32_t host = 0; host < 3 && dim->hosts[host] != NULL && group->mesh[i].dim != NULL;
             host++) {
            if (strcmp(group->mesh[i].dim->name, dim->hosts[host]) == 0)
                ranks *= group->mesh[i].degree;
        }
    }
    return ranks > UINT32_MAX ? UINT32_MAX : (uint32_t)ranks;
}

static bool read_fold(struct json_value object, const struct group *group, struct mesh_fold *out,
                      struct diag *diag)
{
    static const char *const keys[] = {"dim", "on", "degree", NULL};
    uint32_t index = 0;
    bool good = json_check_keys(object, keys, diag);
    if (!json_read_choice(object, "dim", dim_names(), &index, diag))
        return false;
    out->dim = dim_table[index];
    good = check_hosts(object, out->dim, diag) && good;
    if (out->dim->on_or_off)
        return json_read_u32_or(object, "degree", 1, PLAN_DEGREE_MAX, host_ranks(group, out->dim),
                                &out->degree, diag) &&
               good;
    return json_read_u32(object, "degree", 1, PLAN_DEGREE_MAX, &out->degree, diag) && good;
}

static bool read_mesh(struct json_value object, struct arena *arena, struct group *out,
                      struct diag *diag)
{
    struct json_value mesh, folds;
    bool good = plan_parts_list(object, "mesh", &mesh, &out->mesh_count, diag);
    good = plan_parts_list(object, "folds", &folds, &out->fold_count, diag) && good;
    if (out->mesh_count > DIM_MAX || out->fold_count > DIM_MAX) {
        out->mesh_count = out->fold_count = 0;
        return diag_push(diag, DIAG_B108, json_place(object), NULL,
                         "a mesh has at most %d dimensions and as many folds", DIM_MAX);
    }
    for (uint32_t i = 0; i < out->mesh_count; i++)
        good = read_mesh_dim(json_find_index(mesh, i), arena, &out->mesh[i], diag) && good;
    for (uint32_t i = 0; good && i < out->fold_count; i++)
        good = read_fold(json_find_index(folds, i), out, &out->folds[i], diag);
    return good;
}

static bool read_slice(struct json_value object, struct arena *arena, struct slice_range *out,
                       struct diag *diag)
{
    static const char *const keys[] = {"devices", "compute_frac", "memory", NULL};
    double memory_bytes = 0;
    bool good = json_check_keys(object, keys, diag);
    good =
        plan_parts_range(object, "devices", arena, &out->first_device, &out->device_count, diag) &&
        good;
    good = json_read_double_or(object, "compute_frac", 0, 1, 1, &out->compute_frac, diag) && good;
    good = json_read_quantity_or(object, "memory", UNIT_BYTES, 0, &memory_bytes, diag) && good;
    if (memory_bytes > 1e18)
        return diag_push(diag, DIAG_B108, json_place(json_find(object, "memory")), NULL,
                         "memory must be below 1e18 bytes");
    out->memory_bytes = (uint64_t)memory_bytes;
    return good;
}

static bool read_slices(struct json_value object, struct arena *arena, struct group *out,
                        struct diag *diag)
{
    struct json_value list;
    if (!plan_parts_list(object, "slices", &list, &out->slice_count, diag))
        return false;
    out->slices = ARENA_PUSH(arena, struct slice_range, out->slice_count);
    bool good = true;
    for (uint32_t i = 0; i < out->slice_count; i++)
        good = read_slice(json_find_index(list, i), arena, &out->slices[i], diag) && good;
    return good;
}

/* rank -> place among the group's devices: every place once. */
static bool read_coordinates(struct json_value object, struct arena *arena, struct group *out,
                             struct diag *diag)
{
    struct json_value list;
    uint32_t count = 0;
    uint64_t devices = 0;
    if (!plan_parts_list(object, "coordinates", &list, &count, diag))
        return false;
    if (count == 0)
        return true;
    for (uint32_t i = 0; i < out->slice_count; i++)
        devices += out->slices[i].device_count;
    if (devices != count)
        return diag_push(diag, DIAG_P403, json_place(list),
                         "state \"slices\", then one place per device",
                         "%u coordinates are given for the %llu devices of the slices", count,
                         (unsigned long long)devices);
    bool *seen = ARENA_PUSH(arena, bool, count);
    out->coordinates = ARENA_PUSH(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t place = 0;
        struct json_value element = json_find_index(list, i);
        if (!json_value_u64(element, &place) || place >= count || seen[place])
            return diag_push(diag, DIAG_P403, json_place(element), NULL,
                             "coordinate %u must be a place below %u that no other rank has", i,
                             count);
        seen[place] = true;
        out->coordinates[i] = (uint32_t)place;
    }
    return true;
}

static bool read_cuts(struct json_value object, struct arena *arena, struct group *out,
                      struct diag *diag)
{
    static const char *const keys[] = {"parts", "dim", "axis", NULL};
    struct json_value list;
    if (!plan_parts_list(object, "cuts", &list, &out->cut_count, diag))
        return false;
    out->cuts = ARENA_PUSH(arena, struct cut_override, out->cut_count);
    bool good = true;
    for (uint32_t i = 0; i < out->cut_count; i++) {
        struct json_value element = json_find_index(list, i);
        good = json_check_keys(element, keys, diag) && good;
        good = json_read_string(element, "parts", arena, &out->cuts[i].parts, diag) && good;
        good = json_read_string(element, "dim", arena, &out->cuts[i].dim, diag) && good;
        good = json_read_string(element, "axis", arena, &out->cuts[i].axis, diag) && good;
    }
    return good;
}

static bool read_share(struct json_value object, struct arena *arena, struct dim_shares *out,
                       struct diag *diag)
{
    static const char *const keys[] = {"dim", "fracs", NULL};
    struct json_value list;
    bool good = json_check_keys(object, keys, diag);
    good = json_read_string(object, "dim", arena, &out->dim, diag) && good;
    good = plan_parts_list(object, "fracs", &list, &out->count, diag) && good;
    out->fracs = ARENA_PUSH(arena, double, out->count);
    for (uint32_t i = 0; i < out->count; i++) {
        struct json_value element = json_find_index(list, i);
        if (!json_value_double(element, &out->fracs[i]) ||
            !(out->fracs[i] >= 0 && out->fracs[i] <= 1))
            return diag_push(diag, DIAG_B108, json_place(element), NULL,
                             "fracs must hold shares from 0 to 1");
    }
    return good;
}

static bool read_shares(struct json_value object, struct arena *arena, struct group *out,
                        struct diag *diag)
{
    struct json_value list;
    if (!plan_parts_list(object, "shares", &list, &out->share_count, diag))
        return false;
    out->shares = ARENA_PUSH(arena, struct dim_shares, out->share_count);
    bool good = true;
    for (uint32_t i = 0; i < out->share_count; i++)
        good = read_share(json_find_index(list, i), arena, &out->shares[i], diag) && good;
    return good;
}

static bool read_group(struct json_value object, struct arena *arena, struct group *out,
                       struct diag *diag)
{
    bool good = read_mesh(object, arena, out, diag);
    good = read_slices(object, arena, out, diag) && good;
    good = good && read_coordinates(object, arena, out, diag);
    good = read_cuts(object, arena, out, diag) && good;
    return read_shares(object, arena, out, diag) && good;
}

static bool read_named_group(struct json_value object, struct arena *arena, struct group *out,
                             struct diag *diag)
{
    static const char *const keys[] = {"name",  "slices", "coordinates", "mesh",
                                       "folds", "cuts",   "shares",      NULL};
    bool good = json_check_keys(object, keys, diag);
    good = json_read_string(object, "name", arena, &out->name, diag) && good;
    return read_group(object, arena, out, diag) && good;
}

/* What belongs into a group may not stand at the top beside groups. */
static bool check_alone(struct json_value object, struct diag *diag)
{
    static const char *const inside[] = {"mesh",        "folds", "slices",
                                         "coordinates", "cuts",  "shares"};
    for (uint32_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        struct json_value value = json_find(object, inside[i]);
        if (!json_is_null(value))
            return diag_push(diag, DIAG_P411, json_place(value), "move it into a group",
                             "\"%s\" stands at the top of a plan that has \"groups\"", inside[i]);
    }
    return true;
}

bool plan_read_groups(struct json_value object, struct arena *arena, struct plan *out,
                      struct diag *diag)
{
    struct json_value list = json_find(object, "groups");
    if (json_is_null(list)) {
        out->group_count = 1;
        out->groups = ARENA_PUSH(arena, struct group, 1);
        return read_group(object, arena, &out->groups[0], diag);
    }
    if (!check_alone(object, diag))
        return false;
    if (!plan_parts_list(object, "groups", &list, &out->group_count, diag))
        return false;
    out->groups = ARENA_PUSH(arena, struct group, out->group_count);
    bool good = true;
    for (uint32_t i = 0; i < out->group_count; i++)
        good = read_named_group(json_find_index(list, i), arena, &out->groups[i], diag) && good;
    return good;
}

/* Clusters that are a hierarchy of levels. */
#include "topologies/cluster_parts.h"

#include <assert.h>
#include <float.h>

#include "base/text.h"
#include "topologies/member.h"

#define DEGREE_MAX 100000000u

const char *const cluster_level_kind_names[LEVEL_KIND_COUNT + 1] = {[LEVEL_SWITCH] = "switch",
                                                                    [LEVEL_FULLMESH] = "fullmesh",
                                                                    [LEVEL_RING] = "ring",
                                                                    [LEVEL_MESH] = "mesh",
                                                                    [LEVEL_TORUS] = "torus"};

/* --- reading ---------------------------------------------------------------------------------- */

/* {"shape": [16, 16]}: sizes of the axes, the first fastest. */
static bool read_shape(struct json_value value, struct level *out, struct diag *diag)
{
    struct json_value shape;
    if (!member_read_array(value, "shape", "the sizes of the axes, as in [16, 16]", &shape, diag)) {
        return false;
    }
    const uint32_t axes = json_count(shape);
    bool good = axes >= 1 && axes <= LEVEL_AXIS_MAX;
    uint64_t degree = 1;
    for (uint32_t i = 0; good && i < axes; i++) {
        uint64_t size = 0;
        good = json_value_u64(json_find_index(shape, i), &size) && size >= 1 && size <= DEGREE_MAX;
        out->shape[i] = (uint32_t)size;
        degree *= good ? size : 1;
        good = good && degree <= DEGREE_MAX;
    }
    out->axis_count = good ? axes : 0;
    out->degree = (uint32_t)degree;
    return good || diag_push(diag, DIAG_T307, json_place(shape), NULL,
                             "a shape is 1 to %d whole numbers from 1, which multiply to %u at "
                             "most, as in [16, 16]",
                             LEVEL_AXIS_MAX, DEGREE_MAX);
}

/* The degree of a mesh or torus follows from its shape. */
static bool read_degree(struct json_value value, struct level *out, struct diag *diag)
{
    uint32_t degree = 0;
    out->wraps_at = 1;
    if (out->kind != LEVEL_MESH && out->kind != LEVEL_TORUS) {
        const struct json_value shape = json_find(value, "shape");
        const struct json_value extra =
            json_is_absent(shape) ? json_find(value, "wraps_at") : shape;
        return json_is_absent(extra)
                   ? json_read_u32(value, "degree", 1, DEGREE_MAX, &out->degree, diag)
                   : diag_push(diag, DIAG_T307, json_place(extra), NULL,
                               "only a mesh or torus has a shape: give a degree");
    }
    if (!read_shape(value, out, diag) ||
        !json_read_u32_or(value, "degree", 1, DEGREE_MAX, out->degree, &degree, diag) ||
        !json_read_u32_or(value, "wraps_at", 1, DEGREE_MAX, 1, &out->wraps_at, diag)) {
        return false;
    }
    return degree == out->degree ||
           diag_push(diag, DIAG_T307, json_place(json_find(value, "degree")), NULL,
                     "the shape has %u places, not %u: leave the degree out", out->degree, degree);
}

static bool read_level(struct json_value value, uint32_t index, struct arena *arena,
                       struct level *out, struct diag *diag)
{
    static const char *const keys[] = {"name",
                                       "kind",
                                       "degree",
                                       "bandwidth",
                                       "latency",
                                       "link",
                                       "in_network_reduction",
                                       "oversubscription",
                                       "shape",
                                       "wraps_at",
                                       NULL};
    double oversubscription = 1;
    if (!json_is_object(value)) {
        return diag_push(diag, DIAG_B107, json_place(value), NULL, "a level must be an object");
    }
    uint32_t kind = LEVEL_SWITCH;
    bool good = json_check_keys(value, keys, diag);
    good = json_read_string_or(value, "name", text_build(arena, "level%u", index), arena,
                               &out->name, diag) &&
           good;
    good = json_read_choice(value, "kind", cluster_level_kind_names, &kind, diag) && good;
    out->kind = (enum level_kind)kind;
    good = read_degree(value, out, diag) && good;
    good = json_read_quantity_or(value, "latency", UNIT_SECONDS, 0, &out->latency_s, diag) && good;
    good = json_read_string_or(value, "link", LINK_RAW, arena, &out->link, diag) && good;
    good = json_read_bool_or(value, "in_network_reduction", false, &out->reduces, diag) && good;
    good = json_read_double_or(value, "oversubscription", 1, DBL_MAX, 1, &oversubscription, diag) &&
           good;
    if (!json_read_quantity(value, "bandwidth", UNIT_BYTES_PER_SECOND, &out->bandwidth_Bps, diag)) {
        return false;
    }
    if (!(out->bandwidth_Bps > 0)) {
        good = diag_push(diag, DIAG_T308, json_place(json_find(value, "bandwidth")), NULL,
                         "level '%s': a bandwidth of 0 B/s lets nothing arrive; write what one "
                         "device can send in one direction, such as \"450 GB/s\"",
                         out->name == NULL ? "" : out->name);
    }
    out->bandwidth_Bps /= oversubscription;
    return good;
}

static bool read_levels(struct json_value object, struct arena *arena, struct cluster *out,
                        struct diag *diag)
{
    struct json_value levels;
    if (!member_read_array(object, "levels", "a list of levels, innermost first", &levels, diag)) {
        return false;
    }
    const uint32_t count = json_count(levels);
    if (count < 1 || count > LEVEL_MAX) {
        return diag_push(diag, DIAG_T307, json_place(levels), NULL,
                         "a cluster has 1 to %d levels, not %u", LEVEL_MAX, count);
    }
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        good = read_level(json_find_index(levels, i), i, arena, &out->levels[i], diag) && good;
    }
    out->level_count = count;
    return good;
}

/* "device": [{"kind": "A", "count": 32}, {"kind": "B", "count": 64}]: kinds by stretches. */
static bool read_stretches(struct json_value list, struct cluster_kinds *kinds, struct cluster *out,
                           struct diag *diag)
{
    static const char *const keys[] = {"kind", "count", NULL};
    bool good = true;
    uint64_t filled = 0;
    out->device_kind = ARENA_PUSH(kinds->arena, uint32_t, out->device_count);
    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json_value value = json_find_index(list, i);
        uint32_t kind = 0;
        uint32_t count = 0;
        if (!json_is_object(value)) {
            return diag_push(diag, DIAG_B107, json_place(value), NULL,
                             "each stretch of devices must be an object with 'kind' and 'count'");
        }
        good = json_check_keys(value, keys, diag) && good;
        good = cluster_kinds_find(kinds, value, "kind", &kind, diag) && good;
        good = json_read_u32(value, "count", 1, DEGREE_MAX, &count, diag) && good;
        for (uint64_t d = filled; d < filled + count && d < out->device_count; d++) {
            out->device_kind[d] = kind;
        }
        filled += count;
    }
    if (good && filled != out->device_count) {
        return diag_push(diag, DIAG_T307, json_place(list), NULL,
                         "'device' describes %llu devices; the levels have %u",
                         (unsigned long long)filled, out->device_count);
    }
    return good;
}

static bool read_devices(struct json_value object, struct cluster_kinds *kinds, struct cluster *out,
                         struct diag *diag)
{
    const uint64_t count = cluster_levels_count_devices(out);
    if (count > UINT32_MAX || cluster_levels_count_resources(out) > UINT32_MAX) {
        return diag_push(diag, DIAG_T314, json_place(json_find(object, "levels")), NULL,
                         "the levels have more devices or ports than can be numbered (2^32)");
    }
    out->device_count = (uint32_t)count;
    const struct json_value device = json_find(object, "device");
    uint32_t only;
    return json_is_array(device) ? read_stretches(device, kinds, out, diag)
                                 : cluster_kinds_find(kinds, object, "device", &only, diag);
}

/* Another shape of the last level that has one. */
static bool reshape(const struct cluster_request *told, struct cluster *out, struct diag *diag)
{
    uint32_t index = out->level_count;
    while (index > 0 && out->levels[index - 1].axis_count == 0) {
        index--;
    }
    struct level *level = index == 0 ? NULL : &out->levels[index - 1];
    if (level == NULL || level->axis_count != told->axis_count) {
        return diag_push(diag, DIAG_T305, (struct diag_place){.file = NULL}, NULL,
                         "'%s' gives a shape of %u axes; the cluster has %s", told->text,
                         told->axis_count,
                         level == NULL ? "no mesh or torus"
                                       : text_build(diag->arena, "one of %u", level->axis_count));
    }
    uint64_t degree = 1;
    for (uint32_t i = 0; i < told->axis_count && degree <= DEGREE_MAX; i++) {
        level->shape[i] = told->shape[i];
        degree *= told->shape[i];
    }
    level->degree = (uint32_t)degree;
    return degree <= DEGREE_MAX ||
           diag_push(diag, DIAG_T314, (struct diag_place){.file = NULL}, NULL,
                     "'%s' is a shape of more than %u places", told->text, DEGREE_MAX);
}

/* Another degree of the last level, which has no shape. */
static bool regrow(const struct cluster_request *told, struct cluster *out, struct diag *diag)
{
    struct level *last = &out->levels[out->level_count - 1];
    if (last->axis_count > 0 && last->degree != told->nodes) {
        return diag_push(diag, DIAG_T305, (struct diag_place){.file = NULL}, NULL,
                         "'%s' gives a number; level '%s' needs a shape of %u axes, such as "
                         "NAME:4x4",
                         told->text, last->name, last->axis_count);
    }
    last->degree = told->nodes;
    return true;
}

bool cluster_levels_read(struct json_value object, const struct cluster_request *told,
                         struct cluster_kinds *kinds, struct cluster *out, struct diag *diag)
{
    return read_levels(object, kinds->arena, out, diag) &&
           (told->axis_count == 0 || reshape(told, out, diag)) &&
           (told->nodes == 0 || regrow(told, out, diag)) && read_devices(object, kinds, out, diag);
}

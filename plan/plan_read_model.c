/* The model and cluster of a plan file: whole, from the zoo, or a model known by name and axes
 * only. */
#include <string.h>

#include "plan/plan_parts.h"

/* A graph that no reader knows yet is named, with the axes that the plan cuts, so that the plan can
 * be kept and its degrees checked; costing it is refused. */
static bool read_axis(struct json_value object, struct arena *arena, struct axis *out,
                      struct diag *diag)
{
    static const char *const keys[] = {"name", "size", "padded", NULL};
    out->image_of = NO_INDEX;
    bool good = json_check_keys(object, keys, diag);
    good = json_read_string(object, "name", arena, &out->name, diag) && good;
    good = json_read_u64(object, "size", 1, UINT64_C(1) << 48, &out->size, diag) && good;
    return json_read_bool_or(object, "padded", false, &out->padded, diag) && good;
}

static void dump_external(const struct model *model, struct json_writer *out)
{
    json_push_object(out);
    json_push_key_string(out, "name", model->name);
    json_push_key_bool(out, "external", true);
    json_push_key(out, "axes");
    json_push_array(out);
    for (uint32_t i = 0; i < model->axis_count; i++) {
        json_push_object(out);
        const bool before = plan_dump_fold(out);
        json_push_key_string(out, "name", model->axes[i].name);
        json_push_key_u64(out, "size", model->axes[i].size);
        if (model->axes[i].padded)
            json_push_key_bool(out, "padded", true);
        json_pop_object(out);
        plan_dump_unfold(out, before);
    }
    json_pop_array(out);
    json_pop_object(out);
}

static unsigned long long digest_external(const struct model *model, struct arena *arena)
{
    struct text text;
    struct json_writer writer;
    text_init(&text, arena);
    json_writer_init(&writer, &text, true);
    dump_external(model, &writer);
    return text_digest(TEXT_DIGEST_SEED, text.bytes, text.length);
}

static bool read_external(struct json_value object, struct arena *arena, struct model *out,
                          struct diag *diag)
{
    static const char *const keys[] = {"name", "external", "axes", NULL};
    struct json_value list;
    struct model model = {.source = "named in a plan"};
    bool good = json_check_keys(object, keys, diag);
    good = json_read_string(object, "name", arena, &model.name, diag) && good;
    if (!plan_parts_list(object, "axes", &list, &model.axis_count, diag) || !good)
        return false;
    if (model.axis_count > AXIS_MAX)
        return diag_push(diag, DIAG_B108, json_place(list), NULL,
                         "axes: %u are too many, at most %d", model.axis_count, AXIS_MAX);
    model.axes = ARENA_PUSH(arena, struct axis, model.axis_count);
    for (uint32_t i = 0; i < model.axis_count; i++)
        good = read_axis(json_find_index(list, i), arena, &model.axes[i], diag) && good;
    if (!good)
        return false;
    model.digest = digest_external(&model, arena);
    *out = model;
    return true;
}

/* {"name": NAME} and nothing else, where NAME is no path: a file that came from elsewhere opens no
 * others. */
static bool read_zoo_name(struct json_value value, const char *what, struct arena *arena,
                          const char **out, struct diag *diag)
{
    if (!json_read_string(value, "name", arena, out, diag))
        return false;
    const size_t length = strlen(*out);
    if (strchr(*out, '/') == NULL && strcmp(*out, "-") != 0 &&
        (length < 5 || strcmp(*out + length - 5, ".json") != 0))
        return true;
    return diag_push(diag, DIAG_P404, json_place(json_find(value, "name")), "embed it whole",
                     "%s '%s' is a path: a plan names its %s from the zoo only", what, *out, what);
}

static bool is_name_only(struct json_value value)
{
    return json_count(value) == 1 && !json_is_absent(json_find(value, "name"));
}

bool plan_read_cluster(struct json_value value, struct arena *arena, struct cluster *out,
                       struct diag *diag)
{
    const char *name = "cluster";
    if (!json_is_object(value))
        return diag_push(diag, DIAG_B107, json_place(value), NULL,
                         "cluster must be an object: a cluster, or {\"name\": NAME} of the zoo");
    if (is_name_only(value))
        return read_zoo_name(value, "cluster", arena, &name, diag) &&
               cluster_read(name, arena, out, diag);
    return cluster_read_json(value, name, arena, out, diag) && cluster_check(out, diag);
}

bool plan_read_model(struct json_value value, struct arena *arena, struct model *out,
                     struct diag *diag)
{
    const char *name = "model";
    if (!json_is_object(value))
        return diag_push(diag, DIAG_B107, json_place(value), NULL,
                         "model must be an object: a model, or {\"name\": NAME} of the zoo");
    if (!json_is_absent(json_find(value, "external")))
        return read_external(value, arena, out, diag);
    if (is_name_only(value))
        return read_zoo_name(value, "model", arena, &name, diag) &&
               model_read(name, arena, out, diag);
    return model_read_json(value, name, arena, out, diag) && model_check(out, diag);
}

static void dump_name(const char *name, struct json_writer *out)
{
    json_push_object(out);
    const bool before = plan_dump_fold(out);
    json_push_key_string(out, "name", name);
    json_pop_object(out);
    plan_dump_unfold(out, before);
}

static bool is_in_zoo(const struct model *model, struct arena *scratch)
{
    struct model twin;
    struct diag diag;
    diag_init(&diag, scratch);
    return strchr(model->name, '/') == NULL && model_read(model->name, scratch, &twin, &diag) &&
           twin.digest == model->digest;
}

void plan_dump_model(const struct model *model, bool embed, struct json_writer *out)
{
    struct arena scratch;
    arena_init(&scratch);
    if (model->run_count == 0)
        dump_external(model, out);
    else if (embed || !is_in_zoo(model, &scratch))
        model_dump(model, out);
    else
        dump_name(model->name, out);
    arena_release(&scratch);
}

/* "dgx-h100:64" where that gives the same cluster, else NULL. */
static const char *find_zoo_name(const struct cluster *cluster, struct arena *scratch)
{
    struct cluster twin;
    struct diag diag;
    diag_init(&diag, scratch);
    if (cluster->level_count == 0 || strpbrk(cluster->name, "/:,") != NULL)
        return NULL;
    const char *name = text_build(scratch, "%s:%u", cluster->name,
                                  cluster->levels[cluster->level_count - 1].degree);
    return cluster_read(name, scratch, &twin, &diag) && twin.digest == cluster->digest ? name
                                                                                       : NULL;
}

void plan_dump_cluster(const struct cluster *cluster, bool embed, struct json_writer *out)
{
    struct arena scratch;
    arena_init(&scratch);
    const char *name = embed ? NULL : find_zoo_name(cluster, &scratch);
    if (name != NULL)
        dump_name(name, out);
    else
        cluster_dump(cluster, out);
    arena_release(&scratch);
}

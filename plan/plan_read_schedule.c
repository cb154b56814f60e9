/* When a plan runs what: pipelines of its own, the schedule with its layers. */
#include "plan/plan_parts.h"

#define LAYER_MAX 1e9

/* --- pipelines -------------------------------------------------------------------------------- */

static bool read_stop(struct json_value object, const struct plan *plan, struct arena *arena,
                      struct pipeline_stop *out, struct diag *diag)
{
    static const char *const keys[] = {"group",       "module",      "first_layer",
                                       "layer_count", "micro_batch", NULL};
    const char **names = ARENA_PUSH(arena, const char *, plan->group_count + 1);
    for (uint32_t i = 0; i < plan->group_count; i++)
        names[i] = plan->groups[i].name == NULL ? "" : plan->groups[i].name;
    bool good = json_check_keys(object, keys, diag);
    if (plan->group_count > 1 || !json_is_null(json_find(object, "group")))
        good = json_read_choice(object, "group", names, &out->group, diag) && good;
    good = json_read_string_or(object, "module", NULL, arena, &out->module, diag) && good;
    good =
        json_read_u32_or(object, "micro_batch", 1, UINT32_MAX, 0, &out->micro_batch, diag) && good;
    if (json_is_null(json_find(object, "module"))) {
        good =
            json_read_double(object, "first_layer", 0, LAYER_MAX, &out->first_layer, diag) && good;
        return json_read_double(object, "layer_count", 0, LAYER_MAX, &out->layer_count, diag) &&
               good;
    }
    good = json_read_double_or(object, "first_layer", 0, LAYER_MAX, 0, &out->first_layer, diag) &&
           good;
    return json_read_double_or(object, "layer_count", 0, LAYER_MAX, 0, &out->layer_count, diag) &&
           good;
}

static bool read_pipeline(struct json_value object, const struct plan *plan, struct arena *arena,
                          struct pipeline *out, struct diag *diag)
{
    static const char *const keys[] = {"name", "batch_frac", "micro_batch", "stops", NULL};
    struct json_value list;
    bool good = json_check_keys(object, keys, diag);
    good = json_read_string_or(object, "name", NULL, arena, &out->name, diag) && good;
    good = json_read_double_or(object, "batch_frac", 0, 1, 0, &out->batch_frac, diag) && good;
    good =
        json_read_u32_or(object, "micro_batch", 0, UINT32_MAX, 0, &out->micro_batch, diag) && good;
    if (!plan_parts_list(object, "stops", &list, &out->stop_count, diag))
        return false;
    out->stops = ARENA_PUSH(arena, struct pipeline_stop, out->stop_count);
    for (uint32_t i = 0; i < out->stop_count; i++)
        good = read_stop(json_find_index(list, i), plan, arena, &out->stops[i], diag) && good;
    return good;
}

bool plan_read_pipelines(struct json_value object, struct arena *arena, struct plan *out,
                         struct diag *diag)
{
    struct json_value list;
    if (!plan_parts_list(object, "pipelines", &list, &out->pipeline_count, diag))
        return false;
    out->pipelines = ARENA_PUSH(arena, struct pipeline, out->pipeline_count);
    bool good = true;
    for (uint32_t i = 0; i < out->pipeline_count; i++)
        good =
            read_pipeline(json_find_index(list, i), out, arena, &out->pipelines[i], diag) && good;
    return good;
}

/* --- layers ----------------------------------------------------------------------------------- */

static bool refuse_layers(struct json_value value, struct diag *diag)
{
    return diag_push(
        diag, DIAG_B107, json_place(value), "[[1, 2], [2, 2]] is two stages of two chunks",
        "layers must hold one number per stage, or per stage a list with one per chunk, all alike");
}

/* A stage's number, or its numbers by chunk, to out[0 .. chunks-1]. */
static bool read_stage(struct json_value stage, uint32_t chunks, uint32_t *out, struct diag *diag)
{
    if (json_is_array(stage) && json_count(stage) != chunks)
        return refuse_layers(stage, diag);
    if (!json_is_array(stage) && chunks != 1)
        return refuse_layers(stage, diag);
    for (uint32_t chunk = 0; chunk < chunks; chunk++) {
        struct json_value element = json_is_array(stage) ? json_find_index(stage, chunk) : stage;
        uint64_t layers = 0;
        if (!json_value_u64(element, &layers) || layers > (uint64_t)LAYER_MAX)
            return refuse_layers(element, diag);
        out[chunk] = (uint32_t)layers;
    }
    return true;
}

static bool read_layers(struct json_value object, struct arena *arena, struct plan_schedule *out,
                        struct diag *diag)
{
    struct json_value list;
    uint32_t stages = 0;
    if (!plan_parts_list(object, "layers", &list, &stages, diag))
        return false;
    struct json_value first = json_find_index(list, 0);
    const uint32_t chunks = stages > 0 && json_is_array(first) ? json_count(first) : 1;
    if (!json_read_u32_or(object, "chunks", 1, 1u << 16, chunks == 0 ? 1 : chunks, &out->chunks,
                          diag))
        return false;
    if (stages == 0)
        return true;
    if (out->chunks != chunks)
        return refuse_layers(first, diag);
    uint32_t *layers = ARENA_PUSH(arena, uint32_t, (size_t)stages * chunks);
    for (uint32_t stage = 0; stage < stages; stage++) {
        if (!read_stage(json_find_index(list, stage), chunks, layers + (size_t)stage * chunks,
                        diag))
            return false;
    }
    out->layers = layers;
    out->stages = stages;
    return true;
}

/* --- schedule --------------------------------------------------------------------------------- */

/* A word out of a list; absent: NULL. */
static bool read_word(struct json_value object, const char *key, const char *const *words,
                      const char **out, struct diag *diag)
{
    uint32_t index = 0;
    if (json_is_null(json_find(object, key)))
        return true;
    if (!json_read_choice(object, key, words, &index, diag))
        return false;
    *out = words[index];
    return true;
}

static bool read_name(struct json_value object, struct plan_schedule *out, struct diag *diag)
{
    const char *name = NULL;
    if (!read_word(object, "name", schedule_names(), &name, diag))
        return false;
    out->schedule = name == NULL ? NULL : schedule_find(name);
    if (out->schedule != NULL && !json_is_null(json_find(object, "table")))
        return diag_push(diag, DIAG_P416, json_place(json_find(object, "table")), NULL,
                         "a schedule is given by name or as a table, not both");
    return true;
}

bool plan_read_schedule(struct json_value object, struct arena *arena, struct plan *out,
                        struct diag *diag)
{
    static const char *const keys[] = {"name",      "table",    "micro_batch",   "chunks",
                                       "layers",    "dispatch", "in_flight_cap", "travels",
                                       "staleness", NULL};
    static const char *const dispatches[] = {"fixed", "ready", NULL};
    static const char *const travellers[] = {"activations", "weights", NULL};
    struct json_value schedule = json_find(object, "schedule");
    struct plan_schedule *to = &out->schedule;
    to->chunks = 1;
    if (json_is_null(schedule))
        return true;
    if (!json_is_object(schedule))
        return diag_push(diag, DIAG_B107, json_place(schedule), NULL, "schedule must be an object");
    bool good = json_check_keys(schedule, keys, diag);
    good = read_name(schedule, to, diag) && good;
    good = json_read_string_or(schedule, "table", NULL, arena, &to->table, diag) && good;
    good =
        json_read_u32_or(schedule, "micro_batch", 1, UINT32_MAX, 0, &to->micro_batch, diag) && good;
    good = read_layers(schedule, arena, to, diag) && good;
    good = read_word(schedule, "dispatch", dispatches, &to->dispatch, diag) && good;
    good =
        json_read_u32_or(schedule, "in_flight_cap", 1, UINT32_MAX, 0, &to->in_flight_cap, diag) &&
        good;
    good = read_word(schedule, "travels", travellers, &to->travels, diag) && good;
    return json_read_u32_or(schedule, "staleness", 0, UINT32_MAX, 0, &to->staleness, diag) && good;
}

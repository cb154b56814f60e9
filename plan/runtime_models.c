/* Definitions of models that a training framework ships. */
#include "plan/runtime_inside.h"

static bool read_model(struct json_value object, struct arena *arena, struct runtime_model *out,
                       struct diag *diag)
{
    static const char *const keys[] = {"name", "model", NULL};
    bool good = json_check_keys(object, keys, diag);
    good = json_read_string(object, "name", arena, &out->name, diag) && good;
    return json_read_string(object, "model", arena, &out->model, diag) && good;
}

bool runtime_read_models(struct json_value object, struct arena *arena, struct runtime *out,
                         struct diag *diag)
{
    const struct json_value list = json_find(object, "models");
    if (json_is_null(list))
        return true;
    if (!json_is_array(list))
        return diag_push(diag, DIAG_B107, json_place(list), NULL, "models must be a list");
    bool good = true;
    out->model_count = json_count(list);
    struct runtime_model *models = ARENA_PUSH(arena, struct runtime_model, out->model_count);
    for (uint32_t i = 0; i < out->model_count; i++)
        good = read_model(json_find_index(list, i), arena, &models[i], diag) && good;
    out->models = models;
    return good;
}

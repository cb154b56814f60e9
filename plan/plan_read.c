/* A plan file: what the plan is for, then the plan. */
#include <string.h>

#include "plan/plan_parts.h"

/* --- what it is for --------------------------------------------------------------------------- */

/* A text of 16 hexadecimal digits. */
static bool read_digest(struct json_value value, unsigned long long *out)
{
    const char *text = NULL;
    *out = 0;
    if (!json_value_string(value, &text) || strlen(text) != 16)
        return false;
    for (const char *at = text; *at != '\0'; at++) {
        const char *digits = "0123456789abcdef", *digit = strchr(digits, *at);
        if (digit == NULL)
            return false;
        *out = *out << 4 | (unsigned long long)(digit - digits);
    }
    return true;
}

static bool check_digest(struct json_value digests, const char *key, unsigned long long found,
                         struct diag *diag)
{
    struct json_value value = json_find(digests, key);
    unsigned long long stated = 0;
    if (json_is_null(value))
        return true;
    if (!read_digest(value, &stated))
        return diag_push(diag, DIAG_B107, json_place(value), NULL,
                         "%s: a digest is 16 hexadecimal digits", key);
    if (stated == found)
        return true;
    return diag_push(
        diag, DIAG_P402, json_place(value),
        "plan again, or remove the digest to use the plan as it is",
        "the %s is not the one that the plan was made for: its digest is %016llx, not %016llx", key,
        found, stated);
}

static bool check_digests(struct json_value object, const struct plan_file *file,
                          struct arena *arena, struct diag *diag)
{
    static const char *const keys[] = {"model", "cluster", "setup", NULL};
    struct json_value digests = json_find(object, "digests");
    if (json_is_null(digests))
        return true;
    if (!json_is_object(digests))
        return diag_push(diag, DIAG_B107, json_place(digests), NULL, "digests must be an object");
    bool good = json_check_keys(digests, keys, diag);
    good = check_digest(digests, "model", file->model->digest, diag) && good;
    good = check_digest(digests, "cluster", file->cluster->digest, diag) && good;
    return check_digest(digests, "setup", setup_digest(file->setup, arena), diag) && good;
}

static bool read_problem(struct json_value object, struct arena *arena, struct plan_file *out,
                         struct diag *diag)
{
    bool good = true;
    static const char *const keys[] = {"model", "cluster", "setup"};
    for (uint32_t i = 0; i < 3; i++) {
        if (json_is_null(json_find(object, keys[i])))
            good = diag_push(diag, DIAG_B106, json_place(object), NULL,
                             "a plan needs \"%s\": what it is for", keys[i]);
    }
    if (!good)
        return false;
    out->model = ARENA_PUSH(arena, struct model, 1);
    out->cluster = ARENA_PUSH(arena, struct cluster, 1);
    out->setup = ARENA_PUSH(arena, struct setup, 1);
    good = plan_read_model(json_find(object, "model"), arena, out->model, diag);
    good = plan_read_cluster(json_find(object, "cluster"), arena, out->cluster, diag) && good;
    good = setup_read_json(json_find(object, "setup"), arena, out->setup, diag) && good;
    if (!good || !check_digests(object, out, arena, diag))
        return false;
    const struct model *read = out->model;
    out->model = ARENA_PUSH(arena, struct model, 1);
    return task_adapt(&out->setup->task, read, arena, out->model, diag);
}

/* --- the plan --------------------------------------------------------------------------------- */

static bool read_policies(struct json_value object, struct arena *arena, struct plan *out,
                          struct diag *diag)
{
    struct json_value list;
    if (!plan_parts_list(object, "policies", &list, &out->policy_count, diag))
        return false;
    out->policies = ARENA_PUSH(arena, struct policy_use, out->policy_count);
    bool good = true;
    for (uint32_t i = 0; i < out->policy_count; i++)
        good = policy_read_json(json_find_index(list, i), arena, &out->policies[i], diag) && good;
    return good;
}

static bool read_plan(struct json_value object, struct arena *arena, struct plan *out,
                      struct diag *diag)
{
    bool good = plan_read_groups(object, arena, out, diag);
    good = good && plan_read_pipelines(object, arena, out, diag);
    good = plan_read_schedule(object, arena, out, diag) && good;
    good = read_policies(object, arena, out, diag) && good;
    return json_read_string_or(object, "note", NULL, arena, &out->note, diag) && good;
}

bool plan_read_json(struct json_value object, const char *name, struct arena *arena,
                    struct plan_file *out, struct diag *diag)
{
    static const char *const formats[] = {PLAN_FORMAT, NULL};
    static const char *const keys[] = {"format",   "note",   "model",  "cluster",   "setup",
                                       "digests",  "mesh",   "folds",  "slices",    "coordinates",
                                       "cuts",     "shares", "groups", "pipelines", "schedule",
                                       "policies", NULL};
    uint32_t format = 0;
    struct plan_file file = {.plan = ARENA_PUSH(arena, struct plan, 1)};
    if (!json_is_object(object))
        return diag_push(diag, DIAG_B107, json_place(object), NULL,
                         "%s holds no plan: a plan is an object", name);
    if (!json_read_choice(object, "format", formats, &format, diag))
        return false;
    bool good = json_check_keys(object, keys, diag);
    good = read_problem(object, arena, &file, diag) && good;
    good = read_plan(object, arena, file.plan, diag) && good;
    if (good)
        *out = file;
    return good;
}

bool plan_read(const char *path, struct arena *arena, struct plan_file *out, struct diag *diag)
{
    struct json *document = NULL;
    if (!json_open(path, false, arena, &document, diag))
        return false;
    const bool good = plan_read_json(json_root(document), path, arena, out, diag);
    json_close(document);
    return good;
}

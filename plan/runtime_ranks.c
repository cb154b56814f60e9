/* What a training framework asks of the ranks it runs on: their order, what goes with what. */
#include "plan/runtime_inside.h"

/* A list of names that the runtime accepts; absent or empty: all. A name that no member bears is no
 * fault: a framework may do more than is known here. */
bool runtime_read_names(struct json_value object, const char *key, struct arena *arena,
                        const char **out, struct diag *diag)
{
    struct json_value list = json_find(object, key);
    if (json_is_null(list))
        return true;
    if (!json_is_array(list) || json_count(list) >= RUNTIME_LIST_MAX)
        return diag_push(diag, DIAG_B107, json_place(list), NULL,
                         "%s must be a list of at most %d names", key, RUNTIME_LIST_MAX - 1);
    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *name = NULL;
        if (!json_value_string(json_find_index(list, i), &name))
            return diag_push(diag, DIAG_B107, json_place(json_find_index(list, i)), NULL,
                             "%s must hold names", key);
        out[i] = text_build(arena, "%s", name);
    }
    out[json_count(list)] = NULL;
    return true;
}

static bool read_order(struct json_value object, struct arena *arena, struct runtime_order *out,
                       struct diag *diag)
{
    static const char *const keys[] = {"dims", "equal", NULL};
    const char *equal[RUNTIME_LIST_MAX] = {NULL};
    bool good = json_check_keys(object, keys, diag);
    good = runtime_read_names(object, "dims", arena, out->dims, diag) && good;
    good = runtime_read_names(object, "equal", arena, equal, diag) && good;
    if (good &&
        (out->dims[0] == NULL || (equal[0] == NULL) != (equal[1] == NULL) || equal[2] != NULL))
        return diag_push(diag, DIAG_B107, json_place(object), NULL,
                         "a rank order names its dims, and in \"equal\" two of them or none");
    out->equal[0] = equal[0];
    out->equal[1] = equal[1];
    return good;
}

static bool read_need(struct json_value object, struct arena *arena, struct runtime_need *out,
                      struct diag *diag)
{
    static const char *const keys[] = {"axis", "dim", "fold", NULL};
    bool good = json_check_keys(object, keys, diag);
    good = json_read_string(object, "axis", arena, &out->axis, diag) && good;
    good = json_read_string(object, "dim", arena, &out->dim, diag) && good;
    return json_read_string(object, "fold", arena, &out->fold, diag) && good;
}

/* The objects under a key, at most `most`. */
static bool count_items(struct json_value object, const char *key, uint32_t most, uint32_t *out,
                        struct diag *diag)
{
    const struct json_value list = json_find(object, key);
    if (json_is_null(list))
        return true;
    if (!json_is_array(list) || json_count(list) > most)
        return diag_push(diag, DIAG_B107, json_place(list), NULL,
                         "%s must be a list of at most %u objects", key, most);
    *out = json_count(list);
    return true;
}

bool runtime_read_ranks(struct json_value object, struct arena *arena, struct runtime *out,
                        struct diag *diag)
{
    bool good = count_items(object, "rank_orders", RUNTIME_ORDER_MAX, &out->order_count, diag);
    good = json_read_bool_or(object, "other_rank_orders", out->other_orders, &out->other_orders,
                             diag) &&
           good;
    good = count_items(object, "needs", RUNTIME_NEED_MAX, &out->need_count, diag) && good;
    const struct json_value orders = json_find(object, "rank_orders"),
                            needs = json_find(object, "needs");
    for (uint32_t i = 0; i < json_count(orders); i++)
        good = read_order(json_find_index(orders, i), arena, &out->orders[i], diag) && good;
    for (uint32_t i = 0; i < json_count(needs); i++)
        good = read_need(json_find_index(needs, i), arena, &out->needs[i], diag) && good;
    return good;
}

/* What a training framework can keep in the host's memory, together with what. */
#include <string.h>

#include "plan/runtime_inside.h"

static bool read_levels(struct json_value object, uint32_t *out, struct diag *diag)
{
    const struct json_value list = json_find(object, "zero_levels");
    *out = 0;
    for (uint32_t i = 0; i < json_count(list); i++) {
        uint64_t level = 0;
        if (!json_value_u64(json_find_index(list, i), &level) || level > 3)
            return diag_push(diag, DIAG_B108, json_place(list), NULL,
                             "zero_levels: a level is 0, 1, 2 or 3");
        *out |= 1u << level;
    }
    return true;
}

static bool read_offload(struct json_value object, struct arena *arena, struct runtime_offload *out,
                         struct diag *diag)
{
    static const char *const keys[] = {
        "tensors",        "zero_levels",  "one_stage", "no_recompute",
        "recompute_only", "sharded_only", NULL};
    bool good = json_check_keys(object, keys, diag);
    good = runtime_read_names(object, "tensors", arena, out->tensors, diag) && good;
    good = read_levels(object, &out->zero_levels, diag) && good;
    good = json_read_bool_or(object, "one_stage", false, &out->one_stage, diag) && good;
    good = json_read_bool_or(object, "no_recompute", false, &out->no_recompute, diag) && good;
    good = json_read_bool_or(object, "recompute_only", false, &out->recompute_only, diag) && good;
    return json_read_bool_or(object, "sharded_only", false, &out->sharded_only, diag) && good;
}

bool runtime_read_offloads(struct json_value object, struct arena *arena, struct runtime *out,
                           struct diag *diag)
{
    const struct json_value list = json_find(object, "offloads");
    bool good = true;
    if (json_is_null(list))
        return true;
    if (!json_is_array(list) || json_count(list) > RUNTIME_OFFLOAD_MAX)
        return diag_push(diag, DIAG_B107, json_place(list), NULL,
                         "offloads must be a list of at most %d objects", RUNTIME_OFFLOAD_MAX);
    out->offload_count = json_count(list);
    for (uint32_t i = 0; i < out->offload_count; i++) {
        out->offloads[i] = (struct runtime_offload){.zero_levels = 0};
        good = read_offload(json_find_index(list, i), arena, &out->offloads[i], diag) && good;
    }
    return good;
}

/* All of the one among the other. */
static bool are_among(const char *const *names, uint32_t count, const char *const *others,
                      uint32_t other_count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = 0;
        while (k < other_count && strcmp(names[i], others[k]) != 0)
            k++;
        if (k == other_count)
            return false;
    }
    return true;
}

const struct runtime_offload *runtime_find_offload(const struct runtime *runtime,
                                                   const char *const *tensors, uint32_t count)
{
    for (uint32_t i = 0; i < runtime->offload_count; i++) {
        const char *const *names = runtime->offloads[i].tensors;
        uint32_t listed = 0;
        while (names[listed] != NULL)
            listed++;
        if (are_among(names, listed, tensors, count) && are_among(tensors, count, names, listed))
            return &runtime->offloads[i];
    }
    return NULL;
}

unsigned long long runtime_offloads_digest(const struct runtime *runtime, unsigned long long digest)
{
    for (uint32_t i = 0; i < runtime->offload_count; i++) {
        const struct runtime_offload *offload = &runtime->offloads[i];
        const uint32_t numbers[] = {offload->zero_levels, offload->one_stage, offload->no_recompute,
                                    offload->recompute_only, offload->sharded_only};
        for (uint32_t t = 0; offload->tensors[t] != NULL; t++)
            digest = text_digest(digest, offload->tensors[t], strlen(offload->tensors[t]) + 1);
        digest = text_digest(digest, numbers, sizeof numbers);
    }
    return digest;
}

/* The keys of an object: none twice, none unknown. */
#include "base/json.h"

#include <string.h>

#include "base/json_inside.h"

#define FEW_MEMBERS 16u /* compared pairwise; more go through a hash table */

bool json_is_only_counted(struct diag *diag, enum diag_code code)
{
    if (diag->count < DIAG_MAX) {
        return false;
    }
    diag_push(diag, code, (struct diag_place){.file = NULL}, NULL, "one of too many");
    return true;
}

static bool refuse_twin(struct json_value first, struct json_value second, struct diag *diag)
{
    if (json_is_only_counted(diag, DIAG_B104)) {
        return false;
    }
    const struct diag_place earlier = json_key_place(first);
    const char *hint = text_build(diag->arena, "the first stands in line %u, column %u",
                                  earlier.line, earlier.column);
    return diag_push(diag, DIAG_B104, json_key_place(second), hint,
                     "key '%s' appears twice in one object", json_key(second));
}

static bool check_few(struct json_value object, struct diag *diag)
{
    bool good = true;
    for (uint32_t i = 1; i < json_count(object); i++) {
        const struct json_value member = json_find_index(object, i);
        uint32_t j = 0;
        while (strcmp(json_key(json_find_index(object, j)), json_key(member)) != 0) {
            j++;
        }
        good = j == i ? good : refuse_twin(json_find_index(object, j), member, diag);
    }
    return good;
}

/* Open addressing over 2 to 4 slots per member; a slot holds 1 + index. */
static bool check_many(struct json_value object, struct arena *scratch, struct diag *diag)
{
    const struct arena_mark before = arena_find_mark(scratch);
    size_t size = 1;
    while (size < (size_t)json_count(object) * 2) {
        size *= 2;
    }
    uint32_t *slots = ARENA_PUSH(scratch, uint32_t, size);
    bool good = true;
    for (uint32_t i = 0; i < json_count(object); i++) {
        const struct json_value member = json_find_index(object, i);
        const char *key = json_key(member);
        size_t slot = text_digest(TEXT_DIGEST_SEED, key, strlen(key)) & (size - 1);
        while (slots[slot] != 0 &&
               strcmp(json_key(json_find_index(object, slots[slot] - 1)), key) != 0) {
            slot = (slot + 1) & (size - 1);
        }
        if (slots[slot] != 0) {
            good = refuse_twin(json_find_index(object, slots[slot] - 1), member, diag);
        } else {
            slots[slot] = i + 1;
        }
    }
    arena_pop(scratch, before);
    return good;
}

bool json_check_twins(struct json_value object, struct arena *scratch, struct diag *diag)
{
    if (!json_is_object(object)) {
        return true;
    }
    return json_count(object) <= FEW_MEMBERS ? check_few(object, diag)
                                             : check_many(object, scratch, diag);
}

static bool is_known(const char *key, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        if (strcmp(key, *keys) == 0) {
            return true;
        }
    }
    return false;
}

static const char *build_hint(const char *key, const char *const *keys, struct arena *arena)
{
    size_t count = 0;
    struct text hint;
    text_init(&hint, arena);
    text_push(&hint, "known keys:");
    for (; keys[count] != NULL; count++) {
        text_push(&hint, "%s %s", count == 0 ? "" : ",", keys[count]);
    }
    const char *nearest = text_find_nearest(key, keys, count);
    return nearest == NULL ? hint.bytes : text_build(arena, "did you mean '%s'?", nearest);
}

static bool refuse_key(struct json_value object, struct json_value member, const char *const *keys,
                       struct diag *diag)
{
    if (json_is_only_counted(diag, DIAG_B105)) {
        return false;
    }
    return diag_push(diag, DIAG_B105, json_key_place(member),
                     build_hint(json_key(member), keys, diag->arena), "%s has an unknown key '%s'",
                     json_name(object, diag->arena), json_key(member));
}

bool json_check_keys(struct json_value object, const char *const *keys, struct diag *diag)
{
    if (!json_is_object(object)) {
        return diag_push(diag, DIAG_B107, json_place(object), NULL,
                         "%s is %s, but must be an object", json_name(object, diag->arena),
                         json_type_name(object));
    }
    bool good = true;
    for (uint32_t i = 0; i < json_count(object); i++) {
        const struct json_value member = json_find_index(object, i);
        good = is_known(json_key(member), keys) ? good : refuse_key(object, member, keys, diag);
    }
    return good;
}

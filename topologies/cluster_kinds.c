/* The kinds of device that a cluster file names. */
#include "topologies/cluster_parts.h"

#include <string.h>

#include "base/text.h"
#include "topologies/catalogue.h"
#include "topologies/member.h"

#define FAILED UINT32_MAX

struct cluster_kind_word {
    const char *word;
    uint32_t kind; /* FAILED: reported already */
};

static bool check_twins(const struct accelerator *embedded, uint32_t index, struct json_value value,
                        struct diag *diag)
{
    for (uint32_t i = 0; i < index; i++) {
        if (catalogue_is_match(embedded[i].name, embedded[index].name)) {
            return diag_push(diag, DIAG_T303, json_place(value), NULL,
                             "accelerator '%s' stands twice in 'accelerators': keep one of them",
                             embedded[index].name);
        }
    }
    return true;
}

bool cluster_kinds_init(struct cluster_kinds *kinds, struct json_value object, struct arena *arena,
                        struct diag *diag)
{
    *kinds = (struct cluster_kinds){.arena = arena};
    struct json_value list;
    if (json_is_null(json_find(object, "accelerators"))) {
        return true;
    }
    if (!member_read_array(object, "accelerators", "a list of device kinds", &list, diag)) {
        return false;
    }
    bool good = true;
    kinds->embedded = ARENA_PUSH(arena, struct accelerator, json_count(list));
    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json_value value = json_find_index(list, i);
        struct accelerator *next = &kinds->embedded[kinds->embedded_count];
        if (!accelerator_read_json(value, arena, next, diag) ||
            !check_twins(kinds->embedded, kinds->embedded_count, value, diag)) {
            good = false;
            continue;
        }
        kinds->embedded_count++;
    }
    return good;
}

static uint32_t add_accelerator(struct cluster_kinds *kinds, const struct accelerator *accelerator)
{
    for (uint32_t i = 0; i < kinds->count; i++) {
        if (strcmp(kinds->accelerators[i].name, accelerator->name) == 0) {
            return i;
        }
    }
    ARENA_MAKE_ROOM(kinds->arena, kinds->accelerators, kinds->count, kinds->capacity);
    kinds->accelerators[kinds->count] = *accelerator;
    return kinds->count++;
}

static void add_word(struct cluster_kinds *kinds, const char *word, uint32_t kind)
{
    ARENA_MAKE_ROOM(kinds->arena, kinds->words, kinds->word_count, kinds->word_capacity);
    kinds->words[kinds->word_count++] = (struct cluster_kind_word){
        .word = text_build_copy(kinds->arena, word, strlen(word)), .kind = kind};
}

static uint32_t look_up(struct cluster_kinds *kinds, const char *word, struct diag_place place,
                        struct diag *diag)
{
    for (uint32_t i = 0; i < kinds->embedded_count; i++) {
        if (catalogue_is_match(kinds->embedded[i].name, word)) {
            return add_accelerator(kinds, &kinds->embedded[i]);
        }
    }
    struct accelerator found;
    return accelerator_read(word, place, kinds->arena, &found, diag)
               ? add_accelerator(kinds, &found)
               : FAILED;
}

bool cluster_kinds_find(struct cluster_kinds *kinds, struct json_value object, const char *key,
                        uint32_t *out, struct diag *diag)
{
    const struct json_value value = json_find(object, key);
    const char *word;
    if (!json_value_string(value, &word)) {
        return json_read_string(object, key, kinds->arena, &word, diag);
    }
    for (uint32_t i = 0; i < kinds->word_count; i++) {
        if (strcmp(kinds->words[i].word, word) == 0) {
            *out = kinds->words[i].kind;
            return *out != FAILED;
        }
    }
    const uint32_t kind = look_up(kinds, word, json_place(value), diag);
    add_word(kinds, word, kind);
    *out = kind;
    return kind != FAILED;
}

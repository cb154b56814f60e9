/* What the files of a data folder call themselves: names and aliases. */
#include "topologies/catalogue.h"

#include <string.h>

#include "base/data_folder.h"
#include "base/json.h"
#include "base/text.h"

struct word {
    const char *text; /* as written */
    const char *path; /* of the file that says so */
};

struct words {
    struct word *items;
    uint32_t count, capacity;
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool catalogue_is_match(const char *a, const char *b)
{
    while (*a != '\0' && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return lower(*a) == lower(*b);
}

static void add_word(struct words *words, const char *word, const char *path, struct arena *arena)
{
    ARENA_MAKE_ROOM(arena, words->items, words->count, words->capacity);
    words->items[words->count++] = (struct word){text_build_copy(arena, word, strlen(word)), path};
}

static void add_value(struct words *words, struct json_value value, const char *path,
                      struct arena *arena)
{
    const char *word;
    if (json_value_string(value, &word)) {
        add_word(words, word, path, arena);
    }
}

static bool read_words(struct words *words, const char *path, struct arena *arena,
                       struct diag *diag)
{
    struct json *document;
    if (!json_open(path, false, arena, &document, diag)) {
        return false;
    }
    const struct json_value root = json_root(document);
    add_value(words, json_find(root, "name"), path, arena);
    const struct json_value aliases = json_find(root, "aliases");
    for (uint32_t i = 0; json_is_array(aliases) && i < json_count(aliases); i++) {
        add_value(words, json_find_index(aliases, i), path, arena);
    }
    json_close(document);
    return true;
}

/* The word nearest to `word`, without regard to case, or NULL. */
static const char *nearest(const struct words *words, const char *word, struct arena *arena)
{
    const char **lowered = ARENA_PUSH(arena, const char *, words->count + 1);
    for (uint32_t i = 0; i <= words->count; i++) {
        const char *from = i < words->count ? words->items[i].text : word;
        char *copy = text_build_copy(arena, from, strlen(from));
        for (char *c = copy; *c != '\0'; c++) {
            *c = lower(*c);
        }
        lowered[i] = copy;
    }
    const char *found = text_find_nearest(lowered[words->count], lowered, words->count);
    for (uint32_t i = 0; i < words->count; i++) {
        if (found == lowered[i]) {
            return words->items[i].text;
        }
    }
    return NULL;
}

static bool refuse_unknown(const struct catalogue *catalogue, const struct words *words,
                           const char *word, struct diag_place place, struct diag *diag)
{
    const char *near = nearest(words, word, diag->arena);
    const char *hint =
        near == NULL
            ? text_build(diag->arena, "`shardplan list %ss` prints all names", catalogue->noun)
            : text_build(diag->arena, "did you mean '%s'?", near);
    return diag_push(diag, catalogue->unknown, place, hint, "there is no %s named '%s'",
                     catalogue->noun, word);
}

static bool choose(const struct catalogue *catalogue, const struct words *words, const char *word,
                   struct diag_place place, const char **out, struct diag *diag)
{
    const char *path = NULL;
    for (uint32_t i = 0; i < words->count; i++) {
        if (!catalogue_is_match(words->items[i].text, word) || words->items[i].path == path) {
            continue;
        }
        if (path != NULL) {
            return diag_push(diag, DIAG_T303, place, NULL,
                             "%s '%s' is named by two files, %s and %s: use a name of one only",
                             catalogue->noun, word, path, words->items[i].path);
        }
        path = words->items[i].path;
    }
    if (path == NULL) {
        return refuse_unknown(catalogue, words, word, place, diag);
    }
    *out = path;
    return true;
}

bool catalogue_find(const struct catalogue *catalogue, const char *word, struct diag_place place,
                    struct arena *arena, const char **out, struct diag *diag)
{
    struct words words = {.count = 0};
    const char *const *files = data_folder_each(catalogue->folder, ".json", arena);
    for (uint32_t i = 0; files[i] != NULL; i++) {
        const char *relative = text_build(arena, "%s/%s.json", catalogue->folder, files[i]);
        if (!read_words(&words, data_folder_find(relative, arena), arena, diag)) {
            return false;
        }
    }
    return choose(catalogue, &words, word, place, out, diag);
}

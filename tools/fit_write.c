/* Fitted constants put where they were read from: the numbers in the text of the data files. */
#include <stdlib.h>
#include <string.h>

#include "base/data_folder.h"
#include "tools/fit.h"

/* Data files of one kind, and the member of theirs that has the constants; NULL: the file
 * itself. */
struct shelf {
    enum fit_of of;
    const char *folder, *member;
};

static const struct shelf shelves[] = {
    {FIT_RUNTIME, "prices/runtimes", NULL},
    {FIT_DEVICE, "topologies/accelerators", "\"training\": {"},
};

static const char *number_text(const struct fit_constant *constant, struct arena *arena)
{
    struct text text;
    if (constant->field->unit == UNIT_KIND_COUNT) {
        return text_build(arena, "%.4g", constant->value);
    }
    text_init(&text, arena);
    unit_dump_short(constant->field->unit, constant->value, &text);
    return text_build(arena, "\"%s\"", text.bytes);
}

/* The text with the constant's number replaced, or added in front of all where the file leaves it
 * out. NULL: the file has no place for it. */
static const char *replaced(const char *text, const struct shelf *shelf,
                            const struct fit_constant *constant, struct arena *arena)
{
    const char *key = text_build(arena, "\"%s\": ", constant->field->key);
    const char *from = shelf->member == NULL ? strchr(text, '{') : strstr(text, shelf->member);
    if (from == NULL) {
        return NULL;
    }
    from += shelf->member == NULL ? 1 : strlen(shelf->member);
    const char *at = strstr(from, key), *value = number_text(constant, arena);
    if (at == NULL) {
        return text_build(arena, "%.*s\n%s%s%s,%s", (int)(from - text), text,
                          shelf->member == NULL ? "  " : "    ", key, value, from);
    }
    at += strlen(key);
    return text_build(arena, "%.*s%s%s", (int)(at - text), text, value, at + strcspn(at, ",\n"));
}

/* Is the file the owner's? Files are named in lower case; runtimes by themselves, devices by a name
 * inside. */
static bool is_file_of(const char *text, const char *stem, const struct fit_constant *constant,
                       struct arena *arena)
{
    const char *key = strstr(text, "\"name\": \"");
    if (constant->field->of == FIT_RUNTIME || key == NULL) {
        return strcmp(stem, constant->owner) == 0;
    }
    key += strlen("\"name\": \"");
    return fit_is_owner(constant->owner, text_build_copy(arena, key, strcspn(key, "\"")));
}

static bool write_file(struct command *command, const struct fit *fit, const struct shelf *shelf,
                       const char *stem, const char *folder)
{
    const char *path = text_build(command->arena, "%s/%s.json", shelf->folder, stem);
    struct text text;
    text_init(&text, command->arena);
    if (!command_read_file(command, data_folder_find(path, command->arena), &text)) {
        return false;
    }
    const char *now = text.bytes;
    bool owned = false;
    for (uint32_t i = 0; i < fit->count; i++) {
        const struct fit_constant *constant = &fit->constants[i];
        if (constant->field->of == shelf->of && is_file_of(now, stem, constant, command->arena)) {
            const char *next = replaced(now, shelf, constant, command->arena);
            now = next == NULL ? now : next;
            owned = owned || next != NULL;
        }
    }
    if (!owned) {
        return true;
    }
    text_init(&text, command->arena);
    text_push(&text, "%s", now);
    return command_write(command, text_build(command->arena, "%s/%s", folder, path), &text);
}

bool fit_write(struct command *command, const struct fit *fit, const char *folder)
{
    for (uint32_t i = 0; i < sizeof shelves / sizeof shelves[0]; i++) {
        const char *const *stems = data_folder_each(shelves[i].folder, ".json", command->arena);
        for (uint32_t k = 0; stems[k] != NULL; k++) {
            if (!write_file(command, fit, &shelves[i], stems[k], folder)) {
                return false;
            }
        }
    }
    return true;
}

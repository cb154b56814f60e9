/* Variables of a template are filled in. */
#include <string.h>

#include "base/text.h"
#include "imports/configuration.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define FILLED_BYTES_MAX 65536u

/* The value that "NAME=VALUE,..." gives a name, not NUL-terminated; NULL: none. */
static const char *find_value(const char *set, const char *name, size_t name_length, size_t *length)
{
    while (set != NULL && *set != '\0') {
        const size_t whole = strcspn(set, ","), equals = strcspn(set, "=,");
        if (equals == name_length && set[equals] == '=' && strncmp(set, name, equals) == 0) {
            *length = whole - equals - 1;
            return set + equals + 1;
        }
        set += whole + (set[whole] == ',');
    }
    return NULL;
}

/* The variable at `at`: its value to `out`, or itself where nothing gives one; its length. */
static size_t fill_variable(const char *at, const char *set, struct text *out)
{
    const bool braced = at[1] == '{';
    const char *name = at + 1 + braced;
    const size_t name_length = strspn(name, NAME_CHARACTERS);
    const char *behind = name + name_length;
    const size_t rest = braced ? strcspn(behind, "}") : 0;
    const size_t whole = (size_t)(behind - at) + rest + (braced && behind[rest] == '}');
    size_t length = 0;
    const char *value = find_value(set, name, name_length, &length);
    if (value == NULL && braced && behind[0] == ':') {
        const size_t skip = behind[1] == '-' ? 2 : 1;
        value = behind + skip;
        length = rest > skip ? rest - skip : 0;
    }
    text_push_bytes(out, value == NULL ? at : value, value == NULL ? whole : length);
    return whole;
}

static void fill_setting(struct setting *setting, const char *set, struct arena *arena)
{
    struct text text;
    for (uint32_t i = 0; i < setting->item_count; i++) {
        fill_setting(&setting->items[i], set, arena);
    }
    if (setting->kind != SETTING_TEXT || strchr(setting->text, '$') == NULL) {
        return;
    }
    text_init(&text, arena);
    for (const char *at = setting->text; *at != '\0' && text.length < FILLED_BYTES_MAX;) {
        if (*at == '$') {
            at += fill_variable(at, set, &text);
        } else {
            text_push_bytes(&text, at++, 1);
        }
    }
    setting->text = text.bytes;
    setting->kind = setting_guess(text.bytes);
}

/* Names with a lower-case letter are settings, the others variables. */
static bool is_setting(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (name[i] >= 'a' && name[i] <= 'z') {
            return true;
        }
    }
    return false;
}

static void push_settings(struct configuration *configuration, const char *set)
{
    while (set != NULL && *set != '\0') {
        const size_t whole = strcspn(set, ","), equals = strcspn(set, "=,");
        if (equals > 0 && set[equals] == '=' && is_setting(set, equals)) {
            const char *key = text_build_copy(configuration->arena, set, equals);
            setting_drop(&configuration->settings, key);
            struct setting *setting = setting_push(&configuration->settings, key,
                                                   (struct diag_place){0}, configuration->diag);
            if (setting != NULL) {
                setting->text =
                    text_build_copy(configuration->arena, set + equals + 1, whole - equals - 1);
                setting->kind = setting_guess(setting->text);
            }
        }
        set += whole + (set[whole] == ',');
    }
}

void configuration_fill(struct configuration *configuration)
{
    const char *set = configuration->request->set;
    for (uint32_t i = 0; i < configuration->settings.count; i++) {
        fill_setting(&configuration->settings.settings[i], set, configuration->arena);
    }
    push_settings(configuration, set);
}

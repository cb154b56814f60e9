/* Variables of a template are filled in. */
#include <string.h>

#include "base/text.h"
#include "imports/configuration.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define FILLED_BYTES_MAX 65536u

/* The variable at `at`: its value to `out`, or itself where nothing gives one; its length. */
static size_t fill_variable(const char *at, const struct setting_given *given, struct text *out)
{
    const bool braced = at[1] == '{';
    const char *name = at + 1 + braced;
    const size_t name_length = strspn(name, NAME_CHARACTERS);
    const char *behind = name + name_length;
    const size_t rest = braced ? strcspn(behind, "}") : 0;
    const size_t whole = (size_t)(behind - at) + rest + (braced && behind[rest] == '}');
    size_t length = 0;
    const char *value = setting_find_given(given, name, name_length, &length);
    if (value == NULL && braced && (behind[0] == ':' || behind[0] == '-')) {
        const size_t skip = strncmp(behind, ":-", 2) == 0 ? 2 : 1;
        value = behind + skip;
        length = rest > skip ? rest - skip : 0;
    }
    text_push_bytes(out, value == NULL ? at : value, value == NULL ? whole : length);
    return whole;
}

static void fill_setting(struct setting *setting, const struct setting_given *given,
                         struct arena *arena)
{
    struct text text;
    for (uint32_t i = 0; i < setting->item_count; i++) {
        fill_setting(&setting->items[i], given, arena);
    }
    if (setting->kind != SETTING_TEXT || strchr(setting->text, '$') == NULL) {
        return;
    }
    text_init(&text, arena);
    for (const char *at = setting->text; *at != '\0' && text.length < FILLED_BYTES_MAX;) {
        if (*at == '$') {
            at += fill_variable(at, given, &text);
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

/* What neither fills a variable nor is a setting. */
static void tell_unused(struct configuration *configuration)
{
    const char *const list = configuration->given.list;
    for (const char *at = list; at != NULL && *at != '\0';) {
        const size_t whole = strcspn(at, ","), equals = strcspn(at, "=,");
        const bool sets = equals > 0 && at[equals] == '=' && is_setting(at, equals);
        if (whole > 0 && !sets && !configuration->given.used[at - list]) {
            diag_push_warning(configuration->diag, DIAG_X664,
                              (struct diag_place){.file = configuration->settings.file},
                              "--set gives NAME=VALUE where the file says $NAME or "
                              "${NAME:-VALUE}; what the file itself sets stays",
                              "--set %.*s: nothing uses it", (int)(whole < 100 ? whole : 100), at);
        }
        at += whole + (at[whole] == ',');
    }
}

void configuration_fill(struct configuration *configuration)
{
    const char *set = configuration->request->set;
    for (uint32_t i = 0; i < configuration->settings.count; i++) {
        fill_setting(&configuration->settings.settings[i], &configuration->given,
                     configuration->arena);
    }
    push_settings(configuration, set);
    tell_unused(configuration);
}

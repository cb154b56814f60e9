/* Settings are taken by key; who takes one says what it means. */
#include "imports/configuration.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_text.h"

#define NAMED_MAX 12
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static const struct diag_place nowhere = {0};

static void usual_setup(struct setup *out)
{
    *out = (struct setup){.dtype = DTYPE_BF16,
                          .optimizer = optimizer_find("adam"),
                          .attention = ATTENTION_FLASH,
                          .task = {.kind = TASK_PRETRAIN, .text = "pretrain"}};
}

bool configuration_init(struct configuration *configuration, const struct import_request *request,
                        const char *runtime, struct arena *arena, struct diag *diag)
{
    memset(configuration, 0, sizeof *configuration);
    configuration->request = request;
    configuration->arena = arena;
    configuration->diag = diag;
    configuration->good = true;
    configuration->given.list = request->set;
    configuration->given.used =
        ARENA_PUSH(arena, bool, request->set == NULL ? 1 : strlen(request->set) + 1);
    usual_setup(&configuration->setup);
    configuration->setup.runtime = &configuration->runtime;
    configuration->problem = (struct problem){.model = &configuration->model,
                                              .cluster = &configuration->cluster,
                                              .setup = &configuration->setup};
    configuration->plan = (struct plan){.groups = &configuration->group,
                                        .group_count = 1,
                                        .policies = configuration->uses,
                                        .schedule = {.chunks = 1}};
    if (request->cluster == NULL) {
        return diag_push(diag, DIAG_X662, nowhere, "give --cluster",
                         "a configuration does not say what it runs on");
    }
    return cluster_read(request->cluster, arena, &configuration->cluster, diag) &&
           runtime_read(runtime, nowhere, arena, &configuration->runtime, diag);
}

static bool check_bytes(const char *name, const struct text *text, struct diag *diag)
{
    uint32_t line = 1;
    for (size_t i = 0; i < text->length;) {
        const uint32_t bytes = text_count_character(text->bytes + i, text->length - i);
        if (bytes == 0 || text->bytes[i] == '\0') {
            return diag_push(diag, DIAG_B130, (struct diag_place){.file = name, .line = line}, NULL,
                             "byte 0x%02x is no text in UTF-8", (unsigned char)text->bytes[i]);
        }
        line += text->bytes[i] == '\n';
        i += bytes;
    }
    return true;
}

bool configuration_read_text(struct configuration *configuration, struct text *out)
{
    const char *path = configuration->request->path;
    const char *name = file_text_name(path, configuration->arena);
    const size_t mark = sizeof BYTE_ORDER_MARK - 1;
    if (!file_text_read(path, name, json_limits.max_bytes, configuration->arena, out,
                        configuration->diag)) {
        return false;
    }
    if (out->length >= mark && memcmp(out->bytes, BYTE_ORDER_MARK, mark) == 0) {
        out->length -= mark;
        memmove(out->bytes, out->bytes + mark, out->length + 1);
    }
    return check_bytes(name, out, configuration->diag);
}

void configuration_check_keys(struct configuration *configuration, const char *keys)
{
    configuration->taken = ARENA_PUSH(configuration->arena, bool, configuration->settings.count);
    configuration->good =
        keys_read(keys, configuration->arena, &configuration->keys, configuration->diag) &&
        keys_check(configuration->keys, &configuration->settings, configuration->diag) &&
        configuration->good;
}

/* --- taking ----------------------------------------------------------------------------------- */

bool configuration_refuse(struct configuration *configuration, enum diag_code code, const char *key,
                          const char *hint, const char *format, ...)
{
    const struct setting *setting =
        key == NULL ? NULL : setting_find(&configuration->settings, key);
    struct text text;
    va_list arguments;
    text_init(&text, configuration->arena);
    va_start(arguments, format);
    text_push_list(&text, format, arguments);
    va_end(arguments);
    configuration->good = false;
    return diag_push(configuration->diag, code, setting == NULL ? nowhere : setting->place, hint,
                     "%s", text.bytes);
}

bool configuration_is_open(const struct configuration *configuration, const char *key)
{
    const struct setting *setting = setting_find(&configuration->settings, key);
    return setting != NULL && setting->kind == SETTING_TEXT &&
           (strchr(setting->text, '$') != NULL ||
            (strcmp(setting->text, "auto") == 0 &&
             !keys_has_choice(configuration->keys, key, setting->text)));
}

/* N of $N and ${N}, else the setting itself. */
static const char *name_open(const struct setting *setting, struct arena *arena)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    const char *at = strchr(setting->text, '$');
    at = at == NULL ? "" : at + (at[1] == '{' ? 2 : 1);
    const size_t length = strspn(at, letters);
    return length == 0 ? setting->key : text_build_copy(arena, at, length);
}

static void refuse_open(struct configuration *configuration, const struct setting *setting)
{
    configuration_refuse(
        configuration, DIAG_X662, setting->key,
        text_build(configuration->arena, "write the value that is used, or give it: --set %s=VALUE",
                   name_open(setting, configuration->arena)),
        "'%s' is '%s': what will stand there is not known", setting->key, setting->text);
}

const struct setting *configuration_take(struct configuration *configuration, const char *key)
{
    const struct setting *setting = setting_find(&configuration->settings, key);
    if (setting == NULL || setting->kind == SETTING_NULL) {
        return NULL;
    }
    bool *taken = &configuration->taken[setting - configuration->settings.settings];
    const bool again = *taken;
    *taken = true;
    if (configuration_is_open(configuration, key)) {
        if (!again) {
            refuse_open(configuration, setting);
        }
        return NULL;
    }
    return setting;
}

uint64_t configuration_take_count(struct configuration *configuration, const char *key,
                                  uint64_t fallback)
{
    const struct setting *setting = configuration_take(configuration, key);
    char *end = NULL;
    if (setting == NULL) {
        return fallback;
    }
    const double value = setting->kind == SETTING_NUMBER ? strtod(setting->text, &end) : -1;
    if (!(value >= 0 && value <= 9007199254740992.0) || *end != '\0' ||
        value != (double)(uint64_t)value) {
        configuration_refuse(configuration, DIAG_X661, key, "a whole number from 0", "'%s' is '%s'",
                             key, setting->text);
        return fallback;
    }
    return (uint64_t)value;
}

double configuration_take_number(struct configuration *configuration, const char *key,
                                 double fallback)
{
    const struct setting *setting = configuration_take(configuration, key);
    if (setting == NULL) {
        return fallback;
    }
    if (setting->kind != SETTING_NUMBER) {
        configuration_refuse(configuration, DIAG_X661, key, "a number", "'%s' is '%s'", key,
                             setting->text);
        return fallback;
    }
    return strtod(setting->text, NULL);
}

bool configuration_take_switch(struct configuration *configuration, const char *key, bool fallback)
{
    const struct setting *setting = configuration_take(configuration, key);
    if (setting == NULL) {
        return fallback;
    }
    if (setting->kind != SETTING_BOOL) {
        configuration_refuse(configuration, DIAG_X661, key, "true or false", "'%s' is '%s'", key,
                             setting->text);
        return fallback;
    }
    return setting->text[0] == 't' || setting->text[0] == 'T';
}

const char *configuration_take_word(struct configuration *configuration, const char *key,
                                    const char *fallback)
{
    const struct setting *setting = configuration_take(configuration, key);
    if (setting == NULL) {
        return fallback;
    }
    if (setting->kind == SETTING_LIST) {
        configuration_refuse(configuration, DIAG_X661, key, "one word", "'%s' is a list", key);
        return fallback;
    }
    return setting->text;
}

/* --- what is left ----------------------------------------------------------------------------- */

static bool is_plain(const struct setting *setting, const char *plain)
{
    if (setting->kind == SETTING_NULL || (plain != NULL && strcmp(setting->text, plain) == 0)) {
        return true;
    }
    return plain == NULL && ((setting->kind == SETTING_BOOL && (setting->text[0] | 32) == 'f') ||
                             (setting->kind == SETTING_NUMBER && strtod(setting->text, NULL) == 0));
}

void configuration_refuse_limits(struct configuration *configuration,
                                 const struct configuration_limit *limits, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct setting *setting = setting_find(&configuration->settings, limits[i].key);
        if (setting == NULL) {
            continue;
        }
        configuration->taken[setting - configuration->settings.settings] = true;
        if (!is_plain(setting, limits[i].plain)) {
            configuration_refuse(configuration, DIAG_X664, limits[i].key, NULL, "'%s': %s",
                                 limits[i].key, limits[i].reason);
        }
    }
}

static bool begins(const char *key, const char *const *beginnings)
{
    for (uint32_t i = 0; beginnings[i] != NULL; i++) {
        if (strncmp(key, beginnings[i], strlen(beginnings[i])) == 0) {
            return true;
        }
    }
    return false;
}

void configuration_skip(struct configuration *configuration, const char *const *beginnings)
{
    for (uint32_t i = 0; i < configuration->settings.count; i++) {
        configuration->taken[i] =
            configuration->taken[i] || begins(configuration->settings.settings[i].key, beginnings);
    }
}

static void tell(struct configuration *configuration, const char *const *harmless, bool wanted,
                 const char *what)
{
    struct text text;
    uint32_t count = 0;
    text_init(&text, configuration->arena);
    for (uint32_t i = 0; i < configuration->settings.count; i++) {
        const char *key = configuration->settings.settings[i].key;
        if (!configuration->taken[i] && begins(key, harmless) == wanted && count++ < NAMED_MAX) {
            text_push(&text, "%s%s", count == 1 ? "" : ", ", key);
        }
    }
    if (count > NAMED_MAX) {
        text_push(&text, " and %u more", count - NAMED_MAX);
    }
    if (count > 0) {
        diag_push_warning(configuration->diag, DIAG_X664,
                          (struct diag_place){.file = configuration->settings.file}, NULL, "%s: %s",
                          what, text.bytes);
    }
}

void configuration_tell_rest(struct configuration *configuration, const char *const *harmless)
{
    tell(configuration, harmless, true, "changes nothing that is planned");
    tell(configuration, harmless, false,
         "not looked at, taken to change neither time nor memory per step");
}

/* Keys of a config.json under their several names, with what is said about those that cannot be
 * followed. */
#include <string.h>

#include "base/text.h"
#include "models/hf_family.h"

/* The first of the names that the file has with a value; the usual one if it has none. */
const char *hf_key_find(struct json_value object, const char *const *names)
{
    for (uint32_t i = 0; names[i] != NULL; i++) {
        if (!json_is_null(json_find(object, names[i]))) {
            return names[i];
        }
    }
    return names[0];
}

bool hf_key_read_count(const struct hf_config *config, const char *const *names, uint32_t max,
                       uint32_t *out)
{
    return json_read_u32(config->object, hf_key_find(config->object, names), 1, max, out,
                         config->diag);
}

bool hf_key_read_count_or(const struct hf_config *config, const char *const *names,
                          uint32_t fallback, uint32_t *out)
{
    const char *key = hf_key_find(config->object, names);
    if (!json_is_null(json_find(config->object, key))) {
        return json_read_u32(config->object, key, 0, UINT32_MAX, out, config->diag);
    }
    *out = fallback;
    if (fallback != 0) {
        hf_key_warn_default(config, key, fallback);
    }
    return true;
}

bool hf_key_read_flag(const struct hf_config *config, const char *key, bool *out)
{
    return json_read_bool_or(config->object, key, *out, out, config->diag);
}

bool hf_key_is_true(struct json_value object, const char *key)
{
    bool value = false;
    return json_value_bool(json_find(object, key), &value) && value;
}

bool hf_key_is_set(struct json_value object, const char *key)
{
    const struct json_value value = json_find(object, key);
    double number = 1.0;
    const char *text = "x";
    bool flag = true;
    json_value_double(value, &number);
    json_value_string(value, &text);
    json_value_bool(value, &flag);
    const bool holds = (!json_is_array(value) && !json_is_object(value)) || json_count(value) > 0;
    return !json_is_null(value) && number != 0.0 && text[0] != '\0' && flag && holds;
}

bool hf_key_equals(struct json_value object, const char *key, const char *text)
{
    const char *value = NULL;
    return json_value_string(json_find(object, key), &value) && strcmp(value, text) == 0;
}

bool hf_key_refuse(const struct hf_config *config, const char *key, const char *why)
{
    const struct json_value value = json_find(config->object, key);
    return diag_push(config->diag, DIAG_M205,
                     json_place(json_is_absent(value) ? config->object : value), NULL,
                     "'%s' of a %s model: %s", key, config->family->types[0], why);
}

bool hf_key_refuse_set(const struct hf_config *config, const char *const *keys, const char *why)
{
    for (uint32_t i = 0; keys[i] != NULL; i++) {
        if (hf_key_is_set(config->object, keys[i])) {
            return hf_key_refuse(config, keys[i], why);
        }
    }
    return true;
}

void hf_key_warn(const struct hf_config *config, const char *key, const char *what)
{
    const struct json_value value = json_find(config->object, key);
    diag_push_warning(config->diag, DIAG_M205,
                      json_place(json_is_absent(value) ? config->object : value), NULL,
                      "'%s' of a %s model: %s", key, config->family->types[0], what);
}

void hf_key_warn_default(const struct hf_config *config, const char *key, uint64_t value)
{
    hf_key_warn(config, key,
                text_build(config->diag->arena,
                           "absent, so taken as %llu, the default of the transformers library",
                           (unsigned long long)value));
}

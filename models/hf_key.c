/* Keys of a config.json under their several names, with what is said about those that cannot be
 * followed. */
#include "models/hf_inside.h"

#include "base/text.h"

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

bool hf_key_is_true(struct json_value object, const char *key)
{
    bool value = false;
    return json_value_bool(json_find(object, key), &value) && value;
}

bool hf_key_refuse(const struct hf_config *config, const char *key, const char *why)
{
    return diag_push(config->diag, DIAG_M205, json_place(json_find(config->object, key)), NULL,
                     "'%s' of a %s model: %s", key, config->family->model_type, why);
}

void hf_key_warn(const struct hf_config *config, const char *key, const char *what)
{
    const struct json_value value = json_find(config->object, key);
    diag_push_warning(config->diag, DIAG_M205,
                      json_place(json_is_absent(value) ? config->object : value), NULL,
                      "'%s' of a %s model: %s", key, config->family->model_type, what);
}

void hf_key_warn_default(const struct hf_config *config, const char *key, uint64_t value)
{
    hf_key_warn(config, key,
                text_build(config->diag->arena,
                           "absent, so taken as %llu, the default of the transformers library",
                           (unsigned long long)value));
}

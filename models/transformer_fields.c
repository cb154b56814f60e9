/* What a description has beyond the plain decoder, as a table of keys: reading and writing are
 * loops
 * over it. A key that is absent is zero, false or the first choice; what is that is not written. */
#include "models/transformer_fields.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"

enum field_kind { FIELD_COUNT, FIELD_BOOL, FIELD_CHOICE };

struct field {
    const char *object; /* that the key stands in; "": the description itself */
    const char *key;
    enum field_kind kind;
    size_t offset; /* in struct transformer: uint32_t, bool or an enum */
    const char *const *choices;
};

static const char *const form_names[LAYER_FORM_COUNT + 1] = {
    "pre-norm", "post-norm", "sandwich", "branch-norm", "parallel", "parallel-two", NULL};
static const char *const head_names[HEAD_KIND_COUNT + 1] = {"logits", "masked", NULL};
static const char *const scan_names[SCAN_KIND_COUNT + 1] = {"mamba2", "mamba1", "delta", NULL};

#define COUNT(object, key, member) \
    { \
        object, key, FIELD_COUNT, offsetof(struct transformer, member), NULL \
    }
#define FLAG(object, key, member) \
    { \
        object, key, FIELD_BOOL, offsetof(struct transformer, member), NULL \
    }
#define CHOICE(object, key, member, names) \
    { \
        object, key, FIELD_CHOICE, offsetof(struct transformer, member), names \
    }

static const struct field fields[] = {
    CHOICE("", "form", form, form_names),
    CHOICE("", "head", head, head_names),
    FLAG("", "bidirectional", bidirectional),
    FLAG("", "embedding_norm", embedding_norm),
    FLAG("", "head_bias", head_bias),
    FLAG("", "qk_norm_wide", qk_norm_wide),
    FLAG("", "attention_gate", attention_gate),
    FLAG("", "sinks", sinks),
    FLAG("", "pooler", pooler),
    FLAG("", "next_sentence", next_sentence),
    COUNT("", "token_types", token_types),
    COUNT("", "relative_buckets", relative_buckets),
    COUNT("", "encoder_layers", encoder_layers),
    COUNT("", "mtp_layers", mtp_layers),
    FLAG("moe", "router_bias", moe.router_bias),
    FLAG("moe", "shared_gate", moe.shared_gate),
    COUNT("mla", "kv_rank", mla.kv_rank),
    COUNT("mla", "q_rank", mla.q_rank),
    COUNT("mla", "nope_dim", mla.nope_dim),
    COUNT("mla", "rope_dim", mla.rope_dim),
    COUNT("mla", "value_dim", mla.value_dim),
    CHOICE("scan", "kind", scan.kind, scan_names),
    COUNT("scan", "heads", scan.heads),
    COUNT("scan", "head_dim", scan.head_dim),
    COUNT("scan", "groups", scan.groups),
    COUNT("scan", "state", scan.state),
    COUNT("scan", "conv", scan.conv),
    COUNT("scan", "rank", scan.rank),
    COUNT("scan", "chunk", scan.chunk),
    FLAG("scan", "bias", scan.bias),
    FLAG("scan", "inner_norms", scan.inner_norms),
    COUNT("vision", "patch_inputs", vision.patch_inputs),
    COUNT("vision", "patches", vision.patches),
    COUNT("vision", "merge", vision.merge),
    COUNT("vision", "taps", vision.taps),
    COUNT("vision", "projector_inner", vision.projector_inner),
    COUNT("vision", "projector_ffn", vision.projector_ffn),
    FLAG("vision", "patch_bias", vision.patch_bias),
    FLAG("vision", "final_norm", vision.final_norm),
    FLAG("vision", "projector_bias", vision.projector_bias),
    FLAG("vision", "projector_norm", vision.projector_norm),
    FLAG("vision", "pools", vision.pools),
};
#define FIELDS (sizeof fields / sizeof fields[0])

#define OBJECT_KEYS_MAX 32

static uint32_t value_of(const struct field *field, const struct transformer *shape)
{
    const char *at = (const char *)shape + field->offset;
    uint32_t value = 0;
    if (field->kind == FIELD_BOOL) {
        bool flag;
        memcpy(&flag, at, sizeof flag);
        return flag;
    }
    memcpy(&value, at, sizeof value);
    return value;
}

static void set_value(const struct field *field, uint32_t value, struct transformer *out)
{
    char *at = (char *)out + field->offset;
    const bool flag = value != 0;
    memcpy(at, field->kind == FIELD_BOOL ? (const void *)&flag : (const void *)&value,
           field->kind == FIELD_BOOL ? sizeof flag : sizeof value);
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool read_field(struct json_value object, const struct field *field, struct transformer *out,
                       struct diag *diag)
{
    uint32_t value = 0;
    bool flag = false, good = true;
    if (json_is_null(json_find(object, field->key))) {
        return true;
    }
    switch (field->kind) {
    case FIELD_COUNT: good = json_read_u32(object, field->key, 0, UINT32_MAX, &value, diag); break;
    case FIELD_BOOL:
        good = json_read_bool_or(object, field->key, false, &flag, diag);
        value = flag;
        break;
    case FIELD_CHOICE:
        good = json_read_choice(object, field->key, field->choices, &value, diag);
        break;
    }
    if (good) {
        set_value(field, value, out);
    }
    return good;
}

void transformer_fields_each(const char *object, const char **out)
{
    for (size_t i = 0; i < FIELDS; i++) {
        if (strcmp(fields[i].object, object) == 0) {
            *out++ = fields[i].key;
        }
    }
    *out = NULL;
}

static bool read_object(struct json_value parent, const char *name, struct transformer *out,
                        struct diag *diag)
{
    const struct json_value object = name[0] == '\0' ? parent : json_find(parent, name);
    bool good = true;
    if (json_is_null(object)) {
        return true;
    }
    if (!json_is_object(object)) {
        return diag_push(diag, DIAG_B107, json_place(object), NULL,
                         "'%s' must be an object, such as {\"%s\": ...}", name,
                         strcmp(name, "vision") == 0 ? "tower" : "heads");
    }
    for (size_t i = 0; i < FIELDS; i++) {
        if (strcmp(fields[i].object, name) == 0) {
            good &= read_field(object, &fields[i], out, diag);
        }
    }
    return good;
}

bool transformer_fields_read(struct json_value object, struct transformer *out, struct diag *diag)
{
    static const char *const closed[] = {"mla", "scan"}; /* objects with nothing but fields */
    bool good = read_object(object, "", out, diag) && read_object(object, "moe", out, diag);
    for (uint32_t i = 0; i < 2; i++) {
        const char *keys[OBJECT_KEYS_MAX];
        transformer_fields_each(closed[i], keys);
        good &= read_object(object, closed[i], out, diag);
        const struct json_value inner = json_find(object, closed[i]);
        good = good && (!json_is_object(inner) || json_check_keys(inner, keys, diag));
    }
    return good && read_object(object, "vision", out, diag);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void dump_field(const struct field *field, const struct transformer *shape,
                       struct json_writer *out)
{
    const uint32_t value = value_of(field, shape);
    if (value == 0) {
        return;
    }
    switch (field->kind) {
    case FIELD_COUNT: json_push_key_u64(out, field->key, value); break;
    case FIELD_BOOL: json_push_key_bool(out, field->key, true); break;
    case FIELD_CHOICE: json_push_key_string(out, field->key, field->choices[value]); break;
    }
}

void transformer_fields_dump(const char *object, const struct transformer *shape,
                             struct json_writer *out)
{
    for (size_t i = 0; i < FIELDS; i++) {
        if (strcmp(fields[i].object, object) == 0) {
            dump_field(&fields[i], shape, out);
        }
    }
}

/* Policies are read and written by their field tables alone. */
#include "plan/policy.h"

#include <assert.h>
#include <string.h>

const char *const policy_phases[] = {"warm-up", "steady", "cool-down", NULL};
const char *const policy_tensors[] = {
    "activations", "gradients",   "parameters", "optimizer", "embeddings",
    "tables",      "keys-values", "scalars",    NULL,
};

const char *const *policy_names(void)
{
    return policy_table_names;
}

const struct policy *policy_find(const char *name)
{
    for (uint32_t i = 0; i < policy_table_count; i++) {
        if (strcmp(policy_table[i]->name, name) == 0)
            return policy_table[i];
    }
    return NULL;
}

const struct policy_value *policy_find_value(const struct policy_use *use, const char *key)
{
    for (uint32_t i = 0; i < use->kind->field_count; i++) {
        if (strcmp(use->kind->fields[i].key, key) == 0)
            return use->values[i].present ? &use->values[i] : NULL;
    }
    return NULL;
}

const char *policy_refuse_kind(const struct problem *problem, const struct plan *plan,
                               const struct policy_use *use, struct arena *arena)
{
    (void)problem;
    (void)plan;
    return text_build(arena, "the judges cannot cost policy '%s' yet", use->kind->name);
}

static bool is_among(const char *word, const char *const *words)
{
    for (uint32_t i = 0; words[i] != NULL; i++) {
        if (strcmp(word, words[i]) == 0)
            return true;
    }
    return false;
}

const char *policy_refuse_fields(const struct policy_use *use, const char *const *costed,
                                 struct arena *arena)
{
    struct text list;
    text_init(&list, arena);
    for (uint32_t i = 0; i < use->kind->field_count; i++) {
        const char *key = use->kind->fields[i].key;
        if (use->values[i].present && !is_among(key, costed))
            text_push(&list, "%s'%s'", list.length == 0 ? "" : ", ", key);
    }
    return list.length == 0 ? NULL
                            : text_build(arena, "the judges cannot cost %s of policy '%s' yet",
                                         list.bytes, use->kind->name);
}

static uint32_t count_choices(const struct policy_field *field)
{
    uint32_t count = 0;
    while (field->choices != NULL && field->choices[count] != NULL)
        count++;
    return count;
}

static bool report_choice(const struct policy_field *field, struct json_value value,
                          const char *word, struct arena *arena, struct diag *diag)
{
    const char *nearest = text_find_nearest(word, field->choices, count_choices(field));
    struct text list;
    text_init(&list, arena);
    for (uint32_t i = 0; field->choices[i] != NULL; i++)
        text_push(&list, "%s%s", i == 0 ? "" : ", ", field->choices[i]);
    return diag_push(diag, DIAG_B110, json_place(value),
                     nearest == NULL ? NULL : text_build(arena, "did you mean '%s'?", nearest),
                     "%s: '%s' is none of %s", field->key, word, list.bytes);
}

/* A list of words, or one word alone. */
static bool read_words(const struct policy_field *field, struct json_value value,
                       struct arena *arena, struct policy_value *out, struct diag *diag)
{
    const uint32_t count = json_is_array(value) ? json_count(value) : 1;
    const char **words = ARENA_PUSH(arena, const char *, count);
    if (count == 0)
        return diag_push(diag, DIAG_B108, json_place(value), NULL,
                         "%s is an empty list: leave it out or name one", field->key);
    for (uint32_t i = 0; i < count; i++) {
        struct json_value element = json_is_array(value) ? json_find_index(value, i) : value;
        const char *word = NULL;
        if (!json_value_string(element, &word))
            return diag_push(diag, DIAG_B107, json_place(element), NULL,
                             "%s must be a word or a list of words", field->key);
        if (field->choices != NULL && !is_among(word, field->choices))
            return report_choice(field, element, word, arena, diag);
        words[i] = text_build(arena, "%s", word);
    }
    out->words = words;
    out->word_count = count;
    return true;
}

static bool read_numbers(const struct policy_field *field, struct json_value value,
                         struct arena *arena, struct policy_value *out, struct diag *diag)
{
    const uint32_t count = json_is_array(value) ? json_count(value) : 0;
    double *numbers = ARENA_PUSH(arena, double, count);
    if (count == 0)
        return diag_push(diag, DIAG_B107, json_place(value), NULL, "%s must be a list of numbers",
                         field->key);
    for (uint32_t i = 0; i < count; i++) {
        struct json_value element = json_find_index(value, i);
        if (!json_value_double(element, &numbers[i]))
            return diag_push(diag, DIAG_B107, json_place(element), NULL,
                             "%s must be a list of numbers", field->key);
    }
    out->numbers = numbers;
    out->number_count = count;
    return true;
}

static bool read_value(const struct policy_field *field, struct json_value object,
                       struct arena *arena, struct policy_value *out, struct diag *diag)
{
    const double largest = 1e300;
    switch (field->kind) {
    case POLICY_FIELD_WORD:
        return json_read_choice(object, field->key, field->choices, &out->word, diag);
    case POLICY_FIELD_WORDS:
        return read_words(field, json_find(object, field->key), arena, out, diag);
    case POLICY_FIELD_TEXT: return json_read_string(object, field->key, arena, &out->text, diag);
    case POLICY_FIELD_COUNT:
        return json_read_u64(object, field->key, 0, UINT32_MAX, &out->count, diag);
    case POLICY_FIELD_NUMBER:
        return json_read_double(object, field->key, -largest, largest, &out->number, diag);
    case POLICY_FIELD_FRACTION:
        return json_read_double(object, field->key, 0, 1, &out->number, diag);
    case POLICY_FIELD_BOOL: return json_read_bool_or(object, field->key, false, &out->flag, diag);
    case POLICY_FIELD_QUANTITY:
        return json_read_quantity(object, field->key, field->unit, &out->number, diag);
    case POLICY_FIELD_NUMBERS:
        return read_numbers(field, json_find(object, field->key), arena, out, diag);
    case POLICY_FIELD_KIND_COUNT: break;
    }
    BUG("policy field '%s' has kind %d", field->key, (int)field->kind);
}

static bool read_fields(struct json_value object, struct arena *arena, struct policy_use *out,
                        struct diag *diag)
{
    const char *keys[POLICY_FIELD_MAX + 2] = {"kind"};
    bool good = true;
    assert(out->kind->field_count <= POLICY_FIELD_MAX);
    for (uint32_t i = 0; i < out->kind->field_count; i++)
        keys[i + 1] = out->kind->fields[i].key;
    good = json_check_keys(object, keys, diag);
    for (uint32_t i = 0; i < out->kind->field_count; i++) {
        const struct policy_field *field = &out->kind->fields[i];
        out->values[i].present = !json_is_null(json_find(object, field->key));
        if (out->values[i].present)
            good = read_value(field, object, arena, &out->values[i], diag) && good;
        else if (field->required)
            good =
                diag_push(diag, DIAG_B106, json_place(object), NULL, "policy '%s' needs '%s': %s",
                          out->kind->name, field->key, field->summary);
    }
    return good;
}

bool policy_read_json(struct json_value object, struct arena *arena, struct policy_use *out,
                      struct diag *diag)
{
    struct policy_use use = {0};
    uint32_t kind = 0;
    if (!json_is_object(object))
        return diag_push(diag, DIAG_B107, json_place(object), NULL,
                         "a policy must be an object with a \"kind\"");
    if (!json_read_choice(object, "kind", policy_names(), &kind, diag))
        return false;
    use.kind = policy_table[kind];
    if (!read_fields(object, arena, &use, diag))
        return false;
    *out = use;
    return true;
}

static void dump_words(const struct policy_value *value, struct json_writer *out)
{
    if (value->word_count == 1) {
        json_push_string(out, value->words[0]);
        return;
    }
    json_push_array(out);
    for (uint32_t i = 0; i < value->word_count; i++)
        json_push_string(out, value->words[i]);
    json_pop_array(out);
}

static void dump_numbers(const struct policy_value *value, struct json_writer *out)
{
    json_push_array(out);
    for (uint32_t i = 0; i < value->number_count; i++)
        json_push_double(out, value->numbers[i]);
    json_pop_array(out);
}

static void dump_value(const struct policy_field *field, const struct policy_value *value,
                       struct json_writer *out)
{
    switch (field->kind) {
    case POLICY_FIELD_WORD: json_push_string(out, field->choices[value->word]); return;
    case POLICY_FIELD_WORDS: dump_words(value, out); return;
    case POLICY_FIELD_TEXT: json_push_string(out, value->text); return;
    case POLICY_FIELD_COUNT: json_push_u64(out, value->count); return;
    case POLICY_FIELD_NUMBER:
    case POLICY_FIELD_FRACTION: json_push_double(out, value->number); return;
    case POLICY_FIELD_BOOL: json_push_bool(out, value->flag); return;
    case POLICY_FIELD_QUANTITY: json_push_quantity(out, field->unit, value->number); return;
    case POLICY_FIELD_NUMBERS: dump_numbers(value, out); return;
    case POLICY_FIELD_KIND_COUNT: break;
    }
    BUG("policy field '%s' has kind %d", field->key, (int)field->kind);
}

void policy_dump(const struct policy_use *use, struct json_writer *out)
{
    json_push_object(out);
    const bool before = out->compact;
    out->compact = true; /* one line */
    json_push_key_string(out, "kind", use->kind->name);
    for (uint32_t i = 0; i < use->kind->field_count; i++) {
        if (!use->values[i].present)
            continue;
        json_push_key(out, use->kind->fields[i].key);
        dump_value(&use->kind->fields[i], &use->values[i], out);
    }
    json_pop_object(out);
    out->compact = before;
}

/* What a plan moves to the host's memory as a flag: lists joined by '+', each with its share. */
#include <string.h>

#include "tools/plan_flags.h"

static const struct diag_place nowhere = {0};

/* Index of a field of the policy. */
static uint32_t field_of(const struct policy *kind, const char *key)
{
    for (uint32_t i = 0; i < kind->field_count; i++) {
        if (strcmp(kind->fields[i].key, key) == 0) {
            return i;
        }
    }
    BUG("policy '%s' has no field '%s'", kind->name, key);
}

/* The policy's own word for the next name of a list, or NULL; how long it is. */
static const char *find_word(const struct policy_field *field, const char *text, size_t *length)
{
    *length = strcspn(text, ",:+");
    for (uint32_t i = 0; field->choices[i] != NULL; i++) {
        if (strlen(field->choices[i]) == *length && memcmp(field->choices[i], text, *length) == 0) {
            return field->choices[i];
        }
    }
    return NULL;
}

/* "0.5" behind the colon: above 0, at most 1. */
static bool read_share(const char **at, double *out)
{
    double value = 0.0, unit = 1.0;
    bool point = false, digits = false;
    for ((*at)++; (**at >= '0' && **at <= '9') || (**at == '.' && !point); (*at)++) {
        if (**at == '.') {
            point = true;
            continue;
        }
        value = 10.0 * value + (**at - '0');
        unit *= point ? 10.0 : 1.0;
        digits = true;
    }
    *out = value / unit;
    return digits && *out > 0.0 && *out <= 1.0;
}

/* One list; `at` moves behind it. */
static bool read_list(struct command *command, const char **at, struct policy_use *out)
{
    const struct policy *kind = policy_find(PLAN_FLAGS_OFFLOAD_POLICY);
    const uint32_t moved = field_of(kind, "tensors"), share = field_of(kind, "share_frac");
    const char **words = ARENA_PUSH(command->arena, const char *, strlen(*at) + 1);
    struct policy_value *names = &out->values[moved];
    memset(out, 0, sizeof *out);
    out->kind = kind;
    *names = (struct policy_value){.present = true, .words = words};
    do {
        size_t length;
        *at += names->word_count > 0 ? 1 : 0;
        words[names->word_count] = find_word(&kind->fields[moved], *at, &length);
        if (words[names->word_count++] == NULL) {
            return false;
        }
        *at += length;
    } while (**at == ',');
    if (**at == ':') {
        out->values[share].present = true;
        return read_share(at, &out->values[share].number);
    }
    return true;
}

static uint32_t count_lists(const char *text)
{
    uint32_t count = 1;
    for (const char *at = text; *at != '\0'; at++) {
        count += *at == '+' ? 1 : 0;
    }
    return count;
}

bool plan_flags_read_offload(struct command *command, struct policy_use **out, uint32_t *count)
{
    const char *text = "none";
    *count = 0;
    if (command_has(command, PLAN_FLAGS_OFFLOAD) &&
        !command_text(command, PLAN_FLAGS_OFFLOAD, &text)) {
        return false;
    }
    *out = ARENA_PUSH(command->arena, struct policy_use, count_lists(text));
    if (strcmp(text, "none") == 0) {
        return true;
    }
    const char *at = text;
    do {
        at += *count > 0 ? 1 : 0;
        if (!read_list(command, &at, &(*out)[(*count)++]) || (*at != '+' && *at != '\0')) {
            return diag_push(command->diag, DIAG_C704, nowhere,
                             "as in " PLAN_FLAGS_OFFLOAD " optimizer,gradients:0.5+activations",
                             "%s is '%s': it must be none, or a list of optimizer, gradients, "
                             "parameters, activations, with :SHARE above 0 and at most 1",
                             PLAN_FLAGS_OFFLOAD, text);
        }
    } while (*at == '+');
    return true;
}

static void push_list(const struct policy_use *use, struct text *out)
{
    const struct policy_value *moved = policy_find_value(use, "tensors");
    const struct policy_value *share = policy_find_value(use, "share_frac");
    for (uint32_t i = 0; i < moved->word_count; i++) {
        text_push(out, "%s%s", i == 0 ? "" : ",", moved->words[i]);
    }
    if (share != NULL) {
        text_push(out, ":%.15g", share->number);
    }
}

const char *plan_flags_offload(const struct plan *plan, struct arena *arena)
{
    struct text text;
    text_init(&text, arena);
    for (uint32_t i = 0; i < plan->policy_count; i++) {
        const struct policy_use *use = &plan->policies[i];
        if (strcmp(use->kind->name, PLAN_FLAGS_OFFLOAD_POLICY) == 0 && plan_flags_has_words(use)) {
            text_push(&text, text.length > 0 ? "+" : "");
            push_list(use, &text);
        }
    }
    return text.length == 0 ? "none" : text.bytes;
}

/* Policies that no flag of their own stands for, as JSON on the command line. */
#include <string.h>

#include "tools/plan_flags.h"

static bool push_use(struct command *command, struct json_value object, struct policy_use *uses,
                     uint32_t *count)
{
    struct policy_use use;
    if (!policy_read_json(object, command->arena, &use, command->diag)) {
        return false;
    }
    uses[(*count)++] = use;
    return true;
}

bool plan_flags_read_uses(struct command *command, struct plan *plan)
{
    const char *text;
    struct json *document;
    if (!command_has(command, PLAN_FLAGS_POLICY)) {
        return true;
    }
    if (!command_text(command, PLAN_FLAGS_POLICY, &text) ||
        !json_open_text(PLAN_FLAGS_POLICY, text, strlen(text), false, command->arena, &document,
                        command->diag)) {
        return false;
    }
    const struct json_value root = json_root(document);
    const uint32_t more = json_is_array(root) ? json_count(root) : 1;
    struct policy_use *uses =
        ARENA_PUSH(command->arena, struct policy_use, plan->policy_count + more);
    bool good = true;
    for (uint32_t i = 0; i < plan->policy_count; i++) {
        uses[i] = plan->policies[i];
    }
    for (uint32_t i = 0; good && i < more; i++) {
        good = push_use(command, json_is_array(root) ? json_find_index(root, i) : root, uses,
                        &plan->policy_count);
    }
    plan->policies = uses;
    json_close(document);
    return good;
}

/* Does the use say nothing but these fields? */
static bool says_only(const struct policy_use *use, const char *const *keys)
{
    for (uint32_t i = 0; i < use->kind->field_count; i++) {
        bool listed = false;
        for (uint32_t k = 0; keys[k] != NULL; k++) {
            listed = listed || strcmp(use->kind->fields[i].key, keys[k]) == 0;
        }
        if (use->values[i].present && !listed) {
            return false;
        }
    }
    return true;
}

bool plan_flags_has_words(const struct policy_use *use)
{
    static const char *const sharded[] = {"tensors", "over", NULL};
    static const char *const kept[] = {"what", "granularity", "layers", NULL};
    static const char *const moved[] = {"tensors", "share_frac", NULL};
    const struct policy_value *what = policy_find_value(use, "what");
    if (strcmp(use->kind->name, PLAN_FLAGS_ZERO_POLICY) == 0) {
        return says_only(use, sharded);
    }
    if (strcmp(use->kind->name, PLAN_FLAGS_OFFLOAD_POLICY) == 0) {
        return says_only(use, moved);
    }
    return strcmp(use->kind->name, PLAN_FLAGS_KEEP_POLICY) == 0 && says_only(use, kept) &&
           what != NULL && what->word == 1;
}

/* Between single quotes of a shell, so that no single quote may stand in it. */
static void push_quoted(const char *json, struct text *out)
{
    for (const char *at = json; *at != '\0'; at++) {
        if (*at == '\'') {
            text_push(out, "\\u0027");
        } else {
            text_push_bytes(out, at, 1);
        }
    }
}

void plan_flags_dump_uses(const struct plan *plan, struct arena *arena, struct text *out)
{
    struct text json;
    struct json_writer writer;
    uint32_t count = 0;
    text_init(&json, arena);
    json_writer_init(&writer, &json, true);
    json_push_array(&writer);
    for (uint32_t i = 0; i < plan->policy_count; i++) {
        if (!plan_flags_has_words(&plan->policies[i])) {
            policy_dump(&plan->policies[i], &writer);
            count++;
        }
    }
    json_pop_array(&writer);
    if (count > 0) {
        text_push(out, " %s '", PLAN_FLAGS_POLICY);
        push_quoted(json.bytes, out);
        text_push(out, "'");
    }
}

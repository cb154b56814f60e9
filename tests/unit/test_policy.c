/* Policies: field tables, what is read and refused, what a dump reads back to. */
#include <string.h>

#include "base/data_folder.h"
#include "plan/policy.h"
#include "tests/unit/object_text.h"

static struct policy_use use;

static bool read_object(struct json_value object)
{
    return policy_read_json(object, &arena, &use, &diag);
}

static void dump_object(struct json_writer *writer)
{
    policy_dump(&use, writer);
}

static bool read_text(const char *text)
{
    return read_object_text(text, read_object);
}

static const char *dump(void)
{
    return dump_object_text(dump_object);
}

/* --- tables ----------------------------------------------------------------------------------- */

START_TEST(tables_are_sound)
{
    for (uint32_t i = 0; i < policy_table_count; i++) {
        const struct policy *policy = policy_table[i];
        ck_assert_str_eq(policy->name, policy_names()[i]);
        ck_assert_ptr_eq(policy_find(policy->name), policy);
        ck_assert_uint_le(policy->field_count, POLICY_FIELD_MAX);
        ck_assert_msg(policy->order > 0, "%s: order 0 is before all", policy->name);
        ck_assert_msg(policy->rewrite != NULL || policy->refuses != NULL,
                      "%s is neither costed nor refused", policy->name);
        for (uint32_t f = 0; f < policy->field_count; f++) {
            const struct policy_field *field = &policy->fields[f];
            ck_assert_msg(strcmp(field->key, "kind") != 0, "%s: 'kind' is taken", policy->name);
            ck_assert_msg(field->summary != NULL, "%s: %s says nothing", policy->name, field->key);
            ck_assert_msg(field->kind != POLICY_FIELD_WORD || field->choices != NULL,
                          "%s: %s has no words", policy->name, field->key);
            ck_assert_msg(field->target == POLICY_TARGET_NONE ||
                              field->kind == POLICY_FIELD_WORDS || field->kind == POLICY_FIELD_TEXT,
                          "%s: %s names nothing", policy->name, field->key);
            for (uint32_t other = 0; other < f; other++) {
                ck_assert_msg(strcmp(field->key, policy->fields[other].key) != 0,
                              "%s: %s stands twice", policy->name, field->key);
            }
        }
        for (uint32_t other = 0; other < i; other++) {
            ck_assert_msg(policy->order != policy_table[other]->order, "%s and %s have one order",
                          policy->name, policy_table[other]->name);
        }
    }
    ck_assert_ptr_null(policy_names()[policy_table_count]);
    ck_assert_ptr_null(policy_find("polish"));
}
END_TEST

/* Every kind of value through every member: a text with all its fields reads back to itself. */
static void push_field(struct json_writer *writer, const struct policy_field *field)
{
    json_push_key(writer, field->key);
    switch (field->kind) {
    case POLICY_FIELD_WORD: json_push_string(writer, field->choices[0]); return;
    case POLICY_FIELD_WORDS:
        json_push_array(writer);
        json_push_string(writer, field->choices == NULL ? "a" : field->choices[0]);
        json_push_string(writer, field->choices == NULL ? "b" : field->choices[1]);
        json_pop_array(writer);
        return;
    case POLICY_FIELD_TEXT: json_push_string(writer, "0-3"); return;
    case POLICY_FIELD_COUNT: json_push_u64(writer, 7); return;
    case POLICY_FIELD_NUMBER: json_push_double(writer, -2.5); return;
    case POLICY_FIELD_FRACTION: json_push_double(writer, 0.25); return;
    case POLICY_FIELD_BOOL: json_push_bool(writer, true); return;
    case POLICY_FIELD_QUANTITY: json_push_quantity(writer, field->unit, 3e6); return;
    case POLICY_FIELD_NUMBERS:
        json_push_array(writer);
        json_push_double(writer, 0.5);
        json_push_double(writer, 1);
        json_pop_array(writer);
        return;
    case POLICY_FIELD_KIND_COUNT: break;
    }
    ck_abort_msg("field %s has no kind", field->key);
}

START_TEST(all_fields_of_all_members_round_trip)
{
    for (uint32_t i = 0; i < policy_table_count; i++) {
        struct text text;
        struct json_writer writer;
        begin();
        text_init(&text, &arena);
        json_writer_init(&writer, &text, true);
        json_push_object(&writer);
        json_push_key_string(&writer, "kind", policy_table[i]->name);
        for (uint32_t f = 0; f < policy_table[i]->field_count; f++) {
            push_field(&writer, &policy_table[i]->fields[f]);
        }
        json_pop_object(&writer);
        ck_assert_msg(read_text(text.bytes), "%s: %s", text.bytes, diag.entries[0].message);
        ck_assert_str_eq(dump(), text.bytes);
        for (uint32_t f = 0; f < policy_table[i]->field_count; f++) {
            ck_assert_ptr_nonnull(policy_find_value(&use, policy_table[i]->fields[f].key));
        }
        arena_release(&arena);
    }
}
END_TEST

/* docs/schemas/plan.schema.json has the same keys for each kind that it describes, so that an
 * editor knows them; and lets every other kind pass. */
static void expect_properties(struct json_value definition, const struct policy *policy)
{
    struct json_value properties = json_find(definition, "properties");
    ck_assert_msg(json_count(properties) == policy->field_count + 1,
                  "%s: %u keys in the schema, %u in the table", policy->name,
                  json_count(properties), policy->field_count + 1);
    for (uint32_t f = 0; f < policy->field_count; f++) {
        ck_assert_msg(!json_is_absent(json_find(properties, policy->fields[f].key)),
                      "%s: the schema lacks '%s'", policy->name, policy->fields[f].key);
    }
}

static bool has_string(struct json_value array, const char *wanted)
{
    const char *word;
    for (uint32_t i = 0; i < json_count(array); i++) {
        if (json_value_string(json_find_index(array, i), &word) && strcmp(word, wanted) == 0) {
            return true;
        }
    }
    return false;
}

START_TEST(schema_knows_every_field)
{
    struct json *document;
    uint32_t described = 0;
    begin();
    ck_assert(json_open(data_folder_find("docs/schemas/plan.schema.json", &arena), false, &arena,
                        &document, &diag));
    const struct json_value definitions = json_find(json_root(document), "$defs");
    struct json_value others = json_find(json_find(definitions, "policy_other"), "properties");
    others = json_find(json_find(json_find(others, "kind"), "not"), "enum");
    for (uint32_t i = 0; i < policy_table_count; i++) {
        const struct json_value definition =
            json_find(definitions, text_build(&arena, "policy_%s", policy_table[i]->name));
        const bool known = json_is_object(definition);
        ck_assert_msg(has_string(others, policy_table[i]->name) == known,
                      "policy_other of the schema must %s '%s'", known ? "leave out" : "let pass",
                      policy_table[i]->name);
        if (known) {
            expect_properties(definition, policy_table[i]);
            described++;
        }
    }
    ck_assert_msg(json_count(others) == described, "the schema describes kinds that are not there");
    json_close(document);
    arena_release(&arena);
}
END_TEST

/* --- texts ------------------------------------------------------------------------------------ */

START_TEST(one_word_stands_for_a_list)
{
    begin();
    ck_assert(read_text(
        "{\"kind\": \"shard\", \"tensors\": [\"optimizer\"], \"over\": [\"dp\", \"cp\"]}"));
    ck_assert_str_eq(dump(),
                     "{\"kind\":\"shard\",\"tensors\":\"optimizer\",\"over\":[\"dp\",\"cp\"]}");
    const struct policy_value *over = policy_find_value(&use, "over");
    ck_assert_uint_eq(over->word_count, 2);
    ck_assert_str_eq(over->words[1], "cp");
    ck_assert_ptr_null(policy_find_value(&use, "block"));
    ck_assert_ptr_null(policy_find_value(&use, "no such key"));
    arena_release(&arena);
}
END_TEST

static const struct {
    const char *text;
    enum diag_code code;
    const char *hint; /* part of it; NULL: not looked at */
} faults[] = {
    {"3", DIAG_B107, NULL},
    {"{}", DIAG_B106, NULL},
    {"{\"kind\": \"shart\"}", DIAG_B110, "shard"},
    {"{\"kind\": \"shard\", \"over\": \"dp\"}", DIAG_B106, NULL},
    {"{\"kind\": \"shard\", \"tensors\": \"gradient\", \"over\": \"dp\"}", DIAG_B110, "gradients"},
    {"{\"kind\": \"shard\", \"tensors\": [], \"over\": \"dp\"}", DIAG_B108, NULL},
    {"{\"kind\": \"shard\", \"tensors\": [3], \"over\": \"dp\"}", DIAG_B107, NULL},
    {"{\"kind\": \"shard\", \"tensors\": \"gradients\", \"ovr\": \"dp\", \"over\": \"dp\"}",
     DIAG_B105, "over"},
    {"{\"kind\": \"shard\", \"tensors\": \"gradients\", \"over\": \"dp\", \"padding_frac\": 2}",
     DIAG_B108, NULL},
    {"{\"kind\": \"shard\", \"tensors\": \"gradients\", \"over\": \"dp\", \"prefetch\": -1}",
     DIAG_B108, NULL},
    {"{\"kind\": \"shard\", \"tensors\": \"gradients\", \"over\": \"dp\", \"streamed\": 1}",
     DIAG_B107, NULL},
    {"{\"kind\": \"shard\", \"tensors\": \"gradients\", \"over\": \"dp\", \"shares\": 1}",
     DIAG_B107, NULL},
    {"{\"kind\": \"keep\", \"what\": \"recomputed\"}", DIAG_B110, "recompute"},
    {"{\"kind\": \"keep\", \"what\": \"recompute\", \"granularity\": [\"full\"]}", DIAG_B107, NULL},
    {"{\"kind\": \"sync\", \"extra_state\": 4}", DIAG_B109, NULL},
    {"{\"kind\": \"tables\", \"split\": \"row\", \"cache\": \"16 s\"}", DIAG_B109, NULL},
};

START_TEST(faults_are_told_where_they_are)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        begin();
        ck_assert_msg(!read_text(faults[i].text), "%s was read", faults[i].text);
        ck_assert_msg(diag.count == 1, "%s: %u faults", faults[i].text, diag.count);
        ck_assert_msg(diag.entries[0].code == faults[i].code, "%s: %s [%s]", faults[i].text,
                      diag.entries[0].message, diag_code_name(diag.entries[0].code));
        ck_assert_uint_eq(diag.entries[0].place.line, 1);
        ck_assert_msg(faults[i].hint == NULL ||
                          (diag.entries[0].hint != NULL &&
                           strstr(diag.entries[0].hint, faults[i].hint) != NULL),
                      "%s: hint %s", faults[i].text, diag.entries[0].hint);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(reasons_name_the_fields)
{
    static const char *const costed[] = {"tensors", "over", NULL};
    begin();
    ck_assert(read_text("{\"kind\": \"shard\", \"tensors\": \"optimizer\", \"over\": \"dp\"}"));
    ck_assert_ptr_null(policy_refuse_fields(&use, costed, &arena));
    ck_assert(read_text("{\"kind\": \"shard\", \"tensors\": \"optimizer\", \"over\": \"dp\", "
                        "\"block\": 32, \"phase\": \"steady\"}"));
    ck_assert_str_eq(policy_refuse_fields(&use, costed, &arena),
                     "the judges cannot cost 'block', 'phase' of policy 'shard' yet");
    arena_release(&arena);
}
END_TEST

TAP_MAIN("policy", tables_are_sound, schema_knows_every_field, all_fields_of_all_members_round_trip,
         one_word_stands_for_a_list, faults_are_told_where_they_are, reasons_name_the_fields)

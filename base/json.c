/* The bridge to cJSON: its tree, joined by number to the places that the scan marked. */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/file_text.h"
#include "base/json_inside.h"

struct json_limits json_limits = {
    .max_bytes = (uint64_t)64 << 20,
    .max_values = 2000000,
    .max_depth = 256,
};

/* Each node's `valueint`, which nothing here reads as a number, holds the ordinal of its value. */
struct json {
    struct arena own; /* text, marks, children: gone when the document is closed */
    struct json_source source;
    struct json_scan scan;
    cJSON *root;
    cJSON **children; /* of all containers, each one's contiguous from mark.first */
};

static const struct json_mark *mark_of(struct json_value value)
{
    const cJSON *node = value.node;
    return &value.document->scan.marks[node->valueint];
}

static struct json_value value_of(struct json *document, cJSON *node)
{
    return (struct json_value){.document = document, .node = node};
}

/* --- opening --------------------------------------------------------------------------------- */

static bool is_nonfinite(const struct json *document, uint32_t ordinal)
{
    const struct json_mark *mark = &document->scan.marks[ordinal];
    const char *text = document->source.text + mark->begin;
    return (*text == 'N' || *text == 'I' || *text == '-' || (*text >= '0' && *text <= '9')) &&
           json_scan_is_nonfinite(text, mark->end - mark->begin);
}

/* The text as cJSON is to see it: 0 for NaN and Infinity, which it does not know. */
static const char *build_plain_text(struct json *document)
{
    const struct json_source *source = &document->source;
    char *plain = text_build_copy(&document->own, source->text, source->length);
    for (uint32_t i = 0; i < document->scan.count; i++) {
        const struct json_mark *mark = &document->scan.marks[i];
        if (is_nonfinite(document, i)) {
            memset(plain + mark->begin, ' ', mark->end - mark->begin);
            plain[mark->begin] = '0';
        }
    }
    return plain;
}

/* Numbers the nodes in the order of the text, where the scan met their values; `first` of a
 * container serves as cursor over its children until the end. */
static void number_nodes(struct json *document)
{
    struct json_mark *marks = document->scan.marks;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < document->scan.count; i++) {
        const uint32_t parent = marks[i].parent;
        cJSON *node =
            parent == JSON_NO_PARENT ? document->root : document->children[marks[parent].first++];
        node->valueint = (int)i;
        if (document->scan.nonfinite > 0 && is_nonfinite(document, i)) {
            node->type = cJSON_NULL;
        }
        marks[i].first = taken;
        for (cJSON *child = node->child; child != NULL; child = child->next) {
            document->children[taken++] = child;
        }
        if (taken - marks[i].first != marks[i].count) {
            BUG("value %u has %u members, %u were scanned", i, taken - marks[i].first,
                marks[i].count);
        }
    }
    for (uint32_t i = 0; i < document->scan.count; i++) {
        marks[i].first -= marks[i].count;
    }
}

static bool check_twins(struct json *document, struct diag *diag)
{
    bool good = json_check_twins(json_root(document), &document->own, diag);
    for (uint32_t i = 0; i + 1 < document->scan.count; i++) {
        good &= json_check_twins(value_of(document, document->children[i]), &document->own, diag);
    }
    return good;
}

static bool build_tree(struct json *document, bool lenient, struct diag *diag)
{
    struct json_source *source = &document->source;
    if (!json_scan_text(source, lenient, &document->own, &document->scan, diag)) {
        return false;
    }
    const char *text = document->scan.nonfinite > 0 ? build_plain_text(document) : source->text;
    /* The root value alone: cJSON misses the byte order mark of a very short text. */
    const struct json_mark *root = &document->scan.marks[0];
    document->root = cJSON_ParseWithLength(text + root->begin, root->end - root->begin);
    if (document->root == NULL) {
        BUG("%s: cJSON refuses a text that the scan took", source->name);
    }
    document->children = ARENA_PUSH(&document->own, cJSON *, document->scan.count);
    number_nodes(document);
    return check_twins(document, diag);
}

/* Takes over `own`, which holds the text. */
static bool open_source(struct json_source source, bool lenient, struct arena own,
                        struct json **out, struct diag *diag)
{
    struct json *document = ARENA_PUSH(&own, struct json, 1);
    document->own = own;
    document->source = source;
    if (!build_tree(document, lenient, diag)) {
        json_close(document);
        return false;
    }
    *out = document;
    return true;
}

static uint64_t limit_bytes(void)
{
    return json_limits.max_bytes < JSON_TEXT_BYTES_MAX ? json_limits.max_bytes
                                                       : JSON_TEXT_BYTES_MAX;
}

bool json_open_text(const char *name, const char *text, size_t length, bool lenient,
                    struct arena *arena, struct json **out, struct diag *diag)
{
    const char *kept_name = text_build_copy(arena, name, strlen(name));
    if (length > limit_bytes()) {
        return file_text_refuse_size(kept_name, limit_bytes(), diag);
    }
    struct arena own;
    arena_init(&own);
    const struct json_source source = {
        .name = kept_name,
        .text = text_build_copy(&own, text, length),
        .length = length,
        .arena = arena,
    };
    return open_source(source, lenient, own, out, diag);
}

bool json_open(const char *path, bool lenient, struct arena *arena, struct json **out,
               struct diag *diag)
{
    struct arena own;
    struct text text;
    const char *name = file_text_name(path, arena);
    arena_init(&own);
    if (!file_text_read(path, name, limit_bytes(), &own, &text, diag)) {
        arena_release(&own);
        return false;
    }
    const struct json_source source = {
        .name = name, .text = text.bytes, .length = text.length, .arena = arena};
    return open_source(source, lenient, own, out, diag);
}

void json_close(struct json *document)
{
    cJSON_Delete(document->root);
    struct arena own = document->own;
    arena_release(&own);
}

unsigned long long json_digest(const struct json *document)
{
    return text_digest(TEXT_DIGEST_SEED, document->source.text, document->source.length);
}

/* --- looking --------------------------------------------------------------------------------- */

struct json_value json_root(struct json *document)
{
    return value_of(document, document->root);
}

bool json_is_absent(struct json_value value)
{
    return value.node == NULL;
}

bool json_is_null(struct json_value value)
{
    return value.node == NULL || cJSON_IsNull(value.node);
}

bool json_is_object(struct json_value value)
{
    return cJSON_IsObject(value.node);
}

bool json_is_array(struct json_value value)
{
    return cJSON_IsArray(value.node);
}

bool json_is_string(struct json_value value)
{
    return cJSON_IsString(value.node);
}

bool json_is_number(struct json_value value)
{
    return cJSON_IsNumber(value.node);
}

bool json_is_bool(struct json_value value)
{
    return cJSON_IsBool(value.node);
}

struct json_value json_find(struct json_value object, const char *key)
{
    cJSON *found =
        cJSON_IsObject(object.node) ? cJSON_GetObjectItemCaseSensitive(object.node, key) : NULL;
    return value_of(object.document, found);
}

uint32_t json_count(struct json_value array_or_object)
{
    return array_or_object.node == NULL ? 0 : mark_of(array_or_object)->count;
}

struct json_value json_find_index(struct json_value array_or_object, uint32_t index)
{
    struct json *document = array_or_object.document;
    if (index >= json_count(array_or_object)) {
        return value_of(document, NULL);
    }
    return value_of(document, document->children[mark_of(array_or_object)->first + index]);
}

const char *json_key(struct json_value member)
{
    return member.node == NULL ? NULL : ((const cJSON *)member.node)->string;
}

bool json_value_double(struct json_value value, double *out)
{
    if (!json_is_number(value)) {
        return false;
    }
    *out = ((const cJSON *)value.node)->valuedouble;
    return true;
}

bool json_value_string(struct json_value value, const char **out)
{
    if (!json_is_string(value)) {
        return false;
    }
    *out = ((const cJSON *)value.node)->valuestring;
    return true;
}

bool json_value_bool(struct json_value value, bool *out)
{
    if (!json_is_bool(value)) {
        return false;
    }
    *out = cJSON_IsTrue(value.node);
    return true;
}

const char *json_value_span(struct json_value value, size_t *out_length)
{
    if (value.node == NULL) {
        *out_length = 0;
        return "";
    }
    const struct json_mark *mark = mark_of(value);
    *out_length = mark->end - mark->begin;
    return value.document->source.text + mark->begin;
}

/* --- places ---------------------------------------------------------------------------------- */

struct diag_place json_place(struct json_value value)
{
    if (value.document == NULL) {
        return (struct diag_place){.file = NULL};
    }
    if (value.node == NULL) {
        return (struct diag_place){.file = value.document->source.name};
    }
    return json_source_place(&value.document->source, mark_of(value)->begin);
}

/* Byte of the quotation mark that opens the key of a member, found backwards from its value. */
static size_t key_offset(struct json_value member)
{
    const char *text = member.document->source.text;
    size_t at = mark_of(member)->begin;
    do {
        at--;
    } while (text[at] != '"');
    for (;;) {
        at--;
        size_t slashes = 0;
        while (text[at] == '"' && text[at - 1 - slashes] == '\\') {
            slashes++;
        }
        if (text[at] == '"' && slashes % 2 == 0) {
            return at;
        }
    }
}

struct diag_place json_key_place(struct json_value member)
{
    return json_source_place(&member.document->source, key_offset(member));
}

/* Position among the siblings: their ordinals ascend. */
static uint32_t index_of(const struct json *document, uint32_t ordinal)
{
    const struct json_mark *parent = &document->scan.marks[document->scan.marks[ordinal].parent];
    uint32_t low = 0, high = parent->count - 1;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if ((uint32_t)document->children[parent->first + middle]->valueint < ordinal) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* RFC 6901: "~" and "/" inside a key are written ~0 and ~1. */
static void push_token(struct text *out, const char *key)
{
    for (; *key != '\0'; key++) {
        if (*key == '~' || *key == '/') {
            text_push(out, "%s", *key == '~' ? "~0" : "~1");
        } else {
            text_push_bytes(out, key, 1);
        }
    }
}

const char *json_pointer(struct json_value value, struct arena *arena)
{
    struct text pointer;
    text_init(&pointer, arena);
    if (value.node == NULL) {
        return pointer.bytes;
    }
    const struct json *document = value.document;
    const struct json_mark *marks = document->scan.marks;
    uint32_t path[JSON_DEPTH_MAX + 1];
    uint32_t depth = 0;
    for (uint32_t at = (uint32_t)((const cJSON *)value.node)->valueint;
         marks[at].parent != JSON_NO_PARENT; at = marks[at].parent) {
        path[depth++] = at;
    }
    while (depth-- > 0) {
        const uint32_t index = index_of(document, path[depth]);
        const struct json_mark *parent = &marks[marks[path[depth]].parent];
        const char *key = document->children[parent->first + index]->string;
        text_push_bytes(&pointer, "/", 1);
        if (key != NULL) {
            push_token(&pointer, key);
        } else {
            text_push(&pointer, "%u", index);
        }
    }
    return pointer.bytes;
}

/* The bridge to libxml2: its parser's events, copied into elements. */
#include "base/xml.h"

#include <string.h>

#include <libxml/parser.h>

#include "base/file_text.h"
#include "base/json.h"

#define FIRST_CAPACITY 64u
#define CHUNK_BYTES ((size_t)65536) /* at once: libxml2 refuses to look far ahead */
#define XML_TEXT_MAX ((size_t)1000000)

struct state {
    xmlParserCtxtPtr parser;
    struct arena *arena;
    struct diag *diag;
    const char *name;
    struct xml_element *elements;
    uint32_t *last_child; /* per element, while it is open */
    uint32_t count, capacity;
    uint32_t open; /* innermost open element, XML_NONE before the root */
    uint32_t depth;
    struct text gathered; /* of the open element, so far */
    bool failed;          /* reported already */
};

static uint32_t find_line(const struct state *state)
{
    return state->parser->input == NULL || state->parser->input->line < 1
               ? 0
               : (uint32_t)state->parser->input->line;
}

static void refuse(struct state *state, enum diag_code code, const char *message)
{
    if (!state->failed) {
        diag_push(state->diag, code,
                  (struct diag_place){.file = state->name, .line = find_line(state)}, NULL, "%s",
                  message);
    }
    state->failed = true;
    xmlStopParser(state->parser);
}

static const char *copy(struct state *state, const xmlChar *text)
{
    return text_build_copy(state->arena, (const char *)text, strlen((const char *)text));
}

/* libxml2 writes an ampersand of an attribute as "&#38;" where it expands no entities. */
static const char *copy_value(struct state *state, const xmlChar *text)
{
    static const char escaped[] = "&#38;";
    char *value = text_build_copy(state->arena, (const char *)text, strlen((const char *)text));
    char *out = value;
    for (const char *at = value; *at != '\0'; out++) {
        const bool ampersand = strncmp(at, escaped, sizeof escaped - 1) == 0;
        *out = *at;
        at += ampersand ? sizeof escaped - 1 : 1;
    }
    *out = '\0';
    return value;
}

static void grow(struct state *state)
{
    if (state->count < state->capacity) {
        return;
    }
    state->capacity = state->capacity == 0 ? FIRST_CAPACITY : 2 * state->capacity;
    struct xml_element *grown = ARENA_PUSH(state->arena, struct xml_element, state->capacity);
    uint32_t *last_child = ARENA_PUSH(state->arena, uint32_t, state->capacity);
    if (state->count > 0) {
        memcpy(grown, state->elements, state->count * sizeof *grown);
        memcpy(last_child, state->last_child, state->count * sizeof *last_child);
    }
    state->elements = grown;
    state->last_child = last_child;
}

static void copy_attributes(struct state *state, const xmlChar **pairs, struct xml_element *out)
{
    uint32_t count = 0;
    while (pairs != NULL && pairs[2 * count] != NULL) {
        count++;
    }
    struct xml_attribute *attributes = ARENA_PUSH(state->arena, struct xml_attribute, count);
    for (uint32_t i = 0; i < count; i++) {
        attributes[i].name = copy(state, pairs[2 * i]);
        attributes[i].value = pairs[2 * i + 1] == NULL ? "" : copy_value(state, pairs[2 * i + 1]);
    }
    out->attributes = attributes;
    out->attribute_count = count;
}

/* Hangs the newest element below the open one. */
static void join(struct state *state, uint32_t index)
{
    if (state->open == XML_NONE) {
        return;
    }
    struct xml_element *parent = &state->elements[state->open];
    if (parent->first_child == XML_NONE) {
        parent->first_child = index;
    } else {
        state->elements[state->last_child[state->open]].next = index;
    }
    state->last_child[state->open] = index;
}

static void keep_text(struct state *state)
{
    const char *blanks = " \t\r\n";
    if (state->open != XML_NONE && state->gathered.length > 0) {
        const char *text = state->gathered.bytes + strspn(state->gathered.bytes, blanks);
        if (text[0] != '\0') {
            state->elements[state->open].text = text_build_copy(state->arena, text, strlen(text));
        }
    }
    state->gathered.length = 0;
    state->gathered.bytes[0] = '\0';
}

static void start_element(void *user, const xmlChar *name, const xmlChar **pairs)
{
    struct state *state = user;
    if (state->failed) {
        return;
    }
    if (state->count >= json_limits.max_values) {
        refuse(state, DIAG_B102, "the text has too many elements");
        return;
    }
    if (++state->depth > XML_DEPTH_MAX) {
        refuse(state, DIAG_B111, "the elements are nested more than 200 deep");
        return;
    }
    keep_text(state);
    grow(state);
    struct xml_element *element = &state->elements[state->count];
    *element = (struct xml_element){.name = copy(state, name),
                                    .text = "",
                                    .parent = state->open,
                                    .first_child = XML_NONE,
                                    .next = XML_NONE,
                                    .line = find_line(state)};
    copy_attributes(state, pairs, element);
    join(state, state->count);
    state->open = state->count++;
}

static void end_element(void *user, const xmlChar *name)
{
    struct state *state = user;
    (void)name;
    if (!state->failed && state->open != XML_NONE) {
        keep_text(state);
        state->open = state->elements[state->open].parent;
        state->depth--;
    }
}

/* Comes in pieces; kept when the element goes on with a child or ends. */
static void add_text(void *user, const xmlChar *bytes, int length)
{
    struct state *state = user;
    if (state->failed || state->open == XML_NONE ||
        state->elements[state->open].first_child != XML_NONE) {
        return;
    }
    if (state->gathered.length + (size_t)length > XML_TEXT_MAX) {
        refuse(state, DIAG_B102, "the text of one element is above a million bytes");
        return;
    }
    text_push_bytes(&state->gathered, (const char *)bytes, (size_t)length);
}

static void refuse_entity(void *user, const xmlChar *name, int type, const xmlChar *public_id,
                          const xmlChar *system_id, xmlChar *content)
{
    (void)name, (void)type, (void)public_id, (void)system_id, (void)content;
    refuse(user, DIAG_B121, "the text declares an entity; entities are not read: write it out");
}

__attribute__((format(printf, 2, 3))) static void keep_quiet(void *user, const char *format, ...)
{
    (void)user, (void)format;
}

/* --- before the parser ------------------------------------------------------------------------ */

/* Behind the end of the piece that begins at `at`: a comment, a CDATA section. */
static const char *skip_piece(const char *at, const char *end, const char *closing)
{
    const size_t length = strlen(closing);
    while ((size_t)(end - at) >= length && memcmp(at, closing, length) != 0) {
        at++;
    }
    return (size_t)(end - at) >= length ? at + length : end;
}

static bool starts(const char *at, const char *end, const char *word)
{
    const size_t length = strlen(word);
    return (size_t)(end - at) >= length && memcmp(at, word, length) == 0;
}

/* Behind the end of a tag that is short enough for the parser, else NULL; also for a document type
 * with declarations of its own. */
static const char *skip_tag(const char *tag, const char *end)
{
    uint32_t quotes = 0;
    char quote = '\0';
    const char *at = tag;
    const bool doctype = starts(tag, end, "<!DOCTYPE");
    for (; at < end && (quote != '\0' || *at != '>'); at++) {
        const bool ends = quote != '\0' && *at == quote;
        const bool begins = quote == '\0' && (*at == '"' || *at == '\'');
        quotes += begins || ends;
        quote = ends ? '\0' : begins ? *at : quote;
        if (quotes > 2 * XML_ATTRIBUTE_MAX || at - tag >= (ptrdiff_t)XML_TAG_MAX ||
            (doctype && *at == '[')) {
            return NULL;
        }
    }
    return at;
}

/* The parser compares the attributes of a tag pair by pair, so tags are held short before it sees
 * them. Gives the begin of the first tag that is not to be seen, else NULL. */
static const char *find_long_tag(const char *text, const char *end)
{
    for (const char *at = text; at < end;) {
        const char *tag = at;
        if (*at != '<') {
            at++;
        } else if (starts(at, end, "<!--")) {
            at = skip_piece(at + 4, end, "-->");
        } else if (starts(at, end, "<![CDATA[")) {
            at = skip_piece(at + 9, end, "]]>");
        } else {
            at = skip_tag(at, end);
        }
        if (at == NULL) {
            return tag;
        }
    }
    return NULL;
}

static uint32_t count_lines(const char *text, const char *at)
{
    uint32_t line = 1;
    for (; text < at; text++) {
        line += *text == '\n';
    }
    return line;
}

static bool check_text(const char *name, const char *text, size_t length, struct diag *diag)
{
    if (length > json_limits.max_bytes || length > INT32_MAX) {
        return file_text_refuse_size(name, json_limits.max_bytes, diag);
    }
    const char *tag = find_long_tag(text, text + length);
    if (tag == NULL) {
        return true;
    }
    const struct diag_place place = {.file = name, .line = count_lines(text, tag)};
    return starts(tag, text + length, "<!DOCTYPE")
               ? diag_push(diag, DIAG_B121, place, NULL,
                           "the document type declares entities or elements; they are not read: "
                           "write it out")
               : diag_push(diag, DIAG_B102, place, NULL,
                           "an element has more than %u attributes or %u bytes in its tag",
                           XML_ATTRIBUTE_MAX, XML_TAG_MAX);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Says what libxml2 found, without the line break that ends its messages. */
static bool report(struct state *state)
{
    const xmlError *error = xmlCtxtGetLastError(state->parser);
    if (!state->failed) {
        const char *message =
            error == NULL || error->message == NULL ? "it has no element" : error->message;
        diag_push(state->diag, DIAG_B120,
                  (struct diag_place){
                      .file = state->name,
                      .line = error == NULL || error->line < 1 ? 0 : (uint32_t)error->line},
                  NULL, "the text is no valid XML: %.*s", (int)strcspn(message, "\n"), message);
    }
    return false;
}

bool xml_read(const char *name, const char *text, size_t length, struct arena *arena,
              struct xml *out, struct diag *diag)
{
    struct state state = {
        .arena = arena, .diag = diag, .name = text_build_copy(arena, name, strlen(name))};
    xmlSAXHandler events = {.startElement = start_element,
                            .endElement = end_element,
                            .characters = add_text,
                            .cdataBlock = add_text,
                            .entityDecl = refuse_entity,
                            .warning = keep_quiet,
                            .error = keep_quiet};
    struct arena scratch;
    if (!check_text(state.name, text, length, diag)) {
        return false;
    }
    arena_init(&scratch);
    text_init(&state.gathered, &scratch);
    state.open = XML_NONE;
    /* What libxml2 knows by itself of the encoding is enough: four bytes decide. */
    state.parser = xmlCreatePushParserCtxt(&events, &state, NULL, 0, NULL);
    if (state.parser == NULL) {
        BUG("no memory for an XML parser");
    }
    xmlCtxtUseOptions(state.parser, XML_PARSE_NONET | XML_PARSE_BIG_LINES);
    int status = 0;
    for (size_t at = 0; at < length && status == 0 && !state.failed; at += CHUNK_BYTES) {
        const size_t left = length - at;
        status = xmlParseChunk(state.parser, text + at,
                               (int)(left < CHUNK_BYTES ? left : CHUNK_BYTES), 0);
    }
    status = status != 0 ? status : xmlParseChunk(state.parser, NULL, 0, 1);
    const bool good =
        (status == 0 && state.count > 0 && !state.failed && state.parser->wellFormed != 0) ||
        report(&state);
    xmlFreeParserCtxt(state.parser);
    arena_release(&scratch);
    if (good) {
        *out = (struct xml){state.name, state.elements, state.count};
    }
    return good;
}

/* --- looking ---------------------------------------------------------------------------------- */

const char *xml_find(const struct xml_element *element, const char *attribute)
{
    for (uint32_t i = 0; i < element->attribute_count; i++) {
        if (strcmp(element->attributes[i].name, attribute) == 0) {
            return element->attributes[i].value;
        }
    }
    return NULL;
}

struct diag_place xml_place(const struct xml *document, const struct xml_element *element)
{
    return (struct diag_place){.file = document->name, .line = element->line};
}

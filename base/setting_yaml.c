/* Settings of a YAML text: the bridge to libyaml, event by event. */
#include <string.h>

#include <yaml.h>

#include "base/setting_inside.h"

struct reader {
    yaml_parser_t parser;
    yaml_event_t event;
    struct setting_list list;
    struct setting_cursor lines; /* for places only */
    struct diag *diag;
};

/* Marks come in ascending order, but for the line that an error is about. */
static struct diag_place place_at(struct reader *reader, yaml_mark_t mark)
{
    struct setting_cursor *lines = &reader->lines;
    if (lines->line > mark.line + 1) {
        lines->at = lines->line_begin = 0;
        lines->line = 1;
    }
    while (lines->line < mark.line + 1 && lines->at < lines->length) {
        setting_step(lines);
    }
    struct diag_place place = setting_place(lines);
    place.column = (uint32_t)mark.column + 1;
    return place;
}

static bool next(struct reader *reader)
{
    if (reader->event.type != YAML_NO_EVENT) {
        yaml_event_delete(&reader->event);
    }
    memset(&reader->event, 0, sizeof reader->event);
    if (yaml_parser_parse(&reader->parser, &reader->event) != 0) {
        return true;
    }
    const char *problem = reader->parser.problem;
    return diag_push(reader->diag, DIAG_B132, place_at(reader, reader->parser.problem_mark), NULL,
                     "no YAML: %s", problem == NULL ? "the text is malformed" : problem);
}

/* Anchors would let a small text stand for a large one. */
static bool refuse_event(struct reader *reader, const char *what)
{
    return diag_push(reader->diag, DIAG_B132, place_at(reader, reader->event.start_mark), NULL,
                     "%s cannot stand here", what);
}

static bool is_anchored(const yaml_event_t *event)
{
    return event->type == YAML_ALIAS_EVENT ||
           (event->type == YAML_SCALAR_EVENT && event->data.scalar.anchor != NULL) ||
           (event->type == YAML_MAPPING_START_EVENT && event->data.mapping_start.anchor != NULL) ||
           (event->type == YAML_SEQUENCE_START_EVENT && event->data.sequence_start.anchor != NULL);
}

static void read_scalar(struct reader *reader, struct setting *out)
{
    const yaml_event_t *event = &reader->event;
    out->text = text_build_copy(reader->list.arena, (const char *)event->data.scalar.value,
                                event->data.scalar.length);
    out->kind = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? setting_guess(out->text)
                                                                    : SETTING_TEXT;
}

/* Behind the start of a sequence, up to its end. */
static bool read_items(struct reader *reader, uint32_t depth, struct setting *out)
{
    out->kind = SETTING_LIST;
    while (next(reader)) {
        if (reader->event.type == YAML_SEQUENCE_END_EVENT) {
            return true;
        }
        if (is_anchored(&reader->event) || depth == SETTING_DEPTH_MAX) {
            return refuse_event(reader, depth == SETTING_DEPTH_MAX ? "one level more"
                                                                   : "an anchor or alias");
        }
        if (out->item_count == SETTING_MAX) {
            return refuse_event(reader, "one item more");
        }
        struct setting *item = setting_push_item(out, reader->list.arena);
        if (reader->event.type == YAML_SCALAR_EVENT) {
            read_scalar(reader, item);
        } else if (reader->event.type != YAML_SEQUENCE_START_EVENT) {
            return refuse_event(reader, "a mapping within a list");
        } else if (!read_items(reader, depth + 1, item)) {
            return false;
        }
    }
    return false;
}

static bool read_mapping(struct reader *reader, const char *table, uint32_t depth);

/* The value of `key` is the event at hand. */
static bool read_value(struct reader *reader, const char *key, uint32_t depth)
{
    const struct diag_place place = place_at(reader, reader->event.start_mark);
    if (is_anchored(&reader->event)) {
        return refuse_event(reader, "an anchor or alias");
    }
    if (reader->event.type == YAML_MAPPING_START_EVENT) {
        return read_mapping(reader, key, depth + 1);
    }
    if (setting_find(&reader->list, key) != NULL) {
        diag_push_warning(reader->diag, DIAG_B104, place, NULL, "'%s' is set again: this counts",
                          key);
        setting_drop(&reader->list, key);
    }
    struct setting *setting = setting_push(&reader->list, key, place, reader->diag);
    if (setting == NULL) {
        return false;
    }
    if (reader->event.type == YAML_SEQUENCE_START_EVENT) {
        return read_items(reader, depth + 1, setting);
    }
    read_scalar(reader, setting);
    return true;
}

static bool read_mapping(struct reader *reader, const char *table, uint32_t depth)
{
    if (depth == SETTING_DEPTH_MAX) {
        return refuse_event(reader, "one level more");
    }
    while (next(reader)) {
        if (reader->event.type == YAML_MAPPING_END_EVENT) {
            return true;
        }
        if (reader->event.type != YAML_SCALAR_EVENT) {
            return refuse_event(reader, "a key that is no word");
        }
        const char *word =
            text_build_copy(reader->list.arena, (const char *)reader->event.data.scalar.value,
                            reader->event.data.scalar.length);
        const char *key = setting_join(reader->list.arena, table, word);
        if (!next(reader) || !read_value(reader, key, depth)) {
            return false;
        }
    }
    return false;
}

static bool read_document(struct reader *reader)
{
    bool good = next(reader) && next(reader);
    while (good && reader->event.type == YAML_DOCUMENT_START_EVENT) {
        good = next(reader);
    }
    if (!good || reader->event.type == YAML_STREAM_END_EVENT) {
        return good;
    }
    if (reader->event.type != YAML_MAPPING_START_EVENT) {
        return refuse_event(reader, "a text without keys");
    }
    return read_mapping(reader, "", 0);
}

bool setting_read_yaml(const char *name, const char *text, size_t length, struct arena *arena,
                       struct setting_list *out, struct diag *diag)
{
    struct reader reader = {.diag = diag};
    const char *kept = text_build_copy(arena, name, strlen(name));
    reader.lines = (struct setting_cursor){
        .name = kept, .text = text, .length = length, .line = 1, .arena = arena};
    setting_list_init(&reader.list, kept, arena);
    if (yaml_parser_initialize(&reader.parser) == 0) {
        BUG("libyaml has no memory for a parser");
    }
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
    const bool good = read_document(&reader);
    yaml_event_delete(&reader.event);
    yaml_parser_delete(&reader.parser);
    if (good) {
        *out = reader.list;
    }
    return good;
}

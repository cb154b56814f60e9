/* JSON text written value by value. */
#include "base/json.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_writer_init(struct json_writer *writer, struct text *out, bool compact)
{
    *writer = (struct json_writer){.out = out, .first = true, .compact = compact};
}

static void push(struct json_writer *writer, const char *text)
{
    text_push_bytes(writer->out, text, strlen(text));
}

static void break_line(struct json_writer *writer)
{
    if (writer->compact) {
        return;
    }
    push(writer, "\n");
    for (uint32_t i = 0; i < writer->depth; i++) {
        push(writer, "  ");
    }
}

/* Comma and new line before a key or an element; nothing between a key and its value. */
static void separate(struct json_writer *writer)
{
    if (writer->after_key) {
        writer->after_key = false;
        return;
    }
    if (writer->depth > 0) {
        push(writer, writer->first ? "" : ",");
        break_line(writer);
    }
    writer->first = false;
}

static void open_bracket(struct json_writer *writer, const char *bracket)
{
    separate(writer);
    push(writer, bracket);
    writer->depth++;
    writer->first = true;
}

static void close_bracket(struct json_writer *writer, const char *bracket)
{
    if (writer->depth == 0 || writer->after_key) {
        BUG("'%s' closes nothing", bracket);
    }
    writer->depth--;
    if (!writer->first) {
        break_line(writer);
    }
    push(writer, bracket);
    writer->first = false;
}

void json_push_object(struct json_writer *writer)
{
    open_bracket(writer, "{");
}

void json_pop_object(struct json_writer *writer)
{
    close_bracket(writer, "}");
}

void json_push_array(struct json_writer *writer)
{
    open_bracket(writer, "[");
}

void json_pop_array(struct json_writer *writer)
{
    close_bracket(writer, "]");
}

static void push_control(struct json_writer *writer, char byte)
{
    static const char from[] = "\b\f\n\r\t", to[] = "bfnrt";
    const char *found = strchr(from, byte);
    if (found != NULL) {
        text_push(writer->out, "\\%c", to[found - from]);
    } else {
        text_push(writer->out, "\\u%04x", (unsigned)(unsigned char)byte);
    }
}

/* Bytes that are no UTF-8 become U+FFFD: the output is valid whatever a file name held. */
static void push_quoted(struct json_writer *writer, const char *value)
{
    size_t rest = strlen(value);
    push(writer, "\"");
    while (rest > 0) {
        const uint32_t size = text_count_character(value, rest);
        if (size == 0) {
            push(writer, "\xef\xbf\xbd");
        } else if (*value == '"' || *value == '\\') {
            text_push(writer->out, "\\%c", *value);
        } else if ((unsigned char)*value < 0x20) {
            push_control(writer, *value);
        } else {
            text_push_bytes(writer->out, value, size);
        }
        value += size == 0 ? 1 : size;
        rest -= size == 0 ? 1 : size;
    }
    push(writer, "\"");
}

void json_push_key(struct json_writer *writer, const char *key)
{
    separate(writer);
    push_quoted(writer, key);
    push(writer, writer->compact ? ":" : ": ");
    writer->after_key = true;
}

void json_push_raw(struct json_writer *writer, const char *json)
{
    separate(writer);
    push(writer, json);
}

void json_push_null(struct json_writer *writer)
{
    json_push_raw(writer, "null");
}

void json_push_bool(struct json_writer *writer, bool value)
{
    json_push_raw(writer, value ? "true" : "false");
}

void json_push_string(struct json_writer *writer, const char *value)
{
    if (value == NULL) {
        json_push_null(writer);
        return;
    }
    separate(writer);
    push_quoted(writer, value);
}

void json_push_u64(struct json_writer *writer, uint64_t value)
{
    separate(writer);
    text_push(writer->out, "%llu", (unsigned long long)value);
}

void json_push_double(struct json_writer *writer, double value)
{
    if (!(value >= -DBL_MAX && value <= DBL_MAX)) {
        BUG("%g cannot be written as JSON", value);
    }
    char number[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, value);
        if (strtod(number, NULL) == value) {
            break;
        }
    }
    json_push_raw(writer, number);
}

void json_push_quantity(struct json_writer *writer, enum unit_kind kind, double value)
{
    separate(writer);
    push(writer, "\"");
    unit_dump(kind, value, writer->out);
    push(writer, "\"");
}

void json_push_key_string(struct json_writer *writer, const char *key, const char *value)
{
    json_push_key(writer, key);
    json_push_string(writer, value);
}

void json_push_key_double(struct json_writer *writer, const char *key, double value)
{
    json_push_key(writer, key);
    json_push_double(writer, value);
}

void json_push_key_u64(struct json_writer *writer, const char *key, uint64_t value)
{
    json_push_key(writer, key);
    json_push_u64(writer, value);
}

void json_push_key_bool(struct json_writer *writer, const char *key, bool value)
{
    json_push_key(writer, key);
    json_push_bool(writer, value);
}

void json_push_key_quantity(struct json_writer *writer, const char *key, enum unit_kind kind,
                            double value)
{
    json_push_key(writer, key);
    json_push_quantity(writer, kind, value);
}

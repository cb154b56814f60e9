/* Faults collected, sorted by place, shown the way compilers show them. */
#include "base/diag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_COLUMNS 100u /* of a source line; longer ones are clipped around the fault */
#define SHOWN_BEFORE 60u
#define SHOWN_BEGIN 1000u /* characters of a message that quotes something huge; its end says why */
#define SHOWN_END 200u

struct code_row {
    const char *name, *slug, *summary;
};

static const struct code_row code_rows[DIAG_CODE_COUNT] = {
#define DIAG_CODE(code, slug, summary) {#code, slug, summary},
#include "base/codes.def"
#undef DIAG_CODE
};

const char *diag_code_name(enum diag_code code)
{
    return code_rows[code].name;
}

const char *diag_code_slug(enum diag_code code)
{
    return code_rows[code].slug;
}

const char *diag_code_summary(enum diag_code code)
{
    return code_rows[code].summary;
}

void diag_init(struct diag *diag, struct arena *arena)
{
    *diag = (struct diag){.arena = arena};
}

/* A free entry; when all are taken an error drives out the newest warning, a warning goes
 * unheard. */
static struct diag_entry *find_room(struct diag *diag, bool warning)
{
    if (diag->kept < DIAG_MAX) {
        return &diag->entries[diag->kept++];
    }
    for (uint32_t i = DIAG_MAX; i-- > 0 && !warning;) {
        if (diag->entries[i].warning) {
            memmove(&diag->entries[i], &diag->entries[i + 1],
                    (DIAG_MAX - 1 - i) * sizeof diag->entries[0]);
            return &diag->entries[DIAG_MAX - 1];
        }
    }
    return NULL;
}

__attribute__((format(printf, 3, 0))) static void keep(struct diag *diag, struct diag_entry entry,
                                                       const char *format, va_list arguments)
{
    struct diag_entry *room = find_room(diag, entry.warning);
    if (room == NULL) {
        return;
    }
    struct text message;
    text_init(&message, diag->arena);
    text_push_list(&message, format, arguments);
    entry.message = message.bytes;
    if (entry.hint != NULL) {
        entry.hint = text_build_copy(diag->arena, entry.hint, strlen(entry.hint));
    }
    *room = entry;
}

bool diag_push(struct diag *diag, enum diag_code code, struct diag_place place, const char *hint,
               const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    keep(diag, (struct diag_entry){.code = code, .place = place, .hint = hint}, format, arguments);
    va_end(arguments);
    diag->count++;
    return false;
}

void diag_push_warning(struct diag *diag, enum diag_code code, struct diag_place place,
                       const char *hint, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    keep(diag, (struct diag_entry){.code = code, .place = place, .hint = hint, .warning = true},
         format, arguments);
    va_end(arguments);
}

static bool is_after(const struct diag_entry *a, const struct diag_entry *b)
{
    const char *file_a = a->place.file == NULL ? "" : a->place.file;
    const char *file_b = b->place.file == NULL ? "" : b->place.file;
    const int files = strcmp(file_a, file_b);
    if (files != 0) {
        return files > 0;
    }
    return a->place.line != b->place.line ? a->place.line > b->place.line
                                          : a->place.column > b->place.column;
}

/* Insertion sort, since it keeps the order of report among equals. */
static void sort(const struct diag_entry **order, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct diag_entry *moved = order[i];
        uint32_t at = i;
        for (; at > 0 && is_after(order[at - 1], moved); at--) {
            order[at] = order[at - 1];
        }
        order[at] = moved;
    }
}

static const char *skip_character(const char *at)
{
    do {
        at++;
    } while (((unsigned char)*at & 0xc0) == 0x80);
    return at;
}

/* Pushes up to `count` characters on one line: a control character as a blank, bytes that are no
 * UTF-8 as a question mark. Gives where it stopped. */
static const char *push_characters(struct text *out, const char *at, uint32_t count)
{
    for (uint32_t i = 0; i < count && *at != '\0'; i++) {
        const char *next = skip_character(at);
        const size_t length = (size_t)(next - at);
        const unsigned char byte = (unsigned char)*at;
        if (byte < 0x20 || byte == 0x7f) {
            text_push(out, " ");
        } else if (text_count_character(at, length) != length) {
            text_push(out, "?");
        } else {
            text_push_bytes(out, at, length);
        }
        at = next;
    }
    return at;
}

static size_t count_characters(const char *line)
{
    size_t count = 0;
    for (; *line != '\0'; line = skip_character(line)) {
        count++;
    }
    return count;
}

/* Message and hint may quote what stands in a file, of any length: the middle is left out then. */
static void push_line(struct text *out, const char *line)
{
    size_t left = count_characters(line);
    if (left > SHOWN_BEGIN + SHOWN_END) {
        line = push_characters(out, line, SHOWN_BEGIN);
        text_push(out, "...");
        for (left -= SHOWN_BEGIN; left > SHOWN_END; left--) {
            line = skip_character(line);
        }
    }
    push_characters(out, line, UINT32_MAX);
}

/* Characters before the column, no more than the line has. */
static uint32_t count_before(const struct diag_place *place)
{
    uint32_t count = 0;
    const char *at = place->source_line;
    for (; count < place->column - 1 && *at != '\0'; count++) {
        at = skip_character(at);
    }
    return count;
}

/* The source line, clipped to a window, with a caret below the column. */
static void dump_source(const struct diag_place *place, struct text *out)
{
    uint32_t before = count_before(place);
    const char *at = place->source_line;
    text_push(out, "    ");
    if (before > SHOWN_COLUMNS - 10) {
        for (; before > SHOWN_BEFORE; before--) {
            at = skip_character(at);
        }
        text_push(out, "...");
        before += 3;
    }
    at = push_characters(out, at, SHOWN_COLUMNS);
    text_push(out, "%s\n    ", *at == '\0' ? "" : "...");
    for (uint32_t i = 0; i < before; i++) {
        text_push(out, " ");
    }
    text_push(out, "^\n");
}

static void dump_place(const struct diag_place *place, struct text *out)
{
    push_line(out, place->file == NULL ? "shardplan" : place->file);
    if (place->file != NULL && place->line > 0) {
        text_push(out, ":%u", place->line);
        if (place->column > 0) {
            text_push(out, ":%u", place->column);
        }
    }
    text_push(out, ": ");
}

static void dump_entry(const struct diag_entry *entry, struct text *out)
{
    const struct diag_place *place = &entry->place;
    dump_place(place, out);
    text_push(out, "%s: ", entry->warning ? "warning" : "error");
    push_line(out, entry->message);
    text_push(out, " [%s]\n", diag_code_name(entry->code));
    if (place->source_line != NULL && place->source_line[0] != '\0' && place->column > 0) {
        dump_source(place, out);
    }
    if (entry->hint != NULL) {
        text_push(out, "    hint: ");
        push_line(out, entry->hint);
        text_push(out, "\n");
    }
}

_Noreturn void diag_bug(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "shardplan: internal error at %s:%d: ", file, line);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    exit(3);
}

void diag_dump(const struct diag *diag, struct text *out)
{
    const struct diag_entry *order[DIAG_MAX];
    uint32_t errors = 0;
    for (uint32_t i = 0; i < diag->kept; i++) {
        order[i] = &diag->entries[i];
        errors += !diag->entries[i].warning;
    }
    sort(order, diag->kept);
    for (uint32_t i = 0; i < diag->kept; i++) {
        dump_entry(order[i], out);
    }
    if (diag->count > errors) {
        text_push(out, "shardplan: and %u more errors like these\n", diag->count - errors);
    }
}

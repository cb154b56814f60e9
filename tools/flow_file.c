/* Transfers from a CSV file, run on a cluster's bare links. */
#include "tools/flow_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "sim/flows.h"
#include "tools/problem_flags.h"
#include "tools/report.h"

#define FIELD_COUNT 4u
#define BYTES_MAX 1e60
#define START_MAX_S 1e12
#define ROWS_SHOWN 40u

enum field { FIELD_SOURCE, FIELD_DESTINATION, FIELD_BYTES, FIELD_START };

struct reader {
    struct command *command;
    const struct cluster *cluster;
    const char *path;
    uint32_t line;
    uint32_t columns[FIELD_COUNT]; /* of the heading, per field */
    struct flows_transfer *transfers;
    uint32_t count, capacity;
};

static const char *const field_names[FIELD_COUNT + 1] = {"src", "dst", "bytes", "start_s", NULL};

static struct diag_place place_of(const struct reader *reader)
{
    return (struct diag_place){.file = reader->path, .line = reader->line};
}

/* Cuts a line at its commas, blanks around cells away; gives the number of cells. */
static uint32_t split(char *line, char **cells)
{
    uint32_t count = 0;
    for (char *at = line; at != NULL && count < FIELD_COUNT;) {
        char *comma = strchr(at, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        at += strspn(at, " \t\"");
        size_t length = strlen(at);
        while (length > 0 && strchr(" \t\r\"", at[length - 1]) != NULL) {
            at[--length] = '\0';
        }
        cells[count++] = at;
        at = comma == NULL ? NULL : comma + 1;
    }
    return count;
}

static bool read_heading(struct reader *reader, char *line)
{
    char *cells[FIELD_COUNT];
    const uint32_t count = split(line, cells);
    uint32_t found = 0;
    for (uint32_t field = 0; field < FIELD_COUNT; field++) {
        for (uint32_t i = 0; i < count; i++) {
            if (strcmp(cells[i], field_names[field]) == 0) {
                reader->columns[field] = i;
                found++;
            }
        }
    }
    return found == FIELD_COUNT ||
           diag_push(reader->command->diag, DIAG_C720, place_of(reader), NULL,
                     "the first line must name the columns src,dst,bytes,start_s");
}

static bool read_device(struct reader *reader, const char *cell, uint32_t *out)
{
    const struct cluster *cluster = reader->cluster;
    for (uint32_t i = 0; cluster->nodes != NULL && i < cluster->device_count; i++) {
        if (strcmp(cluster->nodes[i].id, cell) == 0) {
            *out = i;
            return true;
        }
    }
    char *end;
    const unsigned long long index = strtoull(cell, &end, 10);
    if (cell[0] < '0' || cell[0] > '9' || *end != '\0' || index >= cluster->device_count) {
        return diag_push(reader->command->diag, DIAG_C720, place_of(reader), NULL,
                         "'%s' is no device of the cluster: write an index from 0 to %u%s", cell,
                         cluster->device_count - 1, cluster->nodes != NULL ? ", or an id" : "");
    }
    *out = (uint32_t)index;
    return true;
}

static bool read_amount(struct reader *reader, enum field field, const char *cell, double max,
                        double *out)
{
    const char *at = cell;
    if (!command_parse_number(&at, out) || *at != '\0' || !(*out >= 0.0 && *out <= max)) {
        return diag_push(reader->command->diag, DIAG_C720, place_of(reader), NULL,
                         "%s is '%s': it must be a number from 0 to %g", field_names[field], cell,
                         max);
    }
    return true;
}

static void push_transfer(struct reader *reader, const struct flows_transfer *transfer)
{
    ARENA_MAKE_ROOM(reader->command->arena, reader->transfers, reader->count, reader->capacity);
    reader->transfers[reader->count++] = *transfer;
}

static bool read_row(struct reader *reader, char *line)
{
    char *cells[FIELD_COUNT];
    struct flows_transfer transfer;
    const uint32_t count = split(line, cells);
    if (count < FIELD_COUNT) {
        return diag_push(reader->command->diag, DIAG_C720, place_of(reader), NULL,
                         "a line has %u cells, 4 are needed: src,dst,bytes,start_s", count);
    }
    const uint32_t *columns = reader->columns;
    bool good = read_device(reader, cells[columns[FIELD_SOURCE]], &transfer.source);
    good = read_device(reader, cells[columns[FIELD_DESTINATION]], &transfer.destination) && good;
    good =
        read_amount(reader, FIELD_BYTES, cells[columns[FIELD_BYTES]], BYTES_MAX, &transfer.bytes) &&
        good;
    good = read_amount(reader, FIELD_START, cells[columns[FIELD_START]], START_MAX_S,
                       &transfer.start_s) &&
           good;
    if (good) {
        push_transfer(reader, &transfer);
    }
    return good;
}

static bool read_lines(struct reader *reader, char *text)
{
    bool good = true, headed = false;
    for (char *line = text; line != NULL;) {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        reader->line++;
        if (line[strspn(line, " \t\r")] != '\0' && line[0] != '#') {
            if (!headed && !read_heading(reader, line)) {
                return false;
            }
            good = !headed || (read_row(reader, line) && good);
            headed = true;
        }
        line = end == NULL ? NULL : end + 1;
    }
    return good && (headed || read_heading(reader, text));
}

/* --- the answer ---------------------------------------------------------------------------- */

static void dump_json(struct command *command, const struct reader *reader,
                      const struct flows_result *result, double wall_s)
{
    struct json_writer out;
    json_writer_init(&out, &command->out, false);
    json_push_object(&out);
    report_push_head_of(command, "cluster", reader->cluster->digest, &out);
    json_push_key(&out, "flows");
    json_push_array(&out);
    for (uint32_t i = 0; i < reader->count; i++) {
        json_push_object(&out);
        json_push_key_u64(&out, "src", reader->transfers[i].source);
        json_push_key_u64(&out, "dst", reader->transfers[i].destination);
        json_push_key_double(&out, "finish_s", result->finish_s[i]);
        json_pop_object(&out);
    }
    json_pop_array(&out);
    json_push_key_u64(&out, "events", result->events);
    if (command->timing) {
        json_push_key_double(&out, "wall_s", wall_s);
    }
    json_pop_object(&out);
    text_push(&command->out, "\n");
}

static void dump_people(struct command *command, const struct reader *reader,
                        const struct flows_result *result)
{
    static const char *const headings[] = {">src",    ">dst",       ">size", ">start",
                                           ">finish", ">mean rate", NULL};
    const uint32_t shown = reader->count < ROWS_SHOWN ? reader->count : ROWS_SHOWN;
    struct arena *arena = command->arena;
    struct table table;
    table_init(&table, arena, headings);
    for (uint32_t i = 0; i < shown; i++) {
        const struct flows_transfer *transfer = &reader->transfers[i];
        const double seconds = result->finish_s[i] - transfer->start_s;
        struct text rate;
        text_init(&rate, arena);
        if (seconds > 0.0) {
            unit_dump_short(UNIT_BYTES_PER_SECOND, transfer->bytes / seconds, &rate);
        }
        table_push(&table, "%u", transfer->source);
        table_push(&table, "%u", transfer->destination);
        table_push(&table, "%s", report_bytes(arena, transfer->bytes));
        table_push(&table, "%s", report_seconds(arena, transfer->start_s));
        table_push(&table, "%s", report_seconds(arena, result->finish_s[i]));
        table_push(&table, "%s", rate.bytes);
    }
    table_dump(&table, &command->out);
    if (shown < reader->count) {
        text_push(&command->out, "and %u more; --json has all\n", reader->count - shown);
    }
}

int flow_file_run(struct command *command)
{
    struct cluster cluster;
    struct flows_result result;
    struct text text;
    struct reader reader = {.command = command, .cluster = &cluster};
    if (!command_text(command, "--flows", &reader.path) ||
        !problem_flags_read_cluster(command, &cluster) ||
        !command_read_file(command, reader.path, &text) || !read_lines(&reader, text.bytes)) {
        return command_fail(command);
    }
    const double start_s = command_now_s();
    if (!flows_run(&cluster, reader.transfers, reader.count, command->arena, &result,
                   command->diag)) {
        return command_fail(command);
    }
    if (command->json) {
        dump_json(command, &reader, &result, command_now_s() - start_s);
    } else {
        dump_people(command, &reader, &result);
    }
    return 0;
}

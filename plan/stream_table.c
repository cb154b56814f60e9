/* Streams given slot by slot, in the table form that PyTorch's pipeline runtime loads. */
#include <assert.h>
#include <string.h>

#include "plan/stream_inside.h"

/* A table while it is read: cells of all rows one after another. */
struct table_cell {
    uint32_t row, column; /* column: byte in the row, 1-based */
    uint32_t model_chunk, micro_batch;
    enum slot_kind kind;
    bool paired; /* with the next */
};

struct slot_table {
    const char *name;
    struct table_cell *cells;
    uint32_t count, rows;
    uint32_t model_chunks, micro_batches;
};

/* A place in the text being read. */
struct cursor {
    const char *at, *end, *row_begin;
    uint32_t row;
};

static struct diag_place place_of(const struct slot_table *table, const struct cursor *cursor,
                                  struct arena *arena)
{
    const char *row_end = cursor->at;
    while (row_end < cursor->end && *row_end != '\n' && *row_end != '\r') {
        row_end++;
    }
    return (struct diag_place){
        .file = table->name,
        .line = cursor->row + 1,
        .column = (uint32_t)(cursor->at - cursor->row_begin) + 1,
        .source_line =
            text_build_copy(arena, cursor->row_begin, (size_t)(row_end - cursor->row_begin)),
    };
}

static bool read_number(struct cursor *cursor, uint32_t *out)
{
    uint32_t value = 0;
    const char *begin = cursor->at;
    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9') {
        value = value * 10 + (uint32_t)(*cursor->at - '0');
        if (value >= STREAM_SLOTS_MAX) {
            return false;
        }
        cursor->at++;
    }
    *out = value;
    return cursor->at > begin;
}

static bool read_kind(struct cursor *cursor, enum slot_kind *out)
{
    static const char letters[SLOT_KIND_COUNT] = {'F', 'B', 'I', 'W'};
    for (enum slot_kind kind = 0; kind < SLOT_KIND_COUNT; kind++) {
        if (cursor->at < cursor->end && *cursor->at == letters[kind]) {
            cursor->at++;
            *out = kind;
            return true;
        }
    }
    return false;
}

static bool is_cell_end(const struct cursor *cursor)
{
    return cursor->at == cursor->end || *cursor->at == ',' || *cursor->at == '\r' ||
           *cursor->at == '\n';
}

static bool is_row_end(const struct cursor *cursor)
{
    return cursor->at == cursor->end || *cursor->at == '\r' || *cursor->at == '\n';
}

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && *cursor->at == ' ') {
        cursor->at++;
    }
}

static bool skip_word(struct cursor *cursor, const char *word)
{
    const size_t length = strlen(word);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0) {
        return false;
    }
    cursor->at += length;
    return true;
}

static void push_cell(struct slot_table *table, const struct table_cell *cell)
{
    table->cells[table->count++] = *cell;
    if (cell->model_chunk >= table->model_chunks) {
        table->model_chunks = cell->model_chunk + 1;
    }
    if (cell->micro_batch >= table->micro_batches) {
        table->micro_batches = cell->micro_batch + 1;
    }
}

static bool read_slot(struct cursor *cursor, struct table_cell *out)
{
    out->row = cursor->row;
    out->column = (uint32_t)(cursor->at - cursor->row_begin) + 1;
    return read_number(cursor, &out->model_chunk) && read_kind(cursor, &out->kind) &&
           read_number(cursor, &out->micro_batch);
}

/* Behind the opening bracket: the forward, the backward that shares its time. */
static bool read_pair(struct cursor *cursor, struct table_cell out[2])
{
    return read_slot(cursor, &out[0]) && skip_word(cursor, ";") && read_slot(cursor, &out[1]) &&
           skip_word(cursor, ")OVERLAP_F_B");
}

static bool read_cell(struct slot_table *table, struct cursor *cursor, struct diag *diag)
{
    skip_blanks(cursor);
    if (is_cell_end(cursor)) {
        return true;
    }
    struct cursor begin = *cursor;
    struct table_cell cells[2] = {{0}, {0}};
    const bool paired = skip_word(cursor, "(");
    const bool good = paired ? read_pair(cursor, cells) : read_slot(cursor, &cells[0]);
    skip_blanks(cursor);
    if (!good || !is_cell_end(cursor)) {
        while (!is_cell_end(cursor)) {
            cursor->at++;
        }
        return diag_push(diag, DIAG_P444, place_of(table, &begin, diag->arena),
                         "such as 0F0: model chunk, one of F B I W, micro-batch; a pair is "
                         "(0F1;3B0)OVERLAP_F_B",
                         "'%.*s' is no slot of a schedule", (int)(cursor->at - begin.at), begin.at);
    }
    cells[0].paired = paired;
    push_cell(table, &cells[0]);
    if (paired) {
        push_cell(table, &cells[1]);
    }
    return true;
}

/* A row ends at a line feed; the last may lack it. Only the first bad cell of a row is named. */
static bool read_rows(struct slot_table *table, struct cursor *cursor, struct diag *diag)
{
    bool good = true;
    while (cursor->at < cursor->end) {
        cursor->row_begin = cursor->at;
        bool reads = read_cell(table, cursor, diag);
        while (!is_row_end(cursor)) {
            cursor->at++;
            reads = reads && read_cell(table, cursor, diag);
        }
        good = good && reads;
        cursor->at += cursor->at < cursor->end && *cursor->at == '\r';
        cursor->at += cursor->at < cursor->end && *cursor->at == '\n';
        cursor->row++;
    }
    table->rows = table->count == 0 ? 0 : table->cells[table->count - 1].row + 1;
    return good;
}

/* Fills owners: the row of each model chunk; each lives on one row and has slots. */
static bool find_owners(const struct slot_table *table, uint32_t *owners, struct diag *diag)
{
    for (uint32_t i = 0; i < table->model_chunks; i++) {
        owners[i] = UINT32_MAX;
    }
    bool good = true;
    for (uint32_t i = 0; i < table->count; i++) {
        const struct table_cell *cell = &table->cells[i];
        uint32_t *owner = &owners[cell->model_chunk];
        if (*owner != UINT32_MAX && *owner != cell->row) {
            struct diag_place place = {table->name, cell->row + 1, cell->column, NULL};
            good = diag_push(diag, DIAG_P444, place, "a model chunk lives on one stage",
                             "model chunk %u runs on stage %u and on stage %u", cell->model_chunk,
                             *owner, cell->row);
        }
        *owner = cell->row;
    }
    for (uint32_t i = 0; good && i < table->model_chunks; i++) {
        if (owners[i] == UINT32_MAX) {
            struct diag_place place = {.file = table->name};
            good = diag_push(diag, DIAG_P444, place, NULL, "model chunk %u of %u has no slot", i,
                             table->model_chunks);
        }
    }
    return good;
}

/* Local chunks of a row are its model chunks in ascending order; every row has as many. */
static bool place_chunks(const struct slot_table *table, const uint32_t *owners,
                         struct stream *stream, struct diag *diag)
{
    uint32_t chunks = stream->shape.chunks;
    uint32_t *found = stream->slot_counts; /* still unused */
    for (uint32_t i = 0; i < table->model_chunks; i++) {
        uint32_t row = owners[i], chunk = found[row]++;
        if (chunk < chunks) {
            stream->model_chunk[row * chunks + chunk] = i;
            stream->chunk_place[i] = row * chunks + chunk;
        }
    }
    bool good = true;
    for (uint32_t row = 0; row < table->rows; row++) {
        struct diag_place place = {.file = table->name, .line = row + 1, .column = 1};
        if (found[row] != chunks) {
            good = diag_push(diag, DIAG_P444, place, "every stage runs as many model chunks",
                             "stage %u runs %u model chunks, not %u (%u over %u stages)", row,
                             found[row], chunks, table->model_chunks, table->rows);
        }
        found[row] = 0;
    }
    return good;
}

static void place_slots(const struct slot_table *table, struct arena *arena, struct stream *stream)
{
    for (uint32_t i = 0; i < table->count; i++) {
        stream->slot_counts[table->cells[i].row]++;
    }
    for (uint32_t row = 0; row < table->rows; row++) {
        stream->slots[row] = ARENA_PUSH(arena, struct slot, stream->slot_counts[row]);
        stream->slot_counts[row] = 0;
    }
    for (uint32_t i = 0; i < table->count; i++) {
        const struct table_cell *cell = &table->cells[i];
        uint32_t place = stream->chunk_place[cell->model_chunk];
        stream->slots[cell->row][stream->slot_counts[cell->row]++] =
            (struct slot){.kind = cell->kind,
                          .micro_batch = cell->micro_batch,
                          .chunk = place % stream->shape.chunks,
                          .paired = cell->paired};
    }
}

/* The first row without a cell; the number of rows if there is none. */
static uint32_t find_empty_row(const struct slot_table *table)
{
    uint32_t expected = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        if (table->cells[i].row > expected) {
            return expected;
        }
        expected = table->cells[i].row + 1;
    }
    return table->rows;
}

/* The shape that the rows state. */
static bool find_shape(const struct slot_table *table, struct schedule_shape *out,
                       struct diag *diag)
{
    struct diag_place place = {.file = table->name};
    if (table->count == 0) {
        return diag_push(diag, DIAG_P444, place, "one row per stage, cells such as 0F0",
                         "the table has no slot");
    }
    uint32_t empty = find_empty_row(table);
    if (empty < table->rows) {
        place.line = empty + 1;
        return diag_push(diag, DIAG_P444, place, "one row per stage",
                         "stage %u (row %u) has no slot", empty, empty + 1);
    }
    if ((uint64_t)3 * table->model_chunks * table->micro_batches > STREAM_SLOTS_MAX) {
        return diag_push(diag, DIAG_P444, place, NULL,
                         "%u model chunks times %u micro-batches are too many: the product must be "
                         "at most %u",
                         table->model_chunks, table->micro_batches, STREAM_SLOTS_MAX / 3);
    }
    if (table->model_chunks % table->rows != 0) {
        return diag_push(diag, DIAG_P444, place, "every stage runs as many model chunks",
                         "%u model chunks do not spread evenly over %u stages (rows)",
                         table->model_chunks, table->rows);
    }
    *out = (struct schedule_shape){.stages = table->rows,
                                   .chunks = table->model_chunks / table->rows,
                                   .micro_batches = table->micro_batches};
    return true;
}

static bool build_from_table(const struct slot_table *table, struct arena *arena,
                             struct stream *out, struct diag *diag)
{
    struct schedule_shape shape = {0};
    if (!find_shape(table, &shape, diag)) {
        return false;
    }
    struct stream stream;
    stream_init(&shape, arena, &stream);
    stream.file = text_build(arena, "%s", table->name);
    uint32_t *owners = ARENA_PUSH(arena, uint32_t, table->model_chunks);
    if (!find_owners(table, owners, diag) || !place_chunks(table, owners, &stream, diag)) {
        return false;
    }
    place_slots(table, arena, &stream);
    if (!stream_build_rest(&stream, diag)) {
        return false;
    }
    *out = stream;
    return true;
}

static uint32_t count_cells(const char *text, size_t length)
{
    uint32_t count = 1;
    for (size_t i = 0; i < length; i++) {
        count += text[i] == ',' || text[i] == ';' || text[i] == '\n' || text[i] == '\r';
    }
    return count;
}

static void dump_cell(const struct stream *stream, uint32_t stage, const struct slot *slot,
                      struct text *out)
{
    static const char letters[SLOT_KIND_COUNT] = {'F', 'B', 'I', 'W'};
    text_push(out, "%u%c%u", stream->model_chunk[stage * stream->shape.chunks + slot->chunk],
              letters[slot->kind], slot->micro_batch);
}

void stream_dump_table(const struct stream *stream, struct text *out)
{
    assert(stream->copies == 1);
    for (uint32_t stage = 0; stage < stream->shape.stages; stage++) {
        for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
            const struct slot *slot = &stream->slots[stage][i];
            text_push(out, "%s%s", i == 0 ? "" : ",", slot->paired ? "(" : "");
            dump_cell(stream, stage, slot, out);
            if (slot->paired) {
                text_push(out, ";");
                dump_cell(stream, stage, slot + 1, out);
                text_push(out, ")OVERLAP_F_B");
                i++;
            }
        }
        text_push(out, "\n");
    }
}

bool stream_read_table(const char *name, const char *text, size_t length, struct arena *arena,
                       struct stream *out, struct diag *diag)
{
    if (length >= STREAM_SLOTS_MAX) {
        struct diag_place place = {.file = name};
        return diag_push(diag, DIAG_P444, place, NULL,
                         "the table has %zu bytes, at most %u are read", length, STREAM_SLOTS_MAX);
    }
    struct slot_table table = {.name = text_build(diag->arena, "%s", name)};
    table.cells = ARENA_PUSH(arena, struct table_cell, count_cells(text, length));
    struct cursor cursor = {.at = text, .end = text + length, .row_begin = text};
    return read_rows(&table, &cursor, diag) && build_from_table(&table, arena, out, diag);
}

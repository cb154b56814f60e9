/* The table of `nvidia-smi topo -m`: how each pair of GPUs and network cards is joined. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "topologies/topology_file.h"

#define COLUMN_MAX 256u

/* How near two are, from the nearest; NV links hide what joins the pair by PCI. */
enum nearness { ONE_BRIDGE, SEVERAL_BRIDGES, ONE_SOCKET, OTHER_SOCKET, LINKED, SELF };

struct cell {
    enum nearness nearness;
    uint32_t links; /* LINKED */
};

struct table {
    const char *name;
    struct arena *arena;
    struct diag *diag;
    const char **lines;
    uint32_t line_count;
    uint32_t header; /* line */
    const char *columns[COLUMN_MAX];
    uint32_t count, device_count; /* devices come first */
    struct cell *cells;
    uint32_t *groups[OTHER_SOCKET]; /* per nearness and column: the first column of its group */
};

static bool refuse(const struct table *table, uint32_t line, const char *message)
{
    return diag_push(table->diag, DIAG_T320,
                     (struct diag_place){.file = table->name, .line = line + 1}, NULL, "%s",
                     message);
}

/* --- text ------------------------------------------------------------------------------------- */

/* Lines without colours (ESC [ ... m) and carriage returns. */
static void split_lines(struct table *table, const char *text, size_t length)
{
    uint32_t count = 1;
    for (size_t i = 0; i < length; i++) {
        count += text[i] == '\n';
    }
    char *plain = ARENA_PUSH(table->arena, char, length + 1);
    table->lines = ARENA_PUSH(table->arena, const char *, count);
    table->lines[table->line_count++] = plain;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == 0x1b) {
            while (i + 1 < length && text[i] != 'm' && text[i] != '\n') {
                i++;
            }
        } else if (text[i] == '\n') {
            *plain++ = '\0';
            table->lines[table->line_count++] = plain;
        } else if (text[i] != '\0') {
            *plain++ = text[i];
        }
    }
    *plain = '\0';
}

static const char *next_word(const char **cursor, struct arena *arena)
{
    *cursor += strspn(*cursor, " \t\r");
    const size_t length = strcspn(*cursor, " \t\r");
    const char *word = text_build_copy(arena, *cursor, length);
    *cursor += length;
    return word;
}

static bool is_numbered(const char *word, const char *begin)
{
    const size_t length = strlen(begin);
    return strncmp(word, begin, length) == 0 && word[length] >= '0' && word[length] <= '9' &&
           word[length + strspn(word + length, "0123456789")] == '\0';
}

/* GPU0 GPU1 ... NIC0 mlx5_0 ..., up to the columns on affinity. */
static bool read_header(struct table *table)
{
    while (table->header < table->line_count &&
           table->lines[table->header][strspn(table->lines[table->header], " \t\r")] == '\0') {
        table->header++;
    }
    const char *cursor = table->header < table->line_count ? table->lines[table->header] : "";
    for (;;) {
        const char *word = next_word(&cursor, table->arena);
        if (word[0] == '\0' || strcmp(word, "CPU") == 0 || strcmp(word, "NUMA") == 0 ||
            strcmp(word, "GPU") == 0) {
            break;
        }
        const bool device = is_numbered(word, "GPU");
        if (table->count == COLUMN_MAX || (device && table->device_count < table->count)) {
            return refuse(table, table->header,
                          "the first line must name GPUs, then network cards, 256 at most");
        }
        table->columns[table->count++] = word;
        table->device_count += device;
    }
    return table->device_count > 0 ||
           refuse(table, table->header, "the first line must name GPUs: GPU0 GPU1 ...");
}

static bool read_cell(const struct table *table, uint32_t line, const char *word, struct cell *out)
{
    static const struct {
        const char *word;
        enum nearness nearness;
    } words[] = {{"X", SELF},          {"PIX", ONE_BRIDGE},  {"PXB", SEVERAL_BRIDGES},
                 {"PHB", ONE_SOCKET},  {"NODE", ONE_SOCKET}, {"SYS", OTHER_SOCKET},
                 {"SOC", OTHER_SOCKET}};
    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].word, word) == 0) {
            *out = (struct cell){words[i].nearness, 0};
            return true;
        }
    }
    if (is_numbered(word, "NV") && strlen(word) <= 5) {
        *out = (struct cell){LINKED, (uint32_t)strtoul(word + 2, NULL, 10)};
        return out->links > 0 || refuse(table, line, "NV0 joins nothing");
    }
    return refuse(table, line,
                  strcmp(word, "OK") == 0 || strcmp(word, "NS") == 0 || strcmp(word, "CNS") == 0
                      ? "this is the table of `topo -p2p`; that of `topo -m` is read"
                  : word[0] == '\0' ? "the row has fewer cells than the first line has names"
                                    : text_build(table->arena,
                                                 "'%.40s' is none of X NV# PIX PXB PHB NODE SYS: a "
                                                 "table that was wrapped or glued cannot be read",
                                                 word));
}

static bool read_row(struct table *table, uint32_t row)
{
    const uint32_t line = table->header + 1 + row;
    const char *cursor = line < table->line_count ? table->lines[line] : "";
    const char *word = next_word(&cursor, table->arena);
    if (strcmp(word, table->columns[row]) != 0) {
        return refuse(table, line,
                      text_build(table->arena, "the row of '%s' should stand here, not '%.40s'",
                                 table->columns[row], word));
    }
    for (uint32_t i = 0; i < table->count; i++) {
        struct cell *cell = &table->cells[row * table->count + i];
        if (!read_cell(table, line, next_word(&cursor, table->arena), cell)) {
            return false;
        }
        if ((cell->nearness == SELF) != (i == row)) {
            return refuse(table, line, "X stands for a pair of one with itself, only");
        }
    }
    return true;
}

static bool check_symmetry(const struct table *table)
{
    for (uint32_t i = 0; i < table->count * table->count; i++) {
        const uint32_t row = i / table->count;
        const uint32_t column = i % table->count;
        const struct cell *there = &table->cells[i];
        const struct cell *back = &table->cells[column * table->count + row];
        if (there->nearness != back->nearness || there->links != back->links) {
            return refuse(table, table->header + 1 + row,
                          text_build(table->arena, "'%s' to '%s' differs from the way back",
                                     table->columns[row], table->columns[column]));
        }
    }
    return true;
}

/* --- groups ----------------------------------------------------------------------------------- */

static uint32_t find_first(uint32_t *group, uint32_t column)
{
    while (group[column] != column) {
        column = group[column];
    }
    return column;
}

/* Who is within that nearness of whom; groups of a wider nearness hold those of a narrower. */
static void group_columns(struct table *table)
{
    for (enum nearness near = ONE_BRIDGE; near < OTHER_SOCKET; near++) {
        uint32_t *group = ARENA_PUSH(table->arena, uint32_t, table->count);
        for (uint32_t i = 0; i < table->count; i++) {
            group[i] = i;
        }
        for (uint32_t i = 0; i < table->count * table->count; i++) {
            if (table->cells[i].nearness <= near) {
                const uint32_t a = find_first(group, i / table->count);
                const uint32_t b = find_first(group, i % table->count);
                group[a > b ? a : b] = a > b ? b : a;
            }
        }
        for (uint32_t i = 0; i < table->count; i++) {
            group[i] = find_first(group, i);
        }
        table->groups[near] = group;
    }
}

static bool is_single(const struct table *table, enum nearness near, uint32_t first)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        count += table->groups[near][i] == first;
    }
    return count == 1;
}

/* Where no cell tells of PCI there is one root for all. */
static bool is_silent(const struct table *table)
{
    for (uint32_t i = 0; i < table->count * table->count; i++) {
        if (table->cells[i].nearness <= OTHER_SOCKET) {
            return false;
        }
    }
    return table->count > 1;
}

/* --- parts ------------------------------------------------------------------------------------ */

struct filling {
    const struct table *table;
    struct machine *machine;
    struct diag_place place;
    uint32_t *part_of[OTHER_SOCKET]; /* per nearness and first column of a group */
    bool silent;
};

static bool push_part(struct filling *filling, struct machine_part part, uint32_t *out)
{
    part.place = filling->place;
    return machine_push_part(filling->machine, &part, out, filling->table->diag);
}

/* The part that the column hangs on: of the narrowest group that has others in it. */
static bool find_parent(struct filling *filling, uint32_t column, uint32_t *out)
{
    const struct table *table = filling->table;
    uint32_t parent = MACHINE_NONE;
    for (enum nearness near = OTHER_SOCKET; near-- > ONE_BRIDGE;) {
        const bool socket = near == ONE_SOCKET;
        const uint32_t first = socket && filling->silent ? 0 : table->groups[near][column];
        if (!socket && is_single(table, near, first)) {
            continue;
        }
        uint32_t *part = &filling->part_of[near][first];
        if (*part == MACHINE_NONE &&
            !push_part(filling,
                       (struct machine_part){.kind = socket ? MACHINE_SOCKET : MACHINE_BRIDGE,
                                             .name = socket ? "socket" : "bridge",
                                             .parent = parent},
                       part)) {
            return false;
        }
        parent = *part;
    }
    *out = parent;
    return true;
}

static bool fill_parts(struct filling *filling)
{
    const struct table *table = filling->table;
    uint32_t *parts = ARENA_PUSH(table->arena, uint32_t, table->count);
    for (uint32_t i = 0; i < table->count; i++) {
        struct machine_part part = {.kind = i < table->device_count ? MACHINE_DEVICE : MACHINE_CARD,
                                    .name = table->columns[i],
                                    .order = i};
        if (!find_parent(filling, i, &part.parent) || !push_part(filling, part, &parts[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < table->count * table->count; i++) {
        const uint32_t a = i / table->count;
        const uint32_t b = i % table->count;
        const struct machine_peer peer = {
            .a = parts[a], .b = parts[b], .count = table->cells[i].links};
        if (a < b && peer.count > 0 && b < table->device_count &&
            !machine_push_peer(filling->machine, &peer, table->diag)) {
            return false;
        }
    }
    return true;
}

static bool fill_machine(const struct table *table, struct machine *out)
{
    struct filling filling = {
        .table = table, .machine = out, .place = {.file = table->name}, .silent = is_silent(table)};
    for (enum nearness near = ONE_BRIDGE; near < OTHER_SOCKET; near++) {
        filling.part_of[near] = ARENA_PUSH(table->arena, uint32_t, table->count);
        for (uint32_t i = 0; i < table->count; i++) {
            filling.part_of[near][i] = MACHINE_NONE;
        }
    }
    if (filling.silent) {
        diag_push_warning(table->diag, DIAG_T319, filling.place, NULL,
                          "the table does not say how PCI joins the devices: one root for all is "
                          "taken");
    }
    return fill_parts(&filling);
}

bool nvidia_smi_read(const struct cluster_text *text, struct machine *out, struct diag *diag)
{
    struct table table = {.name = text->name, .arena = out->arena, .diag = diag};
    split_lines(&table, text->bytes, text->length);
    if (!read_header(&table)) {
        return false;
    }
    table.cells = ARENA_PUSH(out->arena, struct cell, (size_t)table.count * table.count);
    for (uint32_t row = 0; row < table.count; row++) {
        if (!read_row(&table, row)) {
            return false;
        }
    }
    if (!check_symmetry(&table)) {
        return false;
    }
    group_columns(&table);
    return fill_machine(&table, out);
}

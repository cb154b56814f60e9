/* A row's cells as texts and numbers. */
#include "tools/measured.h"

#include <stddef.h>
#include <string.h>

#include "tools/command.h"

struct text_column {
    const char *name;
    size_t offset;
};

struct number_column {
    const char *name;
    size_t offset;
};

#define TEXT(column, member) \
    { \
        column, offsetof(struct measured, member) \
    }

static const struct text_column text_columns[] = {
    TEXT("id", id),
    TEXT("source", source),
    TEXT("model", model),
    TEXT("arch", arch),
    TEXT("accelerator", accelerator),
    TEXT("intra_net", intra_net),
    TEXT("inter_net", inter_net),
    TEXT("dtype", dtype),
    TEXT("framework", framework),
    TEXT("task", task),
    TEXT("sharding", sharding),
    TEXT("recompute", recompute),
    TEXT("schedule", schedule),
    TEXT("attn", attention),
    TEXT("overlap", overlap),
    TEXT("memory_kind", memory_kind),
    TEXT("notes", notes),
    TEXT("tier", tier),
    TEXT("missing", missing),
};

static const struct number_column number_columns[] = {
    TEXT("layers", layers),
    TEXT("hidden", hidden),
    TEXT("ffn", ffn),
    TEXT("heads", heads),
    TEXT("kv_heads", kv_heads),
    TEXT("head_dim", head_dim),
    TEXT("vocab", vocab),
    TEXT("seq_len", seq_length),
    TEXT("n_experts", experts),
    TEXT("top_k", top_k),
    TEXT("moe_ffn", moe_ffn),
    TEXT("shared_ffn", shared_ffn),
    TEXT("dense_layers", dense_layers),
    TEXT("n_accel", devices),
    TEXT("accel_per_node", node_devices),
    TEXT("tp", tp),
    TEXT("pp", pp),
    TEXT("vpp", vpp),
    TEXT("cp", cp),
    TEXT("ep", ep),
    TEXT("etp", etp),
    TEXT("dp", dp),
    TEXT("micro_batch", micro_batch),
    TEXT("global_batch", global_batch),
};

#define COUNT_OF(list) (sizeof(list) / sizeof(list)[0])

static const char *cell_of(const struct csv *csv, uint32_t row, const char *column)
{
    return csv_find_cell(csv, row, csv_find_column(csv, column));
}

/* Empty is absent and good. */
static bool read_number(const char *cell, double max, double *out)
{
    const char *at = cell;
    *out = 0.0;
    return cell[0] == '\0' ||
           (command_parse_number(&at, out) && *at == '\0' && *out >= 0.0 && *out <= max);
}

static bool read_counts(const struct csv *csv, uint32_t row, struct arena *arena,
                        struct measured *out, const char **reason)
{
    for (uint32_t i = 0; i < COUNT_OF(number_columns); i++) {
        const char *cell = cell_of(csv, row, number_columns[i].name);
        double value;
        if (!read_number(cell, 4294967294.0, &value) || value != (double)(uint32_t)value) {
            *reason =
                text_build(arena, "%s is '%s': no whole number", number_columns[i].name, cell);
            return false;
        }
        *(uint32_t *)(void *)((char *)out + number_columns[i].offset) = (uint32_t)value;
    }
    return true;
}

static bool read_flag(const char *cell)
{
    return strcmp(cell, "1") == 0 || strcmp(cell, "true") == 0 || strcmp(cell, "True") == 0;
}

/* Sources that print GB mean 1e9 bytes; those that print GiB, or nothing, the column's unit.
 * nanotron divides by 1024^3 what it then calls GB (src/nanotron/helpers.py, "Mem Res (GB)"). */
static double memory_unit_bytes(const char *kind)
{
    const bool decimal = strstr(kind, "GB") != NULL && strstr(kind, "GiB") == NULL &&
                         strstr(kind, "nanotron") == NULL;
    return decimal ? 1e9 : 1073741824.0;
}

static bool read_results(const struct csv *csv, uint32_t row, struct arena *arena,
                         struct measured *out, const char **reason)
{
    double rate = 0.0, memory = 0.0;
    const bool good = read_number(cell_of(csv, row, "iteration_time_s"), 1e9, &out->step_s) &&
                      read_number(cell_of(csv, row, "tokens_per_s_per_accel"), 1e15, &rate) &&
                      read_number(cell_of(csv, row, "peak_memory_GiB"), 1e9, &memory);
    if (!good) {
        *reason = "iteration_time_s, tokens_per_s_per_accel or peak_memory_GiB is no number";
        return false;
    }
    if (out->step_s == 0.0 && rate > 0.0 && out->devices > 0) {
        out->step_s = (double)out->global_batch * (double)out->seq_length / rate / out->devices;
    }
    out->memory_bytes = memory * memory_unit_bytes(out->memory_kind);
    if (out->step_s == 0.0) {
        *reason = text_build(arena, "no time: neither iteration_time_s nor tokens_per_s_per_accel");
    }
    return out->step_s > 0.0;
}

static uint32_t or_one(uint32_t value)
{
    return value == 0 ? 1 : value;
}

bool measured_read(const struct csv *csv, uint32_t row, struct arena *arena, struct measured *out,
                   const char **reason)
{
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < COUNT_OF(text_columns); i++) {
        const char *cell = cell_of(csv, row, text_columns[i].name);
        *(const char **)(void *)((char *)out + text_columns[i].offset) = cell;
    }
    if (out->id[0] == '\0') {
        out->id = text_build(arena, "line-%u", csv->lines[row]);
    }
    if (!read_counts(csv, row, arena, out, reason)) {
        return false;
    }
    out->gated = read_flag(cell_of(csv, row, "gated"));
    out->sequence_parallel = read_flag(cell_of(csv, row, "seq_parallel"));
    uint32_t *const degrees[] = {&out->tp, &out->pp, &out->vpp, &out->cp, &out->ep};
    for (uint32_t i = 0; i < COUNT_OF(degrees); i++) {
        *degrees[i] = or_one(*degrees[i]);
    }
    if (out->devices == 0 || out->global_batch == 0 || out->seq_length == 0) {
        *reason = "n_accel, global_batch or seq_len is not given";
        return false;
    }
    if (out->missing[0] != '\0') {
        *reason = text_build(arena, "the source leaves out: %s", out->missing);
        return false;
    }
    return read_results(csv, row, arena, out, reason);
}

bool measured_is_table(const struct csv *csv)
{
    static const char *const needed[] = {"accelerator", "n_accel", "seq_len", "global_batch"};
    bool good = csv_find_column(csv, "iteration_time_s") != CSV_NO_COLUMN ||
                csv_find_column(csv, "tokens_per_s_per_accel") != CSV_NO_COLUMN;
    for (uint32_t i = 0; i < COUNT_OF(needed); i++) {
        good = good && csv_find_column(csv, needed[i]) != CSV_NO_COLUMN;
    }
    return good;
}

enum measured_memory measured_memory_kind(const struct measured *row)
{
    static const char *const allocated[] = {"alloc", "nanotron", NULL};
    return measured_find_word(row->memory_kind, allocated) != NULL ? MEASURED_ALLOCATED
                                                                   : MEASURED_WHOLE;
}

static bool same_letter(char a, char b)
{
    const char x = a >= 'A' && a <= 'Z' ? (char)(a + ('a' - 'A')) : a;
    const char y = b >= 'A' && b <= 'Z' ? (char)(b + ('a' - 'A')) : b;
    return x == y;
}

static bool has_word(const char *text, const char *word)
{
    for (; *text != '\0'; text++) {
        size_t k = 0;
        while (word[k] != '\0' && same_letter(text[k], word[k])) {
            k++;
        }
        if (word[k] == '\0') {
            return true;
        }
    }
    return false;
}

const char *measured_find_word(const char *text, const char *const *words)
{
    for (uint32_t i = 0; words[i] != NULL; i++) {
        if (has_word(text, words[i])) {
            return words[i];
        }
    }
    return NULL;
}

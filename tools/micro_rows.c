/* Rows of measured kernels and collectives from CSV tables, profiles. */
#include "tools/micro.h"

#include <stdlib.h>
#include <string.h>

void micro_push(struct command *command, struct micro *out, const struct micro_row *row)
{
    ARENA_MAKE_ROOM(command->arena, out->rows, out->count, out->capacity);
    out->rows[out->count++] = *row;
}

/* One record under way. */
struct record {
    const struct csv *csv;
    uint32_t row;
    struct arena *arena;
};

static const char *cell(const struct record *record, const char *column)
{
    return csv_find_cell(record->csv, record->row, csv_find_column(record->csv, column));
}

/* 0 where the cell is no number. */
static double number(const struct record *record, const char *column)
{
    const char *at = cell(record, column);
    double value;
    return command_parse_number(&at, &value) && *at == '\0' && value > 0.0 ? value : 0.0;
}

static uint64_t whole(const struct record *record, const char *column)
{
    const double value = number(record, column);
    return value <= 0x1p40 ? (uint64_t)value : 0;
}

static bool says(const char *text, const char *word)
{
    const char *const words[] = {word, NULL};
    return measured_find_word(text, words) != NULL;
}

static bool read_dtype(const struct record *record, enum dtype *out)
{
    static const struct {
        const char *word;
        enum dtype dtype;
    } words[] = {{"nvfp4", DTYPE_FP4}, {"fp4", DTYPE_FP4},   {"fp8", DTYPE_FP8},
                 {"bf16", DTYPE_BF16}, {"fp16", DTYPE_FP16}, {"tf32", DTYPE_TF32},
                 {"fp32", DTYPE_FP32}};
    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (says(cell(record, "dtype"), words[i].word)) {
            *out = words[i].dtype;
            return true;
        }
    }
    return false;
}

static void skip(struct micro_row *row, const char *reason)
{
    row->skipped = row->skipped == NULL ? reason : row->skipped;
}

/* --- matrix multiplies ------------------------------------------------------------------------ */

static void read_matmul(const struct record *record, struct micro_row *out)
{
    struct profile_matmul *shape = &out->matmul;
    const char *op = cell(record, "op"), *kernel = cell(record, "kernel");
    out->kind = PROFILE_GEMM;
    shape->m = whole(record, "m");
    shape->n = whole(record, "n");
    shape->k = whole(record, "k");
    shape->groups = whole(record, "batch_or_groups");
    shape->groups = shape->groups == 0 ? 1 : shape->groups;
    out->quantises = says(kernel, "LinearKernel");
    const double flops =
        2.0 * (double)shape->m * (double)shape->n * (double)shape->k * (double)shape->groups;
    const double rate = number(record, "tflops") * 1e12;
    out->seconds = number(record, "latency_us") * 1e-6;
    out->seconds = out->seconds > 0.0 ? out->seconds : rate > 0.0 ? flops / rate : 0.0;
    if (says(op, "SwiGLU")) {
        skip(out, "several kernels in one time");
    } else if (says(op, "masked")) {
        skip(out, "rows of masked groups are averages");
    } else if (shape->m == 0 || shape->n == 0 || shape->k == 0) {
        skip(out, "no shape");
    } else if (!read_dtype(record, &shape->dtype)) {
        skip(out, "number format not understood");
    }
}

/* --- attention -------------------------------------------------------------------------------- */

static void read_attention(const struct record *record, struct micro_row *out)
{
    struct profile_attention *shape = &out->attention;
    const char *pass = cell(record, "pass");
    out->kind = PROFILE_ATTENTION;
    shape->batch = whole(record, "batch");
    shape->heads = whole(record, "heads");
    shape->kv_heads = whole(record, "kv_heads");
    shape->queries = shape->keys = whole(record, "seq_len");
    shape->head_dim = whole(record, "head_dim");
    shape->causal = number(record, "causal") > 0.0;
    shape->backward = says(pass, "bwd");
    out->prefills = says(pass, "prefill");
    out->seconds = number(record, "latency_us") * 1e-6;
    if (shape->batch == 0 || shape->heads == 0 || shape->queries == 0 || shape->head_dim == 0) {
        skip(out, "no shape");
    } else if (says(pass, "fwd+bwd")) {
        skip(out, "several kernels in one time");
    } else if (number(record, "window") > 0.0) {
        skip(out, "windows of keys are not compared");
    } else if (!read_dtype(record, &shape->dtype)) {
        skip(out, "number format not understood");
    }
    shape->kv_heads = shape->kv_heads == 0 ? shape->heads : shape->kv_heads;
}

/* --- collectives ------------------------------------------------------------------------------ */

static bool read_op(const char *op, enum collective_kind *out)
{
    static const struct {
        const char *word;
        enum collective_kind kind;
    } ops[] = {{"all_reduce", COLLECTIVE_ALL_REDUCE},
               {"all_gather", COLLECTIVE_ALL_GATHER},
               {"reduce_scatter", COLLECTIVE_REDUCE_SCATTER},
               {"alltoall", COLLECTIVE_ALL_TO_ALL},
               {"sendrecv", COLLECTIVE_SEND}};
    for (uint32_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (strcmp(op, ops[i].word) == 0) {
            *out = ops[i].kind;
            return true;
        }
    }
    return false;
}

static double busbw_frac(enum collective_kind kind, uint32_t ranks)
{
    const double others = (double)(ranks - 1) / (double)ranks;
    return kind == COLLECTIVE_SEND ? 1.0 : kind == COLLECTIVE_ALL_REDUCE ? 2.0 * others : others;
}

static void read_collective(const struct record *record, struct micro_row *out)
{
    struct profile_collective *shape = &out->collective;
    const char *algorithm = cell(record, "algo");
    const uint64_t ranks = whole(record, "n_ranks"), inner = whole(record, "ranks_per_node");
    out->kind = PROFILE_COLLECTIVES;
    out->intra_net = cell(record, "intra_net");
    out->inter_net = cell(record, "inter_net");
    shape->bytes = number(record, "size_bytes");
    shape->ranks = ranks <= UINT32_MAX ? (uint32_t)ranks : 0;
    shape->ranks_per_node = inner > 0 && inner <= ranks ? (uint32_t)inner : shape->ranks;
    shape->link = "";
    if (!read_op(cell(record, "op"), &shape->kind)) {
        skip(out, text_build(record->arena, "operation '%s'", cell(record, "op")));
    } else if (shape->bytes < 1.0) {
        skip(out, "no size");
    } else if (shape->ranks < 2) {
        skip(out, "no number of ranks");
    }
    out->member = says(algorithm, "Ring")   ? collective_find("ring")
                  : says(algorithm, "NVLS") ? collective_find("switch")
                                            : NULL;
    const double busbw_Bps = number(record, "busbw_GBps") * 1e9;
    out->seconds = number(record, "time_us") * 1e-6;
    if (out->seconds == 0.0 && busbw_Bps > 0.0 && out->skipped == NULL) {
        out->seconds = shape->bytes * busbw_frac(shape->kind, shape->ranks) / busbw_Bps;
    }
}

/* --- files ------------------------------------------------------------------------------------ */

static bool has(const struct csv *csv, const char *const *columns)
{
    for (; *columns != NULL; columns++) {
        if (csv_find_column(csv, *columns) == CSV_NO_COLUMN) {
            return false;
        }
    }
    return true;
}

static void (*find_reader(const struct csv *csv))(const struct record *, struct micro_row *)
{
    static const char *const matmul[] = {"m", "n", "k", "latency_us", NULL};
    static const char *const attention[] = {"seq_len", "heads", "head_dim", "latency_us", NULL};
    static const char *const collective[] = {"op", "n_ranks", "size_bytes", "time_us", NULL};
    return has(csv, matmul)       ? read_matmul
           : has(csv, attention)  ? read_attention
           : has(csv, collective) ? read_collective
                                  : NULL;
}

static bool read_csv(struct command *command, const char *path, const struct text *text,
                     struct micro *out)
{
    struct csv csv;
    if (!csv_read(path, text->bytes, text->length, command->arena, &csv, command->diag)) {
        return false;
    }
    void (*const reader)(const struct record *, struct micro_row *) = find_reader(&csv);
    if (reader == NULL) {
        return diag_push(command->diag, DIAG_C740, (struct diag_place){.file = path, .line = 1},
                         "docs/calibrate.md lists the columns",
                         "no table of measured kernels or collectives");
    }
    for (uint32_t i = 0; i < csv.row_count; i++) {
        const struct record record = {&csv, i, command->arena};
        struct micro_row row = {.id = cell(&record, "id"),
                                .source = cell(&record, "source"),
                                .accelerator = cell(&record, "accelerator")};
        reader(&record, &row);
        if (!(row.seconds > 0.0)) {
            skip(&row, "no time");
        }
        micro_push(command, out, &row);
    }
    return true;
}

static bool read_profile(struct command *command, const char *path, struct micro *out)
{
    struct profile profile;
    if (!profile_read(path, command->arena, &profile, command->diag)) {
        return false;
    }
    struct micro_row row = {
        .id = "", .source = profile.name, .accelerator = profile.accelerator, .kind = PROFILE_GEMM};
    for (uint32_t i = 0; i < profile.matmul_count; i++) {
        row.matmul = profile.matmuls[i];
        row.seconds = row.matmul.seconds;
        micro_push(command, out, &row);
    }
    row.kind = PROFILE_ATTENTION;
    for (uint32_t i = 0; i < profile.attention_count; i++) {
        row.attention = profile.attentions[i];
        row.seconds = row.attention.seconds;
        micro_push(command, out, &row);
    }
    row.kind = PROFILE_STREAM;
    for (uint32_t i = 0; i < profile.stream_count; i++) {
        row.stream = profile.streams[i];
        row.seconds = row.stream.seconds;
        micro_push(command, out, &row);
    }
    return true;
}

static bool ends_in(const char *path, const char *ending)
{
    const size_t length = strlen(path), tail = strlen(ending);
    return length >= tail && strcmp(path + length - tail, ending) == 0;
}

bool micro_read(struct command *command, const char *path, struct micro *out)
{
    struct text text;
    if (ends_in(path, ".json")) {
        return read_profile(command, path, out);
    }
    text_init(&text, command->arena);
    if (!command_read_file(command, path, &text)) {
        return false;
    }
    return micro_read_nccl(command, path, &text, out) || read_csv(command, path, &text, out);
}

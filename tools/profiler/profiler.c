/* `shardplan-profiler`: times the kernels of this machine and writes a profile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data_folder.h"
#include "tools/profiler/measure.h"

#define SIZES_MAX 16u
#define BUFFER_BYTES (768ull << 20)

struct options {
    const char *accelerator, *output, *machine, *dtypes, *sizes;
    double budget_s;
    uint32_t repeats;
    bool minimum;
};

static const char usage[] =
    "usage: shardplan-profiler --accelerator NAME --output FILE [--machine cpu|cuda]\n"
    "           [--dtypes bf16,fp8] [--sizes 512,1024,2048,4096] [--budget SECONDS]\n"
    "           [--repeats N] [--minimum]\n\n"
    "Times matrix multiplies of every m, n, k among --sizes and copies of 64 KiB and up; writes a\n"
    "profile for `shardplan ... --profile FILE`. An output file that exists is gone on with. NAME "
    "is\n"
    "one of `shardplan list accelerators`. --minimum keeps the shortest time instead of the "
    "median.\n";

static bool read_option(const char *name, const char *value, struct options *out)
{
    if (strcmp(name, "--accelerator") == 0) {
        out->accelerator = value;
    } else if (strcmp(name, "--output") == 0) {
        out->output = value;
    } else if (strcmp(name, "--machine") == 0) {
        out->machine = value;
    } else if (strcmp(name, "--dtypes") == 0) {
        out->dtypes = value;
    } else if (strcmp(name, "--sizes") == 0) {
        out->sizes = value;
    } else if (strcmp(name, "--budget") == 0) {
        out->budget_s = strtod(value, NULL);
    } else if (strcmp(name, "--repeats") == 0) {
        out->repeats = (uint32_t)strtoul(value, NULL, 10);
    } else {
        return false;
    }
    return true;
}

static bool read_options(int argc, char **argv, struct options *out)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--minimum") == 0) {
            out->minimum = true;
        } else if (i + 1 == argc || !read_option(argv[i], argv[i + 1], out)) {
            return false;
        } else {
            i++;
        }
    }
    return out->accelerator != NULL && out->output != NULL && out->repeats > 0 &&
           out->repeats <= 100000 && out->budget_s >= 0.0;
}

/* --- what to measure -------------------------------------------------------------------------- */

static uint32_t read_sizes(const char *text, uint64_t out[SIZES_MAX])
{
    uint32_t count = 0;
    for (const char *at = text; *at != '\0' && count < SIZES_MAX;) {
        char *end;
        out[count] = strtoull(at, &end, 10);
        if (end == at || out[count] == 0 || out[count] > (1u << 24) ||
            (*end != ',' && *end != '\0')) {
            return 0;
        }
        count++;
        at = *end == ',' ? end + 1 : end;
    }
    return count;
}

static bool is_asked(const char *dtypes, enum dtype dtype)
{
    const char *name = dtype_name(dtype);
    const char *at = strstr(dtypes, name);
    const size_t length = strlen(name);
    return at != NULL && (at == dtypes || at[-1] == ',') &&
           (at[length] == ',' || at[length] == '\0');
}

/* All triples for every format. */
static bool plan_matmuls(const struct options *options, struct arena *arena,
                         struct measure_plan *out)
{
    uint64_t sizes[SIZES_MAX];
    const uint32_t count = read_sizes(options->sizes, sizes);
    out->matmuls = ARENA_PUSH(arena, struct profile_matmul, DTYPE_COUNT * count * count * count);
    for (enum dtype dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        for (uint32_t i = 0; is_asked(options->dtypes, dtype) && i < count * count * count; i++) {
            out->matmuls[out->matmul_count++] = (struct profile_matmul){
                dtype, sizes[i / count / count], sizes[i / count % count], sizes[i % count], 1,
                0.0};
        }
    }
    return out->matmul_count > 0;
}

static void plan_streams(struct arena *arena, struct measure_plan *out)
{
    out->streams = ARENA_PUSH(arena, struct profile_stream, 64);
    for (uint64_t bytes = 1u << 16; bytes <= BUFFER_BYTES / 3; bytes *= 2) {
        out->streams[out->stream_count++] = (struct profile_stream){(double)bytes, 0.0};
    }
}

static void show_progress(uint32_t done, uint32_t all)
{
    fprintf(stderr, "\r%u of %u", done, all);
}

/* --- the profile ------------------------------------------------------------------------------ */

static const struct machine *find_machine(const char *name)
{
#ifdef SHARDPLAN_CUDA
    if (strcmp(name, "cuda") == 0) {
        return &machine_cuda;
    }
#endif
    return strcmp(name, "cpu") == 0 ? &machine_cpu : NULL;
}

/* Rows of an earlier run, with room for the plan's. */
static bool resume(const struct options *options, const struct measure_plan *plan,
                   struct arena *arena, struct profile *out, struct diag *diag)
{
    struct profile before = {.name = ""};
    if (access(options->output, F_OK) == 0 &&
        !profile_read(options->output, arena, &before, diag)) {
        return false;
    }
    *out = before;
    out->matmuls =
        ARENA_PUSH(arena, struct profile_matmul, before.matmul_count + plan->matmul_count);
    out->streams =
        ARENA_PUSH(arena, struct profile_stream, before.stream_count + plan->stream_count);
    for (uint32_t i = 0; i < before.matmul_count; i++) {
        out->matmuls[i] = before.matmuls[i];
    }
    for (uint32_t i = 0; i < before.stream_count; i++) {
        out->streams[i] = before.streams[i];
    }
    return true;
}

static bool write_profile(const char *path, const struct profile *profile, struct arena *arena)
{
    struct text text;
    struct json_writer writer;
    text_init(&text, arena);
    json_writer_init(&writer, &text, false);
    profile_dump(profile, &writer);
    text_push(&text, "\n");
    const char *half = text_build(arena, "%s.part", path);
    FILE *file = fopen(half, "w");
    if (file == NULL) {
        return false;
    }
    const bool written = fwrite(text.bytes, 1, text.length, file) == text.length;
    return fclose(file) == 0 && written && rename(half, path) == 0;
}

static int measure(const struct options *options, const struct machine *machine,
                   struct arena *arena, struct diag *diag)
{
    struct measure_plan plan = {.repeats = options->repeats,
                                .budget_s = options->budget_s,
                                .minimum = options->minimum,
                                .progress = isatty(2) != 0 ? show_progress : NULL};
    struct profile profile;
    if (!plan_matmuls(options, arena, &plan)) {
        fprintf(stderr, "no number format or size to measure\n%s", usage);
        return 2;
    }
    plan_streams(arena, &plan);
    if (!resume(options, &plan, arena, &profile, diag)) {
        fprintf(stderr, "%s: no profile to go on with: %s\n", options->output,
                diag->entries[0].message);
        return 2;
    }
    if (!machine->open(BUFFER_BYTES)) {
        fprintf(stderr, "machine '%s' cannot be used here\n", options->machine);
        return 1;
    }
    const bool done = measure_run(machine, &plan, arena, &profile);
    profile.name = options->accelerator;
    profile.accelerator = options->accelerator;
    profile.source = text_build(arena, "shardplan-profiler, %s, %s %s, %s of %u", machine->library,
                                options->machine, machine->name(),
                                options->minimum ? "minimum" : "median", options->repeats);
    profile.notes = done ? "" : "stopped at its time budget";
    machine->close();
    if (!write_profile(options->output, &profile, arena)) {
        fprintf(stderr, "%s cannot be written\n", options->output);
        return 2;
    }
    printf("%u matrix multiplies and %u copies in %s%s\n", profile.matmul_count,
           profile.stream_count, options->output,
           done ? "" : "; run again to go on: the time budget is spent");
    return 0;
}

int main(int argc, char **argv)
{
    struct options options = {
        .machine = "cpu", .dtypes = "fp32", .sizes = "512,1024,2048", .repeats = 20};
    if (!read_options(argc, argv, &options)) {
        fputs(usage, argc == 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr);
        return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    const struct machine *machine = find_machine(options.machine);
    struct arena arena;
    struct diag diag;
    struct accelerator known;
    arena_init(&arena);
    diag_init(&diag, &arena);
    int status = 2;
    if (machine == NULL) {
        fprintf(stderr, "machine '%s' is not built in\n", options.machine);
    } else if (!accelerator_read(options.accelerator, (struct diag_place){.file = NULL}, &arena,
                                 &known, &diag)) {
        fprintf(stderr, "%s\n", diag.entries[0].message);
    } else {
        status = measure(&options, machine, &arena, &diag);
    }
    arena_release(&arena);
    return status;
}

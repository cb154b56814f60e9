/* What is exported reads back as the same plan, where the target has a reader; configurations of
 * others, where the folder SHARDPLAN_SHARED has them, are read or refused with a reason. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "exports/exporter.h"
#include "imports/importer.h"
#include "tests/law/random_plan.h"
#include "tests/samples.h"

#define PLANS 60
#define CLUSTER "dgx-h100:4"

/* Who reads what an exporter writes; with the model where the text does not describe it. */
static const struct pair {
    const char *exporter, *importer, *file, *model, *set;
} pairs[] = {
    {"megatron", "megatron-args", "round-trip.args", "toy-gqa-8l", NULL},
    {"megatron", "megatron-args", "round-trip.args", "toy-mixed-6l", NULL},
    {"megatron", "megatron-args", "round-trip.args", "toy-latent-4l", NULL},
    {"megatron", "megatron-args", "round-trip.args", "nemotron-h-8b", NULL},
    {"torchtitan", "torchtitan-toml", "round-trip.toml", "llama-3.1-8b", NULL},
    {"torchtitan", "torchtitan-toml", "round-trip.toml", "qwen3-30b-a3b", NULL},
    {"deepspeed", "deepspeed-json", "round-trip.json", "toy-gqa-8l", "seq_length=1536"},
    {"deepspeed", "deepspeed-json", "round-trip.json", "toy-moe-4l", "seq_length=1536"},
};

/* --- round trip ------------------------------------------------------------------------------- */

static const char *messages(void)
{
    struct text text;
    text_init(&text, &arena);
    diag_dump(&diag, &text);
    return text.bytes;
}

/* Comments name the model, which a reader calls after the file. */
static const char *without_comments(const char *text)
{
    struct text out;
    text_init(&out, &arena);
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n") + 1;
        if (text[0] != '#')
            text_push_bytes(&out, text, length);
        text += length;
    }
    return out.bytes;
}

static void write_file(const char *path, const struct text *text)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text->bytes, 1, text->length, file), text->length);
    fclose(file);
}

static void read_back(const struct pair *pair, const char *path, struct plan_file *out)
{
    const bool described = strcmp(pair->exporter, "megatron") == 0;
    const struct import_request request = {.path = path,
                                           .cluster = CLUSTER,
                                           .set = pair->set,
                                           .model = described ? NULL : pair->model};
    struct text text;
    struct json_writer writer;
    struct json *document = NULL;
    text_init(&text, &arena);
    json_writer_init(&writer, &text, false);
    ck_assert_msg(importer_find(pair->importer)->read(&request, &arena, &writer, &diag), "%s",
                  messages());
    ck_assert(json_open_text("plan", text.bytes, text.length, false, &arena, &document, &diag));
    ck_assert_msg(plan_read_json(json_root(document), "plan", &arena, out, &diag), "%s",
                  messages());
    json_close(document);
}

/* False: the plan is not one that the target can express. */
static bool goes_round(const struct pair *pair, const char *path, const struct plan *plan)
{
    const struct exporter *exporter = exporter_find(pair->exporter);
    struct text first, second;
    struct plan_file file;
    text_init(&first, &arena);
    text_init(&second, &arena);
    diag_init(&diag, &arena);
    if (!exporter_write(exporter, &problem, plan, false, &first, &diag))
        return false;
    write_file(path, &first);
    read_back(pair, path, &file);
    const struct problem again = {file.model, file.cluster, file.setup};
    ck_assert_msg(exporter_write(exporter, &again, file.plan, false, &second, &diag), "%s\n%s",
                  first.bytes, messages());
    ck_assert_str_eq(without_comments(first.bytes), without_comments(second.bytes));
    ck_assert_uint_eq(plan_count_devices(plan), plan_count_devices(file.plan));
    ck_assert_uint_eq(plan_count_micro_batches(&problem, plan),
                      plan_count_micro_batches(&again, file.plan));
    return true;
}

/* What the runtime moves to the host, a fourth of it or all. */
static void push_moved(struct random *random, struct plan *plan)
{
    struct policy_use *use = &plan->policies[plan->policy_count];
    if (runtime.offload_count > 0 && random_pop_below(random, 3) == 0 &&
        policy_find("offload")->choose(
            &problem, plan, random_pop_below(random, runtime.offload_count), &arena, use)) {
        for (uint32_t i = 0; i < use->kind->field_count; i++) {
            if (strcmp(use->kind->fields[i].key, "share_frac") == 0)
                use->values[i] = (struct policy_value){.present = random_pop_below(random, 2) == 0,
                                                       .number = 0.25};
        }
        plan->policy_count++;
    }
}

/* Half of the plans shard states, a third recompute, some move; layers are stated. */
static void settle(struct random *random, struct plan *plan)
{
    static struct policy_use uses[3];
    const uint32_t chunks = plan_count_stages(plan) * plan->schedule.chunks;
    const uint32_t layers = plan_count_layers(&model), odd = random_pop_below(random, 2);
    setup.spare_devices = 0;
    plan->policies = uses;
    if (chunks > 1 && chunks <= layers) {
        plan->schedule.stages = plan_count_stages(plan);
        plan->schedule.layers = ARENA_PUSH(&arena, uint32_t, chunks);
        for (uint32_t i = 0; i < layers; i++)
            plan->schedule
                .layers[i < chunks || odd == 0 ? i % chunks : random_pop_below(random, chunks)]++;
    }
    const uint32_t level = random_pop_below(random, 4), full = random_pop_below(random, 3);
    if (level > 0 &&
        policy_find("shard")->choose(&problem, plan, level - 1, &arena, &uses[plan->policy_count]))
        plan->policy_count++;
    if (full == 0 && policy_find("keep")->choose(&problem, plan, random_pop_below(random, 3),
                                                 &arena, &uses[plan->policy_count]))
        plan->policy_count++;
    push_moved(random, plan);
}

static bool policy_is_used(const struct plan *plan, const char *kind)
{
    for (uint32_t i = 0; i < plan->policy_count; i++) {
        if (strcmp(plan->policies[i].kind->name, kind) == 0)
            return true;
    }
    return false;
}

static void go_round(const struct pair *pair)
{
    struct random random;
    uint32_t written = 0, moved = 0;
    char path[64];
    snprintf(path, sizeof path, "/tmp/shardplan-%ld-%s", (long)getpid(), pair->file);
    random_init(&random, 11);
    begin(pair->model);
    ck_assert(runtime_read(pair->exporter, (struct diag_place){0}, &arena, &runtime, &diag));
    const struct arena_mark mark = arena_find_mark(&arena);
    const uint32_t plans = count_samples(PLANS), least = count_samples(8);
    for (uint32_t i = 0;
         i < plans || !is_enough(i, written < 4 * moved ? written : 4 * moved, least); i++) {
        struct group group;
        struct plan plan;
        fill(&random, &group, &plan);
        settle(&random, &plan);
        if (plan_is_legal(&problem, &plan) && goes_round(pair, path, &plan)) {
            written++;
            moved += policy_is_used(&plan, "offload");
        }
        arena_pop(&arena, mark);
    }
    remove(path);
    arena_release(&arena);
    fprintf(stderr, "%s of %s: %u plans there and back, %u use the host's memory\n", pair->exporter,
            pair->model, written, moved);
}

START_TEST(exports_read_back)
{
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        go_round(&pairs[i]);
}
END_TEST

/* --- files of others -------------------------------------------------------------------------- */

/* What is told beside the file; where that does not fit it, the other. */
static const struct {
    const char *folder, *ending, *importer, *model, *set, *other_set;
} kinds[] = {
    {"export-megatron", ".yaml", "megatron-args", NULL,
     "TP=1,PP=2,EP=8,CP=1,ETP=1,MBS=1,GBS=2048,SEQ_LEN=4096,VPP=1,LAYERS_PER_VP=2,"
     "vocab-size=129280",
     "TP=1,PP=1,EP=8,CP=1,ETP=1,MBS=1,GBS=2048,SEQ_LEN=4096,VPP=1,vocab-size=129280"},
    {"export-deepspeed", ".json", "deepspeed-json", "llama-3.1-8b",
     "seq_length=4096,train_batch_size=256,train_micro_batch_size_per_gpu=1,"
     "gradient_accumulation_steps=1",
     "seq_length=4096,train_batch_size=256,train_micro_batch_size_per_gpu=1,"
     "gradient_accumulation_steps=1,bf16.enabled=true,fp16.enabled=false"},
    {"export-torchtitan-toml", ".toml", "torchtitan-toml", NULL, NULL, NULL},
    {"export-torchtitan-toml", ".yaml", "torchtitan-toml", "llama-3.1-8b", NULL, NULL},
};

static void tell(const char *name, const struct diag *answer)
{
    for (uint32_t i = 0; i < answer->kept; i++) {
        if (!answer->entries[i].warning) {
            fprintf(stderr, "    %-60.60s %s %.90s\n", name,
                    diag_code_name(answer->entries[i].code), answer->entries[i].message);
            return;
        }
    }
}

static bool is_read(size_t kind, const char *path, const char *set)
{
    struct text text;
    struct json_writer writer;
    diag_init(&diag, &arena);
    text_init(&text, &arena);
    json_writer_init(&writer, &text, false);
    const struct import_request request = {
        .path = path, .cluster = "dgx-h100:32", .model = kinds[kind].model, .set = set};
    const bool read = importer_find(kinds[kind].importer)->read(&request, &arena, &writer, &diag);
    ck_assert_msg(read == (diag.count == 0), "%s: refused without a reason", path);
    return read;
}

static void read_folder(size_t kind, const char *folder)
{
    uint32_t good = 0, refused = 0;
    DIR *files = opendir(folder);
    for (const struct dirent *entry = files == NULL ? NULL : readdir(files); entry != NULL;
         entry = readdir(files)) {
        const size_t length = strlen(entry->d_name), tail = strlen(kinds[kind].ending);
        if (length < tail || strcmp(entry->d_name + length - tail, kinds[kind].ending) != 0)
            continue;
        arena_init(&arena);
        const char *path = text_build(&arena, "%s/%s", folder, entry->d_name);
        const bool read =
            is_read(kind, path, kinds[kind].set) ||
            (kinds[kind].other_set != NULL && is_read(kind, path, kinds[kind].other_set));
        (*(read ? &good : &refused))++;
        tell(entry->d_name, &diag);
        arena_release(&arena);
    }
    if (files != NULL)
        closedir(files);
    fprintf(stderr, "%s*%s: %u read, %u refused with the reason above\n", folder,
            kinds[kind].ending, good, refused);
}

START_TEST(files_of_others_are_read_or_refused)
{
    const char *shared = getenv("SHARDPLAN_SHARED");
    char folder[512];
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && shared != NULL; i++) {
        snprintf(folder, sizeof folder, "%s/fixtures/%s", shared, kinds[i].folder);
        read_folder(i, folder);
    }
    if (shared == NULL)
        fprintf(stderr, "SHARDPLAN_SHARED is not set: files of others are skipped\n");
}
END_TEST

#define SCRIPT(variable, value) \
    variable "\npython pretrain_gpt.py --hidden-size 512 --num-attention-heads 8 --num-layers 8 " \
             "--max-position-embeddings 2048 --seq-length 2048 --micro-batch-size 1 --vocab-size " \
             "32000 " \
             "--bf16 --tensor-model-parallel-size " value "\n"

static uint32_t count_told(const char *name)
{
    uint32_t told = 0;
    for (uint32_t i = 0; i < diag.kept; i++) {
        told += diag.entries[i].warning && strstr(diag.entries[i].message, name) != NULL;
    }
    return told;
}

START_TEST(variables_are_those_of_the_environment)
{
    static const struct row {
        const char *script, *set;
        uint32_t tp, told;
    } rows[] = {
        {SCRIPT("TP=${TP:-2}", "$TP"), "TP=4", 4, 0},
        {SCRIPT("TP=${TP-2}", "${TP}"), "TP=4", 4, 0},
        {SCRIPT("TP=${TP-2}", "$TP"), NULL, 2, 0},
        {SCRIPT("TP=\"${TP:-2}\"", "$TP"), NULL, 2, 0},
        {SCRIPT("", "${TP:-2}"), "TP=8", 8, 0},
        {SCRIPT("TP=2", "$TP"), "TP=4", 2, 1},
        {SCRIPT("TP=2", "${TP:-8}"), "TP=4", 2, 1},
        {SCRIPT("", "2"), "TQ=4,TP", 2, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text script;
        struct plan_file file;
        arena_init(&arena);
        diag_init(&diag, &arena);
        text_init(&script, &arena);
        text_push(&script, "%s", rows[i].script);
        write_file("variables.sh", &script);
        const struct pair pair = {"megatron", "megatron-args", NULL, NULL, rows[i].set};
        read_back(&pair, "variables.sh", &file);
        uint32_t tp = 0;
        for (uint32_t k = 0; k < file.plan->groups[0].mesh_count; k++) {
            const struct mesh_dim *use = &file.plan->groups[0].mesh[k];
            tp = strcmp(use->dim->name, "tp") == 0 ? use->degree : tp;
        }
        ck_assert_msg(tp == rows[i].tp, "row %zu: tp %u, not %u", i, tp, rows[i].tp);
        ck_assert_msg(count_told("nothing uses it") == rows[i].told, "row %zu: %s", i, messages());
        arena_release(&arena);
    }
    remove("variables.sh");
}
END_TEST

TAP_MAIN("configurations", exports_read_back, variables_are_those_of_the_environment,
         files_of_others_are_read_or_refused)

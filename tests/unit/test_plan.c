/* Plans: what is read and refused, what is legal, what a dump reads back to. */
#include <stdlib.h>

#include "base/data_folder.h"
#include "tests/unit/plan_text.h"

#define SETUP "\"global_batch\": 64, \"seq_length\": 4096"
#define MEGATRON ", \"runtime\": \"megatron\""
#define MESH(dims) "\"mesh\": [" dims "]"
#define DIM(name, degree) "{\"dim\": \"" name "\", \"degree\": " degree "}"
#define SCHEDULE ", \"schedule\": {\"name\": \"1f1b\", \"micro_batch\": 1}"
#define POLICIES(...) ", \"policies\": [" __VA_ARGS__ "]"
#define TP4_DP2 MESH(DIM("tp", "4") ", " DIM("dp", "2"))

/* --- legality --------------------------------------------------------------------------------- */

/* On 8 devices (16 where the second node is said); one code, or none for a legal plan. */
static const struct {
    const char *model;
    uint32_t nodes;
    const char *setup, *rest;
    enum diag_code code; /* DIAG_CODE_COUNT: legal */
    const char *says;    /* in the message or its hint */
} cases[] = {
    {"toy-gqa-8l", 1, SETUP, TP4_DP2 SCHEDULE, DIAG_CODE_COUNT, ""},
    {"toy-gqa-8l", 1, SETUP, MESH(DIM("dp", "8")) SCHEDULE, DIAG_CODE_COUNT, ""},
    {"toy-gqa-8l", 1, SETUP, MESH(DIM("pp", "8")) SCHEDULE, DIAG_CODE_COUNT, ""},
    /* kv_heads 4 stop tp 8; the message shows the divisors */
    {"toy-gqa-8l", 1, SETUP, MESH(DIM("tp", "8")) SCHEDULE, DIAG_P417, "1, 2, 4"},
    /* the orders that a runtime gives its ranks; degrees of 1 stand anywhere */
    {"toy-gqa-8l", 1, SETUP MEGATRON, MESH(DIM("dp", "2") ", " DIM("tp", "4")) SCHEDULE, DIAG_P420,
     "rank order dp-tp"},
    {"toy-gqa-8l", 1, SETUP MEGATRON,
     MESH(DIM("dp", "1") ", " DIM("tp", "4") ", " DIM("pp", "2")) SCHEDULE, DIAG_CODE_COUNT, ""},
    {"toy-gqa-8l", 1, SETUP, MESH(DIM("dp", "2") ", " DIM("tp", "4")) SCHEDULE, DIAG_CODE_COUNT,
     ""},
    {"toy-gqa-8l", 1, SETUP MEGATRON, MESH(DIM("pp", "2") ", " DIM("dp", "4")) SCHEDULE,
     DIAG_CODE_COUNT, ""},
    {"toy-gqa-8l", 1, SETUP MEGATRON,
     MESH(DIM("cp", "2") ", " DIM("pp", "2") ", " DIM("dp", "2")) SCHEDULE, DIAG_P420,
     "where ep equals cp"},
    {"toy-moe-4l", 1, SETUP MEGATRON,
     MESH(DIM("cp", "2") ", " DIM("pp", "2") ", " DIM(
         "dp", "2")) ", \"folds\": [{\"dim\": \"ep\", \"degree\": 2}]" SCHEDULE,
     DIAG_CODE_COUNT, ""},
    /* what a runtime asks to go together */
    {"toy-moe-4l", 1, SETUP MEGATRON, TP4_DP2 SCHEDULE, DIAG_P420, "switch sp on"},
    {"toy-moe-4l", 1, SETUP MEGATRON,
     TP4_DP2 ", \"folds\": [{\"dim\": \"sp\", \"on\": [\"tp\"]}]" SCHEDULE, DIAG_CODE_COUNT, ""},
    {"toy-gqa-8l", 1, SETUP MEGATRON, TP4_DP2 SCHEDULE, DIAG_CODE_COUNT, ""},
    {"toy-gqa-8l", 1, SETUP, MESH(DIM("tp", "4")) SCHEDULE, DIAG_P413, "4 devices of 8"},
    {"toy-gqa-8l", 1, SETUP ", \"spare_devices\": 4", MESH(DIM("tp", "4")) SCHEDULE,
     DIAG_CODE_COUNT, ""},
    {"toy-gqa-8l", 1, SETUP, MESH(DIM("tp", "4") ", " DIM("dp", "4")) SCHEDULE, DIAG_P413,
     "16 devices"},
    {"toy-gqa-8l", 1, SETUP, MESH(DIM("tp", "2") ", " DIM("tp", "4")) SCHEDULE, DIAG_P411, "twice"},
    {"toy-gqa-8l", 1, SETUP, MESH(DIM("tp", "4") ", " DIM("sp", "2")) SCHEDULE, DIAG_P411, "folds"},
    {"toy-gqa-8l", 1, SETUP, TP4_DP2 ", \"folds\": [{\"dim\": \"sp\", \"on\": [\"tp\"]}]" SCHEDULE,
     DIAG_CODE_COUNT, ""},
    {"toy-gqa-8l", 1, SETUP, TP4_DP2 ", \"folds\": [{\"dim\": \"sp\", \"degree\": 2}]" SCHEDULE,
     DIAG_P412, "off (1)"},
    {"toy-gqa-8l", 1, SETUP, TP4_DP2 ", \"folds\": [{\"dim\": \"ep\", \"degree\": 3}]" SCHEDULE,
     DIAG_P412, "2 ranks"},
    {"toy-gqa-8l", 1, SETUP, TP4_DP2 ", \"folds\": [{\"dim\": \"ep\", \"degree\": 2}]" SCHEDULE,
     DIAG_P419, "ep 2"},
    {"toy-moe-4l", 1, SETUP, TP4_DP2 ", \"folds\": [{\"dim\": \"ep\", \"degree\": 2}]" SCHEDULE,
     DIAG_CODE_COUNT, ""},
    {"toy-moe-4l", 2, SETUP,
     MESH(DIM("dp", "16")) ", \"folds\": [{\"dim\": \"ep\", \"degree\": 16}]" SCHEDULE, DIAG_P417,
     "experts"},
    {"toy-gqa-8l", 1, "\"global_batch\": 63, \"seq_length\": 4096", TP4_DP2 SCHEDULE, DIAG_P415,
     "63"},
    {"toy-gqa-8l", 1, SETUP, TP4_DP2 ", \"schedule\": {\"name\": \"1f1b\", \"micro_batch\": 64}",
     DIAG_P415, "64"},
    {"toy-gqa-8l", 1, SETUP, TP4_DP2, DIAG_P415, "micro-batch is 0"},
    /* causal attention: two pieces per rank, so 4096 + 8 tokens do for cp 4 but not for cp 8 */
    {"toy-gqa-8l", 1, "\"global_batch\": 64, \"seq_length\": 4104",
     MESH(DIM("cp", "4") ", " DIM("dp", "2")) SCHEDULE, DIAG_CODE_COUNT, ""},
    {"toy-gqa-8l", 1, "\"global_batch\": 64, \"seq_length\": 4104", MESH(DIM("cp", "8")) SCHEDULE,
     DIAG_P417, "2 x cp 8 = 16"},
    /* heads are cut by tensor and context ranks together: 16 heads do for 4 x 4, 4 key heads do not
     * for 2 x 4 */
    {"toy-4l", 1, SETUP,
     MESH(DIM("tp", "2") ", {\"dim\": \"cp\", \"degree\": 4, \"variant\": \"ulysses\"}") SCHEDULE,
     DIAG_CODE_COUNT, ""},
    {"toy-4l", 2, SETUP,
     MESH(DIM("tp", "4") ", {\"dim\": \"cp\", \"degree\": 4, \"variant\": \"ulysses\"}") SCHEDULE,
     DIAG_P417, "heads"},
    {"toy-4l", 2, SETUP,
     MESH(DIM("tp", "4") ", {\"dim\": \"cp\", \"degree\": 4, \"variant\": \"ring\"}") SCHEDULE,
     DIAG_CODE_COUNT, ""},
    /* layers */
    {"toy-gqa-8l", 1, SETUP,
     MESH(DIM("dp", "4") ", " DIM(
         "pp", "2")) ", \"schedule\": {\"name\": \"1f1b\", \"micro_batch\": 1, \"layers\": [5, 3]}",
     DIAG_CODE_COUNT, ""},
    {"toy-gqa-8l", 1, SETUP,
     MESH(DIM("dp", "4") ", " DIM(
         "pp", "2")) ", \"schedule\": {\"name\": \"1f1b\", \"micro_batch\": 1, \"layers\": [5, 4]}",
     DIAG_P418, "add up to 9"},
    {"toy-gqa-8l", 1, SETUP,
     MESH(DIM("dp", "4") ", " DIM(
         "pp",
         "2")) ", \"schedule\": {\"name\": \"1f1b\", \"micro_batch\": 1, \"layers\": [3, 3, 2]}",
     DIAG_P418, "3 stages"},
    {"toy-4l", 1, SETUP, MESH(DIM("pp", "8")) SCHEDULE, DIAG_P418, "4 layers"},
    {"toy-gqa-8l", 1, SETUP,
     MESH(DIM("dp", "4") ", " DIM(
         "pp", "2")) ", \"schedule\": {\"name\": \"interleaved\", \"micro_batch\": 1, \"layers\": "
                     "[[2, 2], [2, 2]]}",
     DIAG_CODE_COUNT, ""},
    {"toy-gqa-8l", 1, "\"global_batch\": 12, \"seq_length\": 4096",
     MESH(DIM("dp", "4") ", " DIM(
         "pp",
         "2")) ", \"schedule\": {\"name\": \"interleaved\", \"micro_batch\": 1, \"chunks\": 2}",
     DIAG_P416, "3 micro-batches"},
    {"toy-gqa-8l", 1, SETUP,
     MESH(DIM("dp", "4") ", " DIM("pp", "2")) ", \"schedule\": {\"micro_batch\": 1}", DIAG_P416,
     "by name or as a table"},
    /* the runtime's own rules */
    {"toy-gqa-8l", 1, SETUP ", \"runtime\": \"megatron\"",
     MESH(DIM("dp", "8")) SCHEDULE POLICIES(
         "{\"kind\": \"shard\", \"tensors\": [\"parameters\"], \"over\": \"dp\"}"),
     DIAG_P420, "level 3"},
    {"toy-gqa-8l", 1, SETUP ", \"runtime\": \"deepspeed\"",
     MESH(DIM("dp", "4") ", " DIM("pp", "2")) SCHEDULE POLICIES(
         "{\"kind\": \"shard\", \"tensors\": [\"optimizer\", \"gradients\"], \"over\": \"dp\"}"),
     DIAG_P420, "2 pipeline stages"},
    {"toy-gqa-8l", 1, SETUP ", \"runtime\": \"deepspeed\"",
     TP4_DP2 ", \"folds\": [{\"dim\": \"sp\"}]" SCHEDULE, DIAG_P420, "no dimension sp"},
    {"toy-gqa-8l", 1, SETUP ", \"runtime\": \"deepspeed\"",
     MESH("{\"dim\": \"cp\", \"degree\": 2, \"variant\": \"ring\"}, " DIM("dp", "4")) SCHEDULE,
     DIAG_P420, "variant 'ring'"},
    {"toy-gqa-8l", 1, SETUP ", \"runtime\": \"megatron\"",
     MESH(DIM("dp", "8")) ", \"schedule\": {\"name\": \"gpipe\", \"micro_batch\": 1}", DIAG_P420,
     "gpipe"},
    /* policies */
    {"toy-gqa-8l", 1, SETUP,
     TP4_DP2 SCHEDULE POLICIES(
         "{\"kind\": \"shard\", \"tensors\": \"optimizer\", \"over\": \"dp\"}"),
     DIAG_CODE_COUNT, ""},
    {"toy-gqa-8l", 1, SETUP,
     MESH(DIM("tp", "4") ", " DIM("pp", "2"))
         SCHEDULE POLICIES("{\"kind\": \"shard\", \"tensors\": \"optimizer\", \"over\": \"cp\"}"),
     DIAG_P423, "'cp'"},
    {"toy-gqa-8l", 1, SETUP,
     MESH(DIM("tp", "4") ", " DIM("dp", "1") ", " DIM("pp", "2"))
         SCHEDULE POLICIES("{\"kind\": \"shard\", \"tensors\": \"optimizer\", \"over\": \"dp\"}"),
     DIAG_P425, "1 rank"},
    {"toy-gqa-8l", 1, SETUP,
     TP4_DP2 SCHEDULE POLICIES(
         "{\"kind\": \"keep\", \"what\": \"recompute\", \"layer_range\": \"0-3\"}, "
         "{\"kind\": \"keep\", \"what\": \"keep\", \"layer_range\": \"4-7\"}"),
     DIAG_CODE_COUNT, ""},
    {"toy-gqa-8l", 1, SETUP,
     TP4_DP2 SCHEDULE POLICIES(
         "{\"kind\": \"keep\", \"what\": \"recompute\", \"layer_range\": \"0-4\"}, "
         "{\"kind\": \"keep\", \"what\": \"keep\", \"layer_range\": \"4-7\"}"),
     DIAG_P424, "both 'keep'"},
    {"toy-gqa-8l", 1, SETUP,
     TP4_DP2 SCHEDULE POLICIES(
         "{\"kind\": \"keep\", \"what\": \"keep\", \"layer_range\": \"0-8\"}"),
     DIAG_P423, "0-8"},
    {"toy-gqa-8l", 1, SETUP,
     TP4_DP2 SCHEDULE POLICIES(
         "{\"kind\": \"compress\", \"method\": \"sign\", \"edges\": \"pp activation\"}"),
     DIAG_P423, "pp activation"},
    /* cuts and shares of the plan's own */
    {"toy-gqa-8l", 1, SETUP,
     TP4_DP2
     ", \"cuts\": [{\"parts\": \"decoder\", \"dim\": \"tp\", \"axis\": \"width\"}]" SCHEDULE,
     DIAG_P421, "width"},
    {"toy-gqa-8l", 1, SETUP,
     TP4_DP2 ", \"cuts\": [{\"parts\": \"decoder\", \"dim\": \"cp\", \"axis\": \"seq\"}]" SCHEDULE,
     DIAG_P421, "'cp'"},
    {"toy-gqa-8l", 1, SETUP,
     MESH(DIM(
         "tp",
         "8")) ", \"cuts\": [{\"parts\": \"0-7\", \"dim\": \"tp\", \"axis\": \"seq\"}]" SCHEDULE,
     DIAG_CODE_COUNT, ""},
    {"toy-gqa-8l", 1, SETUP,
     TP4_DP2 ", \"shares\": [{\"dim\": \"dp\", \"fracs\": [0.75, 0.25]}]" SCHEDULE, DIAG_CODE_COUNT,
     ""},
    {"toy-gqa-8l", 1, SETUP,
     TP4_DP2 ", \"shares\": [{\"dim\": \"dp\", \"fracs\": [0.75, 0.5]}]" SCHEDULE, DIAG_P414,
     "1.25"},
    {"toy-gqa-8l", 1, SETUP, TP4_DP2 ", \"shares\": [{\"dim\": \"dp\", \"fracs\": [1]}]" SCHEDULE,
     DIAG_P414, "degree 2"},
    {"toy-gqa-8l", 1, SETUP, TP4_DP2 ", \"slices\": [{\"devices\": \"1-8\"}]" SCHEDULE, DIAG_P410,
     "1 to 8"},
    {"toy-gqa-8l", 1, SETUP,
     TP4_DP2 ", \"slices\": [{\"devices\": \"0-7\", \"compute_frac\": 0.5}, {\"devices\": "
             "\"0-7\"}]" SCHEDULE,
     DIAG_P410, "1.5 of it"},
};

static bool is_said(const char *says)
{
    for (uint32_t i = 0; i < diag.kept; i++) {
        if (strstr(diag.entries[i].message, says) != NULL ||
            (diag.entries[i].hint != NULL && strstr(diag.entries[i].hint, says) != NULL)) {
            return true;
        }
    }
    return false;
}

static bool is_reported(enum diag_code code)
{
    for (uint32_t i = 0; i < diag.kept; i++) {
        if (diag.entries[i].code == code) {
            return true;
        }
    }
    return false;
}

START_TEST(each_rule_bites_and_says_why)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin();
        ck_assert_msg(
            read_text(plan_text(cases[i].model, cases[i].nodes, cases[i].setup, cases[i].rest)),
            "case %zu: %s", i, messages());
        const bool legal = plan_check(&problem, file.plan, &diag);
        ck_assert_msg(legal == (cases[i].code == DIAG_CODE_COUNT), "case %zu: %s\n%s", i,
                      cases[i].rest, messages());
        ck_assert_msg(legal == (diag.count == 0), "case %zu: %s", i, messages());
        ck_assert_msg(legal || is_reported(cases[i].code), "case %zu: %s", i, messages());
        ck_assert_msg(legal || is_said(cases[i].says), "case %zu: not said: %s\n%s", i,
                      cases[i].says, messages());
        ck_assert_msg(plan_is_legal(&problem, file.plan) == legal,
                      "case %zu: the silent rules differ", i);
        arena_release(&arena);
    }
}
END_TEST

/* All broken rules are told at once, not only the first. */
START_TEST(all_faults_are_told)
{
    begin();
    ck_assert(read_text(plan_text("toy-gqa-8l", 1, "\"global_batch\": 63, \"seq_length\": 4096",
                                  MESH(DIM("tp", "8") ", " DIM("dp", "2")) SCHEDULE)));
    ck_assert(!plan_check(&problem, file.plan, &diag));
    ck_assert_msg(is_reported(DIAG_P413) && is_reported(DIAG_P415) && is_reported(DIAG_P417), "%s",
                  messages());
    arena_release(&arena);
}
END_TEST

/* --- reading ---------------------------------------------------------------------------------- */

static const struct {
    const char *rest;
    enum diag_code code;
} faults[] = {
    {MESH("3"), DIAG_B107},
    {MESH("{\"dim\": \"tq\", \"degree\": 8}"), DIAG_B110},
    {MESH("{\"dim\": \"tp\"}"), DIAG_B106},
    {MESH("{\"dim\": \"tp\", \"degree\": 0}"), DIAG_B108},
    {MESH("{\"dim\": \"cp\", \"degree\": 8, \"variant\": \"spiral\"}"), DIAG_B110},
    {MESH("{\"dim\": \"tp\", \"degree\": 8, \"size\": 8}"), DIAG_B105},
    {"\"mesh\": 8", DIAG_B107},
    {"\"mash\": []", DIAG_B105},
    {TP4_DP2 ", \"folds\": [{\"dim\": \"sp\", \"on\": [\"cp\"]}]", DIAG_P412},
    {TP4_DP2 ", \"groups\": []", DIAG_P411},
    {TP4_DP2 ", \"schedule\": {\"name\": \"2f2b\"}", DIAG_B110},
    {TP4_DP2 ", \"schedule\": {\"name\": \"1f1b\", \"table\": \"0F0\"}", DIAG_P416},
    {TP4_DP2 ", \"schedule\": {\"layers\": [[1, 2], [3]]}", DIAG_B107},
    {TP4_DP2 ", \"schedule\": {\"layers\": [4, 4], \"chunks\": 2}", DIAG_B107},
    {TP4_DP2 ", \"schedule\": {\"dispatch\": \"soon\"}", DIAG_B110},
    {TP4_DP2 ", \"policies\": [{\"kind\": \"shrad\"}]", DIAG_B110},
    {TP4_DP2 ", \"policies\": [{\"kind\": \"shard\", \"over\": \"dp\"}]", DIAG_B106},
    {TP4_DP2 ", \"slices\": [{\"devices\": \"7-0\"}]", DIAG_B108},
    {TP4_DP2 ", \"slices\": [{\"devices\": \"0-7\"}], \"coordinates\": [0, 1, 2, 3, 4, 5, 6, 6]",
     DIAG_P403},
    {TP4_DP2 ", \"coordinates\": [0, 1]", DIAG_P403},
    {TP4_DP2 ", \"digests\": {\"model\": \"0123456789abcdef\"}", DIAG_P402},
    {TP4_DP2 ", \"digests\": {\"model\": \"12\"}", DIAG_B107},
    {TP4_DP2 ", \"pipelines\": [{\"stops\": [{\"first_layer\": 0}]}]", DIAG_B106},
};

START_TEST(faults_in_files_are_told)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        begin();
        ck_assert_msg(!read_text(plan_text("toy-gqa-8l", 1, SETUP, faults[i].rest)),
                      "fault %zu was read", i);
        ck_assert_msg(is_reported(faults[i].code), "fault %zu: %s", i, messages());
        for (uint32_t e = 0; e < diag.kept; e++) {
            ck_assert_msg(diag.entries[e].place.line > 0, "fault %zu has no place: %s", i,
                          messages());
        }
        arena_release(&arena);
    }
}
END_TEST

START_TEST(paths_in_files_are_not_followed)
{
    static const char *const names[] = {"-", "/etc/passwd", "../secret.json", "secret.json"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        begin();
        ck_assert(!read_text(plan_text(names[i], 1, SETUP, TP4_DP2 SCHEDULE)));
        ck_assert_msg(is_reported(DIAG_P404) && diag.count == 1, "%s: %s", names[i], messages());
        arena_release(&arena);
    }
}
END_TEST

/* --- counts ----------------------------------------------------------------------------------- */

START_TEST(counts_follow_from_the_mesh)
{
    begin();
    ck_assert(read_text(
        plan_text("toy-gqa-8l", 8, SETUP,
                  MESH(DIM("tp", "4") ", " DIM("cp", "2") ", " DIM("dp", "4") ", " DIM(
                      "pp", "2")) ", \"folds\": [{\"dim\": \"sp\"}]"
                                  ", \"schedule\": {\"name\": \"1f1b\", \"micro_batch\": 2}")));
    ck_assert_uint_eq(plan_count_devices(file.plan), 64);
    ck_assert_uint_eq(plan_count_stages(file.plan), 2);
    ck_assert_uint_eq(plan_count_replicas(&problem, file.plan), 4);
    ck_assert_uint_eq(plan_count_micro_batches(&problem, file.plan), 8);
    ck_assert_uint_eq(plan_find_degree_named(file.plan, "sp"), 4);
    ck_assert_uint_eq(plan_find_degree(file.plan, dim_find("cp")), 2);
    ck_assert_uint_eq(plan_find_degree_named(file.plan, "ep"), 1);
    ck_assert_uint_eq(plan_find_degree_named(file.plan, "none"), 1);
    ck_assert_uint_eq(plan_count_layers(problem.model), 8);
    file.plan->schedule.micro_batch = 3;
    ck_assert_uint_eq(plan_count_micro_batches(&problem, file.plan), 0);
    arena_release(&arena);
}
END_TEST

START_TEST(digests_tell_plans_apart)
{
    static const char *const rests[] = {
        TP4_DP2 SCHEDULE,
        MESH(DIM("dp", "2") ", " DIM("tp", "4")) SCHEDULE,
        MESH(DIM("tp", "2") ", " DIM("dp", "4")) SCHEDULE,
        TP4_DP2 ", \"folds\": [{\"dim\": \"sp\"}]" SCHEDULE,
        TP4_DP2 ", \"schedule\": {\"name\": \"gpipe\", \"micro_batch\": 1}",
        TP4_DP2 ", \"schedule\": {\"name\": \"1f1b\", \"micro_batch\": 2}",
        TP4_DP2 ", \"schedule\": {\"name\": \"1f1b\", \"micro_batch\": 1, \"layers\": [8]}",
        TP4_DP2 SCHEDULE POLICIES("{\"kind\": \"keep\", \"what\": \"keep\"}"),
        TP4_DP2 SCHEDULE POLICIES("{\"kind\": \"keep\", \"what\": \"recompute\"}"),
        TP4_DP2 SCHEDULE POLICIES("{\"kind\": \"keep\", \"what\": \"recompute\", \"layers\": 0}"),
    };
    enum { COUNT = sizeof rests / sizeof rests[0] };
    unsigned long long digests[COUNT];
    begin();
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert_msg(read_text(plan_text("toy-gqa-8l", 1, SETUP, rests[i])), "%s", messages());
        digests[i] = plan_digest(file.plan);
        for (size_t j = 0; j < i; j++) {
            ck_assert_msg(digests[i] != digests[j], "plans %zu and %zu have one digest", j, i);
        }
    }
    arena_release(&arena);
}
END_TEST

/* --- shipped examples ------------------------------------------------------------------------- */

/* What the judges say to each: the names that must be among the reasons; "" where it can be
 * costed. */
static const struct {
    const char *name, *refused;
} examples[] = {
    {"one-mesh", ""},
    {"mixed-stages", "3 groups;pipeline;'collective'"},
    {"unequal-pipelines", "4 groups;2 pipelines;'peer-to-peer'"},
    {"hsdp", "level 'node'"},
    {"two-sites", "'rounds';2 pipelines;'compress'"},
    {"compressed-cool-down", "'compress';'collective'"},
    {"packed-blocks", "'balance'"},
    {"tables-beside-dense", "'hstu-dlrm';'tables';'overlap'"},
    {"vision-beside-text", "'vision-text-76b';2 groups"},
    {"zeroth-order", "dimension pert;'offload';'scalars_only'"},
    {"phones-and-server", "13 groups;12 pipelines;'priority'"},
    {"stencil", "dimension p_x;'stencil-512'"},
    {"wafer", "'streamed';'overlap'"},
    {"late-rank", "'collective'"},
    {"gradient-coding", "'sync'"},
    {"prefill-and-decode", "'serve';'arrivals';'dispatch'"},
    {"half-a-gpu", "a share of device;4 pipelines;'parameter-server'"},
};

static const char *read_file(const char *path)
{
    FILE *stream = fopen(path, "rb");
    ck_assert_msg(stream != NULL, "%s cannot be read", path);
    struct text text;
    char chunk[4096];
    text_init(&text, &arena);
    for (size_t got; (got = fread(chunk, 1, sizeof chunk, stream)) > 0;) {
        text_push_bytes(&text, chunk, got);
    }
    fclose(stream);
    return text.bytes;
}

START_TEST(examples_are_listed)
{
    begin();
    const char *const *names = data_folder_each("plan/examples", ".json", &arena);
    size_t count = 0;
    for (; names[count] != NULL; count++) {
        bool listed = false;
        for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
            listed = listed || strcmp(names[count], examples[i].name) == 0;
        }
        ck_assert_msg(listed, "%s is not in the table", names[count]);
    }
    ck_assert_uint_eq(count, sizeof examples / sizeof examples[0]);
    arena_release(&arena);
}
END_TEST

START_TEST(examples_are_legal_and_round_trip)
{
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        begin();
        const char *path =
            data_folder_find(text_build(&arena, "plan/examples/%s.json", examples[i].name), &arena);
        ck_assert_msg(plan_read(path, &arena, &file, &diag), "%s", messages());
        problem =
            (struct problem){.model = file.model, .cluster = file.cluster, .setup = file.setup};
        ck_assert_msg(plan_check(&problem, file.plan, &diag), "%s: %s", path, messages());
        ck_assert(plan_is_legal(&problem, file.plan));
        ck_assert_str_eq(dump(false), read_file(path));

        const unsigned long long digest = plan_digest(file.plan);
        const char *whole = dump(true);
        ck_assert_msg(read_text(whole), "%s, embedded: %s", path, messages());
        ck_assert_str_eq(dump(true), whole);
        ck_assert_msg(plan_digest(file.plan) == digest, "%s: the plan read back is another", path);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(what_cannot_be_costed_is_named)
{
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        begin();
        const char *path =
            data_folder_find(text_build(&arena, "plan/examples/%s.json", examples[i].name), &arena);
        ck_assert_msg(plan_read(path, &arena, &file, &diag), "%s", messages());
        problem =
            (struct problem){.model = file.model, .cluster = file.cluster, .setup = file.setup};
        const bool costed = plan_check_costed(&problem, file.plan, &diag);
        ck_assert_msg(costed == (examples[i].refused[0] == '\0'), "%s: %s", examples[i].name,
                      messages());
        char *refused = text_build(&arena, "%s", examples[i].refused);
        for (char *word = strtok(refused, ";"); word != NULL; word = strtok(NULL, ";")) {
            ck_assert_msg(is_said(word), "%s: '%s' is not named: %s", examples[i].name, word,
                          messages());
        }
        arena_release(&arena);
    }
}
END_TEST

/* A changed input is noticed, and only where a digest is stated. */
START_TEST(drift_is_noticed)
{
    begin();
    ck_assert(read_text(plan_text("toy-gqa-8l", 1, SETUP, TP4_DP2 SCHEDULE)));
    const char *whole = dump(true);
    char *changed = text_build(&arena, "%s", whole);
    char *batch = strstr(changed, "\"global_batch\": 64");
    ck_assert_ptr_nonnull(batch);
    batch[strlen("\"global_batch\": ")] = '3';
    ck_assert(!read_text(changed));
    ck_assert_msg(diag.count == 1 && is_reported(DIAG_P402) && is_said("setup"), "%s", messages());
    arena_release(&arena);
}
END_TEST

TAP_MAIN("plan", each_rule_bites_and_says_why, all_faults_are_told, faults_in_files_are_told,
         paths_in_files_are_not_followed, counts_follow_from_the_mesh, digests_tell_plans_apart,
         examples_are_listed, examples_are_legal_and_round_trip, what_cannot_be_costed_is_named,
         drift_is_noticed)

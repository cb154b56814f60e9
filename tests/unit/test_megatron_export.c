/* What is written for Megatron-LM, word for word; what is refused, with what would be right. */
#include "exports/exporter.h"
#include "tests/unit/plan_text.h"

#define SETUP "\"global_batch\": 64, \"seq_length\": 2048, \"runtime\": \"megatron\""
#define DIM(name, degree) "{\"dim\": \"" name "\", \"degree\": " degree "}"
#define VARIANT(name, degree, kind) \
    "{\"dim\": \"" name "\", \"degree\": " degree ", \"variant\": \"" kind "\"}"
#define MESH(...) "\"mesh\": [" __VA_ARGS__ "]"
#define SP "{\"dim\": \"sp\", \"on\": [\"tp\"]}"
#define EP(degree) "{\"dim\": \"ep\", \"degree\": " degree "}"
#define FOLDS(...) ", \"folds\": [" __VA_ARGS__ "]"
#define SCHEDULE(layers) \
    ", \"schedule\": {\"name\": \"1f1b\", \"micro_batch\": 1, \"layers\": " layers "}"
#define INTERLEAVED(chunks, layers) \
    ", \"schedule\": {\"name\": \"interleaved\", \"micro_batch\": 1, \"chunks\": " chunks \
    ", \"layers\": " layers "}"
#define POLICIES(...) ", \"policies\": [" __VA_ARGS__ "]"
#define SHARD(states, over) "{\"kind\": \"shard\", \"tensors\": [" states "], \"over\": [" over "]}"
#define FULL(rest) \
    "{\"kind\": \"keep\", \"what\": \"recompute\", \"granularity\": \"full\"" rest "}"
#define DP8 MESH(DIM("dp", "8"))

static struct text out;

static bool export_text(const char *text, bool script)
{
    ck_assert_msg(read_text(text), "%s", messages());
    text_init(&out, &arena);
    return exporter_write(exporter_find("megatron"), &problem, file.plan, script, &out, &diag);
}

static void expect_text(const char *plan, bool script, const char *text)
{
    ck_assert_msg(export_text(plan, script), "%s", messages());
    ck_assert_str_eq(out.bytes, text);
}

/* --- word for word ---------------------------------------------------------------------------- */

/* Layers 9, 10 x 6, 11 down the chain: stage 0 holds model chunks 0 and 4 of eight. */
static const char dense[] =
    "# llama-3.1-70b on dgx-h100, 64 devices; pretrain_gpt.py of Megatron-LM\n"
    "# needs CUDA_DEVICE_MAX_CONNECTIONS=1 in the environment on Hopper and before\n"
    "# placement; data parallel 2 is what remains\n"
    "--tensor-model-parallel-size\n"
    "4\n"
    "--sequence-parallel\n"
    "--pipeline-model-parallel-size\n"
    "4\n"
    "--context-parallel-size\n"
    "2\n"
    "--cp-comm-type\n"
    "a2a\n"
    "# schedule: 32 micro-batches\n"
    "--pipeline-model-parallel-layout\n"
    "Et*9|(t*10|)*6t*11L\n"
    "--micro-batch-size\n"
    "1\n"
    "--global-batch-size\n"
    "64\n"
    "# states\n"
    "--recompute-granularity\n"
    "full\n"
    "--recompute-method\n"
    "block\n"
    "--recompute-num-layers\n"
    "3\n"
    "--optimizer\n"
    "adam\n"
    "--use-distributed-optimizer\n"
    "--overlap-grad-reduce\n"
    "--overlap-param-gather\n"
    "--bf16\n"
    "--attention-backend\n"
    "flash\n"
    "# model llama-3.1-70b; not in its description, so not here: rotary base, epsilon of the "
    "norms, initialisation\n"
    "--num-layers\n"
    "80\n"
    "--hidden-size\n"
    "8192\n"
    "--num-attention-heads\n"
    "64\n"
    "--group-query-attention\n"
    "--num-query-groups\n"
    "8\n"
    "--kv-channels\n"
    "128\n"
    "--ffn-hidden-size\n"
    "28672\n"
    "--swiglu\n"
    "--disable-bias-linear\n"
    "--normalization\n"
    "RMSNorm\n"
    "--position-embedding-type\n"
    "rope\n"
    "--max-position-embeddings\n"
    "131072\n"
    "--seq-length\n"
    "8192\n"
    "--vocab-size\n"
    "128256\n"
    "--make-vocab-size-divisible-by\n"
    "128\n"
    "--untie-embeddings-and-output-weights\n"
    "--attention-dropout\n"
    "0\n"
    "--hidden-dropout\n"
    "0\n";

START_TEST(a_dense_model_in_uneven_chunks)
{
    begin();
    expect_text(
        plan_text(
            "llama-3.1-70b", 8,
            "\"global_batch\": 64, \"seq_length\": 8192, \"runtime\": \"megatron\"",
            MESH(DIM("tp", "4") ", " VARIANT("cp", "2", "ulysses") ", " DIM("dp", "2") ", " DIM(
                "pp", "4")) FOLDS(SP) INTERLEAVED("2", "[[9, 10], [10, 10], [10, 10], [10, 11]]")
                POLICIES(SHARD("\"optimizer\"", "\"dp\", \"cp\"") ", " FULL(", \"layers\": 3"))),
        false, dense);
    arena_release(&arena);
}
END_TEST

static const char experts[] =
    "#!/usr/bin/env bash\n"
    "# toy-mixed-6l on dgx-h100, 8 devices, with Megatron-LM. Run it on every node:\n"
    "#   MASTER_ADDR=FIRST_NODE NODE_RANK=N MEGATRON=CHECKOUT bash THIS [ARGUMENT...]\n"
    "# ARGUMENT...: data, tokenizer, learning rate, length of training, checkpoints.\n"
    "set -euo pipefail\n"
    "\n"
    "WORLD_SIZE=8\n"
    "GPUS_PER_NODE=${GPUS_PER_NODE:-8}\n"
    "NNODES=$((WORLD_SIZE / GPUS_PER_NODE))\n"
    "NODE_RANK=${NODE_RANK:-${SLURM_NODEID:-0}}\n"
    "MASTER_ADDR=${MASTER_ADDR:-localhost}\n"
    "MASTER_PORT=${MASTER_PORT:-29500}\n"
    "MEGATRON=${MEGATRON:-.}\n"
    "\n"
    "# Tensor and context parallelism need it on Hopper and before.\n"
    "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
    "\n"
    "ARGUMENTS=(\n"
    "    # placement; data parallel 2 is what remains\n"
    "    --tensor-model-parallel-size 2\n"
    "    --sequence-parallel\n"
    "    --pipeline-model-parallel-size 2\n"
    "    --context-parallel-size 1\n"
    "    --expert-model-parallel-size 2\n"
    "    --expert-tensor-parallel-size 2\n"
    "    # schedule: 16 micro-batches\n"
    "    --micro-batch-size 2\n"
    "    --global-batch-size 64\n"
    "    # states\n"
    "    --optimizer adam\n"
    "    --overlap-grad-reduce\n"
    "    --bf16\n"
    "    --attention-backend flash\n"
    "    # model toy-mixed-6l; not in its description, so not here: rotary base, epsilon of the "
    "norms, initialisation, scoring and loss of the router\n"
    "    --num-layers 6\n"
    "    --hidden-size 512\n"
    "    --num-attention-heads 8\n"
    "    --group-query-attention\n"
    "    --num-query-groups 4\n"
    "    --kv-channels 64\n"
    "    --ffn-hidden-size 1376\n"
    "    --swiglu\n"
    "    --disable-bias-linear\n"
    "    --num-experts 8\n"
    "    --moe-router-topk 2\n"
    "    --moe-ffn-hidden-size 704\n"
    "    --moe-shared-expert-intermediate-size 704\n"
    "    --moe-layer-freq '([0]*2+[1]*4)'\n"
    "    --moe-grouped-gemm\n"
    "    --moe-token-dispatcher-type alltoall\n"
    "    --normalization RMSNorm\n"
    "    --position-embedding-type rope\n"
    "    --max-position-embeddings 2048\n"
    "    --seq-length 2048\n"
    "    --vocab-size 32000\n"
    "    --make-vocab-size-divisible-by 128\n"
    "    --untie-embeddings-and-output-weights\n"
    "    --attention-dropout 0\n"
    "    --hidden-dropout 0\n"
    ")\n"
    "\n"
    "exec torchrun --nnodes \"$NNODES\" --nproc-per-node \"$GPUS_PER_NODE\" \\\n"
    "    --node-rank \"$NODE_RANK\" --master-addr \"$MASTER_ADDR\" --master-port \"$MASTER_PORT\" "
    "\\\n"
    "    \"$MEGATRON/pretrain_gpt.py\" \"${ARGUMENTS[@]}\" \"$@\"\n";

START_TEST(a_script_for_experts)
{
    begin();
    expect_text(plan_text("toy-mixed-6l", 1, SETUP,
                          MESH(DIM("tp", "2") ", " DIM("dp", "2") ", " DIM("pp", "2"))
                              FOLDS(SP ", " EP("2")) ", \"schedule\": {\"name\": \"1f1b\", "
                                                     "\"micro_batch\": 2, \"layers\": [3, 3]}"),
                true, experts);
    arena_release(&arena);
}
END_TEST

/* --- one thing at a time ---------------------------------------------------------------------- */

/* A line of words stands for lines of the output that follow each other; "" for none. */
static const struct {
    const char *model, *setup, *rest;
    const char *has, *has_not;
} cases[] = {
    {"toy-gqa-8l", SETUP, DP8 SCHEDULE("[8]"), "--overlap-grad-reduce",
     "--use-distributed-optimizer"},
    {"toy-gqa-8l", SETUP, DP8 SCHEDULE("[8]"), "--group-query-attention --num-query-groups 4",
     "--sequence-parallel"},
    {"toy-gqa-8l", SETUP, DP8 SCHEDULE("[8]") POLICIES(SHARD("\"optimizer\"", "\"dp\"")),
     "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather",
     "--overlap-param-gather-with-optimizer-step"},
    {"toy-gqa-8l", SETUP, MESH(DIM("pp", "8")) SCHEDULE("[1, 1, 1, 1, 1, 1, 1, 1]"),
     "--pipeline-model-parallel-size 8", "--overlap-grad-reduce"},
    {"toy-gqa-8l", SETUP, MESH(DIM("pp", "8")) SCHEDULE("[1, 1, 1, 1, 1, 1, 1, 1]"), "",
     "--pipeline-model-parallel-layout"},
    {"toy-gqa-8l", SETUP, MESH(DIM("pp", "8")) SCHEDULE("[0, 1, 1, 1, 1, 2, 2, 0]"),
     "--pipeline-model-parallel-layout E|(t|)*4(t*2|)*2L", ""},
    {"toy-gqa-8l", SETUP, MESH(DIM("dp", "4") ", " DIM("pp", "2")) SCHEDULE("[3, 5]"),
     "--pipeline-model-parallel-layout Et*3|t*5L", "--num-layers-per-virtual-pipeline-stage"},
    {"toy-gqa-8l", SETUP,
     MESH(DIM("dp", "4") ", " DIM("pp", "2")) INTERLEAVED("2", "[[2, 2], [2, 2]]"),
     "--num-layers-per-virtual-pipeline-stage 2", "--pipeline-model-parallel-layout"},
    /* chunk 1 of stage 0 comes after chunk 0 of stage 1 */
    {"toy-gqa-8l", SETUP,
     MESH(DIM("dp", "4") ", " DIM("pp", "2")) INTERLEAVED("2", "[[1, 3], [2, 2]]"),
     "--pipeline-model-parallel-layout Et|t*2|t*3|t*2L", "--no-overlap-p2p-communication"},
    {"toy-gqa-8l", SETUP, DP8 SCHEDULE("[8]") POLICIES(FULL("")),
     "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1", ""},
    {"toy-gqa-8l", SETUP, DP8 SCHEDULE("[8]") POLICIES(FULL(", \"layers\": 8")),
     "--recompute-method uniform", "block"},
    {"toy-gqa-8l", SETUP, DP8 SCHEDULE("[8]") POLICIES(FULL(", \"layers\": 7")),
     "--recompute-method block --recompute-num-layers 7", ""},
    {"toy-gqa-8l", SETUP, DP8 SCHEDULE("[8]") POLICIES(FULL(", \"layers\": 0")), "",
     "--recompute-granularity"},
    {"toy-gqa-8l", SETUP,
     DP8 SCHEDULE("[8]")
         POLICIES("{\"kind\": \"keep\", \"what\": \"recompute\", \"granularity\": \"selective\"}"),
     "--recompute-granularity selective --optimizer adam", "--recompute-num-layers"},
    {"toy-gqa-8l", SETUP, DP8 SCHEDULE("[8]") POLICIES("{\"kind\": \"keep\", \"what\": \"keep\"}"),
     "", "--recompute-granularity"},
    {"toy-gqa-8l", SETUP, MESH(VARIANT("cp", "8", "ring")) SCHEDULE("[8]"),
     "--context-parallel-size 8 --cp-comm-type p2p", ""},
    {"toy-gqa-8l", SETUP, MESH(VARIANT("cp", "8", "allgather")) SCHEDULE("[8]"),
     "--cp-comm-type allgather", "--cp-comm-type p2p"},
    {"toy-gqa-8l", SETUP, MESH(VARIANT("cp", "1", "allgather") ", " DIM("dp", "8")) SCHEDULE("[8]"),
     "--context-parallel-size 1", "--cp-comm-type"},
    {"toy-gqa-8l", SETUP,
     MESH(DIM("tp", "2") ", " DIM("pp", "2") ", " DIM("dp", "2")) SCHEDULE("[4, 4]"),
     "--use-tp-pp-dp-mapping", ""},
    {"toy-gqa-8l", SETUP,
     MESH(DIM("tp", "2") ", " DIM("dp", "2") ", " DIM("pp", "2")) SCHEDULE("[4, 4]"), "",
     "--use-tp-pp-dp-mapping"},
    {"toy-moe-4l", SETUP,
     MESH(DIM("cp", "2") ", " DIM("pp", "2") ", " DIM("dp", "2")) FOLDS(EP("2")) SCHEDULE("[2, 2]"),
     "--expert-model-parallel-size 2 --expert-tensor-parallel-size 1 --use-tp-pp-dp-mapping", ""},
    {"toy-moe-4l", SETUP, DP8 FOLDS(EP("4")) SCHEDULE("[4]"),
     "--moe-token-dispatcher-type alltoall", "--moe-layer-freq"},
    {"toy-mixed-6l", SETUP, DP8 SCHEDULE("[6]"), "--moe-layer-freq ([0]*2+[1]*4)", ""},
    {"gpt2", "\"global_batch\": 64, \"seq_length\": 1024, \"runtime\": \"megatron\"",
     DP8 SCHEDULE("[12]"),
     "--position-embedding-type learned_absolute --max-position-embeddings "
     "1024 --seq-length 1024",
     "--untie-embeddings-and-output-weights"},
    {"gpt2", "\"global_batch\": 64, \"seq_length\": 1024, \"runtime\": \"megatron\"",
     DP8 SCHEDULE("[12]"), "--attention-dropout 0.1 --hidden-dropout 0.1", "--disable-bias-linear"},
    {"gpt2",
     "\"global_batch\": 64, \"seq_length\": 1024, \"runtime\": \"megatron\", \"attention\": "
     "\"plain\", \"dtype\": \"fp32\", \"optimizer\": \"sgd\"",
     DP8 SCHEDULE("[12]"), "--attention-backend unfused", "--bf16"},
    {"gpt2",
     "\"global_batch\": 64, \"seq_length\": 1024, \"runtime\": \"megatron\", \"dtype\": \"fp16\", "
     "\"optimizer\": \"sgd\"",
     DP8 SCHEDULE("[12]"), "--optimizer sgd --sgd-momentum 0", "--bf16"},
    {"gpt2",
     "\"global_batch\": 64, \"seq_length\": 1024, \"runtime\": \"megatron\", \"dtype\": \"fp16\"",
     DP8 SCHEDULE("[12]"), "--fp16 --accumulate-allreduce-grads-in-fp32", "--sgd-momentum"},
    {"toy-gqa-8l", SETUP ", \"dtype\": \"fp8\"", DP8 SCHEDULE("[8]"), "--bf16 --fp8-format hybrid",
     ""},
    {"qwen2-7b", SETUP, DP8 SCHEDULE("[28]"), "--disable-bias-linear --add-qkv-bias", ""},
    {"qwen3-8b", SETUP, DP8 SCHEDULE("[36]"), "--kv-channels 128 --qk-layernorm", "--add-qkv-bias"},
    {"mistral-7b", SETUP, DP8 SCHEDULE("[32]"), "--window-size (4095,0)", ""},
    /* what stands for itself, or says nothing */
    {"toy-gqa-8l", SETUP,
     DP8 SCHEDULE("[8]") POLICIES("{\"kind\": \"sync\", \"via\": \"all-reduce\", \"every\": 1}"),
     "--overlap-grad-reduce", ""},
};

/* The output on one line, comments left out. */
static const char *words(void)
{
    struct text line;
    text_init(&line, &arena);
    for (const char *at = out.bytes; *at != '\0';) {
        const size_t length = strcspn(at, "\n");
        if (*at != '#')
            text_push(&line, " %.*s", (int)length, at);
        at += length + 1;
    }
    text_push(&line, " ");
    return line.bytes;
}

START_TEST(each_flag_by_its_cause)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin();
        ck_assert_msg(
            export_text(plan_text(cases[i].model, 1, cases[i].setup, cases[i].rest), false),
            "case %zu: %s", i, messages());
        const char *has = text_build(&arena, " %s ", cases[i].has);
        const char *has_not = text_build(&arena, " %s ", cases[i].has_not);
        ck_assert_msg(cases[i].has[0] == '\0' || strstr(words(), has) != NULL,
                      "case %zu lacks '%s' in '%s'", i, has, words());
        ck_assert_msg(cases[i].has_not[0] == '\0' || strstr(words(), has_not) == NULL,
                      "case %zu has '%s' in '%s'", i, has_not, words());
        arena_release(&arena);
    }
}
END_TEST

/* --- refusals --------------------------------------------------------------------------------- */

#define ANY "\"global_batch\": 64, \"seq_length\": 2048"
#define ONE SCHEDULE("[8]")

static const struct {
    const char *model, *setup, *rest;
    enum diag_code code;
    const char *says; /* in a message or hint */
} refusals[] = {
    {"mistral-7b", ANY, MESH(VARIANT("cp", "4", "ring") ", " DIM("dp", "2")) SCHEDULE("[32]"),
     DIAG_X601, "window of 4096"},
    {"gpt2", ANY, DP8 SCHEDULE("[12]"), DIAG_X601, "table of 1024"},
    {"toy-moe-4l", ANY, MESH(DIM("tp", "2") ", " DIM("dp", "4")) FOLDS(EP("4")) SCHEDULE("[4]"),
     DIAG_X601, "sequence parallelism"},
    {"toy-gqa-8l", ANY ", \"optimizer\": \"adam-8bit\"", DP8 ONE, DIAG_X602, "adam-8bit"},
    {"toy-gqa-8l", ANY ", \"dtype\": \"fp4\"", DP8 ONE, DIAG_X602, "fp4"},
    {"toy-gqa-8l", ANY ", \"dtype\": \"fp32\"", DP8 ONE, DIAG_X602, "no fp32 form"},
    {"toy-gqa-8l", ANY ", \"task\": \"lora:16\"", DP8 ONE, DIAG_X602, "lora:16"},
    {"toy-gqa-8l", ANY ", \"mode\": \"rounds\"", DP8 ONE, DIAG_X602, "rounds"},
    {"toy-gqa-8l", ANY, MESH(DIM("dp", "2") ", " DIM("tp", "4")) ONE, DIAG_X603, "order dp-tp"},
    {"toy-gqa-8l", ANY, MESH(DIM("tp", "2") ", " DIM("dp", "2") ", " DIM("cp", "2")) ONE, DIAG_X603,
     "tp, cp, dp, pp"},
    /* pipeline inside: the groups of dense layers and of experts would differ */
    {"toy-gqa-8l", ANY,
     MESH(DIM("cp", "2") ", " DIM("pp", "2") ", " DIM("dp", "2")) SCHEDULE("[4, 4]"), DIAG_X603,
     "1 are not 2"},
    {"toy-moe-4l", ANY,
     MESH(DIM("tp", "1") ", " DIM("pp", "2") ", " DIM("dp", "4")) FOLDS(EP("4")) SCHEDULE("[2, 2]"),
     DIAG_X603, "4 are not 1"},
    {"toy-gqa-8l", ANY, DP8 ", \"schedule\": {\"name\": \"gpipe\", \"micro_batch\": 1}", DIAG_X604,
     "gpipe"},
    {"toy-gqa-8l", ANY,
     MESH(DIM("pp", "8")) ", \"schedule\": {\"name\": \"zb-h1\", \"micro_batch\": 1, \"layers\": "
                          "[1, 1, 1, 1, 1, 1, 1, 1]}",
     DIAG_X604, "1f1b or interleaved"},
    {"toy-gqa-8l", ANY,
     DP8 ", \"schedule\": {\"name\": \"1f1b\", \"micro_batch\": 1, \"staleness\": 2}", DIAG_X604,
     "2 versions"},
    {"toy-gqa-8l", ANY, DP8 ONE POLICIES(SHARD("\"optimizer\", \"gradients\"", "\"dp\"")),
     DIAG_X605, "ZeRO level 2"},
    {"toy-gqa-8l", ANY,
     DP8 ONE POLICIES(SHARD("\"optimizer\", \"gradients\", \"parameters\"", "\"dp\"")), DIAG_X605,
     "ZeRO level 3"},
    {"toy-gqa-8l", ANY,
     MESH(DIM("cp", "2") ", " DIM("dp", "4")) ONE POLICIES(SHARD("\"optimizer\"", "\"dp\"")),
     DIAG_X605, "2 ranks of cp"},
    {"toy-gqa-8l", ANY, DP8 ONE POLICIES(FULL(", \"layer_range\": \"0-3\"")), DIAG_X605,
     "layer_range"},
    {"toy-gqa-8l", ANY, DP8 ONE POLICIES("{\"kind\": \"offload\", \"tensors\": [\"parameters\"]}"),
     DIAG_X605, "offload"},
    {"toy-gqa-8l", ANY,
     DP8 ONE POLICIES("{\"kind\": \"keep\", \"what\": \"recompute\", \"granularity\": "
                      "\"selective\", \"layers\": 3}"),
     DIAG_X605, "not in 3"},
    {"toy-gqa-8l", ANY, DP8 ONE POLICIES("{\"kind\": \"sync\", \"every\": 16}"), DIAG_X605,
     "every 16,"},
    {"toy-gqa-8l", ANY,
     DP8 ONE POLICIES("{\"kind\": \"compress\", \"method\": \"low-rank\", \"rank\": 4}"), DIAG_X605,
     "compress"},
    {"toy-gqa-8l", ANY,
     MESH(DIM("dp", "4") ", " DIM("pp", "2")) ", \"schedule\": {\"name\": \"1f1b\", "
                                              "\"micro_batch\": 1}",
     DIAG_X606, "8 layers spread over 2 chunks"},
    /* a plan that no runtime could run is not written either */
    {"toy-gqa-8l", ANY, MESH(DIM("dp", "4")) ONE, DIAG_P413, "8"},
};

START_TEST(what_cannot_be_said_is_refused)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        begin();
        ck_assert_msg(
            !export_text(plan_text(refusals[i].model, 1, refusals[i].setup, refusals[i].rest),
                         false),
            "case %zu is written: %s", i, out.bytes);
        ck_assert_msg(diag.count == 1 && diag.entries[0].code == refusals[i].code, "case %zu: %s",
                      i, messages());
        ck_assert_msg(strstr(messages(), refusals[i].says) != NULL, "case %zu: %s", i, messages());
        ck_assert_msg(out.length == 0, "case %zu: wrote %s", i, out.bytes);
        arena_release(&arena);
    }
}
END_TEST

/* All that stands in the way is said at once. */
START_TEST(every_reason_is_given)
{
    begin();
    ck_assert(!export_text(plan_text("gpt2", 1, ANY ", \"optimizer\": \"adam-8bit\"",
                                     MESH(DIM("pp", "2") ", " DIM(
                                         "tp", "4")) ", \"schedule\": {\"name\": \"gpipe\", "
                                                     "\"micro_batch\": 1}" POLICIES(
                                                         "{\"kind\": \"sync\", \"every\": 16}")),
                           false));
    static const enum diag_code codes[] = {DIAG_X602, DIAG_X603, DIAG_X604,
                                           DIAG_X606, DIAG_X605, DIAG_X601};
    ck_assert_uint_eq(diag.count, sizeof codes / sizeof codes[0]);
    for (uint32_t i = 0; i < diag.count; i++)
        ck_assert_msg(diag.entries[i].code == codes[i], "%u: %s", i, messages());
    arena_release(&arena);
}
END_TEST

/* A launcher starts as many ranks on each node. */
START_TEST(whole_nodes_are_used)
{
    begin();
    ck_assert(!export_text(plan_text("toy-gqa-8l", 2, ANY ", \"spare_devices\": 4",
                                     MESH(DIM("tp", "4") ", " DIM("dp", "1") ", " DIM("pp", "3"))
                                         SCHEDULE("[3, 3, 2]")),
                           false));
    ck_assert_msg(diag.entries[0].code == DIAG_X603, "%s", messages());
    ck_assert_msg(strstr(messages(), "12 devices are not whole nodes of 8") != NULL, "%s",
                  messages());
    arena_release(&arena);
}
END_TEST

TAP_MAIN("megatron_export", a_dense_model_in_uneven_chunks, a_script_for_experts,
         each_flag_by_its_cause, what_cannot_be_said_is_refused, every_reason_is_given,
         whole_nodes_are_used)

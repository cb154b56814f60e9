/* What published systems keep in the memory of hosts: bytes on either side, seconds on the way,
 * which models fit one device. */
#include <stdio.h>
#include <unistd.h>

#include "tests/law/judged_plan.h"

#define GB 1e9

/* One group on a zoo cluster, of which the plan need not use all devices. */
static void begin_on(const char *name, const char *where, const char *framework, enum dtype dtype)
{
    begin(name);
    ck_assert(cluster_read(where, &arena, &cluster, &diag));
    ck_assert(runtime_read(framework, (struct diag_place){0}, &arena, &runtime, &diag));
    setup.dtype = dtype;
    setup.global_batch = 64;
    setup.seq_length = 1024;
}

static void open_judge(uint32_t devices)
{
    setup.spare_devices = cluster.device_count - devices;
    ck_assert_msg(prices_read(&cluster, &runtime, &arena, &prices, &diag), "%s",
                  diag.entries[0].message);
    costmodel_init(&judge, &problem, &prices, &arena);
}

static struct policy_use read_use(const char *text)
{
    struct json *document;
    struct policy_use use;
    ck_assert(json_open_text("use", text, strlen(text), false, &arena, &document, &diag));
    ck_assert_msg(policy_read_json(json_root(document), &arena, &use, &diag), "%s",
                  diag.entries[0].message);
    json_close(document);
    return use;
}

#define SHARD(states) "{\"kind\": \"shard\", \"tensors\": [" states "], \"over\": [\"dp\"]}"
#define MOVE(states) "{\"kind\": \"offload\", \"tensors\": [" states "]}"
#define FULL "{\"kind\": \"keep\", \"what\": \"recompute\", \"granularity\": \"full\"}"
#define TWO "\"optimizer\", \"gradients\""
#define ALL TWO ", \"parameters\""

/* Legal for the runtime; texts end with NULL. */
static struct stage_estimate judge_uses(struct single *single, const char *const *texts)
{
    struct policy_use *uses = ARENA_PUSH(&arena, struct policy_use, 4);
    for (uint32_t i = 0; texts[i] != NULL; i++) {
        uses[single->plan.policy_count++] = read_use(texts[i]);
    }
    single->plan.policies = uses;
    diag_init(&diag, &arena);
    ck_assert_msg(plan_check(&problem, &single->plan, &diag), "%s", diag.entries[0].message);
    return judge_plan(&single->plan)->estimate.stages[0];
}

/* DeepSpeed's estimate_zero2_ and estimate_zero3_model_states_mem_needs: 2 bytes per parameter on
 * each device; 2 over the devices; none but the layer at hand. On the host 16, 16 and 18 in all
 * (before its factor of 1.5 for buffers), of which 2 are gradients that wait for their sum in
 * fp32: here they wait as they come. */
START_TEST(states_of_the_levels)
{
    static const struct {
        const char *uses[3];
        double device, host; /* bytes per parameter: of a device, of all of them */
    } rows[] = {
        {{SHARD(TWO), MOVE(TWO), NULL}, 2.0, 14.0},
        {{SHARD(ALL), MOVE(TWO), NULL}, 2.0 / 8.0, 14.0},
        {{SHARD(ALL), MOVE(ALL), NULL}, 0.0, 16.0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct single single;
        begin_on("llama-3.1-8b", "dgx-a100:1", "deepspeed", DTYPE_BF16);
        open_judge(8);
        init(&single, 1);
        add_factor(&single, "dp", 8, NULL);
        const double parameters = (double)model_count_parameters(&model);
        const struct stage_estimate row = judge_uses(&single, rows[i].uses);
        const double device = row.memory_bytes[MEMORY_PARAMETERS] +
                              row.memory_bytes[MEMORY_GRADIENTS] +
                              row.memory_bytes[MEMORY_OPTIMIZER];
        ck_assert_double_eq_tol(device / parameters, rows[i].device, 1e-3);
        ck_assert_double_eq_tol(8.0 * row.host_bytes / parameters, rows[i].host, 1e-2);
        end_judged();
    }
}
END_TEST

/* ZeRO-Offload (arXiv 2101.06840, table 4): its Adam on the processors of a DGX-2 updates 10
 * billion parameters in 2.57 s. */
START_TEST(adam_on_the_host)
{
    begin_on("llama-3.1-8b", "dgx-2:1", "deepspeed", DTYPE_FP16);
    open_judge(16);
    const struct work_compute update = {.kind = OP_STREAM,
                                        .pass = PASS_UPDATE,
                                        .bytes = 10e9 * setup.optimizer->update_bytes / 16.0,
                                        .on_host = true};
    const struct work_compute *const items[] = {&update};
    enum provenance provenance;
    ck_assert_double_eq_tol(prices_compute_s(&prices, 0, items, 1, &provenance), 2.57, 0.08);
    end_judged();
}
END_TEST

/* ZeRO-Offload trains 13 billion parameters on one V100 of 32 GB, not 20; ZeRO-Infinity (arXiv
 * 2104.07857), which moves parameters too, does. Neither fits the device alone. The host is one
 * of a DGX-2, all of it for that device. */
START_TEST(models_that_fit_one_device)
{
    static const struct {
        const char *model;
        bool fits_alone, fits_with_states, fits_with_parameters;
    } rows[] = {{"llama-2-13b", false, true, true}, {"gpt-neox-20b", false, false, true}};
    static const char *const alone[] = {FULL, NULL}, *const states[] = {FULL, MOVE(TWO), NULL},
                             *const parameters[] = {FULL, MOVE(ALL), NULL};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const *const uses[] = {alone, states, parameters};
        const bool fits[] = {rows[i].fits_alone, rows[i].fits_with_states,
                             rows[i].fits_with_parameters};
        for (size_t k = 0; k < 3; k++) {
            struct single single;
            begin_on(rows[i].model, "dgx-2:1", "deepspeed", DTYPE_FP16);
            cluster.accelerators[0].host.devices = 1;
            open_judge(1);
            init(&single, 1);
            const struct stage_estimate row = judge_uses(&single, uses[k]);
            ck_assert_msg(estimator_fits(&row) == fits[k],
                          "%s, way %zu: %.1f of %.1f GB on the device, %.1f of %.1f on the host",
                          rows[i].model, k, row.peak_bytes / GB, row.capacity_bytes / GB,
                          row.host_bytes / GB, row.host_capacity_bytes / GB);
            end_judged();
        }
    }
}
END_TEST

/* DistZO2 and ZO2 bring the blocks of OPT-175B, of GPT-3's shape, over 25 GB/s for every forward:
 * 3.62 GB and 0.145 s a block, 13.9 s for its 96. */
START_TEST(blocks_come_for_every_forward)
{
    struct single single;
    begin_on("gpt3-175b", "dgx-a100:1", "any", DTYPE_FP16);
    setup.optimizer = optimizer_find("zo");
    setup.global_batch = 1;
    cluster.accelerators[0].host.link_Bps = 25 * GB;
    cluster.accelerators[0].host.latency_s = 0.0;
    cluster.accelerators[0].host.devices = 1;
    open_judge(1);
    init(&single, 1);
    struct policy_use use = read_use(MOVE("\"parameters\""));
    single.plan.policies = &use;
    single.plan.policy_count = 1;
    const struct judged *judged = judge_plan(&single.plan);
    const struct work_block *layer = middle_block(&judged->work, KEEP_ALL);
    const double block_s = judged->pieces[layer - judged->work.blocks].copy_s;
    ck_assert_double_eq_tol(layer->host_bytes / GB, 3.62, 0.01);
    ck_assert_double_eq_tol(block_s, 0.145, 0.001);
    ck_assert_double_eq_tol(96 * block_s, 13.9, 0.1);
    end_judged();
}
END_TEST

static const char two_trillion[] =
    "{\"format\": \"shardplan/model/1\", \"name\": \"gpt-2t\", \"transformer\": {\"layers\": 160, "
    "\"hidden\": 32768, \"heads\": 128, \"kv_heads\": 128, \"head_dim\": 256, \"ffn\": 131072, "
    "\"gated\": false, \"vocab\": 50257, \"positions\": \"learned\", \"max_positions\": 1024, "
    "\"tied_embeddings\": true, \"norm\": \"layernorm\", \"activation\": \"gelu\", \"bias\": "
    "{\"qkv\": true, \"attention_output\": true, \"mlp\": true, \"norm\": true}, \"dropout\": "
    "0.1}}";

/* DeepSpeed trained two trillion parameters on 1,024 A100 of 80 GB, micro-batches of 8 sequences,
 * with states and what recomputed layers keep on the host (docs/_posts/2022-07-26 of its
 * repository). On the devices alone that needs more than twice their memory, here all but a few
 * percent of it are gone; half of the host's memory stays free. */
START_TEST(two_trillion_parameters)
{
    static const char *const alone[] = {SHARD(ALL), FULL, NULL}, *const moved[] = {
                                                                     SHARD(ALL), FULL, MOVE(ALL),
                                                                     MOVE("\"activations\""), NULL};
    const char *const *const uses[] = {alone, moved};
    struct stage_estimate rows[2];
    char path[64];
    snprintf(path, sizeof path, "/tmp/shardplan-%ld-2t.json", (long)getpid());
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(two_trillion, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    for (size_t i = 0; i < 2; i++) {
        struct single single;
        begin_on(path, "dgx-a100:128", "deepspeed", DTYPE_FP16);
        setup.global_batch = 8192;
        setup.attention = ATTENTION_PLAIN;
        open_judge(1024);
        init(&single, 8);
        add_factor(&single, "dp", 1024, NULL);
        rows[i] = judge_uses(&single, uses[i]);
        end_judged();
    }
    remove(path);
    ck_assert_double_gt(rows[0].peak_bytes, 2.0 * rows[0].capacity_bytes);
    ck_assert_double_le(rows[1].peak_bytes, 1.05 * rows[1].capacity_bytes);
    ck_assert_double_lt(rows[1].host_bytes, 0.5 * rows[1].host_capacity_bytes);
}
END_TEST

TAP_MAIN("offload", states_of_the_levels, adam_on_the_host, models_that_fit_one_device,
         blocks_come_for_every_forward, two_trillion_parameters)

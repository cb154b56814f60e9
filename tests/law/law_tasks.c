/* What a task leaves out of a step is left out of the program, and nothing else is. */
#include <string.h>

#include "tests/law/built_work.h"

static struct model adapted;

/* The problem of the model under a task; the model itself is untouched. */
static void take_task(const char *text)
{
    ck_assert_msg(task_read(text, (struct diag_place){0}, &arena, &setup.task, &diag), "%s",
                  diag.entries[0].message);
    ck_assert_msg(task_adapt(&setup.task, &model, &arena, &adapted, &diag), "%s",
                  diag.entries[0].message);
    ck_assert_msg(model_check(&adapted, &diag), "%s", diag.entries[0].message);
    problem.model = &adapted;
}

static const struct work *tensor_parallel(uint32_t tp, uint32_t micro_batch)
{
    struct single *single = ARENA_PUSH(&arena, struct single, 1);
    init(single, micro_batch);
    if (tp > 1) {
        add_factor(single, "tp", tp, NULL);
    }
    return finish(&single->plan);
}

static double flops_of(const struct work_items *items)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < items->count; i++) {
        sum += items->items[i].is_message ? 0.0 : items->items[i].compute.flops;
    }
    return sum;
}

/* QLoRA's and PEFT's counts of trainable parameters with all linear layers adapted:
 * 2 x 4096 r for each square matrix, (4096 + 11008) r for the other three, 32 layers. */
START_TEST(adapters_have_the_published_parameters)
{
    static const struct {
        const char *model, *task;
        uint64_t trained;
    } rows[] = {
        {"llama-2-7b", "lora:16", 39976960},
        {"llama-2-7b", "lora:8", 19988480},
        {"llama-3.1-8b", "lora:16", 41943040},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(rows[i].model);
        take_task(rows[i].task);
        ck_assert_uint_eq(model_count_parameters(&adapted) - model_count_parameters(&model),
                          rows[i].trained);
        arena_release(&arena);
    }
}
END_TEST

static double gradients(const struct work *work)
{
    double sum = 0.0;
    for (uint32_t run = 0; run < problem.model->run_count; run++) {
        const uint32_t block = work_find_block(work, problem.model->chain[run].part, KEEP_ALL);
        sum += problem.model->chain[run].count * work->blocks[block].gradients_bytes;
    }
    return sum;
}

/* Gradients are there for what is trained; the frozen rest needs two thirds of the FLOPs. */
START_TEST(only_adapters_have_gradients)
{
    begin("llama-2-7b");
    const struct work *all = tensor_parallel(1, 1);
    const double backward = flops_of(&middle(all)->backward);
    const double forward = flops_of(&middle(all)->forward);
    take_task("lora:16");
    const struct work *lora = tensor_parallel(1, 1);
    ck_assert(same(gradients(lora), 39976960.0 * setup.runtime->gradient_bytes));
    ck_assert(same(middle(lora)->parameters_bytes - middle(all)->parameters_bytes,
                   39976960.0 / 32.0 * 2.0));
    const double lora_backward = flops_of(&middle(lora)->backward);
    ck_assert(lora_backward > forward && lora_backward < 0.75 * backward);
    ck_assert_uint_eq(lora->blocks[lora->first_block].backward.count, 0);
    ck_assert(middle(lora)->saved_bytes > 0.0);
    arena_release(&arena);
}
END_TEST

/* A part that is frozen behind one that trains passes its gradient through; one before all that
 * train has no backward. */
START_TEST(frozen_parts_have_no_gradients)
{
    begin("llama-2-7b");
    const struct work *all = tensor_parallel(1, 1);
    const uint32_t decoder = model.chain[1].part;
    const char *name = model.parts[decoder].name;
    take_task(text_build(&arena, "freeze:%s", name));
    const struct work *middle_frozen = tensor_parallel(1, 1);
    ck_assert(middle(middle_frozen)->gradients_bytes == 0.0);
    ck_assert(middle(middle_frozen)->parameters_bytes == middle(all)->parameters_bytes);
    ck_assert(middle(middle_frozen)->backward.count > 0);
    take_task(text_build(&arena, "freeze:%s,%s", model.parts[model.chain[0].part].name, name));
    const struct work *early_frozen = tensor_parallel(1, 1);
    ck_assert_uint_eq(middle(early_frozen)->backward.count, 0);
    ck_assert(middle(early_frozen)->saved_bytes == 0.0);
    ck_assert(same(flops_of(&middle(early_frozen)->forward), flops_of(&middle(all)->forward)));
    arena_release(&arena);
}
END_TEST

START_TEST(prefill_is_the_forward_alone)
{
    for (uint32_t m = 0; m < DECODER_COUNT; m++) {
        begin(decoders[m]);
        const struct work *train = tensor_parallel(2, 1);
        const double forward = flops_of(&middle(train)->forward);
        setup.prompt_length = setup.seq_length;
        take_task("prefill");
        ck_assert(setup_settle(&setup, &arena, &diag));
        const struct work *work = tensor_parallel(2, 1);
        ck_assert_uint_eq(middle(work)->backward.count, 0);
        ck_assert_uint_eq(middle(work)->update.count, 0);
        ck_assert(middle(work)->saved_bytes == 0.0 && middle(work)->optimizer_bytes == 0.0);
        ck_assert(same(flops_of(&middle(work)->forward), forward));
        arena_release(&arena);
    }
}
END_TEST

/* Per layer and token 2 (K and V) x groups x head_dim x 2 bytes, for every sequence at its longest;
 * attention reads those that are there on average. */
START_TEST(decoding_holds_and_reads_its_cache)
{
    static const char *const names[] = {"llama-3.1-70b", "llama-2-7b", "qwen3-8b"};
    for (uint32_t m = 0; m < sizeof names / sizeof names[0]; m++) {
        begin(names[m]);
        const struct transformer *shape = model.transformer;
        setup.prompt_length = 1000;
        setup.output_length = 501;
        setup.seq_length = 0;
        setup.cache_dtype = DTYPE_BF16;
        take_task("decode");
        ck_assert(setup_settle(&setup, &arena, &diag));
        ck_assert_uint_eq(setup.seq_length, 1501);
        const uint32_t micro_batch = (uint32_t)setup.global_batch;
        const struct work *work = tensor_parallel(4, micro_batch);
        const double token = 2.0 * shape->kv_heads * (double)shape->head_dim * 2.0 / 4.0;
        ck_assert(same(middle(work)->cache_bytes, token * 1501.0 * micro_batch));
        ck_assert_uint_eq(model_count_cache_elements(&model),
                          2ull * shape->kv_heads * shape->head_dim * shape->layers);
        const struct work_items *forward = &middle(work)->forward;
        uint32_t seen = 0;
        for (uint32_t i = 0; i < forward->count; i++) {
            const struct work_compute *compute = &forward->items[i].compute;
            if (!forward->items[i].is_message && compute->kind == OP_ATTENTION) {
                seen++;
                ck_assert_uint_eq(compute->queries, 1);
                ck_assert_uint_eq(compute->keys, 1251);
                ck_assert(compute->density_frac == 1.0);
                ck_assert(compute->bytes >= token * 1251.0 * micro_batch);
            }
        }
        ck_assert_uint_eq(seen, 1);
        arena_release(&arena);
    }
}
END_TEST

static void decode(uint64_t prompt, uint64_t output)
{
    setup.prompt_length = prompt;
    setup.output_length = output;
    setup.seq_length = 0;
    setup.cache_dtype = DTYPE_BF16;
    take_task("decode");
    ck_assert(setup_settle(&setup, &arena, &diag));
}

static const struct work_compute *find_forward(const struct work_block *block, const char *name)
{
    for (uint32_t i = 0; i < block->forward.count; i++) {
        const struct work_item *item = &block->forward.items[i];
        if (!item->is_message && strcmp(item->compute.name, name) == 0) {
            return &item->compute;
        }
    }
    ck_abort_msg("no op '%s'", name);
}

/* DeepSeek-V2 section 2.1.2: 512 + 64 numbers per token and layer for all heads, whole on every
 * tensor rank, read once by heads as wide as they are; the matrices are those of training. */
START_TEST(decoding_meets_latents_as_they_are_kept)
{
    static const char *const names[] = {"deepseek-v2-lite", "deepseek-v3"};
    for (uint32_t m = 0; m < 2; m++) {
        begin(names[m]);
        const uint64_t parameters = model_count_parameters(&model);
        decode(1000, 501);
        ck_assert_uint_eq(model_count_parameters(&adapted), parameters);
        ck_assert_uint_eq(model_count_cache_elements(&adapted), 576ull * model.transformer->layers);
        ck_assert_uint_eq(model_count_cache_elements(&model), 576ull * model.transformer->layers);
        const struct work_block *block = middle(tensor_parallel(4, 32));
        const struct work_compute *core = find_forward(block, "attention");
        ck_assert(same(block->cache_bytes, 576.0 * 2.0 * 1501.0 * (double)setup.global_batch));
        ck_assert_uint_eq(core->head_dim, 576);
        ck_assert_uint_eq(core->value_dim, 512);
        ck_assert_uint_eq(core->keys, 1251);
        const double pairs = 32.0 * 1251.0 * model.transformer->heads / 4.0;
        ck_assert(same(core->flops, 2.0 * (576.0 + 512.0) * pairs));
        const double own = 32.0 * model.transformer->heads / 4.0 * (576.0 + 512.0) * 2.0;
        ck_assert(same(core->bytes, 32.0 * 1251.0 * 576.0 * 2.0 + own));
        arena_release(&arena);
    }
}
END_TEST

/* Per layer heads x 64 x 128 of state, and three inputs of each channel of the
 * four taps, x and B and C; read and written with every token, held for every request. */
START_TEST(decoding_reads_and_writes_the_states_of_scans)
{
    begin("mamba2-2.7b");
    const struct transformer_scan *scan = &model.transformer->scan;
    const double state = (double)scan->heads * scan->head_dim * scan->state;
    const double inputs =
        3.0 * ((double)scan->heads * scan->head_dim + 2.0 * scan->groups * scan->state);
    ck_assert_uint_eq(scan->conv, 4);
    decode(1000, 500);
    ck_assert_uint_eq(model_count_state_elements(&adapted),
                      (uint64_t)(state + inputs) * model.transformer->layers);
    ck_assert_uint_eq(model_count_cache_elements(&adapted), 0);
    const struct work_block *block = middle(tensor_parallel(1, 8));
    ck_assert(same(block->cache_bytes, (state + inputs) * 2.0 * (double)setup.global_batch));
    const double moved = 2.0 * 2.0 * 8.0 * state;
    const double bytes = find_forward(block, "scan")->bytes;
    ck_assert(bytes >= moved && bytes < 1.05 * moved);
    arena_release(&arena);
}
END_TEST

/* 16-bit Adam: weights 2, gradients 2, moments 4 bytes per parameter; Adam of this runtime has its
 * gradients, 8 of moments, and master weights. */
START_TEST(states_of_an_optimizer_in_place_are_eight_bytes)
{
    begin("llama-2-7b");
    setup.optimizer = optimizer_find("adam-16bit");
    const struct work_block *block = middle(tensor_parallel(1, 1));
    const double elements = block->parameters_bytes / 2.0;
    ck_assert(same(block->gradients_bytes, 2.0 * elements));
    ck_assert(same(block->optimizer_bytes, 4.0 * elements));
    ck_assert(same(block->moments_bytes, 4.0 * elements));
    setup.optimizer = optimizer_find("adam");
    block = middle(tensor_parallel(1, 1));
    ck_assert(same(block->gradients_bytes, setup.runtime->gradient_bytes * elements));
    ck_assert(same(block->optimizer_bytes, (8.0 + setup.runtime->master_bytes) * elements));
    arena_release(&arena);
}
END_TEST

static double traffic_of(const struct work_items *items)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < items->count; i++) {
        const struct work_item *item = &items->items[i];
        sum += !item->is_message && item->compute.kind == OP_STREAM ? item->compute.bytes : 0.0;
    }
    return sum;
}

/* Two forwards, weights alone in memory, two losses on the wire, four passes over 2-byte weights;
 * prefill of the same tokens does the same work once, and keeps its keys. */
START_TEST(zeroth_order_is_two_forwards_and_four_passes_over_the_weights)
{
    for (uint32_t m = 0; m < DECODER_COUNT; m++) {
        begin(decoders[m]);
        const struct work *train = tensor_parallel(2, 1);
        const double forward = flops_of(&middle(train)->forward);
        const double elements = middle(train)->parameters_bytes / 2.0;
        const uint32_t micro_batches = train->shape.micro_batches;
        take_task("zo");
        ck_assert(setup_settle(&setup, &arena, &diag));
        ck_assert_str_eq(setup.optimizer->name, "zo");
        const struct work *work = tensor_parallel(2, 1);
        const struct work_block *block = middle(work);
        ck_assert(work->forward_only && work->shape.micro_batches == 2 * micro_batches);
        ck_assert(same(flops_of(&block->forward), forward));
        ck_assert(same(block->parameters_bytes, 2.0 * elements));
        ck_assert(block->gradients_bytes == 0.0 && block->optimizer_bytes == 0.0);
        ck_assert(block->saved_bytes == 0.0 && block->cache_bytes == 0.0);
        ck_assert(block->backward.count == 0 && block->sync.count == 0 && block->gather.count == 0);
        ck_assert(same(traffic_of(&block->update), 4.0 * (2.0 + 2.0) * elements));
        ck_assert(work->norm.bytes == 2 * 4.0 && work->tied.bytes == 0.0);
        arena_release(&arena);
    }
}
END_TEST

/* A Newton-Schulz step on m x n, m <= n: 4 m^2 n + 2 m^3, five of them. Of a layer of Llama 2 7B q
 * and the output are 4096 x 4096, k and v side by side 4096 x 8192, gate and up 4096 x 22016, down
 * 11008 x 4096; norms are vectors with Adam's states. */
START_TEST(muon_makes_each_matrix_orthogonal)
{
    static const double sides[][2] = {
        {4096, 4096}, {4096, 4096}, {4096, 8192}, {4096, 22016}, {4096, 11008}};
    double flops = 0.0, matrices = 0.0;
    for (uint32_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        const double m = sides[i][0], n = sides[i][1];
        flops += 5.0 * (4.0 * m * m * n + 2.0 * m * m * m);
        matrices += m * n;
    }
    begin("llama-2-7b");
    setup.optimizer = optimizer_find("muon");
    const struct work *work = tensor_parallel(1, 1);
    const struct work_block *block = middle(work);
    const double vectors = 2.0 * 4096.0, master = setup.runtime->master_bytes;
    ck_assert(same(flops_of(&block->update), flops));
    ck_assert(same(traffic_of(&block->update), 22.0 * matrices + 30.0 * vectors));
    ck_assert(same(block->optimizer_bytes, (4.0 + master) * matrices + (8.0 + master) * vectors));
    const struct work_block *head = &work->blocks[work->last_block];
    ck_assert(flops_of(&head->update) == 0.0);
    ck_assert(same(head->moments_bytes, 8.0 * (32000.0 + 1.0) * 4096.0));
    arena_release(&arena);
}
END_TEST

START_TEST(tasks_that_make_no_sense_are_refused)
{
    static const char *const bad[] = {"lora",          "lora:",     "lora:0", "lora:-1", "lora:1x",
                                      "lora:99999999", "prefill:3", "train",  "",        "freeze"};
    begin("toy-4l");
    for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct task task;
        const uint32_t before = diag.count;
        ck_assert_msg(!task_read(bad[i], (struct diag_place){0}, &arena, &task, &diag), "'%s'",
                      bad[i]);
        ck_assert_uint_eq(diag.count, before + 1);
    }
    arena_release(&arena);
}
END_TEST

TAP_MAIN("law of tasks", adapters_have_the_published_parameters, only_adapters_have_gradients,
         frozen_parts_have_no_gradients, prefill_is_the_forward_alone,
         decoding_holds_and_reads_its_cache, decoding_meets_latents_as_they_are_kept,
         decoding_reads_and_writes_the_states_of_scans,
         states_of_an_optimizer_in_place_are_eight_bytes,
         zeroth_order_is_two_forwards_and_four_passes_over_the_weights,
         muon_makes_each_matrix_orthogonal, tasks_that_make_no_sense_are_refused)

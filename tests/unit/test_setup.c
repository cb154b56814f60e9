/* Setups, optimisers, runtimes: what is read, what its absence means, what is refused. */
#include <string.h>

#include "base/data_folder.h"
#include "plan/setup.h"
#include "tests/unit/object_text.h"

static struct setup setup;

static bool read_object(struct json_value object)
{
    return setup_read_json(object, &arena, &setup, &diag);
}

static void dump_object(struct json_writer *writer)
{
    setup_dump(&setup, writer);
}

static bool read_text(const char *text)
{
    return read_object_text(text, read_object);
}

static const char *dump(void)
{
    return dump_object_text(dump_object);
}

#define NEEDED "\"global_batch\": 8, \"seq_length\": 128"

START_TEST(absent_keys_have_a_meaning)
{
    begin();
    ck_assert(read_text("{" NEEDED "}"));
    ck_assert_uint_eq(setup.global_batch, 8);
    ck_assert_uint_eq(setup.seq_length, 128);
    ck_assert_int_eq(setup.dtype, DTYPE_BF16);
    ck_assert_str_eq(setup.optimizer->name, "adam");
    ck_assert_str_eq(setup.runtime->name, RUNTIME_DEFAULT);
    ck_assert_int_eq(setup.attention, ATTENTION_FLASH);
    ck_assert_str_eq(setup.task.text, "pretrain");
    ck_assert_int_eq(setup.mode, SETUP_STEP);
    ck_assert_uint_eq(setup.spare_devices, 0);
    arena_release(&arena);
}
END_TEST

START_TEST(all_keys_round_trip)
{
    const char *text =
        "{\"global_batch\":8,\"seq_length\":128,\"dtype\":\"fp8\",\"optimizer\":\"sgd-momentum\","
        "\"runtime\":\"torchtitan\",\"attention\":\"plain\",\"task\":\"lora:16\",\"mode\":"
        "\"rounds\","
        "\"memory_headroom_frac\":0.1,\"spare_devices\":3,\"lengths\":[{\"length\":64,\"frac\":0.5}"
        ","
        "{\"length\":128,\"frac\":0.5}],\"phases\":[{\"name\":\"dense\",\"steps\":100},{\"name\":"
        "\"packed\",\"steps\":900,\"global_batch\":16}]}";
    begin();
    ck_assert_msg(read_text(text), "%s", diag.entries[0].message);
    ck_assert_str_eq(dump(), text);
    ck_assert_int_eq(setup.attention, ATTENTION_PLAIN);
    ck_assert_int_eq(setup.mode, SETUP_ROUNDS);
    ck_assert_uint_eq(setup.phases[1].global_batch, 16);
    arena_release(&arena);
}
END_TEST

static const struct {
    const char *text;
    enum diag_code code;
} faults[] = {
    {"[]", DIAG_B107},
    {"{\"global_batch\": 8}", DIAG_B106},
    {"{\"global_batch\": 0, \"seq_length\": 128}", DIAG_B108},
    {"{" NEEDED ", \"dtype\": \"bf17\"}", DIAG_B110},
    {"{" NEEDED ", \"optimizer\": \"atom\"}", DIAG_B110},
    {"{" NEEDED ", \"runtime\": \"megatrom\"}", DIAG_R550},
    {"{" NEEDED ", \"runtime\": \"../../etc/passwd\"}", DIAG_R550},
    {"{" NEEDED ", \"task\": \"train\"}", DIAG_P401},
    {"{" NEEDED ", \"memory_headroom_frac\": 1}", DIAG_P401},
    {"{" NEEDED ", \"lengths\": [{\"length\": 256, \"frac\": 1}]}", DIAG_P401},
    {"{" NEEDED ", \"lengths\": [{\"length\": 128, \"frac\": 0.5}]}", DIAG_P401},
    {"{" NEEDED ", \"phases\": 3}", DIAG_B107},
    {"{" NEEDED ", \"batch\": 8}", DIAG_B105},
};

START_TEST(faults_are_told)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        begin();
        ck_assert_msg(!read_text(faults[i].text), "%s was read", faults[i].text);
        ck_assert_msg(diag.count == 1 && diag.entries[0].code == faults[i].code, "%s: %s",
                      faults[i].text, diag.entries[0].message);
        arena_release(&arena);
    }
}
END_TEST

/* Published bytes per parameter: Adam 8 of state and 30 of traffic, 18 in all with fp32 main
 * gradients. */
START_TEST(optimizers_cost_what_is_published)
{
    begin();
    const struct optimizer *adam = optimizer_find("adam");
    ck_assert_uint_eq(adam->state_bytes, 8);
    ck_assert(adam->update_bytes > 29.5 && adam->update_bytes < 30.5);
    ck_assert(read_text("{" NEEDED ", \"runtime\": \"megatron\"}"));
    ck_assert_uint_eq(
        2 + setup.runtime->gradient_bytes + setup.runtime->master_bytes + adam->state_bytes, 18);
    ck_assert(read_text("{" NEEDED ", \"runtime\": \"deepspeed\"}"));
    ck_assert_uint_eq(
        2 + setup.runtime->gradient_bytes + setup.runtime->master_bytes + adam->state_bytes, 16);
    ck_assert_ptr_null(optimizer_find("atom"));
    for (uint32_t i = 0; optimizer_names()[i] != NULL; i++) {
        ck_assert_str_eq(optimizer_find(optimizer_names()[i])->name, optimizer_names()[i]);
    }
    arena_release(&arena);
}
END_TEST

START_TEST(every_runtime_file_is_read)
{
    begin();
    const char *const *names = data_folder_each("prices/runtimes", ".json", &arena);
    uint32_t count = 0;
    for (; names[count] != NULL; count++) {
        struct runtime runtime;
        ck_assert_msg(runtime_read(names[count], (struct diag_place){0}, &arena, &runtime, &diag),
                      "%s: %s", names[count], diag.entries[0].message);
        ck_assert_str_eq(runtime.name, names[count]);
        ck_assert_msg(strlen(runtime.source) > 20, "%s has no source", names[count]);
        ck_assert_msg((runtime.zero_levels & 1) != 0, "%s demands sharding", names[count]);
        ck_assert_uint_ge(runtime.vocab_multiple, 1);
    }
    ck_assert_uint_ge(count, 4);
    arena_release(&arena);
}
END_TEST

/* A file that is like another says what differs; constants are the family's. */
START_TEST(likes_differ_in_what_they_state)
{
    struct runtime like, base;
    begin();
    ck_assert(runtime_read("megatron", (struct diag_place){0}, &arena, &base, &diag));
    ck_assert(runtime_read("nemo", (struct diag_place){0}, &arena, &like, &diag));
    ck_assert_str_eq(like.name, "nemo");
    ck_assert_str_eq(like.family, "megatron");
    ck_assert_str_eq(base.family, "megatron");
    ck_assert_uint_eq(like.gradient_bytes, 2);
    ck_assert_uint_eq(base.gradient_bytes, 4);
    ck_assert(like.op_overhead_s == base.op_overhead_s && like.context_bytes == base.context_bytes);
    ck_assert_uint_eq(like.order_count, base.order_count);
    ck_assert_str_eq(like.dims[0], base.dims[0]);
    ck_assert_str_ne(like.frameworks[0], base.frameworks[0]);
    ck_assert(runtime_send_blocks(&base, 1) && !runtime_send_blocks(&base, 2));
    arena_release(&arena);
}
END_TEST

/* The runtime's data is part of what a plan was made for. */
START_TEST(digests_see_the_runtime)
{
    begin();
    ck_assert(read_text("{" NEEDED "}"));
    const unsigned long long before = setup_digest(&setup, &arena);
    struct runtime changed = *setup.runtime;
    changed.allocator_frac += 0.01;
    setup.runtime = &changed;
    ck_assert(setup_digest(&setup, &arena) != before);
    setup.global_batch = 9;
    changed = *setup.runtime;
    changed.allocator_frac -= 0.01;
    ck_assert(setup_digest(&setup, &arena) != before);
    arena_release(&arena);
}
END_TEST

/* Without orders of the runtime's own, a dim stands where it says itself. */
START_TEST(default_places_are_the_runtimes)
{
    static const char *const order[] = {"tp", "cp", "dp", "pp"};
    struct runtime runtime = {.order_count = 0};
    arena_init(&arena);
    diag_init(&diag, &arena);
    ck_assert_uint_eq(runtime_find_place(&runtime, "tp", 7), 7);
    ck_assert(runtime_read("megatron", (struct diag_place){0}, &arena, &runtime, &diag));
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_uint_eq(runtime_find_place(&runtime, order[i], 9), i);
    ck_assert_uint_eq(runtime_find_place(&runtime, "ep", 9), 9);
    const unsigned long long digest = runtime_digest(&runtime);
    runtime.orders[1].equal[0] = "dp";
    ck_assert_uint_ne(runtime_digest(&runtime), digest);
    arena_release(&arena);
}
END_TEST

TAP_MAIN("setup", absent_keys_have_a_meaning, all_keys_round_trip, faults_are_told,
         optimizers_cost_what_is_published, every_runtime_file_is_read,
         likes_differ_in_what_they_state, digests_see_the_runtime, default_places_are_the_runtimes)

/* How a row split the work: runtime, setup, degrees, schedule, sharding, recomputation. */
#include "tools/measured.h"

#include <string.h>

#include "tools/plan_flags.h"

/* --- runtime --------------------------------------------------------------------------------- */

/* All words of "Bridge & fsdp" stand in the text; length of the pattern, 0: not. */
static size_t match(const char *text, const char *pattern, struct arena *arena)
{
    for (const char *at = pattern; at != NULL;) {
        const char *end = strstr(at, " & ");
        const size_t length = end == NULL ? strlen(at) : (size_t)(end - at);
        const char *const words[] = {text_build_copy(arena, at, length), NULL};
        if (measured_find_word(text, words) == NULL) {
            return 0;
        }
        at = end == NULL ? NULL : end + 3;
    }
    return strlen(pattern);
}

const char *measured_runtime_name(const struct measured *row, const struct runtime *runtimes,
                                  uint32_t count, struct arena *arena, const char **reason)
{
    const char *text = text_build(arena, "%s | %s", row->framework, row->sharding);
    const char *found = NULL;
    size_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; runtimes[i].frameworks[k] != NULL; k++) {
            const size_t length = match(text, runtimes[i].frameworks[k], arena);
            if (length > most) {
                most = length;
                found = runtimes[i].name;
            }
        }
    }
    if (found == NULL) {
        *reason = text_build(arena, "no runtime file speaks for framework '%s'", row->framework);
    }
    return found;
}

void measured_runtime_switch(const struct measured *row, struct runtime *runtime)
{
    static const char *const none[] = {"none", "reduction at end", NULL};
    static const char *const no_send[] = {"overlap_p2p False", NULL};
    static const char *const tensor[] = {"userbuffer", "TP overlap", NULL};
    static const char *const graphs[] = {"=full_iteration", NULL};
    static const char *const on_device[] = {"hybridep", NULL};
    static const char *const once[] = {"hybridep", "deepep", NULL};
    static const char *const exchange[] = {"moe_a2a_overlap=True", NULL};
    if (measured_find_word(row->overlap, none) != NULL) {
        runtime->overlaps_gradient_reduce = false;
        runtime->overlaps_parameter_gather = false;
        runtime->hides_regather = false;
    }
    runtime->overlaps_tensor =
        runtime->overlaps_tensor || measured_find_word(row->overlap, tensor) != NULL;
    if (measured_find_word(row->overlap, graphs) != NULL) {
        runtime->op_overhead_s = 0.0;
        runtime->dispatch_overhead_s = 0.0;
    }
    /* counts of rows per expert stay on the device */
    if (measured_find_word(row->overlap, on_device) != NULL) {
        runtime->dispatch_overhead_s = 0.0;
    }
    runtime->sends_rows_once =
        runtime->sends_rows_once || measured_find_word(row->overlap, once) != NULL;
    runtime->overlaps_exchange =
        runtime->overlaps_exchange || measured_find_word(row->overlap, exchange) != NULL;
    if (measured_find_word(row->overlap, no_send) != NULL) {
        runtime->overlaps_send = false;
    }
}

/* --- setup ----------------------------------------------------------------------------------- */

static bool find_dtype(const char *text, enum dtype *out)
{
    static const struct {
        const char *word;
        enum dtype dtype;
    } kinds[] = {{"nvfp4", DTYPE_FP4}, {"fp8", DTYPE_FP8},   {"bf16", DTYPE_BF16},
                 {"fp16", DTYPE_FP16}, {"tf32", DTYPE_TF32}, {"fp32", DTYPE_FP32}};
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *const words[] = {kinds[i].word, NULL};
        if (measured_find_word(text, words) != NULL) {
            *out = kinds[i].dtype;
            return true;
        }
    }
    return false;
}

bool measured_setup(const struct measured *row, const struct runtime *runtime, struct setup *out,
                    struct arena *arena, const char **reason)
{
    static const char *const unfused[] = {"unfused", NULL};
    static const char *const adapters[] = {"lora", NULL};
    memset(out, 0, sizeof *out);
    out->global_batch = row->global_batch;
    out->seq_length = row->seq_length;
    out->optimizer = optimizer_find("adam");
    out->runtime = runtime;
    out->attention =
        measured_find_word(row->attention, unfused) != NULL ? ATTENTION_PLAIN : ATTENTION_FLASH;
    out->task = (struct task){.kind = TASK_PRETRAIN, .text = "pretrain"};
    if (measured_find_word(row->task, adapters) != NULL) {
        *reason = text_build(arena, "task '%s' does not state the rank of its adapters", row->task);
        return false;
    }
    if (!find_dtype(row->dtype, &out->dtype)) {
        *reason = text_build(arena, "dtype is '%s': no known number format", row->dtype);
        return false;
    }
    return true;
}

/* --- plan ------------------------------------------------------------------------------------ */

static bool is_named(uint32_t dim, const char *name)
{
    return strcmp(dim_table[dim]->name, name) == 0;
}

static void set_degrees(const struct measured *row, uint32_t *degrees)
{
    const struct {
        const char *name;
        uint32_t degree;
    } stated[] = {{"tp", row->tp}, {"pp", row->pp}, {"cp", row->cp}, {"ep", row->ep}};
    for (uint32_t i = 0; i < dim_table_count; i++) {
        degrees[i] = is_named(i, "dp") ? PIN_SEARCH : 1;
        for (uint32_t k = 0; k < sizeof stated / sizeof stated[0]; k++) {
            degrees[i] = is_named(i, stated[k].name) ? stated[k].degree : degrees[i];
        }
    }
}

/* Sequence parallelism as the row says, or because the runtime asks for it. */
static bool folds_sequence(const struct measured *row, const struct problem *problem)
{
    const struct runtime *runtime = problem->setup->runtime;
    bool needed = false;
    for (uint32_t i = 0; i < runtime->need_count; i++) {
        needed = needed || (strcmp(runtime->needs[i].fold, "sp") == 0 &&
                            model_find_axis(problem->model, runtime->needs[i].axis) != NO_INDEX);
    }
    return row->tp > 1 && (row->sequence_parallel || needed);
}

static uint32_t zero_level(const char *sharding)
{
    static const char *const parameters[] = {"fsdp", "zero3", "hsdp", NULL};
    static const char *const gradients[] = {"zero2", NULL};
    static const char *const optimizer[] = {"zero1", "distopt", NULL};
    return measured_find_word(sharding, parameters) != NULL  ? 3
           : measured_find_word(sharding, gradients) != NULL ? 2
           : measured_find_word(sharding, optimizer) != NULL ? 1
                                                             : 0;
}

/* Recomputation of single small ops (norms, activation functions) is not costed: those rows are
 * taken as without, and what they leave out is less than the runtime's own uncertainty. */
static const char *recompute_of(const struct measured *row)
{
    static const char *const core[] = {"core attention", "attention core", "core_attn", NULL};
    static const char *const latents[] = {"mla_up_proj", NULL};
    if (strncmp(row->recompute, "full", 4) == 0 || strncmp(row->recompute, "minimal", 7) == 0) {
        return "full";
    }
    if (strncmp(row->recompute, "selective", 9) != 0) {
        return NULL;
    }
    if (measured_find_word(row->recompute, latents) != NULL) {
        return strcmp(row->arch, "moe-mla") == 0 ? "latents" : NULL;
    }
    const bool bare = strcmp(row->recompute, "selective") == 0;
    return bare || measured_find_word(row->recompute, core) != NULL ? "selective" : NULL;
}

static bool check_row(const struct measured *row, struct arena *arena, const char **reason)
{
    const uint64_t model_ranks = (uint64_t)row->tp * row->pp * row->cp;
    static const char *const moved[] = {"offload", NULL};
    if (row->devices % model_ranks != 0) {
        *reason = text_build(arena, "tp x pp x cp = %llu does not divide %u devices",
                             (unsigned long long)model_ranks, row->devices);
    } else if (row->dp > 0 && row->dp != row->devices / model_ranks) {
        *reason = text_build(arena, "dp is %u, but %u devices leave %llu", row->dp, row->devices,
                             (unsigned long long)(row->devices / model_ranks));
    } else if (measured_find_word(row->recompute, moved) != NULL) {
        *reason = text_build(arena, "offloaded activations ('%s') are not costed", row->recompute);
    } else if (strcmp(row->recompute, "custom") == 0) {
        *reason = "recompute is 'custom': which tensors is not stated";
    } else if (row->micro_batch == 0) {
        *reason = "micro_batch is not given";
    }
    return *reason == NULL;
}

static uint32_t policy_named(const char *name)
{
    for (uint32_t i = 0; i < policy_table_count; i++) {
        if (strcmp(policy_table[i]->name, name) == 0) {
            return i;
        }
    }
    BUG("there is no policy '%s'", name);
}

bool measured_pins(const struct measured *row, const struct problem *problem, struct arena *arena,
                   struct planner_pins *out, const char **reason)
{
    memset(out, 0, sizeof *out);
    *reason = NULL;
    if (!check_row(row, arena, reason)) {
        return false;
    }
    set_degrees(row, out->degrees);
    for (uint32_t i = 0; i < dim_table_count; i++) {
        if (is_named(i, "sp")) {
            out->degrees[i] = folds_sequence(row, problem) ? PIN_ON : 1;
        }
    }
    const uint64_t replicas = row->devices / ((uint64_t)row->tp * row->pp * row->cp);
    out->micro_batch = row->micro_batch;
    out->chunks = row->vpp;
    if (replicas * row->cp > 1) {
        out->policy_choices[policy_named("shard")] = zero_level(row->sharding);
    }
    const char *recompute = recompute_of(row);
    if (recompute != NULL) {
        struct policy_use *use = ARENA_PUSH(arena, struct policy_use, 1);
        *use = plan_flags_recompute(recompute);
        out->uses = use;
        out->use_count = 1;
    }
    return true;
}

/* Configuration flags are made from the table of dimensions. */
#include "tools/plan_flags.h"

#include <string.h>

#define EXPERT_TENSOR "--etp"

static const struct diag_place nowhere = {0};

static const char *const zero_levels[] = {"0", "1", "2", "3", NULL};

static const struct flag other_flags[] = {
    {.name = "--micro-batch-size",
     .kind = FLAG_COUNT,
     .value = "N",
     .help = "sequences that one data-parallel rank computes at once",
     .absent = "1; decode: all of a rank, over the stages",
     .min = 1,
     .max = UINT32_MAX - 1},
    {.name = "--vpp",
     .kind = FLAG_COUNT,
     .value = "N",
     .help = "model chunks per pipeline stage (virtual pipeline)",
     .absent = "1",
     .min = 1,
     .max = 65536},
    {.name = "--schedule",
     .kind = FLAG_CHOICE,
     .value = "NAME",
     .help = "pipeline schedule (shardplan list schedules)",
     .absent = "1f1b; interleaved where --vpp is above 1"},
    {.name = PLAN_FLAGS_ZERO,
     .kind = FLAG_CHOICE,
     .help =
         "states sharded over data-parallel ranks: 1 optimizer (Megatron's distributed optimizer), "
         "2 and gradients, 3 and parameters (FSDP)",
     .choices = zero_levels,
     .absent = "0"},
    {.name = "--recompute",
     .kind = FLAG_TEXT,
     .value = "none|selective|latents|full[:N]",
     .help = "activations made again in the backward pass: none, attention cores, what is made "
             "from latents, whole layers (N: the first N of each chunk)",
     .absent = "none"},
    {.name = PLAN_FLAGS_OFFLOAD,
     .kind = FLAG_TEXT,
     .value = "LIST[:SHARE][+...]",
     .help = "what the host's memory holds: none, or a list of optimizer (updated there), "
             "gradients, parameters, activations; a share of it",
     .absent = "none"},
    {.name = PLAN_FLAGS_ORDER,
     .kind = FLAG_TEXT,
     .value = "ORDER",
     .help = "which dimension's ranks sit closest together, such as tp,cp,pp,dp; default: the "
             "usual order",
     .absent = "default"},
    {.name = PLAN_FLAGS_PLACES,
     .kind = FLAG_TEXT,
     .value = "RANGES",
     .help = "devices that ranks sit on, in that order, such as 16-31,0-15; others stay idle",
     .absent = "all, as numbered"},
    {.name = EXPERT_TENSOR,
     .kind = FLAG_COUNT,
     .value = "N",
     .help = "tensor parallel degree of experts: that of --tp, others cannot be costed yet",
     .absent = "that of --tp",
     .min = 1,
     .max = UINT32_MAX - 1},
    {.name = NULL},
};

/* Not in a search: its bounds know only what policies offer to it. */
static const struct flag policy_flag = {
    .name = PLAN_FLAGS_POLICY,
    .kind = FLAG_TEXT,
    .value = "JSON",
    .help = "other policies (shardplan list policies), one object or a list, as in a plan file",
    .absent = "none"};

#define OTHER_COUNT (sizeof other_flags / sizeof other_flags[0])

/* --- the flags ----------------------------------------------------------------------------- */

static const char *type_flag(const struct dim *dim, struct arena *arena)
{
    return text_build(arena, "%s-type", dim->flag);
}

static struct flag dim_flag(const struct dim *dim, bool searched)
{
    struct flag flag = {.name = dim->flag, .help = dim->summary, .searchable = searched};
    flag.kind = dim->on_or_off ? FLAG_TOGGLE : FLAG_COUNT;
    flag.value = dim->on_or_off ? NULL : "N";
    flag.min = 1;
    flag.max = UINT32_MAX - 1;
    flag.absent = searched                       ? "searched"
                  : dim->on_or_off               ? "off"
                  : strcmp(dim->name, "dp") == 0 ? "all devices left"
                                                 : "1";
    return flag;
}

static const char *const *variant_names(const struct dim *dim, struct arena *arena)
{
    const char **names = ARENA_PUSH(arena, const char *, dim->variant_count + 1);
    for (uint32_t i = 0; i < dim->variant_count; i++) {
        names[i] = dim->variants[i].name;
    }
    return names;
}

static struct flag variant_flag(const struct dim *dim, bool searched, struct arena *arena)
{
    return (struct flag){.name = type_flag(dim, arena),
                         .kind = FLAG_CHOICE,
                         .help = text_build(arena, "how %s is done", dim->name),
                         .choices = variant_names(dim, arena),
                         .searchable = searched,
                         .absent = searched ? "searched" : dim->variants[0].name};
}

static struct flag other_flag(const struct flag *stated, bool searched)
{
    struct flag flag = *stated;
    flag.searchable = searched;
    flag.absent = !searched ? flag.absent
                  : strcmp(flag.name, "--schedule") == 0
                      ? "searched: those of the runtime, without one those that all have"
                  : strcmp(flag.name, PLAN_FLAGS_OFFLOAD) == 0
                      ? "none; where nothing fits, what it would give is said"
                      : "searched";
    if (flag.kind == FLAG_CHOICE && flag.choices == NULL) {
        flag.choices = schedule_names();
    }
    return flag;
}

static const struct flag *build(struct arena *arena, bool searched)
{
    struct flag *flags = ARENA_PUSH(arena, struct flag, 2 * dim_table_count + OTHER_COUNT + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < dim_table_count; i++) {
        flags[count++] = dim_flag(dim_table[i], searched);
        if (dim_table[i]->variant_count > 1) {
            flags[count++] = variant_flag(dim_table[i], searched, arena);
        }
    }
    for (uint32_t i = 0; other_flags[i].name != NULL; i++) {
        flags[count++] = other_flag(&other_flags[i], searched);
    }
    if (!searched) {
        flags[count++] = policy_flag;
    }
    flags[count] = (struct flag){.name = NULL};
    return flags;
}

const struct flag *plan_flags_build_given(struct arena *arena)
{
    return build(arena, false);
}

const struct flag *plan_flags_build_searched(struct arena *arena)
{
    return build(arena, true);
}

bool plan_flags_any(const struct command *command)
{
    for (uint32_t i = 0; i < dim_table_count; i++) {
        if (command_has(command, dim_table[i]->flag) ||
            command_has(command, type_flag(dim_table[i], command->arena))) {
            return true;
        }
    }
    for (uint32_t i = 0; other_flags[i].name != NULL; i++) {
        if (command_has(command, other_flags[i].name)) {
            return true;
        }
    }
    return command_has(command, policy_flag.name);
}

/* --- values -------------------------------------------------------------------------------- */

/* Given as a value, not as "search". */
static bool is_pinned(const struct command *command, const char *flag)
{
    return command_has(command, flag) && !command_searches(command, flag);
}

static bool read_u32(struct command *command, const char *flag, uint32_t *out)
{
    uint64_t value;
    if (!is_pinned(command, flag)) {
        return true;
    }
    if (!command_count(command, flag, &value)) {
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

static bool read_variant(struct command *command, const struct dim *dim, uint32_t *out)
{
    const char *flag = type_flag(dim, command->arena);
    return dim->variant_count <= 1 || !is_pinned(command, flag) ||
           command_choice(command, flag, out);
}

static bool read_dim(struct command *command, const struct dim *dim, uint32_t *degree,
                     uint32_t *variant)
{
    bool on = false, good = true;
    if (!dim->on_or_off) {
        good = read_u32(command, dim->flag, degree);
    } else if (is_pinned(command, dim->flag)) {
        good = command_toggle(command, dim->flag, &on);
        *degree = on ? PIN_ON : 1;
    }
    return read_variant(command, dim, variant) && good;
}

static bool read_schedule(struct command *command, const struct schedule **out)
{
    uint32_t index;
    if (!is_pinned(command, "--schedule")) {
        return true;
    }
    if (!command_choice(command, "--schedule", &index)) {
        return false;
    }
    *out = schedule_table[index];
    return true;
}

static void set_word(struct policy_use *use, const char *key, const char *word)
{
    for (uint32_t i = 0; i < use->kind->field_count; i++) {
        const struct policy_field *field = &use->kind->fields[i];
        if (strcmp(field->key, key) != 0) {
            continue;
        }
        for (uint32_t c = 0; field->choices[c] != NULL; c++) {
            if (strcmp(field->choices[c], word) == 0) {
                use->values[i] = (struct policy_value){.present = true, .word = c};
            }
        }
    }
}

static struct policy_value *value_of(struct policy_use *use, const char *key)
{
    for (uint32_t i = 0; i < use->kind->field_count; i++) {
        if (strcmp(use->kind->fields[i].key, key) == 0) {
            return &use->values[i];
        }
    }
    BUG("policy '%s' has no field '%s'", use->kind->name, key);
}

static bool read_layers(const char *text, uint64_t *out)
{
    *out = 0;
    for (uint32_t i = 0; text[i] != '\0'; i++) {
        if (text[i] < '0' || text[i] > '9' || i > 8) {
            return false;
        }
        *out = 10 * *out + (uint64_t)(text[i] - '0');
    }
    return *out > 0;
}

struct policy_use plan_flags_recompute(const char *granularity)
{
    struct policy_use use;
    memset(&use, 0, sizeof use);
    use.kind = policy_find(PLAN_FLAGS_KEEP_POLICY);
    set_word(&use, "what", "recompute");
    set_word(&use, "granularity", granularity);
    return use;
}

/* uses 0 for "none", else 1. */
static bool read_recompute(struct command *command, struct policy_use *out, uint32_t *uses)
{
    const char *word = "none";
    uint64_t layers = 0;
    *uses = 0;
    if (command_has(command, "--recompute") && !command_text(command, "--recompute", &word)) {
        return false;
    }
    const bool counted = strncmp(word, "full:", 5) == 0;
    const bool full = counted || strcmp(word, "full") == 0;
    const bool latents = strcmp(word, "latents") == 0;
    if (strcmp(word, "none") == 0) {
        return true;
    }
    if ((counted && !read_layers(word + 5, &layers)) ||
        (!full && !latents && strcmp(word, "selective") != 0)) {
        return diag_push(command->diag, DIAG_C704, nowhere, NULL,
                         "--recompute is '%s': it must be none, selective, latents, full, or "
                         "full:N with N layers",
                         word);
    }
    *out = plan_flags_recompute(full ? "full" : word);
    if (counted) {
        *value_of(out, "layers") = (struct policy_value){.present = true, .count = layers};
    }
    *uses = 1;
    return true;
}

static uint32_t policy_index(const char *name)
{
    for (uint32_t i = 0; i < policy_table_count; i++) {
        if (strcmp(policy_table[i]->name, name) == 0) {
            return i;
        }
    }
    BUG("there is no policy '%s'", name);
}

/* --- a search ------------------------------------------------------------------------------ */

/* Exactly these uses of one kind, behind those of others. */
static void push_pinned(struct command *command, uint32_t policy, const struct policy_use *uses,
                        uint32_t count, struct planner_pins *out)
{
    struct policy_use *all = ARENA_PUSH(command->arena, struct policy_use, out->use_count + count);
    for (uint32_t i = 0; i < out->use_count + count; i++) {
        all[i] = i < out->use_count ? out->uses[i] : uses[i - out->use_count];
    }
    out->uses = all;
    out->use_count += count;
    out->policy_pinned[policy] = true;
}

static bool read_policies(struct command *command, struct planner_pins *out)
{
    const uint32_t zero = policy_index(PLAN_FLAGS_ZERO_POLICY),
                   keep = policy_index(PLAN_FLAGS_KEEP_POLICY),
                   offload = policy_index(PLAN_FLAGS_OFFLOAD_POLICY);
    struct policy_use recompute;
    bool good = true;
    if (is_pinned(command, PLAN_FLAGS_ZERO)) {
        uint32_t level = 0;
        good = command_choice(command, PLAN_FLAGS_ZERO, &level);
        out->policy_pinned[zero] = level == 0;
        out->policy_choices[zero] = level;
    }
    if (is_pinned(command, "--recompute")) {
        uint32_t count = 0;
        good = read_recompute(command, &recompute, &count) && good;
        push_pinned(command, keep, &recompute, count, out);
    }
    if (is_pinned(command, PLAN_FLAGS_OFFLOAD)) {
        struct policy_use *uses;
        uint32_t count = 0;
        good = plan_flags_read_offload(command, &uses, &count) && good;
        push_pinned(command, offload, uses, count, out);
    }
    out->policy_asked[offload] = command_searches(command, PLAN_FLAGS_OFFLOAD);
    return good;
}

/* Experts are cut by tp like all else: the flag pins tp, or must agree with it. */
static bool read_expert_tensor(struct command *command, uint32_t *degrees)
{
    uint32_t degree = PIN_SEARCH;
    if (!read_u32(command, EXPERT_TENSOR, &degree)) {
        return false;
    }
    for (uint32_t i = 0; degree != PIN_SEARCH && i < dim_table_count; i++) {
        if (strcmp(dim_table[i]->name, "tp") != 0) {
            continue;
        }
        if (degrees[i] != PIN_SEARCH && degrees[i] != degree) {
            return diag_push(command->diag, DIAG_P485, nowhere, NULL,
                             "%s %u beside %s %u cannot be costed yet: only equal degrees can",
                             EXPERT_TENSOR, degree, dim_table[i]->flag, degrees[i]);
        }
        degrees[i] = degree;
    }
    return true;
}

bool plan_flags_read_values(struct command *command, struct planner_pins *out)
{
    bool good = true;
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < DIM_MAX; i++) {
        out->variants[i] = PIN_ANY;
    }
    for (uint32_t i = 0; i < dim_table_count; i++) {
        good = read_dim(command, dim_table[i], &out->degrees[i], &out->variants[i]) && good;
    }
    good = read_u32(command, "--micro-batch-size", &out->micro_batch) && good;
    good = read_u32(command, "--vpp", &out->chunks) && good;
    good = read_schedule(command, &out->schedule) && good;
    out->order_pinned = is_pinned(command, PLAN_FLAGS_ORDER);
    good = read_expert_tensor(command, out->degrees) && good;
    good = plan_flags_read_places(command, out) && good;
    return read_policies(command, out) && good;
}

bool plan_flags_read_pins(struct command *command, struct planner_pins *out)
{
    const char *order;
    if (!plan_flags_read_values(command, out)) {
        return false;
    }
    if (out->order_pinned && command_text(command, PLAN_FLAGS_ORDER, &order) &&
        strcmp(order, PLAN_FLAGS_USUAL) != 0) {
        return diag_push(command->diag, DIAG_C704, nowhere, "`shardplan estimate` takes any order",
                         "%s is '%s': in a search it must be %s or search", PLAN_FLAGS_ORDER, order,
                         PLAN_FLAGS_USUAL);
    }
    return true;
}

void plan_flags_pin_lean(struct planner_pins *pins, struct arena *arena)
{
    const uint32_t keep = policy_index(PLAN_FLAGS_KEEP_POLICY);
    pins->order_pinned = true;
    pins->micro_batch = pins->micro_batch == 0 ? 1 : pins->micro_batch;
    if (!pins->policy_pinned[keep] && pins->policy_choices[keep] == 0) {
        struct policy_use *uses = ARENA_PUSH(arena, struct policy_use, pins->use_count + 1);
        for (uint32_t i = 0; i < pins->use_count; i++) {
            uses[i] = pins->uses[i];
        }
        uses[pins->use_count] = plan_flags_recompute("full");
        pins->uses = uses;
        pins->use_count++;
        pins->policy_pinned[keep] = true;
    }
}

uint32_t plan_flags_find_zero(const struct planner_pins *pins)
{
    return pins->policy_choices[policy_index(PLAN_FLAGS_ZERO_POLICY)];
}

bool plan_flags_check_pins(struct command *command, const struct planner_pins *pins,
                           const struct runtime *runtime)
{
    const uint32_t level = plan_flags_find_zero(pins);
    struct text levels;
    if (level == 0 || (runtime->zero_levels >> level & 1) != 0) {
        return true;
    }
    text_init(&levels, command->arena);
    for (uint32_t i = 0; zero_levels[i] != NULL; i++) {
        if ((runtime->zero_levels >> i & 1) != 0) {
            text_push(&levels, "%s%s", levels.length == 0 ? "" : ", ", zero_levels[i]);
        }
    }
    return diag_push(command->diag, DIAG_P420, nowhere,
                     text_build(command->arena, "it has %s", levels.bytes),
                     "%s is %u: runtime '%s' has no sharding of that level", PLAN_FLAGS_ZERO, level,
                     runtime->name);
}

/* What a configuration says, as the parts of a plan. */
#include <string.h>

#include "imports/configuration.h"

static uint32_t narrow(struct configuration *configuration, const char *what, uint64_t value)
{
    if (value > 0 && value <= UINT32_MAX) {
        return (uint32_t)value;
    }
    configuration_refuse(configuration, DIAG_X661, NULL, "a degree from 1",
                         "the degree of %s is %llu", what, (unsigned long long)value);
    return 1;
}

static uint32_t variant_of(const struct dim *dim, const char *name)
{
    for (uint32_t i = 0; name != NULL && i < dim->variant_count; i++) {
        if (strcmp(dim->variants[i].name, name) == 0) {
            return i;
        }
    }
    return 0;
}

void configuration_push_dim(struct configuration *configuration, const char *dim, uint64_t degree,
                            const char *variant)
{
    const struct dim *found = dim_find(dim);
    const uint32_t narrowed = narrow(configuration, dim, degree);
    if (narrowed > 1) {
        configuration->group.mesh[configuration->group.mesh_count++] = (struct mesh_dim){
            .dim = found, .degree = narrowed, .variant = variant_of(found, variant)};
    }
}

void configuration_push_fold(struct configuration *configuration, const char *dim, uint64_t degree)
{
    const uint32_t narrowed = narrow(configuration, dim, degree);
    if (narrowed > 1) {
        configuration->group.folds[configuration->group.fold_count++] =
            (struct mesh_fold){.dim = dim_find(dim), .degree = narrowed};
    }
}

void configuration_push_sharding(struct configuration *configuration, uint32_t level)
{
    struct policy_use *use = &configuration->uses[configuration->plan.policy_count];
    if (level > 0 && policy_find("shard")->choose(&configuration->problem, &configuration->plan,
                                                  level - 1, configuration->arena, use)) {
        configuration->plan.policy_count++;
    }
}

static struct policy_value *value_of(struct policy_use *use, const char *key)
{
    uint32_t i = 0;
    while (strcmp(use->kind->fields[i].key, key) != 0) {
        i++;
    }
    return &use->values[i];
}

static void set_word(struct policy_use *use, const char *key, const char *word)
{
    struct policy_value *value = value_of(use, key);
    const char *const *choices = use->kind->fields[value - use->values].choices;
    *value = (struct policy_value){.present = true};
    while (strcmp(choices[value->word], word) != 0) {
        value->word++;
    }
}

void configuration_push_recompute(struct configuration *configuration, const char *granularity,
                                  uint64_t layers)
{
    struct policy_use *use = &configuration->uses[configuration->plan.policy_count++];
    memset(use, 0, sizeof *use);
    use->kind = policy_find("keep");
    set_word(use, "what", "recompute");
    set_word(use, "granularity", granularity);
    if (layers > 0) {
        *value_of(use, "layers") = (struct policy_value){.present = true, .count = layers};
    }
}

void configuration_push_offload(struct configuration *configuration, const char *tensors,
                                double share)
{
    struct policy_use *use = &configuration->uses[configuration->plan.policy_count++];
    const char **words = ARENA_PUSH(configuration->arena, const char *, strlen(tensors) + 1);
    uint32_t count = 0;
    memset(use, 0, sizeof *use);
    use->kind = policy_find("offload");
    for (const char *at = tensors; *at != '\0'; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        words[count++] = text_build_copy(configuration->arena, at, length);
        at += length;
    }
    *value_of(use, "tensors") =
        (struct policy_value){.present = true, .words = words, .word_count = count};
    if (share < 1.0) {
        *value_of(use, "share_frac") = (struct policy_value){.present = true, .number = share};
    }
}

void configuration_set_layers(struct configuration *configuration, const uint32_t *layers,
                              uint32_t stages, uint32_t chunks)
{
    struct plan_schedule *schedule = &configuration->plan.schedule;
    const struct schedule_shape shape = {.stages = stages, .chunks = chunks, .micro_batches = 1};
    const bool placed = schedule->schedule != NULL && schedule->schedule->place != NULL;
    schedule->stages = stages;
    schedule->chunks = chunks;
    schedule->layers = ARENA_PUSH(configuration->arena, uint32_t, (size_t)stages * chunks);
    for (uint32_t i = 0; i < stages * chunks; i++) {
        const uint32_t stage = i / chunks, chunk = i % chunks;
        schedule->layers[i] = layers[placed ? schedule->schedule->place(&shape, stage, chunk)
                                            : chunk * stages + stage];
    }
}

void configuration_set_even_layers(struct configuration *configuration, uint32_t stages,
                                   uint32_t chunks)
{
    const uint32_t total = plan_count_layers(&configuration->model), parts = stages * chunks;
    uint32_t *layers = ARENA_PUSH(configuration->arena, uint32_t, parts);
    for (uint32_t i = 0; i < parts; i++) {
        layers[i] = total / parts;
    }
    configuration_set_layers(configuration, layers, stages, chunks);
}

static void tell_places(const struct configuration *configuration, struct import_places *out)
{
    out->file = configuration->settings.file;
    out->batch = (struct diag_place){.file = out->file};
    for (uint32_t i = 2; i > 0; i--) {
        const char *key = configuration->batch_keys[i - 1];
        const struct setting *setting =
            key == NULL ? NULL : setting_find(&configuration->settings, key);
        if (setting != NULL && setting->place.file != NULL) {
            out->batch = setting->place;
        }
    }
}

bool configuration_dump(struct configuration *configuration, struct json_writer *out)
{
    if (configuration->request->places != NULL) {
        tell_places(configuration, configuration->request->places);
    }
    if (configuration->good) {
        plan_dump(&configuration->problem, &configuration->plan, true, out);
    }
    return configuration->good;
}

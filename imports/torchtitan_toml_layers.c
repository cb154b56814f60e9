/* Which part of a pipeline holds which layers, as torchtitan spreads them. */
#include <string.h>

#include "imports/torchtitan_toml.h"

#define PARTS "parallelism.module_fqns_per_model_part"

/* Names of one part: "layers.12" must be the next layer of the chain. */
static bool count_layers(const struct setting *part, uint32_t *next, uint32_t *layers)
{
    char expected[24];
    *layers = 0;
    for (uint32_t i = 0; i < part->item_count; i++) {
        const char *name = part->items[i].text;
        if (strncmp(name, "layers.", 7) != 0) {
            continue;
        }
        uint32_t value = (*next)++, at = sizeof expected - 1;
        expected[at] = '\0';
        do {
            expected[--at] = (char)('0' + value % 10);
            value /= 10;
        } while (value > 0);
        if (strcmp(name + 7, expected + at) != 0) {
            return false;
        }
        (*layers)++;
    }
    return true;
}

static void read_parts(struct configuration *configuration, const struct setting *parts,
                       uint32_t stages)
{
    const uint32_t total = plan_count_layers(&configuration->model);
    uint32_t *layers = ARENA_PUSH(configuration->arena, uint32_t, TORCHTITAN_PARTS);
    uint32_t next = 0;
    bool good = parts->item_count > 0 && parts->item_count <= TORCHTITAN_PARTS;
    for (uint32_t i = 0; i < parts->item_count && good; i++) {
        good = count_layers(&parts->items[i], &next, &layers[i]);
    }
    if (!good || next != total) {
        configuration_refuse(configuration, DIAG_X663, PARTS, "layers.0, layers.1, ... each once",
                             "the model parts do not name the %u layers in their order", total);
    } else if (parts->item_count % stages != 0) {
        configuration_refuse(configuration, DIAG_X663, PARTS, "as many parts as stages, or twice",
                             "%u stages cannot share %u model parts evenly", stages,
                             parts->item_count);
    } else {
        configuration_set_layers(configuration, layers, stages, parts->item_count / stages);
    }
}

/* The ends count as so many layers each; the first parts get what is over. */
static void spread(struct configuration *configuration, uint32_t stages, uint32_t parts,
                   const uint64_t ends[2])
{
    const uint64_t total = plan_count_layers(&configuration->model) + ends[0] + ends[1];
    const uint64_t least = total / parts;
    if (least == 0 || ends[0] > least || ends[1] > least) {
        configuration_refuse(configuration, DIAG_X663, NULL, "fewer stages",
                             "%llu layers, its ends counted as %llu and %llu of them, are too few "
                             "for %u model parts",
                             (unsigned long long)total, (unsigned long long)ends[0],
                             (unsigned long long)ends[1], parts);
        return;
    }
    uint32_t *layers = ARENA_PUSH(configuration->arena, uint32_t, parts);
    for (uint32_t i = 0; i < parts; i++) {
        const uint64_t end = (i == 0 ? ends[0] : 0) + (i + 1 == parts ? ends[1] : 0);
        layers[i] = (uint32_t)(least + (i < total % parts ? 1 : 0) - end);
    }
    configuration_set_layers(configuration, layers, stages, parts / stages);
}

void torchtitan_read_layers(struct configuration *configuration, uint32_t stages, bool multi)
{
    const struct setting *parts = configuration_take(configuration, PARTS);
    const uint64_t ends[2] = {
        configuration_take_count(configuration,
                                 "parallelism.pipeline_parallel_first_stage_less_layers", 1),
        configuration_take_count(configuration,
                                 "parallelism.pipeline_parallel_last_stage_less_layers", 1)};
    const uint64_t each = configuration_take_count(
        configuration, "parallelism.pipeline_parallel_layers_per_stage", 0);
    const uint64_t total = plan_count_layers(&configuration->model) + ends[0] + ends[1];
    uint64_t count = multi ? 2 * (uint64_t)stages : stages;
    if (parts != NULL) {
        read_parts(configuration, parts, stages);
        return;
    }
    if (each > 0) {
        count = (total + each - 1) / each;
    }
    if (count % stages != 0 || count > TORCHTITAN_PARTS || (count / stages > 1) != multi) {
        configuration_refuse(configuration, DIAG_X663,
                             "parallelism.pipeline_parallel_layers_per_stage", NULL,
                             "%llu layers each make %llu model parts: %u stages want %s",
                             (unsigned long long)each, (unsigned long long)count, stages,
                             multi ? "two or more each, as many on all" : "one each");
        return;
    }
    spread(configuration, stages, (uint32_t)count, ends);
}

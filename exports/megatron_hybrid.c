/* Scans, attention, MLPs in a row as --hybrid-layer-pattern of Megatron-LM's pretrain_hybrid.py.
 *
 * One letter per layer, | between chunks of the pipeline: M Mamba-2, * attention, - a dense MLP, E
 * experts (core/models/hybrid/hybrid_layer_allocation.py). Its scans have four taps
 * (core/ssm/mamba_mixer.py). */
#include "exports/megatron_inside.h"
#include "models/transformer.h"

#define CONV_TAPS 4u
#define SPEC_MODULE "megatron.core.models.hybrid.hybrid_layer_specs"
#define SPEC_NAME "hybrid_stack_spec"

static const struct diag_place nowhere = {0};

/* '\0': a layer of both halves, or of others. */
static char letter_of(const struct transformer *shape, uint32_t layer)
{
    const char mixer = transformer_mixer(shape, layer), mlp = transformer_mlp(shape, layer);
    if (mlp == 'n')
        return mixer == 's' ? 'M' : mixer == 'a' ? '*' : '\0';
    return mixer != 'n' ? '\0' : mlp == 'd' ? '-' : 'E';
}

bool megatron_is_hybrid(const struct transformer *shape)
{
    if (shape->scan.heads == 0 || shape->scan.kind != SCAN_MAMBA2 || shape->scan.bias ||
        shape->scan.conv != CONV_TAPS || shape->mtp_layers > 0 || shape->mla.kv_rank > 0)
        return false;
    for (uint32_t i = 0; i < shape->layers; i++) {
        if (letter_of(shape, i) == '\0')
            return false;
    }
    return true;
}

bool megatron_check_hybrid(const struct plan *plan, uint32_t cp, struct diag *diag)
{
    const uint32_t chunks = plan_count_stages(plan) * plan->schedule.chunks;
    bool good = true;
    for (uint32_t i = 0; chunks > 1 && plan->schedule.layers != NULL && i < chunks; i++) {
        if (express_find_layers(plan, i) == 0)
            good = diag_push(diag, DIAG_X604, nowhere, "a layer at least on every chunk",
                             "a pattern of layers has no chunk without one: chunk %u is empty", i);
    }
    if (cp > 1)
        good = diag_push(diag, DIAG_X603, nowhere, "one context rank",
                         "scans over %u context ranks are not exported to Megatron", cp);
    return good;
}

void megatron_push_pattern(const struct transformer *shape, const struct plan *plan,
                           const struct megatron_arguments *out)
{
    const uint32_t chunks = plan_count_stages(plan) * plan->schedule.chunks;
    struct text pattern;
    uint32_t chunk = 0, left = chunks > 1 ? express_find_layers(plan, 0) : shape->layers;
    text_init(&pattern, out->text->arena);
    for (uint32_t i = 0; i < shape->layers; i++, left--) {
        while (left == 0) {
            text_push(&pattern, "|");
            left = express_find_layers(plan, ++chunk);
        }
        text_push(&pattern, "%c", letter_of(shape, i));
    }
    megatron_push(out, "--hybrid-layer-pattern", "%s", pattern.bytes);
}

void megatron_push_scan(const struct transformer_scan *scan, const struct megatron_arguments *out)
{
    megatron_push_flag(out, "--spec");
    megatron_push_flag(out, SPEC_MODULE);
    megatron_push_flag(out, SPEC_NAME);
    megatron_push(out, "--mamba-num-heads", "%u", scan->heads);
    megatron_push(out, "--mamba-head-dim", "%u", scan->head_dim);
    megatron_push(out, "--mamba-num-groups", "%u", scan->groups);
    megatron_push(out, "--mamba-state-dim", "%u", scan->state);
}

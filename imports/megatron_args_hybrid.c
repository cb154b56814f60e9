/* --hybrid-layer-pattern: one letter per layer, which scans, attends or feeds forward.
 *
 * M is Mamba-2, * attention, - a dense MLP, E experts; | stands between chunks of the pipeline
 * (core/models/hybrid/hybrid_layer_allocation.py). Widths of the scan where they are not given are
 * those of core/transformer/transformer_config.py and core/ssm/mamba_mixer.py. */
#include <string.h>

#include "imports/megatron_args.h"

#define LETTERS "M*-E"
#define EXPAND 2u /* inner width over the stream's, where no heads are given */
#define CONV_TAPS 4u
#define KERNEL_CHUNK 128u

static const char *find(struct configuration *configuration, const char **flag)
{
    static const char *const flags[] = {"hybrid-layer-pattern", "hybrid-override-pattern"};
    const char *text = NULL;
    for (uint32_t i = 0; i < 2 && text == NULL; i++) {
        *flag = flags[i];
        text = configuration_take_word(configuration, flags[i], NULL);
    }
    return text;
}

static const char *drop_separators(const char *text, struct arena *arena)
{
    struct text out;
    text_init(&out, arena);
    for (; *text != '\0'; text++) {
        text_push_bytes(&out, text, *text == '|' ? 0 : 1);
    }
    return out.bytes;
}

const char *megatron_args_find_hybrid(struct configuration *configuration)
{
    const char *flag;
    const char *text = find(configuration, &flag);
    if (text == NULL) {
        return NULL;
    }
    const char *letters = drop_separators(text, configuration->arena);
    if (letters[0] == '\0' || strspn(letters, LETTERS) != strlen(letters)) {
        configuration_refuse(configuration, DIAG_X664, flag,
                             "letters of M (Mamba-2), * (attention), - (dense), E (experts), with "
                             "| between chunks",
                             "--%s is '%s': other letters, and layers that predict further tokens, "
                             "are not read",
                             flag, text);
        return NULL;
    }
    return letters;
}

static void push_letters(const char *key, const char *letters, const char *to,
                         struct configuration *configuration, struct json_writer *out)
{
    char *words = text_build_copy(configuration->arena, letters, strlen(letters));
    for (char *at = words; *at != '\0'; at++) {
        *at = to[strchr(LETTERS, *at) - LETTERS];
    }
    json_push_key_string(out, key, words);
}

static void push_scan(struct configuration *configuration, uint64_t hidden, struct json_writer *out)
{
    const uint64_t head_dim = configuration_take_count(configuration, "mamba-head-dim", 64);
    const uint64_t usual = head_dim == 0 ? 0 : EXPAND * hidden / head_dim;
    json_push_key(out, "scan");
    json_push_object(out);
    json_push_key_string(out, "kind", "mamba2");
    json_push_key_u64(out, "heads",
                      configuration_take_count(configuration, "mamba-num-heads", usual));
    json_push_key_u64(out, "head_dim", head_dim);
    json_push_key_u64(out, "groups",
                      configuration_take_count(configuration, "mamba-num-groups", 8));
    json_push_key_u64(out, "state",
                      configuration_take_count(configuration, "mamba-state-dim", 128));
    json_push_key_u64(out, "conv", CONV_TAPS);
    json_push_key_u64(out, "chunk", KERNEL_CHUNK);
    json_pop_object(out);
}

void megatron_args_push_hybrid(struct configuration *configuration, const char *letters,
                               uint64_t hidden, struct json_writer *out)
{
    push_letters("mixers", letters, "sann", configuration, out);
    push_letters("mlps", letters, "nnde", configuration, out);
    if (strchr(letters, 'M') != NULL) {
        push_scan(configuration, hidden, out);
    }
}

uint32_t megatron_args_split_hybrid(struct configuration *configuration, uint32_t *layers)
{
    const char *flag;
    const char *text = find(configuration, &flag);
    uint32_t chunk = 0;
    layers[0] = 0;
    for (; text != NULL && *text != '\0'; text++) {
        if (*text != '|') {
            layers[chunk]++;
        } else if (++chunk < MEGATRON_ARGS_CHUNKS) {
            layers[chunk] = 0;
        } else {
            configuration_refuse(configuration, DIAG_X663, flag, NULL, "more than %u chunks",
                                 MEGATRON_ARGS_CHUNKS);
            return 0;
        }
    }
    return chunk + 1;
}

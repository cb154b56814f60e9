/* --pipeline-model-parallel-layout: which chunk holds which layers. */
#include <string.h>

#include "imports/megatron_args.h"
#include "models/transformer.h"

#define LAYOUT_BYTES_MAX 65536u

/* (...)*n and x*n written out; false: malformed, or too long. */
static bool unfold(const char *text, struct text *out)
{
    size_t group = 0, item = 0;
    bool open = false;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == ',' || *at == ' ') {
            continue;
        }
        if (*at == '(' && !open) {
            group = out->length;
            open = true;
        } else if (*at == ')' && open) {
            item = group;
            open = false;
        } else if (*at == '*' && out->length > 0) {
            uint32_t times = 0;
            while (at[1] >= '0' && at[1] <= '9' && times < LAYOUT_BYTES_MAX) {
                times = 10 * times + (uint32_t)(*++at - '0');
            }
            const size_t once = out->length - item;
            if (once * times > LAYOUT_BYTES_MAX) {
                return false;
            }
            const char *copy = text_build_copy(out->arena, out->bytes + item, once);
            out->length -= times == 0 ? once : 0;
            for (uint32_t i = 1; i < times; i++) {
                text_push_bytes(out, copy, once);
            }
        } else if (strchr("Etm|L", *at) != NULL) {
            item = out->length;
            text_push_bytes(out, at, 1);
        } else {
            return false;
        }
        if (out->length > LAYOUT_BYTES_MAX) {
            return false;
        }
    }
    out->bytes[out->length] = '\0';
    return !open;
}

static bool refuse(struct configuration *configuration, const char *layout, const char *what)
{
    return configuration_refuse(configuration, DIAG_X663, "pipeline-model-parallel-layout",
                                "E, then the layers t, then L, with | between chunks: "
                                "Et*3|(tt|)*29L",
                                "layout '%s' %s", layout, what);
}

/* Layers that predict further tokens sit beside the loss here. */
static bool check_further(struct configuration *configuration, const char *layout,
                          const char *unfolded)
{
    const struct transformer *shape = configuration->model.transformer;
    const char *first = strchr(unfolded, 'm');
    const size_t count = first == NULL ? 0 : strspn(first, "m");
    const uint32_t wanted = shape == NULL ? 0 : shape->mtp_layers;
    if (first != NULL && first[count] != 'L') {
        return configuration_refuse(configuration, DIAG_X664, "pipeline-model-parallel-layout",
                                    "m right before L",
                                    "layout '%s' has layers that predict further tokens (m) apart "
                                    "from the loss: that is not planned",
                                    layout);
    }
    if (count != wanted) {
        return configuration_refuse(configuration, DIAG_X663, "pipeline-model-parallel-layout",
                                    "as many m before L as --mtp-num-layers",
                                    "layout '%s' places %u layers that predict further tokens, the "
                                    "model has %u",
                                    layout, (uint32_t)count, wanted);
    }
    return true;
}

bool megatron_args_read_layout(struct configuration *configuration, const char *layout,
                               uint32_t *layers, uint32_t *chunks)
{
    struct text text;
    uint32_t chunk = 0;
    text_init(&text, configuration->arena);
    if (!unfold(layout, &text)) {
        return refuse(configuration, layout, "has a character or a repetition that is none");
    }
    if (text.length < 2 || text.bytes[0] != 'E' || text.bytes[text.length - 1] != 'L' ||
        strchr(text.bytes + 1, 'E') != NULL ||
        strchr(text.bytes, 'L') != text.bytes + text.length - 1) {
        return refuse(configuration, layout, "must begin with its one E and end with its one L");
    }
    if (!check_further(configuration, layout, text.bytes)) {
        return false;
    }
    memset(layers, 0, MEGATRON_ARGS_CHUNKS * sizeof *layers);
    for (const char *at = text.bytes; *at != '\0'; at++) {
        chunk += *at == '|';
        if (chunk == MEGATRON_ARGS_CHUNKS) {
            return refuse(configuration, layout, "has too many chunks");
        }
        layers[chunk] += *at == 't';
    }
    *chunks = chunk + 1;
    return true;
}

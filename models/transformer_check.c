/* Whether the sizes of a transformer fit together. */
#include "models/transformer.h"

#include "base/text.h"
#include "models/model_inside.h"

struct report {
    const struct transformer_origin *origin;
    struct diag *diag;
};

/* Of the key if it is there, else of the whole object, if there is one. */
static struct diag_place place_of(const struct report *to, const char *key)
{
    const struct json_value object = to->origin->object;
    if (json_is_absent(object)) {
        return (struct diag_place){0};
    }
    const struct json_value value = key == NULL ? object : json_find(object, key);
    return json_place(json_is_absent(value) ? object : value);
}

static bool check_sizes(const struct transformer *shape, const struct report *to)
{
    const struct {
        const char *name;
        uint32_t value;
    } sizes[] = {
        {"layers", shape->layers},     {"hidden", shape->hidden}, {"heads", shape->heads},
        {"kv_heads", shape->kv_heads}, {"ffn", shape->ffn},       {"head_dim", shape->head_dim},
        {"vocab", shape->vocab},
    };
    bool good = true;
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i].value == 0) {
            good = diag_push(to->diag, DIAG_M203, place_of(to, NULL), NULL,
                             "%s is 0, must be at least 1", sizes[i].name);
        }
    }
    return good;
}

static bool check_groups(const struct transformer *shape, const struct report *to)
{
    if (shape->heads % shape->kv_heads == 0) {
        return true;
    }
    return diag_push(to->diag, DIAG_M203, place_of(to, to->origin->kv_heads),
                     "each key and value head serves the same number of heads",
                     "%u heads are not a multiple of %u key and value heads", shape->heads,
                     shape->kv_heads);
}

static bool check_positions(const struct transformer *shape, const struct report *to)
{
    if (shape->positions != POSITION_LEARNED || shape->max_positions > 0) {
        return true;
    }
    return diag_push(to->diag, DIAG_M203, place_of(to, to->origin->positions),
                     "state the rows of the position table, such as 1024",
                     "learned positions need max_positions, which is 0");
}

static bool check_experts(const struct transformer *shape, const struct report *to)
{
    const struct transformer_moe *moe = &shape->moe;
    if (moe->experts == 0) {
        return true;
    }
    bool good = true;
    if (moe->top_k == 0 || moe->top_k > moe->experts) {
        good = diag_push(to->diag, DIAG_M203, place_of(to, to->origin->experts), NULL,
                         "each token goes to %u of %u experts: must be between 1 and %u",
                         moe->top_k, moe->experts, moe->experts);
    }
    if (moe->ffn == 0) {
        good = diag_push(to->diag, DIAG_M203, place_of(to, to->origin->experts), NULL,
                         "experts of width 0, must be at least 1");
    }
    if (moe->every == 0 || (uint64_t)moe->first_dense + moe->every > shape->layers) {
        good = diag_push(
            to->diag, DIAG_M203, place_of(to, to->origin->experts),
            "leave the experts out if no layer has them",
            "with %u dense layers first and experts in every %u after them, none of the %u "
            "layers has experts",
            moe->first_dense, moe->every, shape->layers);
    }
    return good;
}

bool transformer_find_head_dim(struct transformer *transformer, struct diag_place place,
                               struct diag *diag)
{
    if (transformer->hidden % transformer->heads != 0) {
        return diag_push(
            diag, DIAG_M203, place, "state head_dim, or choose a width that the heads divide",
            "width %u is not a multiple of %u heads", transformer->hidden, transformer->heads);
    }
    transformer->head_dim = transformer->hidden / transformer->heads;
    return true;
}

bool transformer_check(const struct transformer *transformer,
                       const struct transformer_origin *origin, struct diag *diag)
{
    static const struct transformer_origin memory = {.kv_heads = NULL};
    const struct report to = {.origin = origin == NULL ? &memory : origin, .diag = diag};
    if (!check_sizes(transformer, &to)) {
        return false;
    }
    bool good = check_groups(transformer, &to);
    good &= check_positions(transformer, &to);
    good &= check_experts(transformer, &to);
    return good;
}

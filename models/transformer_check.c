/* Whether the sizes of a transformer fit together. */
#include "models/transformer.h"

#include <string.h>

#include "base/text.h"
#include "models/model_inside.h"

/* Layers of different kinds that a model's parts have room for (GRAPH_PART_MAX less the ends). */
#define KINDS_MAX 7u

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

/* Has some layer one of these letters? */
static bool has_mixer(const struct transformer *shape, const char *letters)
{
    if (shape->mixers == NULL || shape->encoder_layers > 0) {
        return strchr(letters, shape->window > 0 && shape->mixers == NULL ? 'w' : 'a') != NULL;
    }
    return strpbrk(shape->mixers, letters) != NULL;
}

static bool has_mlp(const struct transformer *shape, char letter)
{
    if (shape->mlps == NULL) {
        return letter != 'n' && (letter == 'd' || shape->moe.experts > 0);
    }
    return strchr(shape->mlps, letter) != NULL;
}

static bool check_sizes(const struct transformer *shape, const struct report *to)
{
    const bool attends = has_mixer(shape, "awc");
    const struct {
        const char *name;
        uint32_t value;
        bool needed;
    } sizes[] = {
        {"layers", shape->layers, true},
        {"hidden", shape->hidden, true},
        {"heads", shape->heads, attends},
        {"kv_heads", shape->kv_heads, attends},
        {"ffn", shape->ffn, has_mlp(shape, 'd')},
        {"head_dim", shape->head_dim, attends},
        {"vocab", shape->vocab, true},
    };
    bool good = true;
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i].value == 0 && sizes[i].needed) {
            good = diag_push(to->diag, DIAG_M203, place_of(to, NULL), NULL,
                             "%s is 0, must be at least 1", sizes[i].name);
        }
    }
    return good;
}

static bool check_groups(const struct transformer *shape, const struct report *to)
{
    if (shape->kv_heads == 0 || shape->heads % shape->kv_heads == 0) {
        return true;
    }
    return diag_push(to->diag, DIAG_M203, place_of(to, to->origin->kv_heads),
                     "each key and value head serves the same number of heads",
                     "%u heads are not a multiple of %u key and value heads", shape->heads,
                     shape->kv_heads);
}

/* Letters that say experts, scan or window need what they say. */
static bool check_letters(const struct transformer *shape, const struct report *to)
{
    const struct {
        bool asked, there;
        const char *letter, *needs;
    } rows[] = {
        {shape->mixers != NULL && has_mixer(shape, "wc"), shape->window > 0, "w or c",
         "a window above 0"},
        {shape->mixers != NULL && has_mixer(shape, "s"), shape->scan.heads > 0, "s",
         "the sizes of a scan"},
        {shape->mlps != NULL && has_mlp(shape, 'e'), shape->moe.experts > 0, "e",
         "the sizes of experts"},
    };
    bool good = true;
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].asked && !rows[i].there) {
            good = diag_push(to->diag, DIAG_M203, place_of(to, NULL), NULL,
                             "layers of kind %s need %s", rows[i].letter, rows[i].needs);
        }
    }
    for (uint32_t i = 0; i < shape->layers && good; i++) {
        if (transformer_mixer(shape, i) == 'n' && transformer_mlp(shape, i) == 'n') {
            good = diag_push(to->diag, DIAG_M203, place_of(to, NULL), NULL,
                             "layer %u has neither a mixer nor an mlp", i);
        }
    }
    return good;
}

static bool check_kinds(const struct transformer *shape, const struct report *to)
{
    uint32_t kinds = 0;
    bool seen[128 * 2] = {false};
    for (uint32_t i = 0; i < shape->layers; i++) {
        const char mixer = transformer_mixer(shape, i), mlp = transformer_mlp(shape, i);
        bool *known = &seen[(mixer & 0x1f) * 8 + (mlp == 'd' ? 0 : mlp == 'e' ? 1 : 2)];
        kinds += *known ? 0 : 1;
        *known = true;
    }
    const uint32_t most =
        KINDS_MAX - (shape->vision.tower != NULL ? 2u : 0u) - (shape->encoder_layers > 0 ? 2u : 0u);
    if (kinds <= most) {
        return true;
    }
    return diag_push(to->diag, DIAG_M205, place_of(to, NULL), NULL,
                     "layers of %u kinds; at most %u in one model are modelled", kinds, most);
}

/* All of them, where there is one of them. */
static bool check_whole(const struct transformer *shape, const struct report *to)
{
    const struct transformer_mla *mla = &shape->mla;
    const struct transformer_scan *scan = &shape->scan;
    const struct transformer_vision *vision = &shape->vision;
    const bool latent = mla->kv_rank == 0 || (mla->nope_dim > 0 && mla->rope_dim > 0 &&
                                              mla->value_dim > 0 && shape->heads > 0);
    const bool scans = scan->heads == 0 ||
                       (scan->head_dim > 0 && scan->state > 0 && scan->conv > 0 &&
                        scan->chunk > 0 && (scan->kind == SCAN_MAMBA1 ? scan->rank : scan->groups));
    const bool sees = vision->tower == NULL || (vision->patch_inputs > 0 && vision->merge > 0 &&
                                                vision->patches >= vision->merge);
    bool good = true;
    if (!latent) {
        good = diag_push(to->diag, DIAG_M203, place_of(to, "mla"), NULL,
                         "latent attention needs heads, nope_dim, rope_dim and value_dim above 0");
    }
    if (!scans) {
        good = diag_push(to->diag, DIAG_M203, place_of(to, "scan"), NULL,
                         "a scan needs head_dim, state, conv, chunk and groups (mamba1: rank) "
                         "above 0");
    } else if (scan->heads > 0 && scan->groups > 0 && scan->heads % scan->groups != 0) {
        good = diag_push(to->diag, DIAG_M203, place_of(to, "scan"), NULL,
                         "%u heads of a scan are not a multiple of %u groups", scan->heads,
                         scan->groups);
    }
    if (!sees) {
        good = diag_push(to->diag, DIAG_M203, place_of(to, "vision"), NULL,
                         "a vision tower needs patch_inputs, merge, and patches of at least merge");
    }
    if (shape->positions == POSITION_RELATIVE && shape->relative_buckets == 0) {
        good = diag_push(to->diag, DIAG_M203, place_of(to, to->origin->positions), NULL,
                         "relative positions need relative_buckets above 0");
    }
    return good;
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
    if (shape->mlps == NULL &&
        (moe->every == 0 || (uint64_t)moe->first_dense + moe->every > shape->layers)) {
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
    good = good && check_letters(transformer, &to) && check_kinds(transformer, &to);
    good &= check_whole(transformer, &to);
    if (transformer->vision.tower != NULL) {
        good &= transformer_check(transformer->vision.tower, NULL, diag);
    }
    return good;
}

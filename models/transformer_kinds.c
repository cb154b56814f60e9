/* Which layer is of which kind: letters per layer, and what a description has beyond the plain. */
#include <string.h>

#include "base/text.h"
#include "models/transformer.h"

static char repeated(const char *letters, uint32_t layer)
{
    return letters[layer % strlen(letters)];
}

char transformer_mixer(const struct transformer *transformer, uint32_t layer)
{
    if (transformer->mixers != NULL) {
        return repeated(transformer->mixers, layer);
    }
    return transformer->window > 0 ? 'w' : 'a';
}

char transformer_mlp(const struct transformer *transformer, uint32_t layer)
{
    const struct transformer_moe *moe = &transformer->moe;
    if (transformer->mlps != NULL) {
        return repeated(transformer->mlps, layer);
    }
    const bool mixture = moe->experts > 0 && layer >= moe->first_dense &&
                         (layer - moe->first_dense + 1) % moe->every == 0;
    return mixture ? 'e' : 'd';
}

/* The shortest beginning of the text that gives all of it when repeated. */
static const char *shortest(const char *letters, size_t layers, struct arena *arena)
{
    size_t period = 1;
    for (; period < layers; period++) {
        size_t i = period;
        while (i < layers && letters[i] == letters[i - period]) {
            i++;
        }
        if (i == layers) {
            break;
        }
    }
    return text_build_copy(arena, letters, period);
}

static bool are_all(const char *letters, char letter)
{
    return letters != NULL && letters[0] == letter && letters[1] == '\0';
}

/* Do first_dense and every say the same? Then they are how it is said. */
static bool say_mlps(struct transformer *transformer, const char *mlps)
{
    struct transformer_moe *moe = &transformer->moe;
    uint32_t first = 0, second = 0;
    while (first < transformer->layers && mlps[first] != 'e') {
        first++;
    }
    for (second = first + 1; second < transformer->layers && mlps[second] != 'e'; second++) {
    }
    struct transformer tried = *transformer;
    tried.mlps = NULL;
    const uint32_t every = second < transformer->layers ? second - first : 1;
    tried.moe.every = every;
    tried.moe.first_dense = first + 1 >= every ? first + 1 - every : 0;
    for (uint32_t i = 0; i < transformer->layers; i++) {
        if (transformer_mlp(&tried, i) != mlps[i]) {
            return false;
        }
    }
    moe->every = tried.moe.every;
    moe->first_dense = tried.moe.first_dense;
    return true;
}

void transformer_set_layers(struct transformer *transformer, const char *mixers, const char *mlps,
                            struct arena *arena)
{
    transformer->mixers = NULL;
    transformer->mlps = NULL;
    if (mixers != NULL) {
        const char *least = shortest(mixers, transformer->layers, arena);
        const bool plain = are_all(least, transformer->window > 0 ? 'w' : 'a');
        transformer->mixers = plain ? NULL : least;
        if (strpbrk(least, "wc") == NULL) {
            transformer->window = 0;
            transformer->mixers = are_all(least, 'a') ? NULL : least;
        }
    }
    if (mlps != NULL && !say_mlps(transformer, mlps)) {
        transformer->mlps = shortest(mlps, transformer->layers, arena);
        transformer->moe.every = 1;
        transformer->moe.first_dense = 0;
    }
}

const char *transformer_special(const struct transformer *transformer)
{
    const struct {
        bool has;
        const char *what;
    } rows[] = {
        {transformer->vision.tower != NULL, "a vision tower"},
        {transformer->encoder_layers > 0, "an encoder with cross attention"},
        {transformer->bidirectional, "attention to later tokens"},
        {transformer->scan.heads > 0, "layers that scan instead of attending"},
        {transformer->mla.kv_rank > 0, "multi-head latent attention"},
        {transformer->mtp_layers > 0, "multi-token prediction"},
        {transformer->mixers != NULL, "layers with different attention"},
        {transformer->mlps != NULL, "an irregular order of dense and expert layers"},
        {transformer->form == LAYER_POST_NORM, "norms behind the residual sum"},
        {transformer->form == LAYER_SANDWICH, "norms before and behind each half of a layer"},
        {transformer->form == LAYER_BRANCH_NORM, "norms on the branches alone"},
        {transformer->form == LAYER_PARALLEL || transformer->form == LAYER_PARALLEL_TWO,
         "attention and MLP side by side"},
        {transformer->positions == POSITION_ALIBI, "ALiBi slopes"},
        {transformer->positions == POSITION_RELATIVE, "relative position biases"},
        {transformer->norm == NORM_LAYER_PLAIN, "layer norms without bias"},
        {transformer->head == HEAD_MASKED, "a head for masked tokens"},
        {transformer->head_bias, "a bias on the logits"},
        {transformer->embedding_norm, "a norm behind the embedding"},
        {transformer->token_types > 0, "a table of token types"},
        {transformer->pooler, "a pooler"},
        {transformer->attention_gate, "a gate on the attention output"},
        {transformer->sinks, "attention sinks"},
        {transformer->qk_norm_wide, "a norm over all heads of Q and K"},
        {transformer->moe.router_bias, "a bias or correction per expert in the router"},
        {transformer->moe.shared_gate, "a gate on the shared expert"},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].has) {
            return rows[i].what;
        }
    }
    return NULL;
}

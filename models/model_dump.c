/* A model as the native JSON that reads back to it. */
#include "models/model_inside.h"

#include <string.h>

#include "base/text.h"
#include "models/graph.h"
#include "models/transformer_fields.h"

static void dump_bias(const struct transformer *shape, struct json_writer *out)
{
    json_push_key(out, "bias");
    json_push_object(out);
    json_push_key_bool(out, "qkv", shape->qkv_bias);
    json_push_key_bool(out, "attention_output", shape->attention_output_bias);
    json_push_key_bool(out, "mlp", shape->mlp_bias);
    json_push_key_bool(out, "norm", shape->norm == NORM_LAYER);
    json_pop_object(out);
}

static void dump_moe(const struct transformer *shape, struct json_writer *out)
{
    const struct transformer_moe *moe = &shape->moe;
    json_push_key(out, "moe");
    json_push_object(out);
    json_push_key_u64(out, "experts", moe->experts);
    json_push_key_u64(out, "top_k", moe->top_k);
    json_push_key_u64(out, "ffn", moe->ffn);
    json_push_key_u64(out, "shared_ffn", moe->shared_ffn);
    json_push_key_u64(out, "first_dense", moe->first_dense);
    json_push_key_u64(out, "every", moe->every);
    transformer_fields_dump("moe", shape, out);
    json_pop_object(out);
}

static void dump_transformer(const struct transformer *shape, bool named, struct json_writer *out);

static void dump_vision(const struct transformer *shape, struct json_writer *out)
{
    json_push_key(out, "vision");
    json_push_object(out);
    json_push_key(out, "tower");
    dump_transformer(shape->vision.tower, false, out);
    transformer_fields_dump("vision", shape, out);
    json_pop_object(out);
}

static void dump_object(const char *name, const struct transformer *shape, struct json_writer *out)
{
    json_push_key(out, name);
    json_push_object(out);
    transformer_fields_dump(name, shape, out);
    json_pop_object(out);
}

/* Absent where the description has nothing of it, so plain ones read as they always did. */
static void dump_further(const struct transformer *shape, struct json_writer *out)
{
    if (shape->mixers != NULL) {
        json_push_key_string(out, "mixers", shape->mixers);
    }
    if (shape->mlps != NULL) {
        json_push_key_string(out, "mlps", shape->mlps);
    }
    transformer_fields_dump("", shape, out);
    if (shape->mla.kv_rank > 0) {
        dump_object("mla", shape, out);
    }
    if (shape->scan.heads > 0) {
        dump_object("scan", shape, out);
    }
    if (shape->vision.tower != NULL) {
        dump_vision(shape, out);
    }
}

/* named: with the family it was read as, which changes no size. */
static void dump_transformer(const struct transformer *shape, bool named, struct json_writer *out)
{
    json_push_object(out);
    if (named && strcmp(shape->architecture, TRANSFORMER_NATIVE) != 0) {
        json_push_key_string(out, "architecture", shape->architecture);
    }
    json_push_key_u64(out, "layers", shape->layers);
    json_push_key_u64(out, "hidden", shape->hidden);
    json_push_key_u64(out, "heads", shape->heads);
    if (shape->heads > 0) {
        json_push_key_u64(out, "kv_heads", shape->kv_heads);
        json_push_key_u64(out, "head_dim", shape->head_dim);
    }
    json_push_key_u64(out, "ffn", shape->ffn);
    json_push_key_bool(out, "gated", shape->gated);
    json_push_key_u64(out, "vocab", shape->vocab);
    json_push_key_string(out, "positions", model_position_names[shape->positions]);
    json_push_key_u64(out, "max_positions", shape->max_positions);
    json_push_key_bool(out, "tied_embeddings", shape->tied_embeddings);
    json_push_key_string(out, "norm", model_norm_names[shape->norm]);
    json_push_key_string(out, "activation", shape->activation);
    dump_bias(shape, out);
    json_push_key_bool(out, "qk_norm", shape->qk_norm);
    json_push_key_double(out, "dropout", shape->dropout_frac);
    if (shape->rope_base > 0.0) {
        json_push_key_double(out, "rope_base", shape->rope_base);
    }
    if (shape->norm_epsilon > 0.0) {
        json_push_key_double(out, "norm_epsilon", shape->norm_epsilon);
    }
    json_push_key_u64(out, "window", shape->window);
    if (shape->moe.experts > 0) {
        dump_moe(shape, out);
    }
    dump_further(shape, out);
    json_pop_object(out);
}

unsigned long long model_build_digest(const struct model *model, struct arena *arena)
{
    struct text text;
    struct json_writer writer;
    text_init(&text, arena);
    json_writer_init(&writer, &text, true);
    if (model->transformer != NULL) {
        dump_transformer(model->transformer, false, &writer);
    } else {
        graph_dump(model, &writer);
    }
    return text_digest(TEXT_DIGEST_SEED, text.bytes, text.length);
}

void model_dump(const struct model *model, struct json_writer *out)
{
    if (model->base != NULL) {
        model_dump(model->base, out);
        return;
    }
    json_push_object(out);
    json_push_key_string(out, "format", MODEL_FORMAT);
    json_push_key_string(out, "name", model->name);
    if (model->transformer != NULL) {
        json_push_key(out, "transformer");
        dump_transformer(model->transformer, true, out);
    } else {
        json_push_key(out, "graph");
        graph_dump(model, out);
    }
    if (model_count_parameters(model) > 0) {
        json_push_key_u64(out, "parameters", model_count_parameters(model));
    }
    json_push_key_string(out, "source", model->source);
    json_pop_object(out);
}

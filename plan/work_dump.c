/* A work program as JSON, for people: what each block does, holds, sends. */
#include "plan/work.h"

static const char *const pass_names[PASS_COUNT] = {"forward", "input-gradient", "weight-gradient",
                                                   "update"};
static const char *const keep_names[KEEP_COUNT] = {"all", "selective", "latents", "boundary"};

static const char *overlap_name(enum work_overlap overlap)
{
    switch (overlap) {
    case OVERLAP_NONE: return "none";
    case OVERLAP_NEXT: return "next";
    case OVERLAP_BLOCK: return "block";
    }
    BUG("no overlap %d", (int)overlap);
}

static void dump_message(const struct work_message *message, struct json_writer *out)
{
    json_push_key_string(out, "message", collective_kind_name(message->kind));
    json_push_key_string(out, "dim",
                         message->dim == WORK_HOST ? "host" : dim_table[message->dim]->name);
    json_push_key_string(out, "cause", work_cause_name(message->cause));
    if (message->group != NO_INDEX) {
        json_push_key_u64(out, "group", message->group);
    }
    json_push_key_double(out, "buffer_bytes", message->bytes);
    if (message->overlap != OVERLAP_NONE) {
        json_push_key_string(out, "under", overlap_name(message->overlap));
        json_push_key_u64(out, "pieces", message->pieces);
    }
    if (message->period > 1) {
        json_push_key_u64(out, "period", message->period);
    }
    if (message->turns) {
        json_push_key_bool(out, "turns", true);
    }
    if (message->distance > 0) {
        json_push_key_u64(out, "distance", message->distance);
    }
}

static void dump_compute(const struct work_compute *compute, struct json_writer *out)
{
    json_push_key_string(out, "compute", compute->name);
    json_push_key_string(out, "pass", pass_names[compute->pass]);
    if (compute->recompute) {
        json_push_key_bool(out, "recompute", true);
    }
    if (compute->on_host) {
        json_push_key_bool(out, "on_host", true);
    }
    if (compute->joined) {
        json_push_key_bool(out, "joined", true);
    }
    if (compute->kind == OP_CONTRACT) {
        json_push_key_u64(out, "m", compute->m);
        json_push_key_u64(out, "n", compute->n);
        json_push_key_u64(out, "k", compute->k);
        json_push_key_u64(out, "groups", compute->groups);
    }
    json_push_key_double(out, "flops", compute->flops);
    json_push_key_double(out, "traffic_bytes", compute->bytes);
}

static void dump_items(const char *key, const struct work_items *items, struct json_writer *out)
{
    json_push_key(out, key);
    json_push_array(out);
    for (uint32_t i = 0; i < items->count; i++) {
        json_push_object(out);
        if (items->items[i].is_message) {
            dump_message(&items->items[i].message, out);
        } else {
            dump_compute(&items->items[i].compute, out);
        }
        json_pop_object(out);
    }
    json_pop_array(out);
}

static void dump_block(const struct work *work, const struct work_block *block,
                       struct json_writer *out)
{
    json_push_object(out);
    json_push_key_string(out, "part", work->problem->model->parts[block->part].name);
    json_push_key_string(out, "keep", keep_names[block->keep]);
    json_push_key_double(out, "parameters_bytes", block->parameters_bytes);
    json_push_key_double(out, "gradients_bytes", block->gradients_bytes);
    json_push_key_double(out, "optimizer_bytes", block->optimizer_bytes);
    json_push_key_double(out, "cache_bytes", block->cache_bytes);
    json_push_key_double(out, "saved_bytes", block->saved_bytes);
    json_push_key_double(out, "logits_bytes", block->logits_bytes);
    json_push_key_double(out, "working_bytes", block->working_bytes);
    json_push_key_double(out, "widened_bytes", block->widened_bytes);
    json_push_key_double(out, "gathered_bytes", block->gathered_bytes);
    json_push_key_double(out, "host_bytes", block->host_bytes);
    json_push_key_double(out, "host_saved_bytes", block->host_saved_bytes);
    dump_items("forward", &block->forward, out);
    dump_items("backward", &block->backward, out);
    dump_items("gather", &block->gather, out);
    dump_items("sync", &block->sync, out);
    dump_items("update", &block->update, out);
    json_pop_object(out);
}

static void dump_groups(const struct work *work, struct json_writer *out)
{
    json_push_key(out, "groups");
    json_push_array(out);
    for (uint32_t i = 0; i < work->group_count; i++) {
        const struct rank_group *group = &work->groups[i];
        json_push_object(out);
        json_push_key_u64(out, "ranks", group->ranks);
        json_push_key(out, "steps");
        json_push_array(out);
        for (uint32_t step = 0; step < group->step_count; step++) {
            json_push_object(out);
            json_push_key_u64(out, "stride", group->steps[step].stride);
            json_push_key_u64(out, "size", group->steps[step].size);
            json_pop_object(out);
        }
        json_pop_array(out);
        json_pop_object(out);
    }
    json_pop_array(out);
}

static void dump_single(const char *key, const struct work_message *message,
                        struct json_writer *out)
{
    if (message->bytes > 0.0) {
        json_push_key(out, key);
        json_push_object(out);
        dump_message(message, out);
        json_pop_object(out);
    }
}

void work_dump(const struct work *work, struct json_writer *out)
{
    json_push_object(out);
    json_push_key_u64(out, "stages", work->shape.stages);
    json_push_key_u64(out, "chunks", work->shape.chunks);
    json_push_key_u64(out, "micro_batches", work->shape.micro_batches);
    dump_groups(work, out);
    json_push_key(out, "blocks");
    json_push_array(out);
    for (uint32_t i = 0; i < work->block_count; i++) {
        dump_block(work, &work->blocks[i], out);
    }
    json_pop_array(out);
    dump_single("send", &work->send, out);
    dump_single("spread", &work->spread, out);
    dump_single("tied", &work->tied, out);
    dump_single("norm", &work->norm, out);
    json_pop_object(out);
}

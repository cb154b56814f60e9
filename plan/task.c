/* The tasks known by name, what each trains. */
#include "plan/task.h"

#include <string.h>

#include "base/text.h"
#include "models/trainable.h"
#include "models/transformer.h"

#define RANK_MAX 65536u

/* name, trains, costed, takes an argument */
static const struct {
    const char *name;
    bool trains, costed, takes;
} kinds[TASK_KIND_COUNT] = {
    [TASK_PRETRAIN] = {"pretrain", true, true, false},
    [TASK_SFT] = {"sft", true, true, false},
    [TASK_LORA] = {"lora", true, true, true},
    [TASK_FREEZE] = {"freeze", true, true, true},
    [TASK_PREFILL] = {"prefill", false, true, false},
    [TASK_DECODE] = {"decode", false, true, false},
    [TASK_ZO] = {"zo", true, true, false},
    [TASK_SERVE] = {"serve", false, false, false},
    [TASK_ITERATE] = {"iterate", true, false, false},
};

static bool read_rank(const char *text, struct diag_place place, uint32_t *out, struct diag *diag)
{
    uint32_t rank = 0;
    for (const char *c = text; *c >= '0' && *c <= '9' && rank <= RANK_MAX; c++) {
        rank = 10 * rank + (uint32_t)(*c - '0');
    }
    if (rank < 1 || rank > RANK_MAX || text[strspn(text, "0123456789")] != '\0') {
        return diag_push(diag, DIAG_P401, place, "such as lora:16",
                         "the rank of adapters is '%s': it must be a number from 1 to %u", text,
                         RANK_MAX);
    }
    *out = rank;
    return true;
}

/* The words between commas. */
static const char *const *read_parts(const char *text, struct arena *arena)
{
    uint32_t count = 1;
    for (const char *c = text; *c != '\0'; c++) {
        count += *c == ',' ? 1 : 0;
    }
    const char **parts = ARENA_PUSH(arena, const char *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const size_t length = strcspn(text, ",");
        parts[i] = text_build_copy(arena, text, length);
        text += length + 1;
    }
    return parts;
}

static bool read_argument(const char *argument, struct diag_place place, struct arena *arena,
                          struct task *task, struct diag *diag)
{
    if (task->kind == TASK_LORA) {
        return read_rank(argument, place, &task->adapter_rank, diag);
    }
    task->frozen = read_parts(argument, arena);
    return true;
}

bool task_read(const char *text, struct diag_place place, struct arena *arena, struct task *out,
               struct diag *diag)
{
    struct task task = {.text = text, .kind = TASK_KIND_COUNT};
    const size_t length = strcspn(text, ":");
    for (uint32_t i = 0; i < TASK_KIND_COUNT; i++) {
        if (strlen(kinds[i].name) == length && strncmp(kinds[i].name, text, length) == 0) {
            task.kind = (enum task_kind)i;
        }
    }
    if (task.kind == TASK_KIND_COUNT) {
        return diag_push(diag, DIAG_P401, place, "tasks are " TASK_FORMS, "task '%s' is not known",
                         text);
    }
    const bool given = text[length] == ':' && text[length + 1] != '\0';
    if (given != kinds[task.kind].takes) {
        return diag_push(diag, DIAG_P401, place, "tasks are " TASK_FORMS,
                         given ? "task '%s' takes nothing behind a colon"
                               : "task '%s' needs something behind a colon",
                         text);
    }
    if (given && !read_argument(text + length + 1, place, arena, &task, diag)) {
        return false;
    }
    *out = task;
    return true;
}

bool task_trains(const struct task *task)
{
    return kinds[task->kind].trains;
}

bool task_generates(const struct task *task)
{
    return task->kind == TASK_PREFILL || task->kind == TASK_DECODE;
}

bool task_is_costed(const struct task *task)
{
    return kinds[task->kind].costed;
}

static bool something_trains(const struct model *model)
{
    for (uint32_t i = 0; i < model->tensor_count; i++) {
        if (model->tensors[i].class == TENSOR_WEIGHT && !model->tensors[i].frozen) {
            return true;
        }
    }
    return false;
}

/* Generating, latent attention takes another form. */
static bool adapt_decoding(const struct model *model, struct arena *arena, struct model *out,
                           struct diag *diag)
{
    struct model form = *model;
    if (model->transformer != NULL && model->transformer->mla.kv_rank > 0) {
        struct transformer shape = *model->transformer;
        shape.decodes = true;
        if (!transformer_build(&shape, model->name, arena, &form, diag)) {
            return false;
        }
        form.source = model->source;
        form.digest = model->digest;
    }
    if (!trainable_freeze(&form, NULL, arena, out, diag)) {
        return false;
    }
    out->base = model;
    return true;
}

bool task_adapt(const struct task *task, const struct model *model, struct arena *arena,
                struct model *out, struct diag *diag)
{
    const struct diag_place nowhere = {0};
    switch (task->kind) {
    case TASK_LORA: return trainable_adapt(model, task->adapter_rank, arena, out, diag);
    case TASK_FREEZE: {
        struct model adapted;
        if (!trainable_freeze(model, task->frozen, arena, &adapted, diag)) {
            return false;
        }
        if (!something_trains(&adapted)) {
            return diag_push(diag, DIAG_P405, nowhere, "leave one out",
                             "task '%s' freezes every part of model '%s'", task->text, model->name);
        }
        *out = adapted;
        return true;
    }
    case TASK_DECODE: return adapt_decoding(model, arena, out, diag);
    case TASK_PREFILL:
    case TASK_SERVE: return trainable_freeze(model, NULL, arena, out, diag);
    case TASK_PRETRAIN:
    case TASK_SFT:
    case TASK_ZO:
    case TASK_ITERATE:
    case TASK_KIND_COUNT: break;
    }
    *out = *model;
    return true;
}

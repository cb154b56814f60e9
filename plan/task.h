/* What one step does with the model: train all of it, train a part of it, or run it forward. */
#ifndef SHARDPLAN_PLAN_TASK_H
#define SHARDPLAN_PLAN_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "models/model.h"

enum task_kind {
    TASK_PRETRAIN,
    TASK_SFT,                   /* supervised fine-tuning: every weight, like pretraining */
    TASK_LORA,                  /* low-rank adapters beside frozen matrices */
    TASK_FREEZE,                /* some parts of the model are not trained */
    TASK_PREFILL,               /* prompts run forward, their keys and values stay */
    TASK_DECODE,                /* one more token for every sequence */
    TASK_ZO,                    /* zeroth-order: every weight, by optimizer "zo" */
    TASK_SERVE,                 /* prefill and decode mixed, not costed yet */
    TASK_ITERATE,               /* an operator graph's own iteration, not costed yet */
    TASK_KIND_COUNT
};

struct task {
    enum task_kind kind;
    const char *text;           /* as written: "lora:16" */
    const char *const *frozen;  /* TASK_FREEZE: names of parts, NULL-terminated */
    uint32_t adapter_rank;      /* TASK_LORA, >= 1 */
};

#define TASK_FORMS "pretrain, sft, lora:RANK, freeze:PART[,PART...], zo, prefill, decode"

/* Reads "lora:16" and the like; P401 names the forms. */
bool task_read(const char *text, struct diag_place place, struct arena *arena, struct task *out,
               struct diag *diag);
/* Is there a backward, are there gradients and an update? */
bool task_trains(const struct task *task);
/* Prompts are read or tokens generated: lengths of prompt and output have a meaning. */
bool task_generates(const struct task *task);
/* Can the judges cost it? */
bool task_is_costed(const struct task *task);
/* The model that the step runs: `model` itself, or with adapters, or with frozen weights. P402: a
 * part to freeze that the model does not have, or nothing left to train. */
bool task_adapt(const struct task *task, const struct model *model, struct arena *arena,
                struct model *out, struct diag *diag);

#endif

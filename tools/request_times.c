/* The same plan judged for the prompt of one request, then for one more token of all. */
#include "tools/request_times.h"

struct request_times {
    double ttft_s, tpot_s; /* < 0: the plan cannot do that */
    uint64_t token_bytes;  /* of keys and values, over all layers */
    uint64_t state_bytes;  /* of a request besides: states of scans */
    double kv_bytes;       /* of all requests at their longest */
};

/* The same question about the other task: the model has another form there. */
static void ask(struct command *command, const struct question *question, enum task_kind kind,
                struct question *out)
{
    const struct model *base =
        question->model.base == NULL ? &question->model : question->model.base;
    struct diag ignored;
    diag_init(&ignored, command->arena);
    *out = *question;
    out->problem = (struct problem){&out->model, &out->cluster, &out->setup};
    out->setup.task.kind = kind;
    if (!task_adapt(&out->setup.task, base, command->arena, &out->model, &ignored)) {
        BUG("model '%s' was adapted to task '%s', but not to its twin", base->name,
            question->setup.task.text);
    }
}

/* The prompt of one request per replica, alone on the machine: nobody queues before it. */
static void ask_prefill(struct command *command, const struct question *question, struct plan *plan,
                        struct question *out)
{
    ask(command, question, TASK_PREFILL, out);
    out->setup.seq_length = question->setup.prompt_length;
    plan->schedule.micro_batch = 1;
    out->setup.global_batch = plan_count_replicas(&out->problem, plan);
}

static void ask_decode(struct command *command, const struct question *question,
                       struct question *out)
{
    ask(command, question, TASK_DECODE, out);
    out->setup.seq_length = question->setup.prompt_length + question->setup.output_length;
}

static bool is_legal(struct command *command, const struct question *question,
                     const struct plan *plan)
{
    struct diag ignored;
    diag_init(&ignored, command->arena);
    return plan_check(&question->problem, plan, &ignored) &&
           plan_check_costed(&question->problem, plan, &ignored);
}

/* One micro-batch passes the same layers whatever the schedule: where its own does not run with so
 * few, the first one that does. */
static bool settle_schedule(struct command *command, const struct question *question,
                            struct plan *plan)
{
    if (is_legal(command, question, plan)) {
        return true;
    }
    plan->schedule.chunks = 1;
    plan->schedule.layers = NULL;
    for (uint32_t i = 0; i < schedule_table_count; i++) {
        plan->schedule.schedule = schedule_table[i];
        if (is_legal(command, question, plan)) {
            return true;
        }
    }
    return false;
}

static double time_of(struct command *command, const struct question *question, struct plan *plan)
{
    struct verdict verdict;
    if (!settle_schedule(command, question, plan)) {
        return -1.0;
    }
    report_judge(command, question, plan, &verdict);
    return verdict.estimate.step_s;
}

static void find(struct command *command, const struct question *question,
                 const struct verdict *verdict, struct request_times *out)
{
    struct question *other = ARENA_PUSH(command->arena, struct question, 1);
    struct plan plan = *verdict->plan;
    const bool prefill = question->setup.task.kind == TASK_PREFILL;
    ask_prefill(command, question, &plan, other);
    out->ttft_s = time_of(command, other, &plan);
    if (prefill) {
        plan = *verdict->plan;
        ask_decode(command, question, other);
        out->tpot_s = time_of(command, other, &plan);
    } else {
        out->tpot_s = verdict->estimate.step_s;
    }
    const struct setup *setup = &question->setup;
    const double elements = (double)model_count_cache_elements(&question->model);
    const double state = (double)model_count_state_elements(&question->model);
    out->token_bytes = (uint64_t)(elements * dtype_bytes(setup->cache_dtype) + 0.5);
    out->state_bytes = (uint64_t)(state * dtype_bytes(setup->cache_dtype) + 0.5);
    out->kv_bytes =
        ((double)out->token_bytes * (double)setup->seq_length + (double)out->state_bytes) *
        (double)setup->global_batch;
}

static void push_time(const char *key, double value_s, struct json_writer *out)
{
    json_push_key(out, key);
    if (value_s < 0.0) {
        json_push_null(out);
    } else {
        json_push_double(out, value_s);
    }
}

void request_times_push(struct command *command, const struct question *question,
                        const struct verdict *verdict, struct json_writer *out)
{
    struct request_times times;
    find(command, question, verdict, &times);
    push_time("ttft_s", times.ttft_s, out);
    push_time("tpot_s", times.tpot_s, out);
    json_push_key_double(out, "kv_bytes", times.kv_bytes);
    json_push_key_u64(out, "kv_bytes_per_token", times.token_bytes);
    json_push_key_u64(out, "state_bytes_per_request", times.state_bytes);
}

static const char *seconds(struct arena *arena, double value_s)
{
    return value_s < 0.0 ? "not with this plan" : report_seconds(arena, value_s);
}

void request_times_dump(struct command *command, const struct question *question,
                        const struct verdict *verdict)
{
    struct request_times times;
    struct arena *arena = command->arena;
    find(command, question, verdict, &times);
    text_push(&command->out,
              "tokens   first after %s (a prompt alone on the machine), then one each %s\n",
              seconds(arena, times.ttft_s), seconds(arena, times.tpot_s));
    text_push(&command->out, "cache    %s bytes of keys and values per token",
              report_count(arena, times.token_bytes));
    if (times.state_bytes > 0) {
        text_push(&command->out, ", %s of states per request",
                  report_count(arena, times.state_bytes));
    }
    text_push(&command->out, ", %s in all\n", report_bytes(arena, times.kv_bytes));
}

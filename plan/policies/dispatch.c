/* Requests that come over time are handed to replicas. */
#include "plan/policy.h"

extern const struct policy policy_dispatch;

static const char *const rules[] = {"round-robin", "least-loaded", "shortest-queue", "predicted",
                                    NULL};

static const struct policy_field fields[] = {
    {.key = "to",
     .kind = POLICY_FIELD_WORD,
     .choices = rules,
     .required = true,
     .summary = "which replica"},
    {.key = "admit", .kind = POLICY_FIELD_COUNT, .summary = "requests inside at once"},
    {.key = "batch", .kind = POLICY_FIELD_COUNT, .summary = "requests run together"},
    {.key = "quotas", .kind = POLICY_FIELD_NUMBERS, .summary = "share of each client or replica"},
    {.key = "rate", .kind = POLICY_FIELD_NUMBER, .summary = "arrivals per second"},
    {.key = "hand_over",
     .kind = POLICY_FIELD_WORDS,
     .summary = "groups that pass requests on, in order"},
    POLICY_SELECTOR_TENSORS,
    POLICY_SELECTORS,
};

const struct policy policy_dispatch = {
    .name = "dispatch",
    .summary = "arrivals to replicas, admission, batching, quotas",
    .order = 100,
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
    .refuses = policy_refuse_kind,
};

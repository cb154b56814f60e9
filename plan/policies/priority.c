/* Messages are ordered, may overtake, may be lost. */
#include "plan/policy.h"

extern const struct policy policy_priority;

static const char *const orders[] = {"first-needed", "first-ready", "smallest", "shared", NULL};

static const struct policy_field fields[] = {
    {.key = "order",
     .kind = POLICY_FIELD_WORD,
     .choices = orders,
     .required = true,
     .summary = "who goes first"},
    {.key = "preempts", .kind = POLICY_FIELD_BOOL, .summary = "a message may stop another"},
    {.key = "loss_frac",
     .kind = POLICY_FIELD_FRACTION,
     .summary = "share of packets that may be lost"},
    {.key = "timeout",
     .kind = POLICY_FIELD_QUANTITY,
     .unit = UNIT_SECONDS,
     .summary = "until a message is given up"},
    {.key = "links", .kind = POLICY_FIELD_WORDS, .summary = "link kinds it is for"},
    POLICY_SELECTOR_TENSORS,
    POLICY_SELECTORS,
};

const struct policy policy_priority = {
    .name = "priority",
    .summary = "order and preemption on links, loss tolerance, timeouts",
    .order = 90,
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
    .refuses = policy_refuse_kind,
};

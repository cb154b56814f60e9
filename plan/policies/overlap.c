/* Some work runs under other work, at a price to both. */
#include "plan/policy.h"

extern const struct policy policy_overlap;

static const char *const unders[] = {"next-op", "forward",   "backward", "optimizer",
                                     "lookup",  "next-step", "nothing",  NULL};
static const char *const engines[] = {"compute", "copy", "network", NULL};

static const struct policy_field fields[] = {
    {.key = "under",
     .kind = POLICY_FIELD_WORDS,
     .choices = unders,
     .required = true,
     .summary = "what hides it"},
    {.key = "chunks", .kind = POLICY_FIELD_COUNT, .summary = "pieces"},
    {.key = "engine",
     .kind = POLICY_FIELD_WORD,
     .choices = engines,
     .summary = "who moves the bytes"},
    {.key = "decomposition_loss_frac",
     .kind = POLICY_FIELD_NUMBER,
     .summary = "slow-down of work cut into pieces"},
    {.key = "contention_loss_frac",
     .kind = POLICY_FIELD_NUMBER,
     .summary = "slow-down of work that shares the device with messages"},
    POLICY_SELECTOR_TENSORS,
    POLICY_SELECTORS,
};

const struct policy policy_overlap = {
    .name = "overlap",
    .summary = "what runs under what, in how many pieces, on which engine",
    .order = 40,
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
    .refuses = policy_refuse_kind,
};

/* Ranks get amounts of their own. */
#include "plan/policy.h"

extern const struct policy policy_balance;

static const char *const units[] = {"sequences", "blocks", "samples", "width", NULL};
static const char *const methods[] = {"packing", "placement", "context-groups",
                                      "drop",    "migrate",   NULL};

static const struct policy_field fields[] = {
    {.key = "unit",
     .kind = POLICY_FIELD_WORD,
     .choices = units,
     .required = true,
     .summary = "what is handed out"},
    {.key = "method", .kind = POLICY_FIELD_WORD, .choices = methods, .summary = "how"},
    {.key = "block", .kind = POLICY_FIELD_COUNT, .summary = "tokens that stay together"},
    {.key = "amounts", .kind = POLICY_FIELD_NUMBERS, .summary = "share of each rank"},
    {.key = "max_dropped_frac",
     .kind = POLICY_FIELD_FRACTION,
     .summary = "work that may be left out"},
    {.key = "allow_lossy", .kind = POLICY_FIELD_BOOL, .summary = "results may change"},
    POLICY_SELECTOR_TENSORS,
    POLICY_SELECTORS,
};

const struct policy policy_balance = {
    .name = "balance",
    .summary = "per-rank amounts: packing, placement, dropped or migrated work",
    .order = 70,
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
    .refuses = policy_refuse_kind,
};

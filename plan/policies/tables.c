/* Embedding tables are cut and cached beside the dense model. */
#include "plan/policy.h"

extern const struct policy policy_tables;

static const char *const splits[] = {"row", "column", "table", "twin", "row-and-column", NULL};

static const struct policy_field fields[] = {
    {.key = "split",
     .kind = POLICY_FIELD_WORD,
     .choices = splits,
     .required = true,
     .summary = "how tables are cut"},
    {.key = "over",
     .kind = POLICY_FIELD_WORDS,
     .target = POLICY_TARGET_RANKS,
     .summary = "dimensions or cluster levels whose ranks hold the shards"},
    {.key = "names", .kind = POLICY_FIELD_WORDS, .selects = true, .summary = "tables; absent: all"},
    {.key = "hot_frac", .kind = POLICY_FIELD_FRACTION, .summary = "rows that stay on the device"},
    {.key = "tier", .kind = POLICY_FIELD_TEXT, .summary = "where the cold rows are"},
    {.key = "cache",
     .kind = POLICY_FIELD_QUANTITY,
     .unit = UNIT_BYTES,
     .summary = "device memory for rows"},
    {.key = "prefetch", .kind = POLICY_FIELD_COUNT, .summary = "batches looked up ahead"},
    {.key = "unique_frac",
     .kind = POLICY_FIELD_FRACTION,
     .summary = "keys left after removing doubles"},
    POLICY_SELECTOR_TENSORS,
    POLICY_SELECTORS,
};

const struct policy policy_tables = {
    .name = "tables",
    .summary = "row, column, table or two-dimensional shards; hot and cold tiers",
    .order = 80,
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
    .refuses = policy_refuse_kind,
};

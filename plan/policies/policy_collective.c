/* One edge class gets an algorithm of its own. */
#include "plan/policy.h"

extern const struct policy policy_collective;

static const char *const layouts[] = {"padded", "grouped", "peer-to-peer", NULL};

static const struct policy_field fields[] = {
    {.key = "algorithm",
     .kind = POLICY_FIELD_TEXT,
     .required = true,
     .summary = "a collective by name, or automatic"},
    {.key = "min_size",
     .kind = POLICY_FIELD_QUANTITY,
     .unit = UNIT_BYTES,
     .summary = "from this buffer size on"},
    {.key = "max_size",
     .kind = POLICY_FIELD_QUANTITY,
     .unit = UNIT_BYTES,
     .summary = "up to this buffer size"},
    {.key = "with_edges",
     .kind = POLICY_FIELD_WORDS,
     .target = POLICY_TARGET_EDGES,
     .summary = "one exchange together with these (tied embeddings with their gradients)"},
    {.key = "layout",
     .kind = POLICY_FIELD_WORD,
     .choices = layouts,
     .summary = "how uneven shares travel"},
    {.key = "in_network", .kind = POLICY_FIELD_BOOL, .summary = "switches reduce"},
    {.key = "late_ranks", .kind = POLICY_FIELD_NUMBERS, .summary = "ranks that arrive late"},
    {.key = "late_by", .kind = POLICY_FIELD_QUANTITY, .unit = UNIT_SECONDS, .summary = "how late"},
    {.key = "link", .kind = POLICY_FIELD_TEXT, .summary = "link kind it is for"},
    POLICY_SELECTOR_TENSORS,
    POLICY_SELECTORS,
};

const struct policy policy_collective = {
    .name = "collective",
    .summary = "algorithm per edge class, size and arrival order",
    .order = 50,
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
    .refuses = policy_refuse_kind,
};

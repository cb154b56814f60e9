/* Fewer bytes travel, for work at both ends and some loss. */
#include "plan/policy.h"

extern const struct policy policy_compress;

static const char *const methods[] = {"low-rank",  "top-k",  "quantize", "sign",
                                      "frequency", "subset", NULL};
static const char *const places[] = {"device", "host", "server", NULL};

static const struct policy_field fields[] = {
    {.key = "method",
     .kind = POLICY_FIELD_WORD,
     .choices = methods,
     .required = true,
     .summary = "how"},
    {.key = "ratio", .kind = POLICY_FIELD_NUMBER, .summary = "size before over size after"},
    {.key = "rank", .kind = POLICY_FIELD_COUNT, .summary = "of a low-rank form"},
    {.key = "bits", .kind = POLICY_FIELD_COUNT, .summary = "per value"},
    {.key = "index_bytes", .kind = POLICY_FIELD_COUNT, .summary = "per value kept"},
    {.key = "error_buffer",
     .kind = POLICY_FIELD_BOOL,
     .summary = "what was lost is added next time"},
    {.key = "reducible",
     .kind = POLICY_FIELD_BOOL,
     .summary = "packed values can be summed; else they are gathered"},
    {.key = "encode_on", .kind = POLICY_FIELD_WORD, .choices = places, .summary = "where"},
    {.key = "two_way", .kind = POLICY_FIELD_BOOL, .summary = "packed on the way back too"},
    {.key = "chunk", .kind = POLICY_FIELD_COUNT, .summary = "elements transformed together"},
    POLICY_SELECTOR_TENSORS,
    POLICY_SELECTORS,
};

const struct policy policy_compress = {
    .name = "compress",
    .summary = "method, ratio, where encoded, on which edges",
    .order = 60,
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
    .refuses = policy_refuse_kind,
};

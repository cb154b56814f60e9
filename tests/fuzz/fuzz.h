/* What libFuzzer calls: one reader on one text. */
#ifndef SHARDPLAN_TESTS_FUZZ_H
#define SHARDPLAN_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

#endif

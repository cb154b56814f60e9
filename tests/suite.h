/* What every Check program does around its cases. */
#ifndef SHARDPLAN_TESTS_SUITE_H
#define SHARDPLAN_TESTS_SUITE_H

#include <check.h>

/* Runs the suite, reports as the environment says (TAP under Meson), frees it. Exit status for main. */
int suite_run(Suite *suite);

/* Path of a file in $SHARDPLAN_SHARED, else in ../shared beside the source tree; if there is none, prints
 * that the test is skipped and exits, so call it before suite_run. Static memory. */
const char *suite_find_shared(const char *relative);

#endif

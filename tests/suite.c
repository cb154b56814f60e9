/* Running one Check suite as one test program. */
#include "tests/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

const char *suite_find_shared(const char *relative)
{
    static char path[4096];
    const char *folder = getenv("SHARDPLAN_SHARED");
    if (folder != NULL && folder[0] != '\0') {
        snprintf(path, sizeof path, "%s/%s", folder, relative);
    } else {
        snprintf(path, sizeof path, "%s/../shared/%s", SHARDPLAN_DATA_DIR, relative);
    }
    if (access(path, R_OK) != 0) {
        printf("1..0 # SKIP no %s\n", path);
        exit(EXIT_SUCCESS);
    }
    return path;
}

/* The main() of every test program: its tests under Check, its results as TAP. */
#ifndef SHARDPLAN_TESTS_TAP_MAIN_H
#define SHARDPLAN_TESTS_TAP_MAIN_H

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check.h>

/* Standard output carries TAP alone: what a test prints goes to standard error instead. */
static inline int tap_run(const char *name, const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(name);
    TCase *group = tcase_create(name);
    for (size_t i = 0; i < count; i++) {
        tcase_add_test(group, tests[i]);
    }
    suite_add_tcase(suite, group);
    char path[32];
    const int output = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    snprintf(path, sizeof path, "/dev/fd/%d", output);
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, path);
    srunner_run_all(runner, CK_SILENT);
    const int failed = srunner_ntests_failed(runner);
    /* Where the output is a file, Check has written at an offset of its own. */
    fcntl(output, F_SETFL, O_APPEND);
    dprintf(output, "# %d passed, %d failed\n", srunner_ntests_run(runner) - failed, failed);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Runs `body` in a process of its own, silently; gives its exit status, or 128 + the signal that
 * ended it. */
static inline int tap_find_end(void (*body)(void))
{
    const pid_t child = fork();
    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) != NULL) {
            body();
        }
        _exit(0);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* TAP_MAIN("arena", test_a, test_b); each a START_TEST ... END_TEST. */
#define TAP_MAIN(name, ...) \
    int main(void) \
    { \
        const TTest *const tests[] = {__VA_ARGS__}; \
        return tap_run(name, tests, sizeof tests / sizeof tests[0]); \
    }

#endif

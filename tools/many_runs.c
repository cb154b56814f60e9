/* Each process runs a stretch of the seeds; their times are put together in order. */
#include "tools/many_runs.h"

#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* A stretch of the runs, done by a process of its own. */
struct stretch {
    uint32_t first, count;
    pid_t process; /* or -1: none could be had */
    int pipe;      /* to read its times from */
};

static bool read_jobs(struct command *command, uint32_t runs, uint32_t *out)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t jobs = cores > 0 ? (uint64_t)cores : 1;
    if (command_has(command, "--jobs") && !command_count(command, "--jobs", &jobs)) {
        return false;
    }
    jobs = jobs > MANY_RUNS_JOBS_MAX ? MANY_RUNS_JOBS_MAX : jobs;
    *out = jobs > runs ? runs : (uint32_t)jobs;
    return true;
}

static bool run_stretch(struct command *command, const struct simulated *simulated,
                        const struct stretch *stretch, double **step_s)
{
    struct sim sim = simulated->sim;
    sim.options.seed += stretch->first;
    return sim_run_many(&sim, &simulated->load, stretch->count, command->arena, step_s,
                        command->diag);
}

static bool write_all(int pipe, const void *bytes, size_t length)
{
    for (const char *at = bytes; length > 0;) {
        const ssize_t written = write(pipe, at, length);
        if (written <= 0) {
            return false;
        }
        at += written;
        length -= (size_t)written;
    }
    return true;
}

static bool read_all(int pipe, void *bytes, size_t length)
{
    for (char *at = bytes; length > 0;) {
        const ssize_t got = read(pipe, at, length);
        if (got <= 0) {
            return false;
        }
        at += got;
        length -= (size_t)got;
    }
    return true;
}

static void open_stretch(struct command *command, const struct simulated *simulated,
                         struct stretch *stretch)
{
    int ends[2];
    stretch->process = -1;
    if (pipe(ends) != 0) {
        return;
    }
    stretch->process = fork();
    if (stretch->process == 0) {
        double *times_s;
        close(ends[0]);
        const bool good = run_stretch(command, simulated, stretch, &times_s) &&
                          write_all(ends[1], times_s, stretch->count * sizeof *times_s);
        _exit(good ? 0 : 1);
    }
    close(ends[1]);
    stretch->pipe = ends[0];
    if (stretch->process < 0) {
        close(ends[0]);
    }
}

/* False: its times are not to be had from it. */
static bool close_stretch(const struct stretch *stretch, double *step_s)
{
    int status = 1;
    if (stretch->process < 0) {
        return false;
    }
    const bool good = read_all(stretch->pipe, step_s, stretch->count * sizeof *step_s);
    close(stretch->pipe);
    return waitpid(stretch->process, &status, 0) == stretch->process && status == 0 && good;
}

static int compare_times(const void *a, const void *b)
{
    const double *one = a, *other = b;
    return *one < *other ? -1 : *one > *other ? 1 : 0;
}

/* What a process cannot do is done here: its fault is then reported as if it were alone. */
static bool join_stretches(struct command *command, const struct simulated *simulated,
                           const struct stretch *stretches, uint32_t jobs, double *step_s)
{
    bool good = true;
    for (uint32_t i = 0; i < jobs; i++) {
        double *own_s = NULL;
        const struct stretch *stretch = &stretches[i];
        if (i > 0 && close_stretch(stretch, &step_s[stretch->first])) {
            continue;
        }
        good = good && run_stretch(command, simulated, stretch, &own_s);
        for (uint32_t run = 0; good && run < stretch->count; run++) {
            step_s[stretch->first + run] = own_s[run];
        }
    }
    return good;
}

bool many_runs_find(struct command *command, struct simulated *simulated, uint32_t runs,
                    double **step_s)
{
    uint32_t jobs;
    if (!read_jobs(command, runs, &jobs)) {
        return false;
    }
    struct stretch *stretches = ARENA_PUSH(command->arena, struct stretch, jobs);
    for (uint32_t i = 0; i < jobs; i++) {
        stretches[i].first = (uint32_t)((uint64_t)runs * i / jobs);
        stretches[i].count = (uint32_t)((uint64_t)runs * (i + 1) / jobs) - stretches[i].first;
        if (i > 0) { /* the first is run by this process */
            open_stretch(command, simulated, &stretches[i]);
        }
    }
    *step_s = ARENA_PUSH(command->arena, double, runs);
    if (!join_stretches(command, simulated, stretches, jobs, *step_s)) {
        return false;
    }
    qsort(*step_s, runs, sizeof **step_s, compare_times);
    return true;
}

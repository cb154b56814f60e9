/* How far a search is, a few times a second, in one line that the answer wipes away. */
#include "tools/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/command.h"

#define QUIET_S 1.0 /* shorter work says nothing */
#define EVERY_S 0.2

void progress_init(struct progress *progress)
{
    memset(progress, 0, sizeof *progress);
    progress->shows = isatty(STDERR_FILENO) == 1;
    progress->start_s = command_now_s();
}

void progress_push(void *state, const struct planner_progress *at)
{
    struct progress *progress = state;
    if (!progress->shows) {
        return;
    }
    const double now_s = command_now_s();
    if (now_s - progress->start_s < QUIET_S || now_s - progress->last_s < EVERY_S) {
        return;
    }
    progress->last_s = now_s;
    fprintf(stderr, "\r\033[K%u of %u meshes %s", at->done, at->total, at->doing);
    if (at->best_s > 0.0) {
        fprintf(stderr, ", best so far %.4g s per step", at->best_s);
    }
    fflush(stderr);
}

void progress_release(struct progress *progress)
{
    if (progress->last_s > 0.0) {
        fprintf(stderr, "\r\033[K");
        fflush(stderr);
    }
    progress->last_s = 0.0;
}

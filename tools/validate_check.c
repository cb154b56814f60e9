/* Limits on errors, and predictions compared with earlier ones. */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/sample.h"
#include "tools/validate.h"

#define CHECK_MAX 512u
/* Groups smaller than this say nothing about a change. */
#define GROUP_MIN 3u

struct checks {
    struct arena *arena;
    struct validate_verdict *out;
    const char **names;
};

static void add_check(struct checks *checks, bool good, const char *name, const char *message)
{
    struct validate_verdict *out = checks->out;
    if (out->checks == CHECK_MAX) {
        return;
    }
    checks->names[out->checks++] = name;
    if (!good) {
        out->failures[out->count++] = (struct validate_failure){name, message};
    }
}

static bool check_limit(struct command *command, struct checks *checks, const char *flag,
                        double value, const char *what)
{
    double limit;
    if (!command_has(command, flag)) {
        return true;
    }
    if (!command_number(command, flag, &limit)) {
        return false;
    }
    add_check(checks, value <= limit, flag,
              text_build(checks->arena, "%s is %.2f %%, above the limit of %.2f %%", what,
                         100.0 * value, 100.0 * limit));
    return true;
}

/* --- earlier predictions --------------------------------------------------------------------- */

struct earlier {
    const char *id;
    double predicted_s, error_frac;
};

static int compare_ids(const void *a, const void *b)
{
    return strcmp(((const struct earlier *)a)->id, ((const struct earlier *)b)->id);
}

static bool read_earlier_row(struct json_value value, struct arena *arena, struct earlier *out,
                             struct diag *diag)
{
    return json_read_string(value, "id", arena, &out->id, diag) &&
           json_read_double(value, "predicted_s", 0.0, 1e12, &out->predicted_s, diag) &&
           json_read_double(value, "error_frac", -1.0, 1e12, &out->error_frac, diag);
}

/* Rows of a file that `validate --json` wrote; skipped ones are left out. */
static bool read_earlier(struct command *command, const char *path, struct earlier **out,
                         uint32_t *count)
{
    struct json *document;
    if (!json_open(path, false, command->arena, &document, command->diag)) {
        return false;
    }
    const struct json_value rows = json_find(json_root(document), "rows");
    bool good = json_is_array(rows);
    if (!good) {
        diag_push(command->diag, DIAG_C732, json_place(json_root(document)),
                  "write one with `shardplan validate --json`", "'%s' has no list of rows", path);
    }
    *count = 0;
    *out = ARENA_PUSH(command->arena, struct earlier, good ? json_count(rows) : 0);
    for (uint32_t i = 0; good && i < json_count(rows); i++) {
        const struct json_value value = json_find_index(rows, i);
        if (json_is_null(json_find(value, "predicted_s"))) {
            continue;
        }
        good = read_earlier_row(value, command->arena, &(*out)[*count], command->diag);
        *count += good ? 1 : 0;
    }
    json_close(document);
    qsort(*out, *count, sizeof **out, compare_ids);
    return good;
}

/* Median of how far predictions moved, and by how much errors grew. */
struct movement {
    uint32_t n;
    double moved_frac, grown_frac;
};

static double median(double *values, uint32_t count)
{
    sample_sort(values, count);
    return sample_quantile(values, count, 0.5);
}

static struct movement find_movement(const struct validation *all,
                                     const struct validate_group *group,
                                     const struct earlier *earlier, uint32_t count,
                                     struct arena *arena)
{
    double *moved = ARENA_PUSH(arena, double, all->count);
    double *grown = ARENA_PUSH(arena, double, all->count);
    struct movement out = {0};
    for (uint32_t i = 0; i < all->count; i++) {
        const struct validated *row = &all->rows[i];
        const struct earlier key = {.id = row->row.id};
        const struct earlier *before =
            validate_is_member(group, row)
                ? bsearch(&key, earlier, count, sizeof *earlier, compare_ids)
                : NULL;
        if (before != NULL) {
            moved[out.n] = number_absolute(row->predicted_s / before->predicted_s - 1.0);
            grown[out.n++] = number_absolute(row->error_frac) - number_absolute(before->error_frac);
        }
    }
    out.moved_frac = median(moved, out.n);
    out.grown_frac = median(grown, out.n);
    return out;
}

static bool compare_earlier(struct command *command, const struct validation *all,
                            struct checks *checks)
{
    const char *path;
    struct earlier *earlier;
    uint32_t count, group_count;
    double limit, drift;
    if (!command_has(command, "--baseline")) {
        return true;
    }
    if (!command_text(command, "--baseline", &path) ||
        !command_number(command, "--max-regression", &limit) ||
        !command_number(command, "--max-drift", &drift) ||
        !read_earlier(command, path, &earlier, &count)) {
        return false;
    }
    const struct validate_group *groups = validate_groups(all, command->arena, &group_count);
    for (uint32_t i = 0; i < group_count; i++) {
        const struct movement moved =
            find_movement(all, &groups[i], earlier, count, command->arena);
        if (moved.n < GROUP_MIN) {
            continue;
        }
        const char *name =
            text_build(command->arena, "%s %s",
                       groups[i].key == NULL ? "rows" : groups[i].key->name, groups[i].value);
        add_check(checks, moved.grown_frac <= limit && moved.moved_frac <= drift, name,
                  text_build(command->arena,
                             "predictions of %u rows moved by %.2f %% (limit %.2f), errors grew by "
                             "%+.2f points (limit %.2f)",
                             moved.n, 100.0 * moved.moved_frac, 100.0 * drift,
                             100.0 * moved.grown_frac, 100.0 * limit));
    }
    return true;
}

bool validate_check(struct command *command, const struct validation *all,
                    struct validate_verdict *out)
{
    uint32_t count;
    const struct validate_group *groups = validate_groups(all, command->arena, &count);
    memset(out, 0, sizeof *out);
    out->failures = ARENA_PUSH(command->arena, struct validate_failure, CHECK_MAX);
    struct checks checks = {command->arena, out,
                            ARENA_PUSH(command->arena, const char *, CHECK_MAX)};
    out->names = checks.names;
    const struct error_summary *time = &groups[0].time, *memory = &groups[0].memory;
    return check_limit(command, &checks, "--max-median-error", time->median_abs_frac,
                       "the median error of time") &&
           check_limit(command, &checks, "--max-p90-error", time->p90_abs_frac,
                       "the 90th percentile of errors of time") &&
           check_limit(command, &checks, "--max-bias", number_absolute(time->bias_frac),
                       "the bias of time") &&
           check_limit(command, &checks, "--max-memory-median-error", memory->median_abs_frac,
                       "the median error of memory") &&
           compare_earlier(command, all, &checks);
}

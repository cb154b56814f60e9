/* Points of a --json answer: a Pareto front, a sweep, predicted over measured steps. */
#include <string.h>

#include "base/json.h"
#include "tools/plot.h"

/* One point with the series it belongs to. */
struct point {
    double x, y;
    const char *series;
};

struct points {
    struct point *items;
    uint32_t count;
    const char **names; /* of x 0, 1, 2 ..., where x is no number; NULL: it is */
    uint32_t name_count;
};

static void push_series(const struct points *points, uint32_t first, uint32_t index,
                        struct text *out)
{
    text_push(out, "$series%u << EOD\n", index);
    for (uint32_t i = first; i < points->count; i++) {
        if (strcmp(points->items[i].series, points->items[first].series) == 0) {
            text_push(out, "%.17g %.17g\n", points->items[i].x, points->items[i].y);
        }
    }
    text_push(out, "EOD\n");
}

static bool is_first(const struct points *points, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(points->items[i].series, points->items[index].series) == 0) {
            return false;
        }
    }
    return true;
}

/* All series with one style; `more` is plotted too. */
static void push_points(const struct points *points, const char *style, const char *more,
                        struct text *out)
{
    struct text plot;
    uint32_t series = 0;
    text_init(&plot, out->arena);
    text_push(&plot, "plot ");
    for (uint32_t i = 0; i < points->count; i++) {
        if (is_first(points, i)) {
            push_series(points, i, series, out);
            text_push(&plot, "%s$series%u using 1:2 with %s title ",
                      series == 0 ? "" : ", \\\n     ", series, style);
            plot_push_text(&plot, points->items[i].series);
            series++;
        }
    }
    text_push(out, "%s%s\n", plot.bytes, more);
}

static void push_axes(const char *title, const char *x, const char *y, struct text *out)
{
    text_push(out, "set title ");
    plot_push_text(out, title);
    text_push(out, "\nset xlabel ");
    plot_push_text(out, x);
    text_push(out, "\nset ylabel ");
    plot_push_text(out, y);
    text_push(out, "\nset grid\n");
}

/* Names in the place of numbers. */
static void push_names(const struct points *points, struct text *out)
{
    text_push(out, "set xtics rotate by -30 (");
    for (uint32_t i = 0; i < points->name_count; i++) {
        text_push(out, "%s", i == 0 ? "" : ", ");
        plot_push_text(out, points->names[i]);
        text_push(out, " %u", i);
    }
    text_push(out, ")\nset xrange [-0.5:%u.5]\n", points->name_count - 1);
}

static bool refuse(struct command *command, const char *path, const char *what)
{
    return diag_push(command->diag, DIAG_C770, (struct diag_place){.file = path}, NULL,
                     "there is nothing to draw: %s", what);
}

/* The rows of an answer, by a function that takes one and says whether it has a point. */
static bool read_points(struct command *command, struct json_value rows,
                        bool (*take)(struct command *, struct json_value, const struct points *,
                                     struct point *),
                        struct points *out)
{
    const uint32_t count = json_is_array(rows) ? json_count(rows) : 0;
    out->items = ARENA_PUSH(command->arena, struct point, count + 1);
    out->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (take(command, json_find_index(rows, i), out, &out->items[out->count])) {
            out->count++;
        }
    }
    return out->count > 0;
}

/* --- Pareto front ----------------------------------------------------------------------------- */

static const struct {
    const char *axis, *key, *label;
} axes[] = {
    {"time", "step_s", "seconds per step"},
    {"cost", "device_s", "device seconds per step"},
    {"energy", "energy_j", "joules per step at rated power"},
    {"memory", "peak_memory_bytes", "bytes of the fullest device"},
};

#define AXIS_COUNT (sizeof axes / sizeof axes[0])

static size_t find_axis(struct json_value pareto, uint32_t index)
{
    const struct json_value list = json_find(pareto, "axes");
    const char *name;
    if (!json_is_array(list) || json_count(list) <= index ||
        !json_value_string(json_find_index(list, index), &name)) {
        return AXIS_COUNT;
    }
    for (size_t i = 0; i < AXIS_COUNT; i++) {
        if (strcmp(axes[i].axis, name) == 0) {
            return i;
        }
    }
    return AXIS_COUNT;
}

static bool draw_front(struct command *command, const char *path, struct json_value pareto,
                       struct text *out)
{
    const size_t x = find_axis(pareto, 0), y = find_axis(pareto, 1);
    const struct json_value list = json_find(pareto, "points");
    const uint32_t count = json_is_array(list) ? json_count(list) : 0;
    struct points points = {.items = ARENA_PUSH(command->arena, struct point, count + 1)};
    for (uint32_t i = 0; i < count && x < AXIS_COUNT && y < AXIS_COUNT; i++) {
        const struct json_value row = json_find_index(list, i);
        struct point *point = &points.items[points.count];
        uint64_t devices;
        if (json_value_double(json_find(row, axes[x].key), &point->x) &&
            json_value_double(json_find(row, axes[y].key), &point->y) &&
            json_value_u64(json_find(row, "devices"), &devices)) {
            point->series = text_build(command->arena, "%llu devices", (unsigned long long)devices);
            points.count++;
        }
    }
    if (points.count == 0) {
        return refuse(command, path, "the file must be what `plan --pareto --json` prints");
    }
    push_axes("Plans that none beats in both", axes[x].label, axes[y].label, out);
    push_points(&points, "linespoints pt 7", "", out);
    return true;
}

/* --- sweep ------------------------------------------------------------------------------------ */

/* A number; of "dgx-h100:8" what stands behind the colon. */
static bool read_number(struct json_value value, double *out)
{
    const char *text;
    if (json_value_double(value, out)) {
        return true;
    }
    if (!json_value_string(value, &text)) {
        return false;
    }
    const char *colon = strrchr(text, ':');
    const char *at = colon == NULL ? text : colon + 1;
    return command_parse_number(&at, out) && *at == '\0';
}

static const char *name_of(struct command *command, struct json_value value)
{
    const char *text;
    if (json_is_absent(value)) {
        return "";
    }
    return json_value_string(value, &text) ? text : json_value_text(value, command->arena);
}

/* Values that are words, or numbers behind different words ("dgx-h100:8", "dgx-a100:8"): each is a
 * name of its own. */
static bool has_names(struct json_value rows, const char *x)
{
    const char *stem = NULL;
    size_t length = 0;
    bool names = false;
    for (uint32_t i = 0; i < json_count(rows) && !names; i++) {
        const struct json_value value = json_find(json_find_index(rows, i), x);
        const char *text;
        double number;
        if (!json_value_string(value, &text)) {
            continue;
        }
        const char *colon = strrchr(text, ':');
        const size_t own = colon == NULL ? 0 : (size_t)(colon - text);
        names = !read_number(value, &number) ||
                (stem != NULL && (own != length || strncmp(stem, text, own) != 0));
        stem = text;
        length = own;
    }
    return names;
}

/* Every name once, in the order of the rows. */
static void list_names(struct command *command, struct json_value rows, const char *x,
                       struct points *out)
{
    out->names = ARENA_PUSH(command->arena, const char *, json_count(rows));
    for (uint32_t i = 0; i < json_count(rows); i++) {
        const struct json_value value = json_find(json_find_index(rows, i), x);
        const char *text = name_of(command, value);
        uint32_t place = 0;
        while (place < out->name_count && strcmp(out->names[place], text) != 0) {
            place++;
        }
        if (place == out->name_count) {
            out->names[out->name_count++] = text;
        }
    }
}

static bool find_x(struct command *command, const struct points *points, struct json_value value,
                   double *out)
{
    if (points->names == NULL) {
        return read_number(value, out);
    }
    const char *text = name_of(command, value);
    uint32_t place = 0;
    while (strcmp(points->names[place], text) != 0) {
        place++;
    }
    *out = place;
    return true;
}

static bool take_swept(struct command *command, struct json_value row, const struct points *points,
                       struct point *out)
{
    const char *x, *y, *by;
    if (!command_text(command, "--x", &x) || !command_text(command, "--y", &y) ||
        !find_x(command, points, json_find(row, x), &out->x) ||
        !read_number(json_find(row, y), &out->y)) {
        return false;
    }
    out->series = y;
    if (!command_has(command, "--by")) {
        return true;
    }
    if (!command_text(command, "--by", &by)) {
        return false;
    }
    const struct json_value value = json_find(row, by);
    out->series = json_is_absent(value)
                      ? text_build(command->arena, "no %s", by)
                      : text_build(command->arena, "%s %s", by, name_of(command, value));
    return true;
}

static bool draw_swept(struct command *command, const char *path, struct json_value root,
                       struct text *out)
{
    const struct json_value rows = json_find(root, "rows");
    struct points points = {.names = NULL};
    const char *x, *y;
    if (!command_text(command, "--x", &x) || !command_text(command, "--y", &y)) {
        return false;
    }
    if (json_is_array(rows) && has_names(rows, x)) {
        list_names(command, rows, x, &points);
    }
    if (!read_points(command, rows, take_swept, &points)) {
        return refuse(command, path,
                      text_build(command->arena,
                                 "no row of what `sweep --json` prints has numbers '%s' and '%s'",
                                 x, y));
    }
    push_axes(text_build(command->arena, "%s over %s", y, x), x, y, out);
    text_push(out, "set yrange [0:*]\n");
    if (points.names != NULL) {
        push_names(&points, out);
    }
    push_points(&points, "linespoints pt 7", "", out);
    return true;
}

/* --- validation ------------------------------------------------------------------------------- */

static bool take_measured(struct command *command, struct json_value row,
                          const struct points *points, struct point *out)
{
    (void)command;
    (void)points;
    out->series = "steps";
    return json_value_double(json_find(row, "measured_s"), &out->x) &&
           json_value_double(json_find(row, "predicted_s"), &out->y) && out->x > 0.0 &&
           out->y > 0.0;
}

static bool draw_measured(struct command *command, const char *path, struct json_value root,
                          struct text *out)
{
    struct points points = {.names = NULL};
    if (!read_points(command, json_find(root, "rows"), take_measured, &points)) {
        return refuse(command, path, "the file must be what `validate --json` prints");
    }
    push_axes("Predicted over measured steps", "measured seconds", "predicted seconds", out);
    text_push(out, "set logscale xy\nset key left\n");
    push_points(&points, "points pt 7 ps 0.5",
                ", \\\n     x title 'equal' with lines lc rgb '#000000', \\\n     1.1 * x title "
                "'10 % apart' with lines dt 2 lc rgb '#777777', \\\n     x / 1.1 notitle with "
                "lines dt 2 lc rgb '#777777'",
                out);
    return true;
}

/* ---------------------------------------------------------------------------------------------- */

static bool draw_json(struct command *command, const char *path, struct text *out,
                      bool (*draw)(struct command *, const char *, struct json_value,
                                   struct text *))
{
    struct json *document;
    if (!json_open(path, false, command->arena, &document, command->diag)) {
        return false;
    }
    const bool good = draw(command, path, json_root(document), out);
    json_close(document);
    return good;
}

static bool draw_pareto_of(struct command *command, const char *path, struct json_value root,
                           struct text *out)
{
    return draw_front(command, path, json_find(root, "pareto"), out);
}

static bool draw_pareto(struct command *command, const char *path, struct text *out)
{
    return draw_json(command, path, out, draw_pareto_of);
}

static bool draw_sweep(struct command *command, const char *path, struct text *out)
{
    return draw_json(command, path, out, draw_swept);
}

static bool draw_validation(struct command *command, const char *path, struct text *out)
{
    return draw_json(command, path, out, draw_measured);
}

const struct plot_kind plot_pareto = {
    .name = "pareto",
    .summary = "the answer of `plan --pareto --json`: its front",
    .draw = draw_pareto,
};

const struct plot_kind plot_sweep = {
    .name = "sweep",
    .summary = "the answer of `sweep --json`: --y over --x, a line per value of --by",
    .draw = draw_sweep,
};

const struct plot_kind plot_validation = {
    .name = "validation",
    .summary = "the answer of `validate --json`: predicted over measured steps",
    .draw = draw_validation,
};

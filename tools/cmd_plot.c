/* `shardplan plot`: pictures, drawn by gnuplot. */
#include <stdio.h>
#include <string.h>

#include "tools/plot.h"

extern const struct command_kind command_plot;

static const struct plot_kind *const kinds[] = {
    &plot_timeline, &plot_memory, &plot_pareto, &plot_sweep, &plot_validation,
};

#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

void plot_push_text(struct text *out, const char *text)
{
    text_push(out, "'");
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            text_push(out, "''");
        } else {
            text_push(out, "%c", (unsigned char)*text < ' ' ? ' ' : *text);
        }
    }
    text_push(out, "'");
}

/* --- gnuplot ---------------------------------------------------------------------------------- */

static const struct {
    const char *ending, *terminal;
} terminals[] = {
    {".svg", "svg size 1200,700 dynamic background rgb '#ffffff' noenhanced"},
    {".png", "pngcairo size 1200,700 noenhanced"},
    {".pdf", "pdfcairo size 12,7 noenhanced"},
};

static const char *find_terminal(const char *path)
{
    const char *ending = strrchr(path, '.');
    for (size_t i = 0; ending != NULL && i < sizeof terminals / sizeof terminals[0]; i++) {
        if (strcmp(ending, terminals[i].ending) == 0) {
            return terminals[i].terminal;
        }
    }
    return NULL;
}

static bool run_gnuplot(struct command *command, const char *path, const struct text *script)
{
    FILE *gnuplot = popen("command -v gnuplot > /dev/null && exec gnuplot", "w");
    if (gnuplot == NULL) {
        return diag_push(command->diag, DIAG_C708, (struct diag_place){0}, NULL,
                         "cannot start gnuplot");
    }
    const bool written = fwrite(script->bytes, 1, script->length, gnuplot) == script->length;
    const int status = pclose(gnuplot);
    return (written && status == 0) ||
           diag_push(command->diag, DIAG_C708, (struct diag_place){0},
                     "install gnuplot (apt install gnuplot-nox), or leave -o out for the script",
                     "gnuplot did not draw '%s'", path);
}

static bool draw_file(struct command *command, const struct text *script)
{
    const char *path;
    struct text all;
    if (!command_text(command, "-o", &path)) {
        return false;
    }
    const char *terminal = find_terminal(path);
    if (terminal == NULL) {
        return diag_push(command->diag, DIAG_C704, (struct diag_place){0}, NULL,
                         "-o is '%s': its name must end in .svg, .png or .pdf", path);
    }
    text_init(&all, command->arena);
    text_push(&all, "set terminal %s\nset output ", terminal);
    plot_push_text(&all, path);
    text_push(&all, "\n");
    text_push_bytes(&all, script->bytes, script->length);
    /* What cannot be written is better told by us than by gnuplot. */
    struct text nothing;
    text_init(&nothing, command->arena);
    return command_write(command, path, &nothing) && run_gnuplot(command, path, &all);
}

/* ---------------------------------------------------------------------------------------------- */

static const struct plot_kind *find_kind(struct command *command)
{
    const char *names[KIND_COUNT];
    for (size_t i = 0; i < KIND_COUNT; i++) {
        names[i] = kinds[i]->name;
        if (strcmp(names[i], command->positional[0]) == 0) {
            return kinds[i];
        }
    }
    diag_push(command->diag, DIAG_C710, (struct diag_place){0},
              command_hint(command, command->positional[0], names, KIND_COUNT,
                           "timeline, memory, pareto, sweep, validation"),
              "'%s' is no kind of picture", command->positional[0]);
    return NULL;
}

static int run(struct command *command)
{
    const struct plot_kind *kind = find_kind(command);
    struct text script;
    text_init(&script, command->arena);
    if (kind == NULL || !kind->draw(command, command->positional[1], &script)) {
        return command_fail(command);
    }
    if (command_has(command, "-o")) {
        return draw_file(command, &script) ? 0 : command_fail(command);
    }
    text_push_bytes(&command->out, script.bytes, script.length);
    return 0;
}

static const struct flag flags[] = {
    {.name = "-o",
     .kind = FLAG_TEXT,
     .value = "FILE",
     .help = "let gnuplot draw FILE.svg, .png or .pdf",
     .absent = "the gnuplot script on standard output"},
    {.name = NULL},
};

static const struct flag sweep_flags[] = {
    {.name = "--x",
     .kind = FLAG_TEXT,
     .value = "KEY",
     .help = "what varies to the right; of 'dgx-h100:8' the number counts",
     .fallback = "--cluster"},
    {.name = "--y",
     .kind = FLAG_TEXT,
     .value = "KEY",
     .help = "what is drawn",
     .fallback = "step_s"},
    {.name = "--by",
     .kind = FLAG_TEXT,
     .value = "KEY",
     .help = "a line for each value of this",
     .absent = "one line"},
    {.name = NULL},
};

static const struct flag_group groups[] = {
    {.title = "The picture", .flags = flags},
    {.title = "A sweep", .flags = sweep_flags},
    {.title = NULL},
};

const struct command_kind command_plot = {
    .name = "plot",
    .usage = "shardplan plot (timeline|memory|pareto|sweep|validation) FILE [-o PICTURE]",
    .summary = "pictures of plans and answers, drawn by gnuplot",
    .lesson = "  timeline    a saved plan, simulated: what each stage runs when\n"
              "  memory      a saved plan, simulated: how full a device of each stage is\n"
              "  pareto      the answer of `plan --pareto --json`\n"
              "  sweep       the answer of `sweep --json`: --y over --x\n"
              "  validation  the answer of `validate --json`: predicted over measured\n\n"
              "  shardplan plot timeline plan.json -o timeline.svg\n"
              "  shardplan plot sweep scaling.json --x --cluster --y mfu_frac -o scaling.png\n",
    .groups = groups,
    .positional_min = 2,
    .positional_max = 2,
    .run = run,
};

/* `shardplan plot`: pictures, drawn by gnuplot. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
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

static bool has_gnuplot(struct command *command)
{
    return system("command -v gnuplot > /dev/null") == 0 ||
           diag_push(command->diag, DIAG_C708, (struct diag_place){0},
                     "install it (apt install gnuplot-nox), or leave -o out for the script",
                     "there is no gnuplot to draw with");
}

/* A gnuplot that ends early is told by its status, not by a signal to us. */
static bool run_gnuplot(struct command *command, const char *path, const struct text *script)
{
    struct sigaction before, ignored = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignored, &before);
    FILE *gnuplot = popen("gnuplot", "w");
    bool good = gnuplot != NULL;
    if (good) {
        good = fwrite(script->bytes, 1, script->length, gnuplot) == script->length;
        good = pclose(gnuplot) == 0 && good;
    }
    sigaction(SIGPIPE, &before, NULL);
    return good || diag_push(command->diag, DIAG_C708, (struct diag_place){0}, NULL,
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
    return has_gnuplot(command) && command_write(command, path, &nothing) &&
           run_gnuplot(command, path, &all);
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

static bool check_flags(struct command *command, const struct plot_kind *kind)
{
    for (uint32_t i = 0; sweep_flags[i].name != NULL; i++) {
        if (kind != &plot_sweep && command_has(command, sweep_flags[i].name)) {
            return diag_push(command->diag, DIAG_C709, (struct diag_place){0}, NULL,
                             "%s is for `plot %s`, not for `plot %s`", sweep_flags[i].name,
                             plot_sweep.name, kind->name);
        }
    }
    return !command->json || !command_has(command, "-o") ||
           diag_push(command->diag, DIAG_C709, (struct diag_place){0}, NULL,
                     "--json gives the script as one string, -o a picture: not both");
}

/* The script, alone or as a string of an object. */
static void push_script(struct command *command, const struct plot_kind *kind,
                        const struct text *script)
{
    struct json_writer out;
    if (!command->json) {
        text_push_bytes(&command->out, script->bytes, script->length);
        return;
    }
    json_writer_init(&out, &command->out, false);
    json_push_object(&out);
    json_push_key_string(&out, "version", SHARDPLAN_VERSION);
    json_push_key_string(&out, "kind", kind->name);
    json_push_key_string(&out, "script", script->bytes);
    json_pop_object(&out);
    text_push(&command->out, "\n");
}

static int run(struct command *command)
{
    const struct plot_kind *kind = find_kind(command);
    struct text script;
    text_init(&script, command->arena);
    if (kind == NULL || !check_flags(command, kind) ||
        !kind->draw(command, command->positional[1], &script)) {
        return command_fail(command);
    }
    if (command_has(command, "-o")) {
        return draw_file(command, &script) ? 0 : command_fail(command);
    }
    push_script(command, kind, &script);
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

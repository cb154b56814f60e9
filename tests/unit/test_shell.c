/* Words of commands are those that bash makes of the same script; what only a run would tell stays
 * open. */
#include "base/shell.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tests/tap_main.h"

static struct arena arena;
static struct diag diag;

static bool read_script(const char *text, const char *given, struct shell_script *out)
{
    static bool used[64];
    static struct setting_given names;
    names = (struct setting_given){.list = given, .used = used};
    arena_init(&arena);
    diag_init(&diag, &arena);
    out->given = &names;
    return shell_read("t.sh", text, strlen(text), &arena, out, &diag);
}

/* Commands called "run", a word in brackets. */
static const char *words_of(const struct shell_script *script)
{
    struct text text;
    text_init(&text, &arena);
    for (uint32_t i = 0; i < script->count; i++) {
        const struct shell_command *command = &script->commands[i];
        if (strcmp(command->words[0].text, "run") == 0) {
            for (uint32_t k = 1; k < command->count; k++)
                text_push(&text, "[%s]", command->words[k].text);
            text_push(&text, "\n");
        }
    }
    return text.bytes;
}

static const char *bash_of(const char *script)
{
    static const char head[] = "run() { [ $# = 0 ] || printf '[%s]' \"$@\"; echo; }\n";
    struct text text;
    char path[64], command[128], buffer[4096];
    text_init(&text, &arena);
    snprintf(path, sizeof path, "/tmp/shardplan-%ld.sh", (long)getpid());
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%s%s", head, script);
    fclose(file);
    snprintf(command, sizeof command, "bash %s", path);
    FILE *answer = popen(command, "r");
    ck_assert_ptr_nonnull(answer);
    for (size_t got = 0; (got = fread(buffer, 1, sizeof buffer, answer)) > 0;)
        text_push_bytes(&text, buffer, got);
    ck_assert_int_eq(pclose(answer), 0);
    remove(path);
    return text.bytes;
}

START_TEST(words_are_those_of_bash)
{
    static const char *const scripts[] = {
        "run a 'b c' \"d e\"f g\\ h \"i\\\"j\" k\\\n  l\nrun",
        "A=1 B='x  y'\nrun $A$B \"$A$B\" ${A}0 '$A' \"\" '' a\"\"b",
        "A=(--one 1 # tail\n  \"two words\"\n '$three')\nA+=(--four \"\")\n"
        "run ${A[@]}\nrun \"${A[@]}\" ${A[1]} \"${A[2]}\" $A\nrun pre${A[@]}post "
        "\"pre${A[@]}post\"",
        "A=x\nA+=y\nB=${C:-d e} C=\nrun $A \"$B\" $B \"${C:-f}\" \"${C-g}\" ${D:-${A}z}",
        "N=8 M=$((N * (2 + 1) - 7 / 2 % 3))\nrun $M $((M%10)) $(($M*$N))",
        "run a >/dev/stdout b 2>/dev/null c 2>&1 d </dev/null | cat",
        "run a; run b && run c\nrun d # e\nrun f#g",
        "cat >/dev/null <<END\nrun not this\nEND\nrun this",
        "export A=1 B=\"2 3\"\nrun $A \"$B\"; declare -r C=4; run $C",
        "A=\"--x 1 \\\n   --y 2\"\nrun $A --z\nrun \"$A\"",
        "E=()\nrun ${E[@]} \"${E[@]}\" a \"b${E[@]}c\" \"$@\" $@",
        "A=(1 2)\nB=(\"${A[@]}\" 3)\nA=4\nrun ${B[@]}",
    };
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        struct shell_script script;
        ck_assert_msg(read_script(scripts[i], NULL, &script), "row %zu", i);
        ck_assert_str_eq(words_of(&script), bash_of(scripts[i]));
        arena_release(&arena);
    }
}
END_TEST

/* Not known: stays as written, and is open where it stands alone. */
START_TEST(what_a_run_would_tell_stays_open)
{
    static const struct row {
        const char *script, *given, *words;
        uint32_t open;
    } rows[] = {
        {"run $A", NULL, "[$A]\n", 1},
        {"run $A", "A=3", "[3]\n", 0},
        {"run x$A \"$A\"", NULL, "[x$A][$A]\n", 0},
        {"A=$1\nrun $A", NULL, "[$A]\n", 1},
        {"A=$1\nrun $A", "A=5", "[5]\n", 0},
        {"A=1\nif x; then A=2; fi\nrun $A", NULL, "[$A]\n", 1},
        {"A=1\nx && A=2\nrun $A", NULL, "[$A]\n", 1},
        {"A=(1)\nif x; then A+=(2); fi\nrun \"${A[@]}\"", NULL, "[${A[@]}]\n", 1},
        {"if x; then A=(1); fi\nA+=(2)\nrun \"${A[@]}\"", NULL, "[${A[@]}]\n", 1},
        {"A=$(date)\nrun $A ${B:+c} ${#B}", NULL, "[$A][${B:+c}][${#B}]\n", 3},
        {"A=abc\nrun ${A%c} ${A:1}", NULL, "[${A%c}][${A:1}]\n", 2},
        {"run $((A + 1)) $((010)) $((1 / 0))", NULL, "[$((A + 1))][$((010))][$((1 / 0))]\n", 3},
        {"A=3\nA+=4\nrun $A", NULL, "[34]\n", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct shell_script script;
        uint32_t open = 0;
        ck_assert_msg(read_script(rows[i].script, rows[i].given, &script), "row %zu", i);
        ck_assert_str_eq(words_of(&script), rows[i].words);
        const struct shell_command *last = &script.commands[script.count - 1];
        for (uint32_t k = 0; k < last->count; k++)
            open += last->words[k].open;
        ck_assert_msg(open == rows[i].open, "row %zu: %u open", i, open);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(what_decides_whether_a_command_runs_is_told)
{
    static const struct row {
        const char *script, *inside;
    } rows[] = {
        {"run", NULL},
        {"if a; then\nrun\nfi", "if"},
        {"for i in 1 2; do run; done", "for"},
        {"if a; then b; fi; run", NULL},
        {"f() {\nrun\n}", "{"},
        {"(run)", "("},
        {"case $a in\nb) run;;\nesac", "case"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct shell_script script;
        const char *inside = "it is not there";
        ck_assert(read_script(rows[i].script, NULL, &script));
        for (uint32_t k = 0; k < script.count; k++) {
            const struct shell_command *command = &script.commands[k];
            if (strcmp(command->words[0].text, "run") == 0)
                inside = command->inside == NULL ? "nothing" : command->inside;
        }
        ck_assert_str_eq(inside, rows[i].inside == NULL ? "nothing" : rows[i].inside);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(faults_are_reported)
{
    static const char *const scripts[] = {
        "run 'a", "run \"a\n",     "A=(1 2\n",      "A=(1; 2)",
        "A[3]=4", "A=(1)\nA+=2\n", "A=1\nA+=(2)\n", "run <(a b)\n",
    };
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        struct shell_script script;
        ck_assert_msg(!read_script(scripts[i], NULL, &script), "row %zu", i);
        ck_assert_uint_eq(diag.entries[0].code, DIAG_B133);
        ck_assert_uint_ge(diag.entries[0].place.line, 1);
        arena_release(&arena);
    }
}
END_TEST

TAP_MAIN("shell", words_are_those_of_bash, what_a_run_would_tell_stays_open,
         what_decides_whether_a_command_runs_is_told, faults_are_reported)

/* A validation as a picture, as a test report, as what a later one is compared with. */
#include "tools/validate.h"

#include <string.h>

/* --- gnuplot --------------------------------------------------------------------------------- */

static void push_points(const struct validation *all, const char *source, struct text *out)
{
    for (uint32_t i = 0; i < all->count; i++) {
        const struct validated *row = &all->rows[i];
        if (row->skipped == NULL && strcmp(row->table, source) == 0) {
            text_push(out, "%.6g %.6g\n", row->row.step_s, row->predicted_s);
        }
    }
}

static bool is_first(const struct validation *all, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (all->rows[i].skipped == NULL &&
            strcmp(all->rows[i].table, all->rows[index].table) == 0) {
            return false;
        }
    }
    return all->rows[index].skipped == NULL;
}

void validate_dump_gnuplot(const struct validation *all, struct text *out)
{
    uint32_t sources = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        if (is_first(all, i)) {
            text_push(out, "$source%u << EOD\n", sources++);
            push_points(all, all->rows[i].table, out);
            text_push(out, "EOD\n");
        }
    }
    text_push(out,
              "set logscale xy\nset xlabel 'measured step, s'\nset ylabel 'predicted step, s'\n"
              "set key left top\nplot x with lines lc 'gray' title 'equal', \\\n"
              "  1.1*x with lines lc 'gray' dt 2 title '10 %%', \\\n"
              "  0.9*x with lines lc 'gray' dt 2 notitle");
    sources = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        if (is_first(all, i)) {
            text_push(out, ", \\\n  $source%u with points title '%s' noenhanced", sources++,
                      all->rows[i].table);
        }
    }
    text_push(out, "\n");
}

/* --- baseline -------------------------------------------------------------------------------- */

void validate_dump_baseline(const struct validation *all, struct text *out)
{
    const char *comma = "";
    text_push(out, "{\"rows\": [");
    for (uint32_t i = 0; i < all->count; i++) {
        const struct validated *row = &all->rows[i];
        struct json_writer writer;
        if (row->skipped != NULL) {
            continue;
        }
        text_push(out, "%s\n", comma);
        comma = ",";
        json_writer_init(&writer, out, true);
        json_push_object(&writer);
        json_push_key_string(&writer, "id", row->row.id);
        json_push_key_double(&writer, "predicted_s", row->predicted_s);
        json_push_key_double(&writer, "error_frac", row->error_frac);
        json_pop_object(&writer);
    }
    text_push(out, "\n]}\n");
}

/* --- JUnit ----------------------------------------------------------------------------------- */

/* Text of an attribute or element; control characters that XML cannot hold become blanks. */
static void push_escaped(struct text *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&': text_push(out, "&amp;"); break;
        case '<': text_push(out, "&lt;"); break;
        case '>': text_push(out, "&gt;"); break;
        case '"': text_push(out, "&quot;"); break;
        default: text_push(out, "%c", (unsigned char)*text < ' ' ? ' ' : *text);
        }
    }
}

static void push_case(struct text *out, const char *class, const char *name)
{
    text_push(out, "  <testcase classname=\"");
    push_escaped(out, class);
    text_push(out, "\" name=\"");
    push_escaped(out, name);
    text_push(out, "\"");
}

static const char *failure_of(const struct validate_verdict *verdict, const char *name)
{
    for (uint32_t i = 0; i < verdict->count; i++) {
        if (strcmp(verdict->failures[i].name, name) == 0) {
            return verdict->failures[i].message;
        }
    }
    return NULL;
}

static void push_row_case(struct text *out, const struct validated *row)
{
    push_case(out, row->table, row->row.id);
    if (row->skipped != NULL) {
        text_push(out, "><skipped message=\"");
        push_escaped(out, row->skipped);
        text_push(out, "\"/></testcase>\n");
        return;
    }
    text_push(out,
              "><system-out>measured %.6g s, predicted %.6g s, error %+.2f %%</system-out>"
              "</testcase>\n",
              row->row.step_s, row->predicted_s, 100.0 * row->error_frac);
}

void validate_dump_junit(const struct validation *all, const struct validate_verdict *verdict,
                         struct text *out)
{
    uint32_t skipped = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        skipped += all->rows[i].skipped != NULL ? 1 : 0;
    }
    text_push(out,
              "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"shardplan validate\" "
              "tests=\"%u\" failures=\"%u\" skipped=\"%u\">\n",
              all->count + verdict->checks, verdict->count, skipped);
    for (uint32_t i = 0; i < verdict->checks; i++) {
        const char *message = failure_of(verdict, verdict->names[i]);
        push_case(out, "limits", verdict->names[i]);
        if (message == NULL) {
            text_push(out, "/>\n");
            continue;
        }
        text_push(out, "><failure message=\"");
        push_escaped(out, message);
        text_push(out, "\"/></testcase>\n");
    }
    for (uint32_t i = 0; i < all->count; i++) {
        push_row_case(out, &all->rows[i]);
    }
    text_push(out, "</testsuite>\n");
}

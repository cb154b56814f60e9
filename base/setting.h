/* What a configuration file sets: a flat list of keys with their values, in the order of the file.
 *
 * Tables within tables become one key: [training] seq_len = 8 is "training.seq_len". */
#ifndef SHARDPLAN_BASE_SETTING_H
#define SHARDPLAN_BASE_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/json.h"

enum setting_kind {
    SETTING_TEXT,
    SETTING_NUMBER,
    SETTING_BOOL,
    SETTING_NULL,
    SETTING_LIST,
    SETTING_KIND_COUNT
};

struct setting {
    const char *key;            /* NULL: an item of a list */
    enum setting_kind kind;
    const char *text;           /* "bf16", "8", "true"; of a list "" */
    struct setting *items;      /* SETTING_LIST */
    uint32_t item_count;
    struct diag_place place;
};

/* Variables from outside a file. */
struct setting_given {
    const char *list;   /* "NAME=VALUE,...", NULL: none */
    bool *used;         /* by the place of a name in the list */
};

/* The value of a name, marked as used, not NUL-terminated; NULL: none. */
const char *setting_find_given(const struct setting_given *given, const char *name,
                               size_t name_length, size_t *length);

struct setting_list {
    struct arena *arena;
    const char *file;           /* name for messages */
    struct setting *settings;
    uint32_t count, room;
    const struct setting_given *given;
};

#define SETTING_MAX 10000u      /* settings of one file */
#define SETTING_DEPTH_MAX 32u   /* tables and lists within each other */

/* The last setting with that key, NULL: none. */
const struct setting *setting_find(const struct setting_list *list, const char *key);

/* Takes the setting with that key out, if there is one. */
void setting_drop(struct setting_list *list, const char *key);
/* Room for one more; a key that is there already, or too many of them, is reported and NULL. */
struct setting *setting_push(struct setting_list *list, const char *key, struct diag_place place,
                             struct diag *diag);
/* Room for one more item of a list. */
struct setting *setting_push_item(struct setting *list, struct arena *arena);

/* An unquoted word of YAML or a command line: null, a truth value, a number, else text. */
enum setting_kind setting_guess(const char *word);

/* Each reads one text into `out`; faults are reported with their line (codes B104, B13x) and
 * false. Places name `name`. The text is UTF-8 and NUL-terminated behind `length`. */
bool setting_read_toml(const char *name, const char *text, size_t length, struct arena *arena,
                       struct setting_list *out, struct diag *diag);
/* The first document; anchors and aliases are refused. */
bool setting_read_yaml(const char *name, const char *text, size_t length, struct arena *arena,
                       struct setting_list *out, struct diag *diag);
/* Flags of a command line, "--key value", "--key=value", "--key" alone (true), as a plain list of
 * one word a line or as a shell script, whose variables are followed as far as it sets them; what
 * out->given holds stands for those that it has not set so far (NULL: nothing does). */
bool setting_read_words(const char *name, const char *text, size_t length, struct arena *arena,
                        struct setting_list *out, struct diag *diag);
/* An object of an open document. */
bool setting_read_json(struct json_value object, const char *name, struct arena *arena,
                       struct setting_list *out, struct diag *diag);

#endif

/* Models found by path or by their name in the zoo, read in whichever format they have. */
#include "models/model.h"

#include <string.h>
#include <unistd.h>

#include "base/data_folder.h"
#include "base/text.h"
#include "models/graph.h"
#include "models/hf_config.h"
#include "models/model_inside.h"

#define ZOO "models/zoo"
#define SUFFIX ".json"

uint32_t model_find_axis(const struct model *model, const char *name)
{
    for (uint32_t i = 0; i < model->axis_count; i++) {
        const char *const own = model->axes[i].name; /* asked for each mesh of a search */
        if (own[0] == name[0] && strcmp(own, name) == 0) {
            return i;
        }
    }
    return NO_INDEX;
}

uint32_t model_count_layers(const struct model *model)
{
    uint32_t layers = 0;
    for (uint32_t i = 0; i < model->run_count; i++) {
        layers += model->chain[i].count;
    }
    return layers;
}

/* --- from JSON -------------------------------------------------------------------------------- */

static bool check_parameters(struct json_value object, const struct model_text *text,
                             const struct model *model, struct diag *diag)
{
    const uint64_t counted = model_count_parameters(model);
    if (text->parameters == 0 || text->parameters == counted) {
        return true;
    }
    return diag_push(diag, DIAG_M206, json_place(json_find(object, "parameters")),
                     "correct the sizes, or leave the number out",
                     "parameters is %llu, but the description has %llu parameters",
                     (unsigned long long)text->parameters, (unsigned long long)counted);
}

static bool build(struct json_value object, const char *name, const struct model_text *text,
                  struct arena *arena, struct model *out, struct diag *diag)
{
    struct model model;
    const char *stated = text->name != NULL ? text->name : name;
    const bool good = json_is_absent(text->graph)
                          ? transformer_build(&text->transformer, stated, arena, &model, diag)
                          : graph_read(text->graph, stated, arena, &model, diag);
    if (!good || !check_parameters(object, text, &model, diag)) {
        return false;
    }
    if (model.transformer == NULL) {
        model.digest = model_build_digest(&model, arena);
    }
    model.source = text_build(arena, "%s", text->source != NULL ? text->source : name);
    *out = model;
    return true;
}

/* Any value of "format" makes it a native file, if of another version. */
static bool read_text(struct json_value object, struct arena *arena, struct model_text *out,
                      struct diag *diag)
{
    const struct json_value format = json_find(object, "format");
    if (json_is_absent(format) && hf_config_fits(object)) {
        return hf_config_read(object, arena, &out->transformer, diag);
    }
    const char *found = NULL;
    if (json_value_string(format, &found) && strcmp(found, MODEL_FORMAT) == 0) {
        return model_native_read(object, arena, out, diag);
    }
    static const char wanted[] = "a model file says \"format\": \"" MODEL_FORMAT
                                 "\", a Hugging Face config.json \"model_type\"";
    if (json_is_absent(format)) {
        return diag_push(diag, DIAG_B112, json_place(object), wanted,
                         "neither \"format\" nor \"model_type\": this is no model");
    }
    return diag_push(diag, DIAG_B112, json_place(format), wanted,
                     "format is %s, must be \"" MODEL_FORMAT "\"",
                     json_value_text(format, diag->arena));
}

bool model_read_json(struct json_value object, const char *name, struct arena *arena,
                     struct model *out, struct diag *diag)
{
    struct model_text text = {0};
    if (!json_is_object(object)) {
        return diag_push(diag, DIAG_B107, json_place(object), NULL,
                         "a model is an object, such as {\"format\": \"" MODEL_FORMAT "\", ...}");
    }
    return read_text(object, arena, &text, diag) && build(object, name, &text, arena, out, diag);
}

/* --- by path or name -------------------------------------------------------------------------- */

static bool ends_with(const char *text, size_t length, const char *tail)
{
    const size_t tail_length = strlen(tail);
    return length > tail_length && memcmp(text + length - tail_length, tail, tail_length) == 0;
}

/* "a/b/NAME.json", "NAME.config.json" and "NAME/config.json" are all called NAME. */
static const char *name_of_path(const char *path, struct arena *arena)
{
    size_t end = strlen(path);
    if (ends_with(path, end, "/config" SUFFIX)) {
        end -= strlen("/config" SUFFIX);
    } else if (ends_with(path, end, ".config" SUFFIX)) {
        end -= strlen(".config" SUFFIX);
    } else if (ends_with(path, end, SUFFIX)) {
        end -= strlen(SUFFIX);
    }
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/') {
        begin--;
    }
    return begin == end ? "model" : text_build_copy(arena, path + begin, end - begin);
}

static char *lower(const char *text, struct arena *arena)
{
    char *copy = text_build(arena, "%s", text);
    for (char *at = copy; *at != '\0'; at++) {
        *at = (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
    }
    return copy;
}

/* Published names are looked up without regard to case. NULL: not in the zoo. */
static const char *find_in_zoo(const char *name, struct arena *arena)
{
    const char *wanted = lower(name, arena);
    const char *const *names = data_folder_each(ZOO, SUFFIX, arena);
    for (uint32_t i = 0; names[i] != NULL; i++) {
        if (strcmp(lower(names[i], arena), wanted) == 0) {
            return names[i];
        }
    }
    return NULL;
}

static bool refuse_name(const char *name, struct arena *arena, struct diag *diag)
{
    const char *const *names = data_folder_each(ZOO, SUFFIX, arena);
    size_t count = 0;
    while (names[count] != NULL) {
        count++;
    }
    const char *nearest = text_find_nearest(lower(name, arena), names, count);
    const char *hint =
        "`shardplan list models` names those in the zoo; a path holds a '/' or ends in " SUFFIX;
    if (nearest != NULL) {
        hint = text_build(arena, "did you mean '%s'?", nearest);
    }
    return diag_push(diag, DIAG_M201, (struct diag_place){0}, hint,
                     "model '%s' is neither a file nor a name in the zoo", name);
}

static bool is_path(const char *text)
{
    return strcmp(text, "-") == 0 || strchr(text, '/') != NULL ||
           ends_with(text, strlen(text), SUFFIX);
}

static bool read_file(const char *path, const char *name, struct arena *arena, struct model *out,
                      struct diag *diag)
{
    struct json *document;
    if (!json_open(path, true, arena, &document, diag)) {
        return false;
    }
    const bool good = model_read_json(json_root(document), name, arena, out, diag);
    json_close(document);
    return good;
}

bool model_read(const char *path, struct arena *arena, struct model *out, struct diag *diag)
{
    if (!is_path(path)) {
        const char *name = find_in_zoo(path, arena);
        if (name != NULL) {
            return read_file(data_folder_find(text_build(arena, ZOO "/%s" SUFFIX, name), arena),
                             name, arena, out, diag);
        }
        if (access(path, R_OK) != 0) {
            return refuse_name(path, arena, diag);
        }
    }
    return read_file(path, name_of_path(path, arena), arena, out, diag);
}

/* A Hugging Face config.json becomes a native model. */
#include "imports/importer.h"
#include "models/model.h"

static bool read(const struct import_request *request, struct arena *arena, struct json_writer *out,
                 struct diag *diag)
{
    struct model model;
    if (!model_read(request->path, arena, &model, diag)) {
        return false;
    }
    model_dump(&model, out);
    return true;
}

extern const struct importer importer_hf_config;

const struct importer importer_hf_config = {
    .name = "hf-config",
    .summary = "a Hugging Face config.json, to a model",
    .read = read,
};

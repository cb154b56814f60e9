/* BERT: an encoder of the first kind, norms behind the sums, a head for masked tokens. */
#include "models/hf_shapes.h"

#include <string.h>

extern const struct hf_family hf_family_bert;

/* The class that also guesses the next sentence pools the first token. */
static bool read_head(const struct hf_config *config, struct transformer *out)
{
    const char *name = NULL;
    const bool pretrains =
        json_value_string(json_find_index(json_find(config->file, "architectures"), 0), &name) &&
        strstr(name, "ForPreTraining") != NULL;
    out->pooler = out->next_sentence = pretrains;
    return true;
}

const struct hf_family hf_family_bert = {
    .types = {"bert"},
    .architectures = {"BertForMaskedLM", "BertForPreTraining"},
    .shape = {BERT_SHAPE, .vocab = 30522},
    .supported_heads = "ForMaskedLM ForPreTraining",
    .rules = {hf_rule_bert, read_head},
};

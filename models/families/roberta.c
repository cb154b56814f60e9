/* RoBERTa and XLM-RoBERTa: BERT with one kind of token. */
#include "models/hf_shapes.h"

extern const struct hf_family hf_family_roberta;

const struct hf_family hf_family_roberta = {
    .types = {"roberta", "xlm-roberta", "camembert"},
    .architectures = {"RobertaForMaskedLM", "XLMRobertaForMaskedLM", "CamembertForMaskedLM"},
    .shape = {BERT_SHAPE, .vocab = 50265},
    .supported_heads = "ForMaskedLM",
    .rules = {hf_rule_bert},
};

/* Families of models as the Hugging Face library names them: the open set of models/families.
 *
 * A family is data: names, a description that holds of all its members, and rules, each reading a
 * few keys into the description. What several families share is a rule here (hf_rule_...); what one
 * alone does is a function in its file. */
#ifndef SHARDPLAN_MODELS_HF_FAMILY_H
#define SHARDPLAN_MODELS_HF_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/json.h"
#include "models/transformer.h"

#define HF_LAYERS_MAX 1000000u
#define HF_NAMES_MAX 6
#define HF_RULES_MAX 8

struct hf_config;

struct hf_family {
    const char *types[HF_NAMES_MAX];            /* values of "model_type", NULL-terminated */
    const char *architectures[HF_NAMES_MAX];    /* classes, where a file has no type */
    const char *supported_heads;    /* ends of class names whose head is modelled, separated by
                                     * spaces; NULL: whatever the class, it is counted with the
                                     * output matrix */
    struct transformer shape;       /* holds of every member; a size is the default of an absent
                                     * key, as in the library's configuration class. moe.every may
                                     * be 0 */
    bool wide_ffn;                  /* ffn absent: four times the width */
    uint32_t full_layers;           /* "max_window_layers" where the key is absent */
    bool (*rules[HF_RULES_MAX])(const struct hf_config *config, struct transformer *out);
    /* The parts beside the text model; NULL: none are known. */
    bool (*sees)(const struct hf_config *config, struct json_value vision, struct transformer *out);
    const char *text;               /* model_type of a text_config that names none or another class
                                     * than this family; NULL: this family's own */
};

extern const struct hf_family *const hf_family_table[];
extern const uint32_t hf_family_table_count;

/* The file being read. */
struct hf_config {
    struct json_value object;       /* the text model's own object */
    struct json_value file;         /* the whole file */
    const struct hf_family *family;
    struct arena *arena;
    struct diag *diag;
    char *mixers, *mlps;            /* a letter per layer, set by rules that make layers differ;
                                     * empty text: none did */
};

/* The first of the names that the file has with a value; the usual one if it has none. */
const char *hf_key_find(struct json_value object, const char *const *names);
bool hf_key_read_count(const struct hf_config *config, const char *const *names, uint32_t max,
                       uint32_t *out);
/* Absent or null: the default, which is said where it is not 0. */
bool hf_key_read_count_or(const struct hf_config *config, const char *const *names,
                          uint32_t fallback, uint32_t *out);
bool hf_key_read_flag(const struct hf_config *config, const char *key, bool *out);
bool hf_key_is_true(struct json_value object, const char *key);
bool hf_key_is_set(struct json_value object, const char *key);
/* Is the key this text? */
bool hf_key_equals(struct json_value object, const char *key, const char *text);

/* Says why a key cannot be followed; false. */
bool hf_key_refuse(const struct hf_config *config, const char *key, const char *why);
void hf_key_warn(const struct hf_config *config, const char *key, const char *what);
void hf_key_warn_default(const struct hf_config *config, const char *key, uint64_t value);
/* Refuses the first of these keys that is set to other than false, 0 or "". */
bool hf_key_refuse_set(const struct hf_config *config, const char *const *keys, const char *why);

/* --- rules ------------------------------------------------------------------------------------ */

/* "attention_bias" covers all four attention matrices, "mlp_bias" the others. */
bool hf_rule_bias(const struct hf_config *config, struct transformer *out);
/* The same flags on Q, K, V alone. */
bool hf_rule_qkv_bias(const struct hf_config *config, struct transformer *out);
/* Dropout of GPT-2's three keys. */
bool hf_rule_dropout(const struct hf_config *config, struct transformer *out);
/* Learned positions, kinds of tokens and dropout by BERT's keys. */
bool hf_rule_bert(const struct hf_config *config, struct transformer *out);

/* Windows: none, whatever the file says; in every layer; where "use_sliding_window" is true, from
 * layer "max_window_layers" on; by "layer_types", else in all but every n-th layer
 * ("sliding_window_pattern"; its default by family.full_layers). */
bool hf_rule_no_window(const struct hf_config *config, struct transformer *out);
bool hf_rule_window(const struct hf_config *config, struct transformer *out);
bool hf_rule_switched_window(const struct hf_config *config, struct transformer *out);
bool hf_rule_window_pattern(const struct hf_config *config, struct transformer *out);
/* "layer_types" with these words; each gives its letter to the mixers. true without the key. */
struct hf_layer_word {
    const char *word;
    char mixer;
};
bool hf_rule_layer_types(const struct hf_config *config, const struct transformer *shape,
                         const struct hf_layer_word *words);

/* Experts: none; of "intermediate_size" in each layer; of "moe_intermediate_size" by
 * "decoder_sparse_step" and "mlp_only_layers"; as DeepSeek has them. */
bool hf_rule_no_experts(const struct hf_config *config, struct transformer *out);
bool hf_rule_experts(const struct hf_config *config, struct transformer *out);
bool hf_rule_stepped_experts(const struct hf_config *config, struct transformer *out);
bool hf_rule_deepseek_experts(const struct hf_config *config, struct transformer *out);
/* Latent attention, where "kv_lora_rank" is set. */
bool hf_rule_latents(const struct hf_config *config, struct transformer *out);
/* "num_nextn_predict_layers" are named but not counted: the library's class has none. */
bool hf_rule_further_tokens(const struct hf_config *config, struct transformer *out);
/* "attn_output_gate" says whether attention is gated, which it is without the key. */
bool hf_rule_gate(const struct hf_config *config, struct transformer *out);
/* The gated delta rule of "linear_..." keys, in layers of "linear_attention". */
bool hf_rule_linear_attention(const struct hf_config *config, struct transformer *out);

/* --- towers ----------------------------------------------------------------------------------- */

/* The tower's sizes under their usual names, zero where absent; what `tower` has is the default. */
bool hf_vision_read(const struct hf_config *config, struct json_value vision,
                    struct transformer *tower);
/* Patches per sequence: (image_size / patch_size)^2, or an assumed number, which is said. */
bool hf_vision_read_patches(const struct hf_config *config, struct json_value vision,
                            struct transformer_vision *out);

/* Towers of the Qwen line: merged by a norm and two matrices; `tower` has the defaults. qwen3: with
 * a table of positions and taps. */
bool hf_vision_see_qwen(const struct hf_config *config, struct json_value vision,
                        const struct transformer *tower, struct transformer *out);
bool hf_vision_see_qwen3(const struct hf_config *config, struct json_value vision,
                         struct transformer *out);
/* Makes `tower`, whose vocabulary and head are of no use, the tower of `out`. Checks merge. */
bool hf_vision_set(const struct hf_config *config, const struct transformer *tower,
                   struct transformer *out);

#endif

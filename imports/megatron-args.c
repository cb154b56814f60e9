/* Arguments of Megatron-LM: a list of words, a launch script, the MODEL_ARGS of a test
 * configuration, the overrides of a Primus file. */
#include <string.h>

#include "imports/megatron_args.h"

extern const struct importer importer_megatron_args;

/* Flags by the beginnings of their names that have no say in what a step computes. */
static const char *const harmless[] = {
    "adam-",
    "async-",
    "attention-softmax",
    "auto-detect",
    "calculate-per",
    "check-",
    "ckpt-",
    "clip-grad",
    "create-attention",
    "cross-entropy",
    "data-",
    "dataloader",
    "deterministic",
    "disable-bias-dropout",
    "dist-ckpt",
    "distributed-",
    "disable-last",
    "eod-mask",
    "eval-",
    "exit-",
    "finetune",
    "init-method",
    "initial-loss",
    "load",
    "log-",
    "logging-",
    "loss-scale",
    "lr",
    "make-vocab",
    "manual-gc",
    "merge-file",
    "min-lr",
    "min-loss",
    "mmap",
    "mock-data",
    "moe-aux-loss",
    "moe-grouped",
    "moe-permute",
    "moe-router",
    "moe-token",
    "moe-z-loss",
    "muon-",
    "mscale",
    "no-check",
    "no-create",
    "no-gradient-acc",
    "no-load",
    "no-mmap",
    "no-persist",
    "no-save",
    "norm-epsilon",
    "num-workers",
    "override-opt",
    "profile",
    "rampup",
    "rotary-",
    "save",
    "seed",
    "spec",
    "split",
    "tensorboard",
    "test-data",
    "timing-",
    "tokenizer",
    "train-",
    "transformer-impl",
    "use-checkpoint",
    "use-mcore",
    "use-persistent",
    "use-rotary",
    "valid-data",
    "vocab-file",
    "wandb",
    "weight-decay",
    "wgrad",
    "enable-experimental",
    "enable-primus",
    "use-turbo",
    "stderr-sink",
    "sgd",
    "auto-continue",
    "attention-mask",
    NULL,
};

/* --- where the arguments stand ---------------------------------------------------------------- */

#define ARGUMENTS "MODEL_ARGS.--"
#define OVERRIDES "modules.pre_trainer.overrides."

static bool is_yaml(const char *path, const char *text)
{
    const size_t length = strlen(path);
    return (length > 5 && strcmp(path + length - 5, ".yaml") == 0) ||
           (length > 4 && strcmp(path + length - 4, ".yml") == 0) ||
           strstr(text, "MODEL_ARGS:") != NULL;
}

/* "p2p a2a" as two words. */
static void split(struct setting *setting, struct arena *arena)
{
    const char *at = setting->text;
    setting->kind = SETTING_LIST;
    while (*(at += strspn(at, " ")) != '\0') {
        const size_t length = strcspn(at, " ");
        struct setting *item = setting_push_item(setting, arena);
        item->text = text_build_copy(arena, at, length);
        item->kind = setting_guess(item->text);
        at += length;
    }
}

/* Quotes that are meant for a shell. */
static void drop_quotes(struct setting *setting, struct arena *arena)
{
    const size_t length = strlen(setting->text);
    if (setting->kind == SETTING_TEXT && length > 1 && setting->text[0] == '\'' &&
        setting->text[length - 1] == '\'') {
        setting->text = text_build_copy(arena, setting->text + 1, length - 2);
    }
}

static const char *spell(const char *key, bool underscores, struct arena *arena)
{
    char *flag = text_build_copy(arena, key, strlen(key));
    for (char *at = flag; underscores && *at != '\0'; at++) {
        *at = *at == '_' ? '-' : *at;
    }
    return flag;
}

/* The settings under a prefix. */
static bool keep_under(struct configuration *configuration, const char *prefix)
{
    struct setting_list *list = &configuration->settings;
    const bool overrides = strcmp(prefix, OVERRIDES) == 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        struct setting setting = list->settings[i];
        if (strncmp(setting.key, prefix, strlen(prefix)) != 0) {
            continue;
        }
        setting.key = spell(setting.key + strlen(prefix), overrides, configuration->arena);
        drop_quotes(&setting, configuration->arena);
        const bool foreign = overrides && !keys_has(configuration->keys, setting.key);
        if (setting.kind == SETTING_TEXT && strchr(setting.text, ' ') != NULL &&
            keys_take_several(configuration->keys, setting.key)) {
            split(&setting, configuration->arena);
        }
        if (!foreign) {
            list->settings[kept++] = setting;
        }
    }
    list->count = kept;
    return kept > 0;
}

static bool keep_arguments(struct configuration *configuration)
{
    if (setting_find(&configuration->settings, "modules.pre_trainer.framework") != NULL) {
        const char *framework =
            setting_find(&configuration->settings, "modules.pre_trainer.framework")->text;
        if (strcmp(framework, "megatron") != 0) {
            return diag_push(configuration->diag, DIAG_X667,
                             (struct diag_place){.file = configuration->settings.file}, NULL,
                             "the file is for '%s', not for Megatron", framework);
        }
        return keep_under(configuration, OVERRIDES);
    }
    return keep_under(configuration, ARGUMENTS) ||
           diag_push(configuration->diag, DIAG_X667,
                     (struct diag_place){.file = configuration->settings.file},
                     "MODEL_ARGS holds them in a YAML file, each with its two dashes",
                     "the file has no arguments of Megatron");
}

/* A flag of a YAML file that is false or nothing is not given. */
static void drop_absent(struct setting_list *list)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct setting setting = list->settings[i];
        if (setting.kind != SETTING_NULL &&
            !(setting.kind == SETTING_BOOL && (setting.text[0] | 32) == 'f')) {
            list->settings[kept++] = setting;
        }
    }
    list->count = kept;
}

static bool read_settings(struct configuration *configuration)
{
    const char *path = configuration->request->path;
    struct text text;
    if (!keys_read("megatron", configuration->arena, &configuration->keys, configuration->diag) ||
        !configuration_read_text(configuration, &text)) {
        return false;
    }
    if (is_yaml(path, text.bytes)) {
        return setting_read_yaml(path, text.bytes, text.length, configuration->arena,
                                 &configuration->settings, configuration->diag) &&
               keep_arguments(configuration);
    }
    configuration->settings.given = &configuration->given;
    return setting_read_words(path, text.bytes, text.length, configuration->arena,
                              &configuration->settings, configuration->diag) &&
           (configuration->settings.count > 0 ||
            diag_push(configuration->diag, DIAG_X667, (struct diag_place){.file = path}, NULL,
                      "the file has no arguments"));
}

static bool read(const struct import_request *request, struct arena *arena, struct json_writer *out,
                 struct diag *diag)
{
    struct configuration *configuration = ARENA_PUSH(arena, struct configuration, 1);
    if (!configuration_init(configuration, request, "megatron", arena, diag) ||
        !read_settings(configuration)) {
        return false;
    }
    configuration_fill(configuration);
    drop_absent(&configuration->settings);
    configuration_check_keys(configuration, "megatron");
    megatron_args_refuse_limits(configuration);
    megatron_args_check_flags(configuration);
    if (!megatron_args_read_model(configuration)) {
        return false;
    }
    megatron_args_read_plan(configuration);
    configuration_tell_rest(configuration, harmless);
    configuration->batch_keys[0] = "global-batch-size";
    configuration->batch_keys[1] = "micro-batch-size";
    return configuration_dump(configuration, out);
}

static const char *const endings[] = {".sh", ".args", ".txt", ".yaml", ".yml", NULL};

const struct importer importer_megatron_args = {
    .name = "megatron-args",
    .summary = "arguments of Megatron-LM (list, script, YAML), to a plan",
    .endings = endings,
    .read = read,
};

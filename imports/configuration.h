/* A runtime's configuration on its way to a plan: settings are taken one by one, by the key that
 * the runtime gives them; what nobody took is told. */
#ifndef SHARDPLAN_IMPORTS_CONFIGURATION_H
#define SHARDPLAN_IMPORTS_CONFIGURATION_H

#include "base/setting.h"
#include "base/text.h"
#include "imports/importer.h"
#include "imports/keys.h"
#include "plan/plan.h"

#define CONFIGURATION_USES 6

struct configuration {
    const struct import_request *request;
    struct arena *arena;
    struct diag *diag;
    const struct keys *keys;
    struct setting_list settings;
    struct setting_given given; /* what the request sets */
    bool *taken;            /* per setting */
    const char *batch_keys[2]; /* the settings that state the batch: the first that is there */
    bool good;              /* nothing was reported as an error */

    struct model model;
    struct cluster cluster;
    struct runtime runtime;
    struct setup setup;
    struct problem problem; /* of the four above */
    struct group group;
    struct policy_use uses[CONFIGURATION_USES];
    struct plan plan;       /* of group and uses */
};

/* Ready to take settings: runtime and cluster are read, the setup has its usual values. */
bool configuration_init(struct configuration *configuration, const struct import_request *request,
                        const char *runtime, struct arena *arena, struct diag *diag);
/* The file as text in UTF-8, without a byte order mark. */
bool configuration_read_text(struct configuration *configuration, struct text *out);
/* Variables ($NAME, ${NAME}, ${NAME:VALUE}) within values are replaced by what the request sets, or
 * by the value that stands beside them; settings that the request sets are added or replaced. Other
 * names that nothing uses are told in a warning. */
void configuration_fill(struct configuration *configuration);
/* After the settings are there: are all keys and values such that the parser takes them? */
void configuration_check_keys(struct configuration *configuration, const char *keys);

/* --- taking ----------------------------------------------------------------------------------- */
/* Does a placeholder ("auto", "${N}") stand there? */
bool configuration_is_open(const struct configuration *configuration, const char *key);
/* The setting, marked as taken; NULL: it is absent, null, or a placeholder ("auto", "${N}"), which
 * is reported once. */
const struct setting *configuration_take(struct configuration *configuration, const char *key);
/* Of the type named, or `fallback` where it is absent; another type is reported (X661). */
uint64_t configuration_take_count(struct configuration *configuration, const char *key,
                                  uint64_t fallback);
double configuration_take_number(struct configuration *configuration, const char *key,
                                 double fallback);
bool configuration_take_switch(struct configuration *configuration, const char *key,
                               bool fallback);
const char *configuration_take_word(struct configuration *configuration, const char *key,
                                    const char *fallback);

/* A fault about the setting `key`; always false. hint may be NULL. */
bool configuration_refuse(struct configuration *configuration, enum diag_code code,
                          const char *key, const char *hint, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* What no plan can say: `key` present with another value than `plain` (NULL: than false or 0) is
 * refused with `reason`. */
struct configuration_limit {
    const char *key, *plain, *reason;
};
void configuration_refuse_limits(struct configuration *configuration,
                                 const struct configuration_limit *limits, uint32_t count);
/* Takes all settings with these beginnings without a look: something else says the same. */
void configuration_skip(struct configuration *configuration, const char *const *beginnings);
/* Tells what was not taken: in one warning that which changes nothing that is planned, by the
 * beginnings of its keys, in another what was not looked at. */
void configuration_tell_rest(struct configuration *configuration, const char *const *harmless);

/* --- the plan --------------------------------------------------------------------------------- */
/* A dimension of degree above 1; in the order of the calls, innermost first. */
void configuration_push_dim(struct configuration *configuration, const char *dim, uint64_t degree,
                            const char *variant);
void configuration_push_fold(struct configuration *configuration, const char *dim,
                             uint64_t degree);
/* Sharding of level 1 to 3 over all ranks with the same weights. */
void configuration_push_sharding(struct configuration *configuration, uint32_t level);
/* "selective" or "full"; layers 0: all. */
void configuration_push_recompute(struct configuration *configuration, const char *granularity,
                                  uint64_t layers);
/* Words of policy 'offload', separated by blanks, to the host's memory; share 1: all of them. */
void configuration_push_offload(struct configuration *configuration, const char *tensors,
                                double share);
/* Layers of the chunks in the order of the chain; a stage holds `chunks` of them. */
void configuration_set_layers(struct configuration *configuration, const uint32_t *layers,
                              uint32_t stages, uint32_t chunks);
/* As many layers on each. */
void configuration_set_even_layers(struct configuration *configuration, uint32_t stages,
                                   uint32_t chunks);

/* Writes the plan with all that it is for; false where something was reported as an error. */
bool configuration_dump(struct configuration *configuration, struct json_writer *out);

#endif

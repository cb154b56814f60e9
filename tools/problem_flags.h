/* What is asked: model, cluster, training setup from flags or from a saved plan, joined with
 * prices and a judge. */
#ifndef SHARDPLAN_TOOLS_PROBLEM_FLAGS_H
#define SHARDPLAN_TOOLS_PROBLEM_FLAGS_H

#include "costmodel/costmodel.h"
#include "imports/importer.h"
#include "tools/command.h"

/* A problem with all that it takes to judge plans on it. Points into itself: not to be copied. */
struct question {
    struct model model;
    struct cluster cluster;
    struct runtime runtime;
    struct setup setup;
    struct problem problem;
    struct prices prices;
    struct costmodel costmodel;
    struct estimator estimator;
    struct import_places places; /* of a configuration; file NULL: it is none */
};

/* Flags that commands share, each with its own words on what it is for. */
#define PROBLEM_FLAG_CLUSTER(words) \
    { \
        .name = "--cluster", .kind = FLAG_TEXT, .value = "C", .help = (words) \
    }
#define PROBLEM_FLAG_RUNTIME(words) \
    { \
        .name = "--runtime", .kind = FLAG_TEXT, .value = "NAME", .help = (words), \
        .fallback = RUNTIME_DEFAULT \
    }

#define PROFILE_FLAG "--profile"
#define PROBLEM_FLAG_PROFILE(words, without) \
    { \
        .name = PROFILE_FLAG, .kind = FLAG_TEXT, .value = "FILE", .help = (words), \
        .absent = (without) \
    }

/* Groups of flags for command tables. */
const struct flag *problem_flags_build(struct arena *arena);
/* --device and --fabric: what a topology file or joined clusters leave open. */
extern const struct flag problem_flags_topology[];

/* All three from flags; the judge is joined too. */
bool problem_flags_read(struct command *command, struct question *out);
bool problem_flags_read_cluster(struct command *command, struct cluster *out);
/* The cluster of that name or path, with problem_flags_topology where the command has them. */
bool problem_flags_find_cluster(struct command *command, const char *text, struct cluster *out);
bool problem_flags_read_runtime(struct command *command, struct runtime *out);
/* The prices there, which follow the profile of --profile if it is given. */
bool problem_flags_read_prices(struct command *command, const struct cluster *cluster,
                               const struct runtime *runtime, struct prices *out);
/* From a file's problem, which flags must not contradict. */
bool problem_flags_adopt(struct command *command, const struct problem *problem,
                         struct question *out);
/* The same question on another cluster. */
bool problem_flags_move(struct command *command, const struct question *from,
                        const struct cluster *cluster,
                        struct question *out);

/* The same question where the cluster has another number of its outermost domains; false where
 * such a cluster cannot be built. */
bool problem_flags_scale(struct command *command, const struct question *from, uint32_t domains,
                         struct question *out);

#endif

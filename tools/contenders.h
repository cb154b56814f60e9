/* What published planning methods would have chosen, beside the best plan. */
#ifndef SHARDPLAN_TOOLS_CONTENDERS_H
#define SHARDPLAN_TOOLS_CONTENDERS_H

#include "planner/strategy.h"
#include "tools/report.h"

struct contender {
    struct strategy_answer answer;
    struct verdict verdict;     /* of its plan, where it has one */
};

struct contenders {
    struct contender *items;
    uint32_t count;             /* 0: none was asked for */
    const struct strategy *named;   /* its plan is the answer; NULL: all are compared */
};

/* A builder: choices are the members of the set. */
const struct flag *contenders_build_flags(struct arena *arena);

/* Asks the strategies that the flags name, and makes them seeds of the search. False: a fault is
 * reported. */
bool contenders_find(struct command *command, const struct question *question,
                     struct planner_options *options, struct contenders *out);
/* Makes the named one's plan the answer, or none where it has none; the gap is then its own. Where
 * all are compared, the answer stays. */
void contenders_choose(struct command *command, struct contenders *contenders,
                       struct planner_result *result);
bool contenders_judge(struct command *command, const struct question *question,
                      struct contenders *contenders);
/* Nothing where none was asked for. best_s: cost model's time of the answer. */
void contenders_push(struct command *command, const struct question *question,
                     const struct contenders *contenders, double best_s, struct json_writer *out);
void contenders_dump(struct command *command, const struct question *question,
                     const struct contenders *contenders, double best_s);

#endif

/* Which plan is best when the simulator doubts the one that the cost model ranks first. */
#ifndef SHARDPLAN_TOOLS_BOTH_JUDGES_H
#define SHARDPLAN_TOOLS_BOTH_JUDGES_H

#include "tools/report.h"

struct both_judges {
    struct verdict first;  /* of the cost model's best plan; plan NULL: nothing fits */
    struct verdict chosen; /* of the plan that is recommended: the first, or another */
    uint32_t simulated;    /* plans that were simulated to choose; 1: the first was not in doubt */
    bool exhausted;        /* every plan that could be better under both judges was simulated */
};

/* Judges that differ by more than this share of a step say why, and may change the choice. */
#define BOTH_JUDGES_AGREE_FRAC 0.01
/* The simulator is within that share of the cost model, or was not asked. */
bool both_judges_agree(const struct verdict *verdict);
/* The slower of its two times. */
double both_judges_worse_s(const struct verdict *verdict);

/* Simulates the best plan of a search. Where the simulator finds it slower than the cost model does
 * by more than BOTH_JUDGES_AGREE_FRAC and by more than the lead over `runner` (NULL: there is
 * none), the next plans are simulated too, a few at most, and the one whose slower time is least
 * goes first if that gains more than the same share; `result` then has it in front of the others
 * with a gap of its own. False: a fault is reported. */
bool both_judges_choose(struct command *command, const struct question *question,
                        const struct planner_options *options, const struct ranked_plan *runner,
                        struct planner_result *result, struct both_judges *out);

/* Another plan than the cost model's best is recommended. */
bool both_judges_differ(const struct both_judges *judges);
void both_judges_push(struct command *command, const struct question *question,
                      const struct both_judges *judges, struct json_writer *out);
void both_judges_dump(struct command *command, const struct question *question,
                      const struct both_judges *judges);

#endif

/* The simulator is asked about a plan that the cost model has judged. */
#include "tools/simulated.h"

bool simulated_judge(struct command *command, const struct question *question, struct verdict *verdict)
{
    (void)command;
    (void)question;
    verdict->simulated = false;
    return true;
}

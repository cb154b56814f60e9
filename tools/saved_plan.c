/* A plan file states its model, its cluster and its setup: nothing else is needed, or wanted. */
#include "tools/saved_plan.h"

#include "tools/plan_flags.h"

bool saved_plan_read(struct command *command, const char *path, struct question *question,
                     struct plan **out)
{
    struct plan_file file;
    if (plan_flags_any(command)) {
        return diag_push(command->diag, DIAG_C709, (struct diag_place){0}, "give one of the two",
                         "flags of a configuration are given beside the saved plan '%s'", path);
    }
    if (!plan_read(path, command->arena, &file, command->diag)) {
        return false;
    }
    const struct problem problem = {file.model, file.cluster, file.setup};
    *out = file.plan;
    return problem_flags_adopt(command, &problem, question);
}

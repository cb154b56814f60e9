/* Degrees, rank order of a plan in the terms of Megatron-LM. */
#include <string.h>

#include "exports/megatron_inside.h"

/* Innermost first. Expert ranks sit between cp and dp; they reuse the ranks of both. */
static const char *const outside[] = {"tp", "cp", "dp", "pp"};
static const char *const inside[] = {"tp", "cp", "pp", "dp"};

static const struct {
    const char *variant, *kind;
} context_kinds[] = {{"ring", "p2p"}, {"ulysses", "a2a"}, {"allgather", "allgather"}};

bool megatron_follows_order(const struct group *group, bool pipeline_inside)
{
    const char *const *order = pipeline_inside ? inside : outside;
    uint32_t next = 0;
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        const struct mesh_dim *mesh = &group->mesh[i];
        if (mesh->degree == 1 || mesh->dim == NULL)
            continue;
        while (next < 4 && strcmp(order[next], mesh->dim->name) != 0)
            next++;
        if (next == 4)
            return false;
    }
    return true;
}

static const char *context_kind(const struct plan *plan)
{
    const char *variant = express_find_variant(plan, "cp");
    for (uint32_t i = 0; variant != NULL && i < sizeof context_kinds / sizeof context_kinds[0];
         i++) {
        if (strcmp(context_kinds[i].variant, variant) == 0)
            return context_kinds[i].kind;
    }
    return NULL;
}

void megatron_find_sizes(const struct plan *plan, struct megatron_sizes *out)
{
    const struct group *group = &plan->groups[0];
    *out = (struct megatron_sizes){
        .tp = plan_find_degree_named(plan, "tp"),
        .cp = plan_find_degree_named(plan, "cp"),
        .dp = plan_find_degree_named(plan, "dp"),
        .pp = plan_find_degree_named(plan, "pp"),
        .ep = plan_find_degree_named(plan, "ep"),
        .sequence_parallel = plan_find_degree_named(plan, "sp") > 1,
        .context_kind = context_kind(plan),
        .pipeline_inside =
            !megatron_follows_order(group, false) && megatron_follows_order(group, true),
    };
}

bool megatron_wants_one_connection(const struct plan *plan)
{
    struct megatron_sizes sizes;
    megatron_find_sizes(plan, &sizes);
    return sizes.tp > 1 || sizes.cp > 1;
}

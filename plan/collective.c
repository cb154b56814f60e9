/* The set of collectives: who is in it, who takes which group. */
#include "plan/collective.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

const char *collective_kind_name(enum collective_kind kind)
{
    static const char *const names[COLLECTIVE_KIND_COUNT] = {
        [COLLECTIVE_ALL_REDUCE] = "all-reduce",
        [COLLECTIVE_ALL_GATHER] = "all-gather",
        [COLLECTIVE_REDUCE_SCATTER] = "reduce-scatter",
        [COLLECTIVE_ALL_TO_ALL] = "all-to-all",
        [COLLECTIVE_SEND] = "send",
    };
    assert(kind < COLLECTIVE_KIND_COUNT);
    return names[kind];
}

const struct collective *collective_find(const char *name)
{
    for (uint32_t i = 0; i < collective_table_count; i++) {
        if (strcmp(collective_table[i]->name, name) == 0) {
            return collective_table[i];
        }
    }
    return NULL;
}

const char *const *collective_names(void)
{
    return collective_table_names;
}

bool collective_accepts(const struct collective *collective, enum collective_kind kind,
                        const struct collective_group *group)
{
    for (uint32_t i = 0; i < collective->kind_count; i++) {
        if (collective->kinds[i] == kind) {
            return collective->accepts(kind, group);
        }
    }
    return false;
}

uint32_t collective_find_share(const struct collective *collective, enum collective_kind kind,
                               const struct collective_group *group, uint32_t rank)
{
    assert(kind == COLLECTIVE_ALL_GATHER || kind == COLLECTIVE_REDUCE_SCATTER);
    assert(rank < group->ranks);
    const uint32_t share = collective->share == NULL ? rank : collective->share(group, rank);
    return share * (collective->chunk_count(kind, group) / group->ranks);
}

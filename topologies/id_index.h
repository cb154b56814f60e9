/* Finds things by name among many. */
#ifndef SHARDPLAN_TOPOLOGIES_ID_INDEX_H
#define SHARDPLAN_TOPOLOGIES_ID_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct id_entry {
    const char *id;
    uint32_t number; /* of the thing */
};

/* Sorted by (id, number). */
struct id_index {
    struct id_entry *entries;
    uint32_t count;
};

/* Sorts `entries` in place. */
void id_index_init(struct id_index *index, struct id_entry *entries, uint32_t count);
/* The thing of lowest number with that name. */
bool id_index_find(const struct id_index *index, const char *id, uint32_t *out);
/* First position from `start` whose name its predecessor has too; count if there is none. */
uint32_t id_index_find_twin(const struct id_index *index, uint32_t start);

#endif

/* Finds things by name among many. */
#include "topologies/id_index.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *left, const void *right)
{
    const struct id_entry *a = left;
    const struct id_entry *b = right;
    const int ids = strcmp(a->id, b->id);
    return ids != 0 ? ids : (a->number > b->number) - (a->number < b->number);
}

void id_index_init(struct id_index *index, struct id_entry *entries, uint32_t count)
{
    qsort(entries, count, sizeof *entries, compare);
    *index = (struct id_index){.entries = entries, .count = count};
}

bool id_index_find(const struct id_index *index, const char *id, uint32_t *out)
{
    uint32_t low = 0;
    uint32_t high = index->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (strcmp(index->entries[middle].id, id) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == index->count || strcmp(index->entries[low].id, id) != 0) {
        return false;
    }
    *out = index->entries[low].number;
    return true;
}

uint32_t id_index_find_twin(const struct id_index *index, uint32_t start)
{
    for (uint32_t i = start > 1 ? start : 1; i < index->count; i++) {
        if (strcmp(index->entries[i - 1].id, index->entries[i].id) == 0) {
            return i;
        }
    }
    return index->count;
}

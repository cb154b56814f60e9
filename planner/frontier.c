/* Nodes that are not looked into yet, the one that may be fastest first.
 *
 * A node begins with the bound of its compute. When its turn comes it gets the bound of its layers
 * with their messages, which costs more, and waits again: a node is given out when no other can be
 * faster by what is known of it. Nodes under the threshold by compute alone get the second bound
 * in any case, so nothing is lost by finding the promising ones first. */
#include <string.h>

#include "planner/planner_inside.h"

/* Times above zero are in the order of their bits. */
static uint64_t key_of(double seconds)
{
    uint64_t key;
    memcpy(&key, &seconds, sizeof key);
    return key;
}

static void push(struct search *search, const struct mesh_node *node)
{
    heap_push(&search->frontier,
              (struct heap_entry){key_of(node->bound_s), node->index, node->index});
}

void frontier_push_node(struct search *search, struct mesh_node *node)
{
    node_bound(search, node);
    push(search, node);
}

static void prune(struct search *search, const struct mesh_node *node, enum planner_bound bound)
{
    search->certificate.pruned[bound] += node->leaf_count * node->mesh->order_count;
}

static void prune_slow(struct search *search, const struct mesh_node *node)
{
    prune(search, node, node->timed ? BOUND_PIPELINE : BOUND_NODE);
}

/* Behind one that is too slow all are. */
static void prune_rest(struct search *search)
{
    for (uint32_t i = 0; i < search->frontier.count; i++) {
        prune_slow(search, space_find_node(search, search->frontier.entries[i].value));
    }
    search->frontier.count = 0;
}

struct mesh_node *frontier_pop_node(struct search *search)
{
    struct heap_entry first;
    while (heap_pop(&search->frontier, &first)) {
        struct mesh_node *node = space_find_node(search, first.value);
        if (search->options->no_prune) {
            return node;
        }
        if (ranking_cuts(search, node->bound_s)) {
            prune_slow(search, node);
            prune_rest(search);
        } else if (node->timed) {
            return node;
        } else if (node_time(search, node)) {
            push(search, node);
        } else {
            prune(search, node, BOUND_PIPELINE);
        }
    }
    return NULL;
}

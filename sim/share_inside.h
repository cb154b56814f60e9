/* What the files of max-min sharing have in common; nobody else includes it.
 *
 * Alike flows form a *class*, whose flows have one rate. Classes stopped by the same resource form
 * its *group*, and have one rate too; a class stopped by its cap is a group of its own. What a
 * flow has got is counted once per group: a flow ends when the group's count reaches a mark that
 * does not move while rates do, so a change of rates costs per group, not per flow. */
#ifndef SHARDPLAN_SIM_SHARE_INSIDE_H
#define SHARDPLAN_SIM_SHARE_INSIDE_H

#include "sim/share.h"

#define SHARE_NONE UINT32_MAX
#define SHARE_UNLIMITED_BPS 1e300
#define SHARE_OWN 0x80000000u /* groups: of a resource by its number, of a class alone with this */

/* A flow: node of its class's heap by mark. */
struct share_item {
    double mark;             /* ends when its class has got so much per flow */
    uint32_t owner, sequence;
    uint32_t child, sibling; /* or next free */
};

struct share_group {
    double rate_Bps;
    double got_bytes;     /* per flow, as of since_ticks */
    uint64_t since_ticks; /* of the rate */
    uint64_t end_ticks;   /* its first flow ends */
    uint32_t version;     /* changes with end_ticks */
    bool is_noted;        /* in share.changed */
    uint32_t count, capacity;
    uint32_t *classes;    /* heap by the mark of the first flow; of a class alone: unused */
};

/* What filling looks at comes first. */
struct share_class {
    double load; /* bytes of capacity per byte of each of its flows, all together */
    uint32_t group; /* or SHARE_NONE: it has no rate yet */
    uint32_t first_link;
    bool is_rising;
    uint32_t flow_count;
    double weight, cap_Bps;
    const uint32_t *resources;
    uint32_t resource_count;
    uint32_t root;       /* of its flows' heap */
    double offset_bytes; /* got by the class less got by its group */
    uint32_t place;      /* in its group */
    uint32_t next;       /* of the same hash, or next free */
    bool is_kept;        /* in the table */
    struct share_group own;
};

/* A class on a resource. */
struct share_link {
    uint32_t class, resource;
    uint32_t next, previous; /* on the resource */
    uint32_t next_of_class;  /* or next free */
};

struct share_resource {
    double capacity_Bps;
    double weight;        /* of all flows on it */
    double taken_Bps;     /* by those that do not rise, while rates are found */
    double rising_weight; /* of those that do */
    uint32_t rising_count, class_count;
    uint32_t first_link;
    bool is_dirty, has_grown;
    struct share_group group;
};

/* --- share.c ---------------------------------------------------------------------------------- */

/* Twice as many items, kept. */
void *share_grow(struct share *share, void *items, uint32_t *capacity, size_t size_bytes);
void share_mark_dirty(struct share *share, uint32_t resource);

/* --- share_group.c: who ends when ------------------------------------------------------------- */

/* Got per flow by the class by now. */
double share_find_got(const struct share *share, uint32_t class, uint64_t now_ticks);
void share_group_set_rate(struct share *share, uint32_t group, double rate_Bps, uint64_t now_ticks);
/* Into another group, from none or its present one. */
void share_group_push(struct share *share, uint32_t class, uint32_t group, uint64_t now_ticks);
void share_group_pop(struct share *share, uint32_t class);
/* The class's first flow is another. */
void share_group_sift(struct share *share, uint32_t class);
/* Its first end follows what it is now; noted if it is another. */
void share_group_note(struct share *share, uint32_t group);

static inline struct share_group *share_find_group(const struct share *share, uint32_t group)
{
    return (group & SHARE_OWN) != 0 ? &share->classes[group & ~SHARE_OWN].own
                                    : &share->resources[group].group;
}

#endif

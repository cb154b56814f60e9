/* What the files of max-min sharing have in common; nobody else includes it.
 *
 * Alike flows form a *class*, whose flows have one rate. Classes stopped by the same resource form
 * its *group*, and have one rate too; a class stopped by its cap is a group of its own. What a
 * flow has got is counted once per group: a flow ends when the group's count reaches a mark that
 * does not move while rates do, so a change of rates costs per group, not per flow.
 *
 * A class stands in an array of each of its resources: its group's own classes, or the guests of
 * the others. Finding rates reads these arrays from end to end and little else. */
#ifndef SHARDPLAN_SIM_SHARE_INSIDE_H
#define SHARDPLAN_SIM_SHARE_INSIDE_H

#include "sim/share.h"

#define SHARE_NONE UINT32_MAX
#define SHARE_UNLIMITED_BPS 1e300
#define SHARE_OWN 0x80000000u     /* groups: of a resource by its number, of a class with this */
#define SHARE_REACHES 0x80000000u /* of an own class: it may reach its cap */
#define SHARE_MANY (SHARE_NONE - 1)

/* A flow: node of its class's heap by mark. */
struct share_item {
    double mark;             /* ends when its class has got so much per flow */
    uint32_t owner, sequence;
    uint32_t child, sibling; /* or next free */
};

/* A class on a resource. */
struct share_entry {
    double load;    /* bytes of capacity per byte of each of the class's flows, all together */
    uint32_t class; /* of own classes with SHARE_REACHES or without */
    /* Of guests the group; of own classes their other resource: SHARE_NONE if there is none,
     * SHARE_MANY if there are several. */
    uint32_t other;
};

struct share_group {
    double rate_Bps;             /* 0 while it has to be found */
    double got_bytes;            /* per flow, as of since_ticks */
    uint64_t since_ticks;        /* of the rate */
    uint32_t end_place;          /* in share.ends, or SHARE_NONE */
    uint32_t count, capacity;
    struct share_entry *entries; /* heap by the mark of the first flow; of a class alone: unused */
    double weight;               /* of all entries, if it is weighed */
    uint32_t reach_count;        /* entries with SHARE_REACHES, likewise */
    bool is_weighed;
};

struct share_class {
    double load, weight, cap_Bps;
    double offset_bytes; /* got by the class less got by its group */
    const uint32_t *resources;
    uint32_t resource_count;
    uint32_t first_place, place_capacity; /* in share.places: where among each resource's guests */
    uint32_t group;                       /* or SHARE_NONE: it has no flow */
    uint32_t place;                       /* in its group */
    uint32_t flow_count, root;            /* of its flows' heap */
    uint32_t alone;                       /* in share.alone: its own group, or SHARE_NONE */
    uint32_t next;                        /* of the same hash, or next free */
    bool is_kept;                         /* in the table */
    bool is_rising;                       /* it had stopped at its cap and is tried again */
};

/* A resource while rates are found. */
struct share_fill {
    double taken_Bps;     /* by those that do not rise */
    double rising_weight; /* of those that do */
    double rate_Bps;      /* of its group */
    uint32_t rising_count;
    bool is_dirty;
    bool is_full;         /* its group has its new rate */
    bool keeps;           /* its group keeps the rate that it had */
};

struct share_resource {
    double capacity_Bps;
    double weight; /* of all flows on it */
    bool has_grown;
    uint32_t guest_count, guest_capacity;
    struct share_entry *guests;
    struct share_group group;
};

/* A group that has flows. */
struct share_end {
    uint64_t ticks; /* its first flow ends */
    uint32_t group;
};

/* --- share.c ---------------------------------------------------------------------------------- */

/* Twice as many items, kept. */
void *share_grow(struct share *share, void *items, uint32_t *capacity, size_t size_bytes);

static inline void share_mark_dirty(struct share *share, uint32_t resource)
{
    if (!share->fills[resource].is_dirty) {
        share->fills[resource].is_dirty = true;
        share->dirty[share->dirty_count++] = resource;
    }
}

/* --- share_link.c: who stands where ----------------------------------------------------------- */

/* From no group into that of one of its resources. */
void share_link_push(struct share *share, uint32_t class, uint32_t group, uint64_t now_ticks);
/* Into another group: of one of its resources, or its own. */
void share_link_move(struct share *share, uint32_t class, uint32_t group, uint64_t now_ticks);
void share_link_pop(struct share *share, uint32_t class);
/* The class has another load. */
void share_link_set_load(struct share *share, uint32_t class, double load);

/* --- share_group.c: who ends when ------------------------------------------------------------- */

/* Got per flow by the class by now. */
double share_find_got(const struct share *share, uint32_t class, uint64_t now_ticks);
void share_group_set_rate(struct share *share, uint32_t group, double rate_Bps, uint64_t now_ticks);
/* Into another group, from none or its present one. */
void share_group_push(struct share *share, uint32_t class, uint32_t group, uint64_t now_ticks);
void share_group_pop(struct share *share, uint32_t class);
/* The class's first flow is another. */
void share_group_sift(struct share *share, uint32_t class);
/* Its first end follows what it is now. */
void share_group_note(struct share *share, uint32_t group);

static inline struct share_group *share_find_group(const struct share *share, uint32_t group)
{
    return (group & SHARE_OWN) != 0 ? &share->alone[share->classes[group & ~SHARE_OWN].alone]
                                    : &share->resources[group].group;
}

#endif

/* How one parallel dimension cuts axes; ops never name it and it names no op.
 *
 * One rule serves all. For an op and a dim: the dim cuts the first axis of its list that is in the
 * op's domain (and, where `beside` is set, only if that axis is there too). Where the cut axis is
 * contracted the result is a partial sum over the dim; where a consumer wants an operand cut
 * otherwise than its producer left it, a reshard is due. */
#ifndef SHARDPLAN_PLAN_DIM_H
#define SHARDPLAN_PLAN_DIM_H

#include <stdbool.h>
#include <stdint.h>

#define DIM_MAX 12          /* members and declared dims in one mesh, folds included */
#define DIM_CUT_MAX 12
#define DIM_VARIANT_MAX 4

enum dim_kind {
    DIM_FACTOR,             /* multiplies into the world size */
    DIM_FOLD_BESIDE,        /* on the hosts' ranks, where the hosts cut nothing (sequence
                             * parallel) */
    DIM_FOLD_INSTEAD,       /* on ranks of the product of the hosts, whose cut it replaces where it
                             * applies (expert) */
    DIM_KIND_COUNT
};

struct dim_cut {
    const char *axis;
    const char *beside;     /* cuts `axis` only in ops whose domain has this axis too; NULL:
                             * always */
};

struct dim_variant {
    const char *name;       /* as flags and files spell it; NULL: the only variant */
    struct dim_cut cuts[DIM_CUT_MAX];
    uint32_t cut_count;
    uint32_t overlap_chunks;    /* > 0: gathers of this dim travel under the op they feed, in that
                                 * many times its degree pieces (ring attention: 1) */
};

struct dim {
    const char *name;       /* "tp": JSON key, flag, table heading, breakdown key */
    const char *flag;       /* "--tp" */
    const char *summary;
    enum dim_kind kind;
    const char *hosts[3];   /* folds: dims whose ranks are reused, NULL-terminated */
    bool on_or_off;         /* fold over the whole host product or not at all */
    bool cuts_chain;        /* cuts the chain of parts into stages instead of axes (pipeline) */
    struct dim_variant variants[DIM_VARIANT_MAX];
    uint32_t variant_count; /* >= 1 */
    uint32_t order;         /* default place in the rank order, smallest innermost; also the
                             * search's and table's order */
};

extern const struct dim *const dim_table[];
extern const uint32_t dim_table_count;
extern const char *const dim_table_names[];     /* NULL-terminated */
const struct dim *dim_find(const char *name);
/* Place in the table. */
uint32_t dim_find_index(const struct dim *dim);
const char *const *dim_names(void);

#endif

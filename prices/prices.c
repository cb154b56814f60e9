/* The price list of one cluster under one runtime. */
#include "prices/prices.h"

#include <assert.h>
#include <string.h>

#include "base/data_folder.h"
#include "base/logarithm.h"
#include "base/number.h"
#include "prices/fabric.h"

#define LN_2 0.69314718055994530942

const char *prices_provenance_name(enum provenance provenance)
{
    static const char *const names[PROVENANCE_COUNT] = {"measured", "interpolated", "extrapolated",
                                                        "analytic"};
    return names[provenance];
}

static const struct link_kind *find_link(const struct prices *prices, const char *name)
{
    for (uint32_t i = 0; i < prices->link_count; i++) {
        if (strcmp(prices->links[i].name, name) == 0) {
            return &prices->links[i];
        }
    }
    return NULL;
}

const struct link_kind *prices_find_link(const struct prices *prices, const char *name)
{
    const struct link_kind *link = find_link(prices, name);
    if (link == NULL) {
        BUG("link kind '%s' was not checked when prices were read", name);
    }
    return link;
}

static bool check_link(const struct prices *prices, const char *where, const char *name,
                       struct arena *arena, struct diag *diag)
{
    if (find_link(prices, name) != NULL) {
        return true;
    }
    const char **names = ARENA_PUSH(arena, const char *, prices->link_count);
    for (uint32_t i = 0; i < prices->link_count; i++) {
        names[i] = prices->links[i].name;
    }
    const char *nearest = text_find_nearest(name, names, prices->link_count);
    const char *hint =
        nearest == NULL
            ? "name a link kind of prices/fabric.json, or leave \"link\" out to use bandwidth "
              "and latency as written"
            : text_build(arena, "did you mean '%s'?", nearest);
    return diag_push(diag, DIAG_R502, (struct diag_place){0}, hint,
                     "%s: link kind '%s' has no price", where, name);
}

/* The library of one more link; two of them leave the choice open. */
static void join_library(struct prices *prices, const char *link, bool first)
{
    const struct link_kind *kind = find_link(prices, link);
    const char *library = kind == NULL ? NULL : kind->library;
    const bool same =
        prices->library != NULL && library != NULL && strcmp(prices->library, library) == 0;
    prices->library = first ? library : same ? library : NULL;
}

static void find_library(const struct cluster *cluster, struct prices *prices)
{
    for (uint32_t i = 0; i < cluster->level_count; i++) {
        join_library(prices, cluster->levels[i].link, i == 0);
    }
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        join_library(prices, cluster->links[i].link, i == 0);
    }
}

bool prices_offers(const struct prices *prices, enum collective_kind kind,
                   const struct collective *member)
{
    for (uint32_t i = 0; prices->library != NULL && i < prices->library_kind_count; i++) {
        const struct library_kind *row = &prices->library_kinds[i];
        bool has = false;
        if (strcmp(row->library, prices->library) != 0 ||
            strcmp(row->kind, collective_kind_name(kind)) != 0) {
            continue;
        }
        for (uint32_t k = 0; k < row->member_count; k++) {
            has = has || strcmp(row->members[k], member->name) == 0;
        }
        return has;
    }
    return true;
}

/* Equal devices differ by a few percent, and a step waits for the slowest: the expected largest of
 * n normal deviations is at most sigma * sqrt(2 ln n) (P. Massart, Concentration Inequalities
 * and Model Selection, lemma 2.3), which it nears as n grows. */
static double spread_loss_frac(const struct cluster *cluster)
{
    double spread = 0.0;
    for (uint32_t i = 0; i < cluster->accelerator_count; i++) {
        const double own = cluster->accelerators[i].training.spread_frac;
        spread = own > spread ? own : spread;
    }
    return spread * number_root(2.0 * LN_2 * logarithm_of(cluster->device_count));
}

double prices_copy_s(const struct prices *prices, uint32_t accelerator, double bytes)
{
    const struct host *host = &prices->accelerators[accelerator].host;
    assert(accelerator < prices->accelerator_count && host->memory_bytes > 0);
    return bytes == 0.0 ? 0.0 : host->latency_s + bytes / host_copy_Bps(host);
}

double prices_host_s(const struct prices *prices, const struct work_items *list)
{
    const struct runtime *runtime = prices->runtime;
    double seconds = 0.0;
    for (uint32_t i = 0; runtime != NULL && i < list->count; i++) {
        const struct work_item *item = &list->items[i];
        seconds += item->is_message || !item->compute.joined ? runtime->op_overhead_s : 0.0;
        seconds += !item->is_message && item->compute.reorders ? runtime->dispatch_overhead_s : 0.0;
    }
    return seconds;
}

double prices_exposed_frac(const struct prices *prices, const struct work_message *message)
{
    const bool inside = message->cause == CAUSE_PARTIAL_SUM || message->cause == CAUSE_GATHER;
    const bool hidden = prices->runtime != NULL && prices->runtime->overlaps_tensor && inside &&
                        message->overlap == OVERLAP_NONE;
    return hidden ? prices->runtime->tensor_exposed_frac : 1.0;
}

double prices_overlap_loss_frac(const struct prices *prices)
{
    return prices->runtime == NULL ? 0.0 : prices->runtime->overlap_loss_frac;
}

void prices_adjust(struct prices *prices, const struct cluster *cluster)
{
    prices->accelerators = cluster->accelerators;
    prices->accelerator_count = cluster->accelerator_count;
    prices->spread_loss_frac = spread_loss_frac(cluster);
}

bool prices_read(const struct cluster *cluster, const struct runtime *runtime, struct arena *arena,
                 struct prices *out, struct diag *diag)
{
    struct prices read;
    memset(&read, 0, sizeof read);
    read.runtime = runtime;
    prices_adjust(&read, cluster);
    if (!fabric_read(data_folder_find("prices/fabric.json", arena), arena, &read, diag)) {
        return false;
    }
    bool good = true;
    for (uint32_t i = 0; i < cluster->level_count; i++) {
        good = check_link(&read,
                          text_build(arena, "cluster '%s', level '%s'", cluster->name,
                                     cluster->levels[i].name),
                          cluster->levels[i].link, arena, diag) &&
               good;
    }
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        good = check_link(&read, text_build(arena, "cluster '%s', link %u", cluster->name, i),
                          cluster->links[i].link, arena, diag) &&
               good;
    }
    if (good) {
        find_library(cluster, &read);
        *out = read;
    }
    return good;
}

uint32_t prices_find_protocol(const struct link_kind *link, uint32_t protocol,
                              enum collective_kind kind, double message_bytes)
{
    const uint32_t last = link->protocol_count - 1;
    const bool pairs = kind == COLLECTIVE_ALL_TO_ALL || kind == COLLECTIVE_SEND;
    return protocol >= last || (pairs && message_bytes > link->protocols[protocol].pairs_max_bytes)
               ? last
               : protocol;
}

double prices_fill_s(const struct link_kind *link, uint32_t protocol, bool in_network,
                     double alone_Bps, double message_bytes)
{
    const double bytes = message_bytes < link->fill_bytes ? message_bytes : link->fill_bytes;
    return in_network || protocol + 1 < link->protocol_count
               ? 0.0
               : bytes / (alone_Bps * link->protocols[protocol].rate_frac);
}

struct message_price prices_message(const struct prices *prices, const struct path *path,
                                    uint32_t protocol, bool in_network)
{
    const struct link_kind *link = prices_find_link(prices, path->link);
    assert(protocol < link->protocol_count);
    const struct protocol *terms = &link->protocols[protocol];
    struct message_price price = {.latency_s = path->latency_s + terms->latency_s,
                                  .rate_Bps = path->bandwidth_Bps * terms->rate_frac};
    if (in_network && link->in_network_rate_frac > 0.0) {
        price.latency_s = path->latency_s + link->in_network_latency_s;
        price.rate_Bps = path->bandwidth_Bps * link->in_network_rate_frac;
    } else if (terms->rate_cap_Bps > 0.0 && price.rate_Bps > terms->rate_cap_Bps) {
        price.rate_Bps = terms->rate_cap_Bps;
    }
    return price;
}

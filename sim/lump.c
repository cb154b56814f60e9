/* Looks over each member's rounds once per group, then prices the slowest messages for each
 * size. */
#include "sim/lump.h"

#include <assert.h>
#include <string.h>

#include "base/diag.h"
#include "base/number.h"
#include "base/text.h"
#include "sim/lump_inside.h"
#include "sim/program.h"

#define BUCKETS 1024u
/* Of larger groups a look at so many ranks says which members are worth a look at all. */
#define SAMPLE_RANKS 4096u

struct found {
    struct found *next;
    unsigned long long key;
    struct lump_list list;
};

struct lump_book {
    const struct cluster *cluster;
    const struct prices *prices;
    struct arena *arena;
    struct survey *surveys[BUCKETS];
    struct found *lists[BUCKETS];
    double *port_Bps; /* graphs: [device] sum of its links; else NULL */
};

/* A link that is shared by both directions counts for each: alone it can be all of either. */
static double *sum_links(const struct cluster *cluster, struct arena *arena)
{
    if (cluster->level_count > 0) {
        return NULL;
    }
    double *sums_Bps = ARENA_PUSH(arena, double, cluster->device_count);
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        const struct link *link = &cluster->links[i];
        if (link->from < cluster->device_count) {
            sums_Bps[link->from] += link->bandwidth_Bps;
        }
        if (link->to < cluster->device_count) {
            sums_Bps[link->to] += link->bandwidth_Bps;
        }
    }
    return sums_Bps;
}

struct lump_book *lump_book_init(const struct cluster *cluster, const struct prices *prices,
                                 struct arena *arena)
{
    struct lump_book *book = ARENA_PUSH(arena, struct lump_book, 1);
    book->cluster = cluster;
    book->prices = prices;
    book->arena = arena;
    book->port_Bps = sum_links(cluster, arena);
    return book;
}

static unsigned long long request_key(const struct lump_request *request)
{
    unsigned long long key = text_digest(TEXT_DIGEST_SEED, &request->kind, sizeof request->kind);
    key = text_digest(key, &request->base, sizeof request->base);
    key = text_digest(key, &request->crowd, sizeof request->crowd);
    return rank_group_digest(key, request->group);
}

/* A message being priced: the best so far. */
struct trial {
    struct lump_book *book;
    const struct lump_request *request;
    struct lump_list *list;
    const struct survey *best;
    uint32_t best_index; /* of its member in the table */
};

/* ranks_max: as in struct lump_look_request. */
static const struct survey *find_survey(const struct trial *trial, const struct collective *member,
                                        const struct collective_group *shape, uint32_t ranks_max)
{
    struct lump_book *book = trial->book;
    unsigned long long key = request_key(trial->request);
    key = text_digest(key, &member, sizeof member);
    key = text_digest(key, &shape->pipeline, sizeof shape->pipeline);
    key = text_digest(key, &ranks_max, sizeof ranks_max);
    struct survey **bucket = &book->surveys[key % BUCKETS];
    for (const struct survey *survey = *bucket; survey != NULL; survey = survey->next) {
        if (survey->key == key) {
            return survey;
        }
    }
    struct survey *survey = ARENA_PUSH(book->arena, struct survey, 1);
    const struct lump_look_request look = {.cluster = book->cluster,
                                           .prices = book->prices,
                                           .kind = trial->request->kind,
                                           .group = trial->request->group,
                                           .base = trial->request->base,
                                           .crowd = trial->request->crowd,
                                           .port_Bps = book->port_Bps,
                                           .ranks_max = ranks_max};
    lump_look(&look, member, shape, book->arena, survey);
    survey->next = *bucket;
    survey->key = key;
    *bucket = survey;
    return survey;
}

/* --- prices for a size ------------------------------------------------------------------------ */

static struct lump price_sort(const struct lump_book *book, const struct sort *sort,
                              uint32_t protocol, double bytes)
{
    const struct link_kind *link = sort->link;
    const uint32_t own = prices_find_protocol(link, protocol, sort->kind, bytes * sort->bytes_frac);
    const struct path path = {
        .latency_s = sort->latency_s, .bandwidth_Bps = sort->shared_Bps, .link = link->name};
    const struct message_price price = prices_message(book->prices, &path, own, sort->in_network);
    const bool has_own_terms = sort->in_network && link->in_network_rate_frac > 0.0;
    const double reached_frac =
        has_own_terms ? link->in_network_rate_frac : link->protocols[own].rate_frac;
    return (struct lump){.level = sort->level,
                         .latency_s = price.latency_s,
                         .bytes = bytes * sort->bytes_frac * sort->messages,
                         .cap_Bps = price.rate_Bps * sort->messages,
                         .weight = 1.0 / reached_frac,
                         .port_Bps = sort->port_Bps};
}

static double lump_s(const struct lump *lump)
{
    return lump->latency_s + lump->bytes / lump->cap_Bps;
}

/* The slowest message of the stretch's rounds; zero time if there is none. */
static struct lump price_stretch(const struct lump_book *book, const struct stretch *stretch,
                                 uint32_t protocol, double bytes)
{
    struct lump slowest = {.cap_Bps = 1.0, .weight = 1.0, .port_Bps = 1.0};
    for (uint32_t i = 0; i < stretch->sort_count; i++) {
        const struct lump lump = price_sort(book, &stretch->sorts[i], protocol, bytes);
        if (i == 0 || lump_s(&lump) > lump_s(&slowest)) {
            slowest = lump;
        }
    }
    return slowest;
}

static double fill_s(const struct sort *sort, uint32_t protocol, double bytes)
{
    const double own_bytes = bytes * sort->bytes_frac;
    const uint32_t own = prices_find_protocol(sort->link, protocol, sort->kind, own_bytes);
    return prices_fill_s(sort->link, own, sort->in_network, sort->alone_Bps, own_bytes);
}

/* What the rounds do not repeat. */
static double start_s(const struct survey *survey, uint32_t protocol, double bytes)
{
    double most_s = 0.0;
    for (uint32_t i = 0; i < survey->stretch_count; i++) {
        for (uint32_t k = 0; k < survey->stretches[i].sort_count; k++) {
            const double own_s = fill_s(&survey->stretches[i].sorts[k], protocol, bytes);
            most_s = own_s > most_s ? own_s : most_s;
        }
    }
    return survey->base_s + most_s;
}

static double survey_s(const struct lump_book *book, const struct survey *survey, uint32_t protocol,
                       double bytes)
{
    double seconds = start_s(survey, protocol, bytes);
    for (uint32_t i = 0; i < survey->stretch_count; i++) {
        const struct lump slowest = price_stretch(book, &survey->stretches[i], protocol, bytes);
        seconds += lump_s(&slowest) * (double)survey->stretches[i].repeat;
    }
    return seconds;
}

/* Stretches of the same ports and rate one after another are one flow. */
static void fill_lumps(const struct lump_book *book, const struct survey *survey, double bytes,
                       struct lump_list *out)
{
    struct lump *lumps = ARENA_PUSH(book->arena, struct lump, survey->stretch_count);
    for (uint32_t i = 0; i < survey->stretch_count; i++) {
        struct lump next = price_stretch(book, &survey->stretches[i], out->protocol, bytes);
        next.latency_s *= (double)survey->stretches[i].repeat;
        next.bytes *= (double)survey->stretches[i].repeat;
        next.latency_s += i == 0 ? start_s(survey, out->protocol, bytes) : 0.0;
        struct lump *last = out->count == 0 ? NULL : &lumps[out->count - 1];
        if (last != NULL && last->level == next.level && last->cap_Bps == next.cap_Bps &&
            last->weight == next.weight) {
            last->latency_s += next.latency_s;
            last->bytes += next.bytes;
        } else {
            lumps[out->count++] = next;
        }
    }
    out->lumps = lumps;
}

struct lump lump_find_pair(const struct lump_book *book, uint32_t from, uint32_t to, double bytes)
{
    struct path path;
    if (!cluster_find_path(book->cluster, from, to, &path)) {
        BUG("no way from device %u to device %u: the cluster was not checked", from, to);
    }
    const struct sort sort = {.level = path.level,
                              .kind = COLLECTIVE_SEND,
                              .link = prices_find_link(book->prices, path.link),
                              .latency_s = path.latency_s,
                              .port_Bps = book->port_Bps == NULL
                                              ? book->cluster->levels[path.level].bandwidth_Bps
                                              : book->port_Bps[from],
                              .shared_Bps = path.bandwidth_Bps,
                              .alone_Bps = path.bandwidth_Bps,
                              .bytes_frac = 1.0,
                              .messages = 1.0};
    struct lump best = price_sort(book, &sort, 0, bytes);
    best.latency_s += fill_s(&sort, 0, bytes);
    for (uint32_t protocol = 1; protocol < sort.link->protocol_count; protocol++) {
        struct lump other = price_sort(book, &sort, protocol, bytes);
        other.latency_s += fill_s(&sort, protocol, bytes);
        best = lump_s(&other) < lump_s(&best) ? other : best;
    }
    best.latency_s += sort.link->base_s;
    return best;
}

bool lump_is_port_wide(const struct lump_book *book, uint32_t from, uint32_t to)
{
    struct path path;
    return book->port_Bps == NULL ||
           (cluster_find_path(book->cluster, from, to, &path) &&
            path.bandwidth_Bps >= number_smaller(book->port_Bps[from], book->port_Bps[to]));
}

/* Of equal times the earlier member's. */
static bool is_better(const struct trial *trial, double seconds, uint32_t index)
{
    return trial->best == NULL || seconds < trial->list->seconds ||
           (seconds == trial->list->seconds && index < trial->best_index);
}

static void try_shape(struct trial *trial, uint32_t index, const struct collective_group *shape)
{
    const struct collective *member = collective_table[index];
    const struct survey *survey = find_survey(trial, member, shape, 0);
    for (uint32_t protocol = 0; survey->is_usable && protocol < survey->protocol_count;
         protocol++) {
        const double seconds = survey_s(trial->book, survey, protocol, trial->request->bytes);
        if (is_better(trial, seconds, index)) {
            trial->best = survey;
            trial->best_index = index;
            *trial->list = (struct lump_list){.member = member,
                                              .protocol = protocol,
                                              .pipeline = shape->pipeline,
                                              .seconds = seconds};
        }
    }
}

static bool may_serve(const struct trial *trial, const struct collective *member,
                      const struct collective_group *shape)
{
    return prices_offers(trial->book->prices, trial->request->kind, member) &&
           collective_accepts(member, trial->request->kind, shape) &&
           !program_is_dense(member, trial->request->kind, shape);
}

/* Never above what the member takes; it serves the shape in one piece. */
static double bound_s(const struct trial *trial, const struct collective *member,
                      const struct collective_group *shape)
{
    if (shape->ranks <= SAMPLE_RANKS || member->staggered || member->pipeline_max > 1) {
        return 0.0;
    }
    const struct survey *survey = find_survey(trial, member, shape, SAMPLE_RANKS);
    double least_s = survey_s(trial->book, survey, 0, trial->request->bytes);
    for (uint32_t protocol = 1; protocol < survey->protocol_count; protocol++) {
        const double seconds = survey_s(trial->book, survey, protocol, trial->request->bytes);
        least_s = seconds < least_s ? seconds : least_s;
    }
    return least_s;
}

/* The member with the least bound. */
static uint32_t find_promising(const struct trial *trial, const struct collective_group *shape)
{
    uint32_t promising = 0;
    double least_s = -1.0;
    for (uint32_t i = 0; i < collective_table_count; i++) {
        if (may_serve(trial, collective_table[i], shape)) {
            const double seconds = bound_s(trial, collective_table[i], shape);
            promising = least_s < 0.0 || seconds < least_s ? i : promising;
            least_s = least_s < 0.0 || seconds < least_s ? seconds : least_s;
        }
    }
    return promising;
}

/* Of a large group one that promises much first: then few others are below what it takes. */
static void try_all(struct trial *trial)
{
    struct collective_group shape;
    collective_group_find(trial->book->cluster, trial->request->group, trial->request->base,
                          &shape);
    const uint32_t first = shape.ranks > SAMPLE_RANKS ? find_promising(trial, &shape) : 0;
    for (uint32_t i = 0; i < collective_table_count; i++) {
        const uint32_t next = i == 0 ? first : i <= first ? i - 1 : i;
        const struct collective *member = collective_table[next];
        shape.pipeline = 1;
        if (!prices_offers(trial->book->prices, trial->request->kind, member) ||
            (may_serve(trial, member, &shape) &&
             !is_better(trial, bound_s(trial, member, &shape), next))) {
            continue;
        }
        for (; shape.pipeline <= member->pipeline_max; shape.pipeline *= 2) {
            if (may_serve(trial, member, &shape)) {
                try_shape(trial, next, &shape);
            }
        }
    }
}

static struct found *push_found(struct lump_book *book, unsigned long long key)
{
    struct found *found = ARENA_PUSH(book->arena, struct found, 1);
    *found =
        (struct found){.next = book->lists[key % BUCKETS], .key = key, .list = {.pipeline = 1}};
    book->lists[key % BUCKETS] = found;
    return found;
}

const struct lump_list *lump_find(struct lump_book *book, const struct lump_request *request)
{
    assert(request->bytes >= 0.0 && request->group->ranks > 0);
    const unsigned long long key =
        text_digest(request_key(request), &request->bytes, sizeof request->bytes);
    for (const struct found *at = book->lists[key % BUCKETS]; at != NULL; at = at->next) {
        if (at->key == key) {
            return &at->list;
        }
    }
    struct found *found = push_found(book, key);
    if (request->group->ranks < 2 || request->bytes == 0.0) {
        return &found->list;
    }
    struct trial trial = {.book = book, .request = request, .list = &found->list};
    try_all(&trial);
    if (trial.best == NULL) {
        BUG("no collective serves a %s over %u ranks", collective_kind_name(request->kind),
            request->group->ranks);
    }
    fill_lumps(book, trial.best, request->bytes, &found->list);
    return &found->list;
}

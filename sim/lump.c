/* Looks over each member's rounds once per group, then prices the slowest messages for each size. */
#include "sim/lump.h"

#include <assert.h>
#include <string.h>

#include "base/diag.h"
#include "base/text.h"
#include "plan/collective_group.h"
#include "sim/program.h"

#define BUCKETS 1024u
/* Larger groups of one level are taken to be even without a look at every pair. */
#define LOOK_RANKS 256u

/* Messages of a round with the same terms. */
struct sort {
    uint32_t level;
    const struct link_kind *link;
    double latency_s;
    double alone_Bps, shared_Bps;   /* of the way; shared with the round's other messages */
    double bytes_frac;
    double weight;                  /* such messages at once on the ports of the busiest rank */
    bool in_network;
};

struct stretch {
    uint32_t repeat, sort_count, sort_capacity;
    struct sort *sorts;
};

/* What a member does on a group, whatever the size. */
struct survey {
    struct survey *next;
    unsigned long long key;
    const struct collective *member;
    struct collective_group shape;
    bool is_usable;
    double base_s;
    uint32_t protocol_count, stretch_count, stretch_capacity;
    struct stretch *stretches;
};

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
    uint32_t *loads;                /* per hop, zero between rounds */
    size_t load_count;
};

struct lump_book *lump_book_init(const struct cluster *cluster, const struct prices *prices, struct arena *arena)
{
    struct lump_book *book = ARENA_PUSH(arena, struct lump_book, 1);
    book->cluster = cluster;
    book->prices = prices;
    book->arena = arena;
    return book;
}

/* --- one look at a member's rounds -------------------------------------------------------------- */

struct look {
    struct lump_book *book;
    enum collective_kind kind;
    const struct rank_group *group;
    struct survey *survey;
    uint32_t chunk_count;
    uint32_t sends;                 /* of the rank being looked at, in the round */
    struct path level_paths[LEVEL_MAX]; /* one stands for all of a switched level */
    bool is_known[LEVEL_MAX];
};

struct way {
    struct path path;
    size_t hops[PATH_HOP_MAX];      /* their places in the loads */
};

/* Ports of a switched level belong to the ranks at the ends, so no path need be looked for twice. */
static void find_way(struct look *look, uint32_t from, uint32_t to, struct way *out)
{
    const struct cluster *cluster = look->book->cluster;
    const uint32_t a = rank_group_find_device(look->group, 0, from), b = rank_group_find_device(look->group, 0, to);
    const uint32_t level = cluster->level_count == 0 ? 0 : cluster_find_level(cluster, a, b);
    const bool is_switched = cluster->level_count > 0 && cluster->levels[level].kind == LEVEL_SWITCH;
    if (is_switched && look->is_known[level]) {
        out->path = look->level_paths[level];
    } else if (!cluster_find_path(cluster, a, b, &out->path)) {
        BUG("no way from device %u to device %u: the cluster was not checked", a, b);
    }
    const size_t ports = (size_t)2 * look->group->ranks * cluster->level_count;
    if (is_switched) {
        look->level_paths[level] = out->path;
        look->is_known[level] = true;
        out->hops[0] = 2 * ((size_t)from * cluster->level_count + level);
        out->hops[1] = 2 * ((size_t)to * cluster->level_count + level) + 1;
        assert(out->path.hop_count == 2);
        return;
    }
    for (uint32_t i = 0; i < out->path.hop_count; i++) {
        out->hops[i] = ports + out->path.hops[i].resource;
    }
}

static bool same_sort(const struct sort *a, const struct sort *b)
{
    return a->level == b->level && a->link == b->link && a->latency_s == b->latency_s &&
           a->alone_Bps == b->alone_Bps && a->shared_Bps == b->shared_Bps && a->bytes_frac == b->bytes_frac &&
           a->weight == b->weight && a->in_network == b->in_network;
}

static void push_sort(struct look *look, struct stretch *stretch, const struct sort *sort)
{
    for (uint32_t i = 0; i < stretch->sort_count; i++) {
        if (same_sort(&stretch->sorts[i], sort)) {
            return;
        }
    }
    if (stretch->sort_count == stretch->sort_capacity) {
        stretch->sort_capacity = stretch->sort_capacity == 0 ? 4 : 2 * stretch->sort_capacity;
        struct sort *grown = ARENA_PUSH(look->book->arena, struct sort, stretch->sort_capacity);
        if (stretch->sort_count > 0) {
            memcpy(grown, stretch->sorts, stretch->sort_count * sizeof *grown);
        }
        stretch->sorts = grown;
    }
    stretch->sorts[stretch->sort_count++] = *sort;
    struct survey *survey = look->survey;
    survey->base_s = sort->link->base_s > survey->base_s ? sort->link->base_s : survey->base_s;
    survey->protocol_count = sort->link->protocol_count > survey->protocol_count ? sort->link->protocol_count
                                                                                 : survey->protocol_count;
}

enum pass { PASS_LOAD, PASS_SORT, PASS_CLEAR };

static void look_at_step(struct look *look, enum pass pass, uint32_t rank, const struct collective_step *step,
                         struct stretch *stretch)
{
    const bool in_network = step->to == COLLECTIVE_SWITCH;
    const uint32_t ranks = look->group->ranks;
    const uint32_t peer = in_network ? (rank == 0 ? 1 : 0) : step->to;
    struct way way;
    find_way(look, rank, peer, &way);
    double shared_Bps = way.path.bandwidth_Bps;
    for (uint32_t i = 0; i < way.path.hop_count && !in_network; i++) {
        uint32_t *load = &look->book->loads[way.hops[i]];
        if (pass == PASS_SORT) {
            const double share_Bps = way.path.hops[i].bandwidth_Bps / (double)*load;
            shared_Bps = share_Bps < shared_Bps ? share_Bps : shared_Bps;
        } else {
            *load = pass == PASS_LOAD ? *load + 1 : 0;
        }
    }
    if (pass != PASS_SORT) {
        return;
    }
    const uint32_t parts = look->kind == COLLECTIVE_ALL_TO_ALL ? ranks : look->chunk_count;
    const double times = in_network && !step->reduce ? (double)(ranks - 1) : 1.0;
    const struct cluster *cluster = look->book->cluster;
    const bool has_one_port = cluster->level_count == 0 || cluster->levels[way.path.level].kind == LEVEL_SWITCH;
    const struct sort sort = {.level = way.path.level,
                              .link = prices_find_link(look->book->prices, way.path.link),
                              .latency_s = in_network ? 2.0 * way.path.latency_s : way.path.latency_s,
                              .alone_Bps = way.path.bandwidth_Bps,
                              .shared_Bps = shared_Bps,
                              .bytes_frac = (double)step->chunk_count / (double)parts * times,
                              .weight = in_network     ? 1.0
                                        : has_one_port ? way.path.bandwidth_Bps / shared_Bps
                                                       : (double)look->sends,
                              .in_network = in_network};
    push_sort(look, stretch, &sort);
}

static void look_at_round(struct look *look, enum pass pass, uint32_t round, struct stretch *stretch)
{
    const struct survey *survey = look->survey;
    struct collective_step step;
    for (uint32_t rank = 0; rank < survey->shape.ranks; rank++) {
        look->sends = 0;
        while (pass == PASS_SORT &&
               survey->member->step(look->kind, &survey->shape, round, rank, look->sends, &step)) {
            look->sends++;
        }
        for (uint32_t i = 0; survey->member->step(look->kind, &survey->shape, round, rank, i, &step); i++) {
            look_at_step(look, pass, rank, &step, stretch);
        }
    }
}

static struct stretch *push_stretch(struct look *look)
{
    struct survey *survey = look->survey;
    if (survey->stretch_count == survey->stretch_capacity) {
        survey->stretch_capacity = survey->stretch_capacity == 0 ? 4 : 2 * survey->stretch_capacity;
        struct stretch *grown = ARENA_PUSH(look->book->arena, struct stretch, survey->stretch_capacity);
        if (survey->stretch_count > 0) {
            memcpy(grown, survey->stretches, survey->stretch_count * sizeof *grown);
        }
        survey->stretches = grown;
    }
    return &survey->stretches[survey->stretch_count++];
}

static void look_at_all(struct look *look)
{
    const struct survey *survey = look->survey;
    const struct collective *member = survey->member;
    const uint32_t rounds = member->round_count(look->kind, &survey->shape);
    for (uint32_t round = 0; round < rounds;) {
        struct stretch *stretch = push_stretch(look);
        *stretch = (struct stretch){
            .repeat = member->alike == NULL ? 1 : member->alike(look->kind, &survey->shape, round)};
        look_at_round(look, PASS_LOAD, round, stretch);
        look_at_round(look, PASS_SORT, round, stretch);
        look_at_round(look, PASS_CLEAR, round, stretch);
        round += stretch->repeat;
    }
}

/* --- members whose ranks do not go in step -------------------------------------------------------- */

/* Ranks of a staggered program wait for each other only along chains; where all messages have the same terms the
 * longest chain has every round (a law of the members), elsewhere rounds would not add up. */
static bool is_even(const struct survey *survey)
{
    const struct sort *first = NULL;
    for (uint32_t i = 0; i < survey->stretch_count; i++) {
        const struct stretch *stretch = &survey->stretches[i];
        if (stretch->sort_count > 1) {
            return false;
        }
        if (stretch->sort_count == 0) {
            continue;
        }
        first = first == NULL ? &stretch->sorts[0] : first;
        if (!same_sort(first, &stretch->sorts[0])) {
            return false;
        }
    }
    return true;
}

static bool is_one_level(const struct look *look)
{
    const struct cluster *cluster = look->book->cluster;
    const struct rank_group *group = look->group;
    if (cluster->level_count == 0) {
        return false;
    }
    const uint32_t zero = rank_group_find_device(group, 0, 0);
    const uint32_t level = cluster_find_level(cluster, zero, rank_group_find_device(group, 0, 1));
    for (uint32_t rank = 1; rank < group->ranks; rank++) {
        const uint32_t device = rank_group_find_device(group, 0, rank);
        const uint32_t before = rank_group_find_device(group, 0, rank - 1);
        if (cluster_find_level(cluster, zero, device) != level || cluster_find_level(cluster, before, device) != level) {
            return false;
        }
    }
    return cluster->levels[level].kind == LEVEL_SWITCH;
}

/* All rounds from one message: the first there is. */
static void look_at_one(struct look *look)
{
    const struct survey *survey = look->survey;
    const uint32_t rounds = survey->member->round_count(look->kind, &survey->shape);
    struct stretch *stretch = push_stretch(look);
    *stretch = (struct stretch){.repeat = rounds};
    struct collective_step step;
    look->sends = 1;
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t rank = 0; rank < survey->shape.ranks; rank++) {
            if (survey->member->step(look->kind, &survey->shape, round, rank, 0, &step)) {
                look_at_step(look, PASS_LOAD, rank, &step, stretch);
                look_at_step(look, PASS_SORT, rank, &step, stretch);
                look_at_step(look, PASS_CLEAR, rank, &step, stretch);
                return;
            }
        }
    }
}

static void look_at_staggered(struct look *look)
{
    struct survey *survey = look->survey;
    const uint32_t pipeline = survey->shape.pipeline;
    if (look->group->ranks > LOOK_RANKS) {
        survey->is_usable = is_one_level(look);
    } else {
        /* the same pairs talk to each other in every pipelining */
        survey->shape.pipeline = 1;
        look_at_all(look);
        survey->is_usable = is_even(survey);
        survey->shape.pipeline = pipeline;
        survey->stretch_count = 0;
    }
    if (survey->is_usable) {
        look_at_one(look);
    }
}

static const struct survey *find_survey(struct lump_book *book, enum collective_kind kind,
                                        const struct rank_group *group, const struct collective *member,
                                        const struct collective_group *shape)
{
    unsigned long long key = text_digest(TEXT_DIGEST_SEED, &kind, sizeof kind);
    key = text_digest(key, &member, sizeof member);
    key = text_digest(key, &shape->pipeline, sizeof shape->pipeline);
    key = text_digest(key, group->steps, group->step_count * sizeof group->steps[0]);
    struct survey **bucket = &book->surveys[key % BUCKETS];
    for (const struct survey *survey = *bucket; survey != NULL; survey = survey->next) {
        if (survey->key == key) {
            return survey;
        }
    }
    const struct cluster *cluster = book->cluster;
    const size_t loads = (size_t)2 * group->ranks * cluster->level_count + cluster_count_resources(cluster);
    if (book->load_count < loads) {
        book->loads = ARENA_PUSH(book->arena, uint32_t, loads);
        book->load_count = loads;
    }
    struct survey *survey = ARENA_PUSH(book->arena, struct survey, 1);
    *survey = (struct survey){.next = *bucket, .key = key, .member = member, .shape = *shape, .is_usable = true,
                              .protocol_count = 1};
    *bucket = survey;
    struct look look = {.book = book, .kind = kind, .group = group, .survey = survey,
                        .chunk_count = member->chunk_count(kind, shape)};
    if (member->staggered) {
        look_at_staggered(&look);
    } else {
        look_at_all(&look);
    }
    return survey;
}

/* --- prices for a size ------------------------------------------------------------------------- */

static struct lump price_sort(const struct lump_book *book, const struct sort *sort, uint32_t protocol, double bytes)
{
    const struct link_kind *link = sort->link;
    const uint32_t own = protocol < link->protocol_count ? protocol : link->protocol_count - 1;
    const struct path path = {.latency_s = sort->latency_s, .bandwidth_Bps = sort->shared_Bps, .link = link->name};
    const struct message_price price = prices_message(book->prices, &path, own, sort->in_network);
    const bool has_own_terms = sort->in_network && link->in_network_rate_frac > 0.0;
    const double reached_frac = has_own_terms ? link->in_network_rate_frac : link->protocols[own].rate_frac;
    const struct cluster *cluster = book->cluster;
    return (struct lump){.level = sort->level,
                         .latency_s = price.latency_s,
                         .bytes = bytes * sort->bytes_frac,
                         .cap_Bps = price.rate_Bps,
                         .weight = sort->weight / reached_frac,
                         .port_Bps = cluster->level_count == 0 ? sort->alone_Bps
                                                               : cluster->levels[sort->level].bandwidth_Bps};
}

static double lump_s(const struct lump *lump)
{
    return lump->latency_s + lump->bytes / lump->cap_Bps;
}

/* The slowest message of the stretch's rounds; zero time if there is none. */
static struct lump price_stretch(const struct lump_book *book, const struct stretch *stretch, uint32_t protocol,
                                 double bytes)
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

static double survey_s(const struct lump_book *book, const struct survey *survey, uint32_t protocol, double bytes)
{
    double seconds = survey->base_s;
    for (uint32_t i = 0; i < survey->stretch_count; i++) {
        const struct lump slowest = price_stretch(book, &survey->stretches[i], protocol, bytes);
        seconds += lump_s(&slowest) * (double)survey->stretches[i].repeat;
    }
    return seconds;
}

/* Stretches of the same ports and rate one after another are one flow. */
static void fill_lumps(const struct lump_book *book, const struct survey *survey, double bytes, struct lump_list *out)
{
    struct lump *lumps = ARENA_PUSH(book->arena, struct lump, survey->stretch_count);
    for (uint32_t i = 0; i < survey->stretch_count; i++) {
        struct lump next = price_stretch(book, &survey->stretches[i], out->protocol, bytes);
        next.latency_s *= (double)survey->stretches[i].repeat;
        next.bytes *= (double)survey->stretches[i].repeat;
        next.latency_s += i == 0 ? survey->base_s : 0.0;
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
                              .link = prices_find_link(book->prices, path.link),
                              .latency_s = path.latency_s,
                              .alone_Bps = path.bandwidth_Bps,
                              .shared_Bps = path.bandwidth_Bps,
                              .bytes_frac = 1.0,
                              .weight = 1.0};
    struct lump best = price_sort(book, &sort, 0, bytes);
    for (uint32_t protocol = 1; protocol < sort.link->protocol_count; protocol++) {
        const struct lump other = price_sort(book, &sort, protocol, bytes);
        best = lump_s(&other) < lump_s(&best) ? other : best;
    }
    best.latency_s += sort.link->base_s;
    return best;
}

static void try_member(struct lump_book *book, enum collective_kind kind, const struct rank_group *group,
                       const struct collective *member, struct found *found, const struct survey **best, double bytes)
{
    struct collective_group shape;
    collective_group_find(book->cluster, group, 0, &shape);
    for (uint32_t pipeline = 1; pipeline <= member->pipeline_max; pipeline *= 2) {
        shape.pipeline = pipeline;
        if (!collective_accepts(member, kind, &shape) || program_is_dense(member, kind, &shape)) {
            return;
        }
        const struct survey *survey = find_survey(book, kind, group, member, &shape);
        for (uint32_t protocol = 0; survey->is_usable && protocol < survey->protocol_count; protocol++) {
            const double seconds = survey_s(book, survey, protocol, bytes);
            if (*best == NULL || seconds < found->list.seconds) {
                *best = survey;
                found->list = (struct lump_list){
                    .member = member, .protocol = protocol, .pipeline = pipeline, .seconds = seconds};
            }
        }
    }
}

const struct lump_list *lump_find(struct lump_book *book, enum collective_kind kind, const struct rank_group *group,
                                  double bytes)
{
    unsigned long long key = text_digest(TEXT_DIGEST_SEED, &kind, sizeof kind);
    key = text_digest(key, &bytes, sizeof bytes);
    key = text_digest(key, group->steps, group->step_count * sizeof group->steps[0]);
    struct found **bucket = &book->lists[key % BUCKETS];
    for (const struct found *found = *bucket; found != NULL; found = found->next) {
        if (found->key == key) {
            return &found->list;
        }
    }
    struct found *found = ARENA_PUSH(book->arena, struct found, 1);
    *found = (struct found){.next = *bucket, .key = key, .list = {.pipeline = 1}};
    *bucket = found;
    if (group->ranks < 2 || bytes == 0.0) {
        return &found->list;
    }
    const struct survey *best = NULL;
    for (uint32_t i = 0; i < collective_table_count; i++) {
        try_member(book, kind, group, collective_table[i], found, &best, bytes);
    }
    if (best == NULL) {
        BUG("no collective serves a %s over %u ranks", collective_kind_name(kind), group->ranks);
    }
    fill_lumps(book, best, bytes, &found->list);
    return &found->list;
}

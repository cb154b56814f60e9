/* Seconds of one collective: rounds that are alike are priced once; a round takes as long as its
 * slowest message. */
#include "costmodel/collective_cost.h"

#include <assert.h>
#include <string.h>

#define PATH_CLASS_MAX 12
#define BOOK_BUCKETS 4096

/* Messages of a round that have the same terms; the slowest decides, which one depends on size
 * and protocol. */
struct path_class {
    const char *link;
    double latency_s;
    double bandwidth_Bps; /* already shared among the round's messages over the same port */
    double bytes_frac;    /* of the whole buffer */
    bool in_network;
};

struct phase {
    uint32_t repeat;
    uint32_t class_count;
    struct path_class classes[PATH_CLASS_MAX];
};

/* One member's program on one group: what its rounds send where. */
struct page {
    unsigned long long key;
    struct page *next;
    bool accepted;
    uint32_t phase_count, capacity;
    struct phase *phases;
};

struct collective_book {
    struct arena *arena;
    struct page *buckets[BOOK_BUCKETS];
    uint32_t *loads; /* per resource, zero between rounds */
    uint32_t resource_count;
};

struct collective_book *collective_book_init(struct arena *arena)
{
    struct collective_book *book = ARENA_PUSH(arena, struct collective_book, 1);
    book->arena = arena;
    return book;
}

/* --- filling a page --------------------------------------------------------------------------- */

struct walk {
    struct collective_book *book;
    const struct collective_request *request;
    const struct collective *member;
    struct collective_group shape;
    uint32_t chunk_count;
    struct path level_path[LEVEL_MAX]; /* one path stands for all of a switched level */
    bool level_known[LEVEL_MAX];
};

static uint32_t device_of(const struct walk *walk, uint32_t rank)
{
    return rank_group_find_device(walk->request->group, walk->request->base, rank);
}

/* Ports of a switched level are per device, so one path per level serves; its two hops are
 * renamed. */
static bool switched_path(struct walk *walk, uint32_t from, uint32_t to, struct path *out)
{
    const struct cluster *cluster = walk->request->cluster;
    if (cluster->level_count == 0) {
        return false;
    }
    const uint32_t level = cluster_find_level(cluster, from, to);
    if (cluster->levels[level].kind != LEVEL_SWITCH || !walk->level_known[level]) {
        return false;
    }
    const struct path *known = &walk->level_path[level];
    out->hop_count = 2; /* the rest of so large a struct stays as it is */
    out->hops[0] = known->hops[0];
    out->hops[1] = known->hops[1];
    out->latency_s = known->latency_s;
    out->bandwidth_Bps = known->bandwidth_Bps;
    out->link = known->link;
    out->level = known->level;
    out->hops[0].resource = 2 * (from * cluster->level_count + level);
    out->hops[1].resource = 2 * (to * cluster->level_count + level) + 1;
    return true;
}

static void find_path(struct walk *walk, uint32_t from, uint32_t to, struct path *out)
{
    const struct cluster *cluster = walk->request->cluster;
    if (switched_path(walk, from, to, out)) {
        return;
    }
    if (!cluster_find_path(cluster, from, to, out)) {
        BUG("no way from device %u to device %u: the cluster was not checked", from, to);
    }
    if (cluster->level_count > 0 && cluster->levels[out->level].kind == LEVEL_SWITCH &&
        out->hop_count == 2) {
        walk->level_path[out->level] = *out;
        walk->level_known[out->level] =
            out->hops[0].resource == 2 * (from * cluster->level_count + out->level) &&
            out->hops[1].resource == 2 * (to * cluster->level_count + out->level) + 1;
    }
}

/* Through a reducing switch a rank sends up and receives down over its own ports: the path to
 * any other rank of the group has their bandwidth; up and down are two messages, so the latency
 * counts twice. */
static void find_switch_path(struct walk *walk, uint32_t rank, struct path *out)
{
    const uint32_t peer = rank == 0 ? 1 : 0;
    find_path(walk, device_of(walk, rank), device_of(walk, peer), out);
    out->latency_s *= 2.0;
}

/* Mostly one text in one place. */
static bool same_link(const char *a, const char *b)
{
    return a == b || strcmp(a, b) == 0;
}

static bool same_class(const struct path_class *a, const struct path_class *b)
{
    return a->in_network == b->in_network && a->bytes_frac == b->bytes_frac &&
           a->latency_s == b->latency_s && a->bandwidth_Bps == b->bandwidth_Bps &&
           same_link(a->link, b->link);
}

/* Every term at least as bad: the other can never be the slowest. */
static bool covers(const struct path_class *a, const struct path_class *b)
{
    return a->in_network == b->in_network && a->bytes_frac >= b->bytes_frac &&
           a->latency_s >= b->latency_s && a->bandwidth_Bps <= b->bandwidth_Bps &&
           same_link(a->link, b->link);
}

static void add_class(struct phase *phase, const struct path_class *class)
{
    for (uint32_t i = 0; i < phase->class_count; i++) {
        if (same_class(&phase->classes[i], class) || covers(&phase->classes[i], class)) {
            return;
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < phase->class_count; i++) {
        if (!covers(class, &phase->classes[i])) {
            phase->classes[kept++] = phase->classes[i];
        }
    }
    phase->class_count = kept;
    if (kept == PATH_CLASS_MAX) {
        BUG("more than %u kinds of message in one round", PATH_CLASS_MAX);
    }
    phase->classes[phase->class_count++] = *class;
}

enum walk_pass { WALK_LOAD, WALK_CLASS, WALK_CLEAR, WALK_ALONE };

static struct path_class class_of(const struct path *path, double bytes_frac, bool in_network)
{
    return (struct path_class){path->link, path->latency_s, path->bandwidth_Bps, bytes_frac,
                               in_network};
}

static void visit(struct walk *walk, enum walk_pass pass, uint32_t rank,
                  const struct collective_step *step, struct phase *phase)
{
    struct path path;
    const double bytes_frac = (double)step->chunk_count / (double)walk->chunk_count;
    if (step->to == COLLECTIVE_SWITCH) {
        /* down comes what all ranks sent (multicast) or their sum */
        find_switch_path(walk, rank, &path);
        const struct path_class class = class_of(
            &path, bytes_frac * (step->reduce ? 1.0 : (double)(walk->shape.ranks - 1)), true);
        if (pass == WALK_CLASS || pass == WALK_ALONE) {
            add_class(phase, &class);
        }
        return;
    }
    find_path(walk, device_of(walk, rank), device_of(walk, step->to), &path);
    struct path_class class = class_of(&path, bytes_frac, false);
    for (uint32_t i = 0; i < path.hop_count && pass != WALK_ALONE; i++) {
        uint32_t *load = &walk->book->loads[path.hops[i].resource];
        *load = pass == WALK_LOAD ? *load + 1 : pass == WALK_CLEAR ? 0 : *load;
        if (pass == WALK_CLASS) {
            const double share = path.hops[i].bandwidth_Bps / (double)*load;
            class.bandwidth_Bps = share < class.bandwidth_Bps ? share : class.bandwidth_Bps;
        }
    }
    if (pass == WALK_CLASS || pass == WALK_ALONE) {
        add_class(phase, &class);
    }
}

/* Behind switches every device has ports of its own, and no rank moves more in a round than rank 0
 * (a law of the members): where that sends once, no port carries two messages. */
static bool ports_are_own(const struct walk *walk, uint32_t round)
{
    const struct cluster *cluster = walk->request->cluster;
    struct collective_step step;
    for (uint32_t level = 0; level < cluster->level_count; level++) {
        if (cluster->levels[level].kind != LEVEL_SWITCH) {
            return false;
        }
    }
    return cluster->level_count > 0 &&
           !walk->member->step(walk->request->kind, &walk->shape, round, 0, 1, &step);
}

static void walk_round(struct walk *walk, uint32_t round, enum walk_pass pass, struct phase *phase)
{
    const enum collective_kind kind = walk->request->kind;
    struct collective_step step;
    for (uint32_t rank = 0; rank < walk->shape.ranks; rank++) {
        for (uint32_t i = 0; walk->member->step(kind, &walk->shape, round, rank, i, &step); i++) {
            visit(walk, pass, rank, &step, phase);
        }
    }
}

static struct phase *push_phase(struct page *page, struct arena *arena)
{
    if (page->phase_count == page->capacity) {
        page->capacity = page->capacity == 0 ? 8 : 2 * page->capacity;
        struct phase *grown = ARENA_PUSH(arena, struct phase, page->capacity);
        if (page->phase_count > 0) {
            memcpy(grown, page->phases, page->phase_count * sizeof *grown);
        }
        page->phases = grown;
    }
    return &page->phases[page->phase_count++];
}

static void fill_page(struct walk *walk, struct page *page)
{
    const enum collective_kind kind = walk->request->kind;
    const uint32_t rounds = walk->member->round_count(kind, &walk->shape);
    for (uint32_t round = 0; round < rounds;) {
        const uint32_t alike =
            walk->member->alike == NULL ? 1 : walk->member->alike(kind, &walk->shape, round);
        struct phase *phase = push_phase(page, walk->book->arena);
        phase->repeat = alike;
        phase->class_count = 0;
        const bool alone = ports_are_own(walk, round);
        if (!alone) {
            walk_round(walk, round, WALK_LOAD, NULL);
        }
        walk_round(walk, round, alone ? WALK_ALONE : WALK_CLASS, phase);
        if (!alone) {
            walk_round(walk, round, WALK_CLEAR, NULL);
        }
        round += alike;
    }
}

/* Rounds of a staggered program wait for each other only along chains, so rounds of unequal
 * length would not add up; on paths that are all alike the longest chain has every round (a law
 * of the members; so is one message per port and round). Paths are alike when all ranks share
 * the innermost domain or none do: one round trip of rank 0 around the group shows which path
 * that is. */
static bool fill_staggered(struct walk *walk, struct page *page)
{
    const struct collective_group *shape = &walk->shape;
    if (shape->inner != 1 && shape->inner != shape->ranks) {
        return false;
    }
    struct phase *phase = push_phase(page, walk->book->arena);
    phase->repeat = walk->member->round_count(walk->request->kind, shape);
    phase->class_count = 0;
    for (uint32_t rank = 1; rank < shape->ranks; rank++) {
        struct path path;
        find_path(walk, device_of(walk, rank - 1), device_of(walk, rank), &path);
        const struct path_class near = class_of(&path, 1.0 / (double)walk->chunk_count, false);
        find_path(walk, device_of(walk, 0), device_of(walk, rank), &path);
        const struct path_class far = class_of(&path, 1.0 / (double)walk->chunk_count, false);
        if (!same_class(&near, &far) ||
            (phase->class_count > 0 && !same_class(&near, &phase->classes[0]))) {
            return false;
        }
        phase->classes[0] = near;
        phase->class_count = 1;
    }
    return true;
}

static unsigned long long page_key(const struct collective_request *request,
                                   const struct collective *member, uint32_t pipeline)
{
    unsigned long long key = TEXT_DIGEST_SEED;
    key = text_digest(key, &request->kind, sizeof request->kind);
    key = text_digest(key, &member, sizeof member);
    key = text_digest(key, &pipeline, sizeof pipeline);
    key = text_digest(key, &request->base, sizeof request->base);
    key = text_digest(key, &request->cluster, sizeof request->cluster);
    key = text_digest(key, &request->group->ranks, sizeof request->group->ranks);
    return text_digest(key, request->group->steps,
                       request->group->step_count * sizeof request->group->steps[0]);
}

static const struct page *find_page(struct collective_book *book,
                                    const struct collective_request *request,
                                    const struct collective *member, struct collective_group shape)
{
    const unsigned long long key = page_key(request, member, shape.pipeline);
    struct page **bucket = &book->buckets[key % BOOK_BUCKETS];
    for (struct page *page = *bucket; page != NULL; page = page->next) {
        if (page->key == key) {
            return page;
        }
    }
    const uint32_t resources = cluster_count_resources(request->cluster);
    if (book->resource_count < resources) {
        book->loads = ARENA_PUSH(book->arena, uint32_t, resources);
        book->resource_count = resources;
    }
    struct page *page = ARENA_PUSH(book->arena, struct page, 1);
    page->key = key;
    page->next = *bucket;
    *bucket = page;
    page->accepted = member->accepts(request->kind, &shape);
    if (page->accepted) {
        struct walk walk = {.book = book,
                            .request = request,
                            .member = member,
                            .shape = shape,
                            .chunk_count = member->chunk_count(request->kind, &shape)};
        if (member->staggered) {
            page->accepted = fill_staggered(&walk, page);
        } else {
            fill_page(&walk, page);
        }
    }
    return page;
}

/* --- reading it ------------------------------------------------------------------------------- */

static double page_s(const struct page *page, const struct collective_request *request,
                     uint32_t protocol)
{
    double seconds = 0.0, base_s = 0.0;
    for (uint32_t i = 0; i < page->phase_count; i++) {
        const struct phase *phase = &page->phases[i];
        double slowest = 0.0;
        for (uint32_t k = 0; k < phase->class_count; k++) {
            const struct path_class *class = &phase->classes[k];
            const struct link_kind *link = prices_find_link(request->prices, class->link);
            const uint32_t own =
                protocol < link->protocol_count ? protocol : link->protocol_count - 1;
            const struct path path = {.latency_s = class->latency_s,
                                      .bandwidth_Bps = class->bandwidth_Bps,
                                      .link = class->link};
            const struct message_price price =
                prices_message(request->prices, &path, own, class->in_network);
            const double message_s =
                price.latency_s + request->bytes * class->bytes_frac / price.rate_Bps;
            slowest = message_s > slowest ? message_s : slowest;
            base_s = link->base_s > base_s ? link->base_s : base_s;
        }
        seconds += slowest * (double)phase->repeat;
    }
    return base_s + seconds;
}

static uint32_t protocol_count(const struct prices *prices, const struct page *page)
{
    uint32_t count = 1;
    for (uint32_t i = 0; i < page->phase_count; i++) {
        for (uint32_t k = 0; k < page->phases[i].class_count; k++) {
            const struct link_kind *link =
                prices_find_link(prices, page->phases[i].classes[k].link);
            count = link->protocol_count > count ? link->protocol_count : count;
        }
    }
    return count;
}

static bool serves(const struct collective *member, enum collective_kind kind)
{
    for (uint32_t i = 0; i < member->kind_count; i++) {
        if (member->kinds[i] == kind) {
            return true;
        }
    }
    return false;
}

static bool is_dense(const struct collective *member, enum collective_kind kind,
                     const struct collective_group *shape)
{
    struct collective_step step;
    return shape->ranks > COLLECTIVE_DENSE_RANKS && member->accepts(kind, shape) &&
           member->step(kind, shape, 0, 0, COLLECTIVE_DENSE_RANKS - 2, &step);
}

static void try_member(struct collective_book *book, const struct collective_request *request,
                       const struct collective *member, struct collective_group shape,
                       struct collective_choice *best)
{
    for (uint32_t pipeline = 1; pipeline <= member->pipeline_max; pipeline *= 2) {
        shape.pipeline = pipeline;
        const struct page *page = find_page(book, request, member, shape);
        if (!page->accepted) {
            return;
        }
        const uint32_t protocols = protocol_count(request->prices, page);
        for (uint32_t protocol = 0; protocol < protocols; protocol++) {
            const double seconds = page_s(page, request, protocol);
            if (best->member == NULL || seconds < best->seconds) {
                *best = (struct collective_choice){member, protocol, pipeline, seconds};
            }
        }
    }
}

struct collective_choice collective_cost_find(struct collective_book *book,
                                              const struct collective_request *request)
{
    struct collective_choice best = {NULL, 0, 1, 0.0};
    if (request->group->ranks < 2) {
        return best;
    }
    struct collective_group shape;
    collective_group_find(request->cluster, request->group, request->base, &shape);
    for (uint32_t i = 0; i < collective_table_count; i++) {
        const struct collective *member = collective_table[i];
        if (!serves(member, request->kind) ||
            (request->member != NULL && request->member != member)) {
            continue;
        }
        shape.pipeline = 1;
        if (request->member != NULL || !is_dense(member, request->kind, &shape)) {
            try_member(book, request, member, shape, &best);
        }
    }
    return best;
}

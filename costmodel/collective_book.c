/* The rounds of a program on a group walked once: what each sends over which kinds of path. */
#include "costmodel/collective_book.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "plan/rank_nest.h"

#define BOOK_BUCKETS 4096
/* Loads that are cleared in one sweep in the time that one rank's messages take to look up. */
#define LOADS_PER_RANK 64u

struct group_entry {
    unsigned long long key;
    struct group_entry *next;
    struct collective_group group;
};

struct collective_book {
    struct arena *arena;
    struct collective_page *pages[BOOK_BUCKETS];
    struct group_entry *groups[BOOK_BUCKETS];
    uint32_t *loads; /* per resource, zero between rounds */
    uint32_t resource_count;
};

struct collective_book *collective_book_init(struct arena *arena)
{
    struct collective_book *book = ARENA_PUSH(arena, struct collective_book, 1);
    book->arena = arena;
    return book;
}

/* --- walking ---------------------------------------------------------------------------------- */

struct walk {
    struct collective_book *book;
    const struct collective_place *place;
    enum collective_kind kind;
    const struct collective *member;
    struct collective_group shape;
    uint32_t chunk_count;
    uint32_t ranks_max;
    uint32_t base;                     /* of the group at hand */
    struct path level_path[LEVEL_MAX]; /* one path stands for all of a switched level */
    bool level_known[LEVEL_MAX];
};

static uint32_t device_of(const struct walk *walk, uint32_t rank)
{
    return rank_group_find_device(walk->place->group, walk->base, rank);
}

/* Ports of a switched level are per device, so one path per level serves; its two hops are
 * renamed. */
static bool switched_path(struct walk *walk, uint32_t from, uint32_t to, struct path *out)
{
    const struct cluster *cluster = walk->place->cluster;
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
    const struct cluster *cluster = walk->place->cluster;
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
           a->alone_Bps == b->alone_Bps && same_link(a->link, b->link);
}

/* Every term at least as bad: the other can never be the slowest. */
static bool covers(const struct path_class *a, const struct path_class *b)
{
    return a->in_network == b->in_network && a->bytes_frac >= b->bytes_frac &&
           a->latency_s >= b->latency_s && a->bandwidth_Bps <= b->bandwidth_Bps &&
           a->alone_Bps <= b->alone_Bps && same_link(a->link, b->link);
}

static void add_class(struct arena *arena, struct collective_phase *phase,
                      const struct path_class *class)
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
    ARENA_MAKE_ROOM(arena, phase->classes, phase->class_count, phase->class_capacity);
    phase->classes[phase->class_count++] = *class;
}

enum walk_pass { WALK_LOAD, WALK_CLASS, WALK_CLEAR, WALK_ALONE };

static struct path_class class_of(const struct path *path, double bytes_frac, bool in_network)
{
    return (struct path_class){path->link,          path->latency_s, path->bandwidth_Bps,
                               path->bandwidth_Bps, bytes_frac,      in_network};
}

static void visit(struct walk *walk, enum walk_pass pass, uint32_t rank,
                  const struct collective_step *step, struct collective_phase *phase)
{
    struct path path;
    const double bytes_frac = (double)step->chunk_count / (double)walk->chunk_count;
    if (step->to == COLLECTIVE_SWITCH) {
        /* down comes what all ranks sent (multicast) or their sum */
        find_switch_path(walk, rank, &path);
        const struct path_class class = class_of(
            &path, bytes_frac * (step->reduce ? 1.0 : (double)(walk->shape.ranks - 1)), true);
        if (pass == WALK_CLASS || pass == WALK_ALONE) {
            add_class(walk->book->arena, phase, &class);
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
        add_class(walk->book->arena, phase, &class);
    }
}

/* Behind switches every device has ports of its own: where no rank sends or receives twice in a
 * round (members declare it, a law holds them to it) no port carries two messages. */
static bool ports_are_own(const struct walk *walk)
{
    return cluster_has_own_ports(walk->place->cluster) && walk->member->one_port;
}

/* The ranks that show what a round is like: the first block, or two, four, ... of them, where all
 * lie alike. */
static uint32_t count_shown(const struct walk *walk, uint32_t round)
{
    const struct collective_place *place = walk->place;
    const uint32_t ranks = walk->shape.ranks;
    uint32_t shown =
        walk->member->block == NULL ? ranks : walk->member->block(walk->kind, &walk->shape, round);
    while (shown < ranks &&
           !collective_group_repeats(place->cluster, place->group, place->base, shown)) {
        shown = ranks % (2 * shown) == 0 ? 2 * shown : ranks;
    }
    return shown < walk->ranks_max ? shown : walk->ranks_max;
}

static void walk_round(struct walk *walk, uint32_t round, enum walk_pass pass,
                       struct collective_phase *phase)
{
    const enum collective_kind kind = walk->kind;
    const uint32_t ranks = count_shown(walk, round);
    struct collective_step step;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (uint32_t i = 0; walk->member->step(kind, &walk->shape, round, rank, i, &step); i++) {
            visit(walk, pass, rank, &step, phase);
        }
    }
}

/* All groups of the nest, or those like the one asked for; itself where it has no crowd. */
static void walk_groups(struct walk *walk, uint32_t round, enum walk_pass pass,
                        struct collective_phase *phase)
{
    const struct collective_place *place = walk->place;
    walk->base = place->base;
    if (place->crowd.places == 0) {
        walk_round(walk, round, pass, phase);
    }
    for (uint32_t base = 0; base < place->crowd.places; base++) {
        if (rank_group_begins(place->group, base) &&
            (pass == WALK_LOAD || rank_crowd_is_like(&place->crowd, place->base, base))) {
            walk->base = base;
            walk_round(walk, round, pass, phase);
        }
    }
    walk->base = place->base;
}

/* Those of the round just walked: one by one where they are few. */
static void clear_loads(struct walk *walk, uint32_t round)
{
    struct collective_book *book = walk->book;
    if (walk->place->crowd.places > 0 ||
        count_shown(walk, round) >= book->resource_count / LOADS_PER_RANK) {
        memset(book->loads, 0, book->resource_count * sizeof *book->loads);
    } else {
        walk_round(walk, round, WALK_CLEAR, NULL);
    }
}

static struct collective_phase *push_phase(struct collective_page *page, struct arena *arena)
{
    ARENA_MAKE_ROOM(arena, page->phases, page->phase_count, page->capacity);
    return &page->phases[page->phase_count++];
}

static void fill_page(struct walk *walk, struct collective_page *page)
{
    const enum collective_kind kind = walk->kind;
    const uint32_t rounds = walk->member->round_count(kind, &walk->shape);
    for (uint32_t round = 0; round < rounds;) {
        const uint32_t alike =
            walk->member->alike == NULL ? 1 : walk->member->alike(kind, &walk->shape, round);
        struct collective_phase *phase = push_phase(page, walk->book->arena);
        phase->repeat = alike;
        const bool alone = ports_are_own(walk);
        if (!alone) {
            walk_groups(walk, round, WALK_LOAD, NULL);
        }
        walk_groups(walk, round, alone ? WALK_ALONE : WALK_CLASS, phase);
        if (!alone) {
            clear_loads(walk, round);
        }
        round += alike;
    }
}

/* Path of a group's round trip from rank 0, if all its paths are alike. */
static bool find_trip(struct walk *walk, struct path_class *out)
{
    const uint32_t ranks = walk->shape.ranks;
    for (uint32_t rank = 1; rank < ranks; rank++) {
        struct path path;
        find_path(walk, device_of(walk, rank - 1), device_of(walk, rank), &path);
        const struct path_class near = class_of(&path, 1.0 / (double)walk->chunk_count, false);
        find_path(walk, device_of(walk, 0), device_of(walk, rank), &path);
        const struct path_class far = class_of(&path, 1.0 / (double)walk->chunk_count, false);
        *out = rank == 1 ? near : *out;
        if (!same_class(&near, &far) || !same_class(&near, out)) {
            return false;
        }
    }
    return true;
}

/* Are the paths of all groups that stand for each other as that? */
static bool are_trips_alike(struct walk *walk, const struct path_class *first)
{
    const struct collective_place *place = walk->place;
    bool alike = true;
    for (uint32_t base = 0; base < place->crowd.places && alike; base++) {
        if (rank_group_begins(place->group, base) &&
            rank_crowd_is_like(&place->crowd, place->base, base)) {
            struct path_class own;
            walk->base = base;
            alike = find_trip(walk, &own) && same_class(&own, first);
        }
    }
    walk->base = place->base;
    return alike;
}

/* Rounds of a staggered program wait for each other only along chains, so rounds of unequal
 * length would not add up; on paths that are all alike the longest chain has every round (a law
 * of the members; so is one message per port and round). Paths are alike when all ranks share
 * the innermost domain or none do: one round trip of rank 0 around the group shows which path
 * that is. What a crowd leaves of a link differs from round to round. */
static bool fill_staggered(struct walk *walk, struct collective_page *page)
{
    const struct collective_group *shape = &walk->shape;
    const struct collective_place *place = walk->place;
    struct path_class trip;
    if ((shape->inner != 1 && shape->inner != shape->ranks) ||
        collective_group_meets(place->cluster, place->group, &place->crowd, walk->book->arena) ||
        (shape->ranks > 1 && (!find_trip(walk, &trip) || !are_trips_alike(walk, &trip)))) {
        return false;
    }
    struct collective_phase *phase = push_phase(page, walk->book->arena);
    phase->repeat = walk->member->round_count(walk->kind, shape);
    if (shape->ranks > 1) {
        add_class(walk->book->arena, phase, &trip);
    }
    return true;
}

/* --- looking up ------------------------------------------------------------------------------- */

struct collective_group collective_book_find_group(struct collective_book *book,
                                                   const struct collective_place *place)
{
    const unsigned long long key = rank_nest_digest(place->cluster, place->group, place->base);
    struct group_entry **bucket = &book->groups[key % BOOK_BUCKETS];
    for (const struct group_entry *entry = *bucket; entry != NULL; entry = entry->next) {
        if (entry->key == key) {
            return entry->group;
        }
    }
    struct group_entry *entry = ARENA_PUSH(book->arena, struct group_entry, 1);
    entry->key = key;
    entry->next = *bucket;
    *bucket = entry;
    collective_group_find(place->cluster, place->group, place->base, &entry->group);
    return entry->group;
}

static unsigned long long page_key(const struct collective_topic *topic)
{
    const struct collective_place *place = topic->place;
    const unsigned long long nest = rank_nest_digest(place->cluster, place->group, place->base);
    unsigned long long key = text_digest(TEXT_DIGEST_SEED, &nest, sizeof nest);
    key = text_digest(key, &topic->kind, sizeof topic->kind);
    key = text_digest(key, &topic->member, sizeof topic->member);
    key = text_digest(key, &topic->shape.pipeline, sizeof topic->shape.pipeline);
    key = text_digest(key, &topic->ranks_max, sizeof topic->ranks_max);
    key = text_digest(key, &place->crowd, sizeof place->crowd);
    return text_digest(key, &place->cluster, sizeof place->cluster);
}

static void make_room(struct collective_book *book, const struct cluster *cluster)
{
    const uint32_t resources = cluster_count_resources(cluster);
    if (book->resource_count < resources) {
        book->loads = ARENA_PUSH(book->arena, uint32_t, resources);
        book->resource_count = resources;
    }
}

static void fill(struct collective_book *book, const struct collective_topic *topic,
                 struct collective_page *page)
{
    const struct collective *member = topic->member;
    page->accepted = member->accepts(topic->kind, &topic->shape);
    if (!page->accepted) {
        return;
    }
    struct walk walk = {.book = book,
                        .place = topic->place,
                        .base = topic->place->base,
                        .kind = topic->kind,
                        .member = member,
                        .shape = topic->shape,
                        .chunk_count = member->chunk_count(topic->kind, &topic->shape),
                        .ranks_max = topic->ranks_max == 0 ? UINT32_MAX : topic->ranks_max};
    if (member->staggered) {
        assert(topic->ranks_max == 0);
        page->accepted = fill_staggered(&walk, page);
    } else {
        fill_page(&walk, page);
    }
}

const struct collective_page *collective_book_find_page(struct collective_book *book,
                                                        const struct collective_topic *topic)
{
    const unsigned long long key = page_key(topic);
    struct collective_page **bucket = &book->pages[key % BOOK_BUCKETS];
    for (struct collective_page *page = *bucket; page != NULL; page = page->next) {
        if (page->key == key) {
            return page;
        }
    }
    make_room(book, topic->place->cluster);
    struct collective_page *page = ARENA_PUSH(book->arena, struct collective_page, 1);
    page->key = key;
    page->next = *bucket;
    *bucket = page;
    fill(book, topic, page);
    return page;
}

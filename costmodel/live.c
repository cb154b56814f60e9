/* Undominated sets of live micro-batches, from one walk over each stage's slots. */
#include "costmodel/live.h"

#include <string.h>

#include "base/text.h"

/* Live forwards per chunk, and what tells sets apart fast. */
struct moment {
    const uint32_t *live;
    uint32_t total;
    unsigned long long digest; /* sum of live[chunk] * digest_of(chunk) */
};

struct walk {
    struct arena *arena;
    uint32_t chunks, count, capacity;
    uint32_t next; /* the set that is likely to hold the next moment */
    uint32_t *sets;
    struct moment *moments; /* of the sets; their live forwards stand in `sets` */
    uint32_t *places;     /* [digest, then onwards] a set's index + 1; twice as many as capacity */
    uint32_t least, most; /* totals that sets have */
};

static unsigned long long digest_of(uint32_t chunk)
{
    return text_digest_word(TEXT_DIGEST_SEED, chunk);
}

static const uint32_t *set_at(const struct walk *walk, uint32_t index)
{
    return &walk->sets[(size_t)index * walk->chunks];
}

/* Of equal totals none contains the other unless they are equal. */
static bool contains(const struct moment *a, const uint32_t *a_live, const struct moment *b,
                     const uint32_t *b_live, uint32_t chunks)
{
    bool good = a->total > b->total || (a->total == b->total && a->digest == b->digest);
    for (uint32_t i = 0; i < chunks && good; i++) {
        good = a_live[i] >= b_live[i];
    }
    return good;
}

static bool holds(const struct walk *walk, uint32_t at, const struct moment *moment)
{
    return contains(&walk->moments[at], set_at(walk, at), moment, moment->live, walk->chunks);
}

/* Where the set with that digest is noted, or may be. */
static uint32_t *place_of(const struct walk *walk, unsigned long long digest)
{
    const uint32_t all = 2 * walk->capacity;
    uint32_t at = (uint32_t)((digest >> 32) % all);
    while (walk->places[at] != 0 && walk->moments[walk->places[at] - 1].digest != digest) {
        at = at + 1 == all ? 0 : at + 1;
    }
    return &walk->places[at];
}

/* Schedules go in circles: the set that held the moment before, or the one behind it, likely holds
 * this one too. Where no set has more forwards, only an equal one does. */
static bool is_held(struct walk *walk, const struct moment *moment)
{
    uint32_t at = walk->next;
    const bool fullest = walk->count > 0 && moment->total >= walk->most;
    for (uint32_t i = 0; i < walk->count && (i < 2 || !fullest); i++) {
        if (holds(walk, at, moment)) {
            walk->next = at;
            return true;
        }
        at = at + 1 == walk->count ? 0 : at + 1;
    }
    const uint32_t place = fullest ? *place_of(walk, moment->digest) : 0;
    if (place == 0 || !holds(walk, place - 1, moment)) {
        return false;
    }
    walk->next = place - 1;
    return true;
}

static void note_places(struct walk *walk)
{
    if (walk->capacity == 0) {
        return;
    }
    memset(walk->places, 0, 2 * (size_t)walk->capacity * sizeof *walk->places);
    for (uint32_t i = 0; i < walk->count; i++) {
        *place_of(walk, walk->moments[i].digest) = i + 1;
    }
}

static void drop_contained(struct walk *walk, const struct moment *moment)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < walk->count; i++) {
        if (contains(moment, moment->live, &walk->moments[i], set_at(walk, i), walk->chunks)) {
            continue;
        }
        if (kept < i) {
            memcpy(&walk->sets[(size_t)kept * walk->chunks], set_at(walk, i),
                   walk->chunks * sizeof *walk->sets);
            walk->moments[kept] = walk->moments[i];
        }
        kept++;
    }
    walk->count = kept;
    walk->next = walk->next < kept ? walk->next : 0;
    note_places(walk);
}

static void make_room(struct walk *walk)
{
    const size_t chunks = walk->chunks, used = walk->count;
    const uint32_t capacity = walk->capacity == 0 ? 4 : 2 * walk->capacity;
    walk->sets =
        arena_grow(walk->arena, walk->sets, used * chunks, capacity * chunks, sizeof *walk->sets);
    walk->moments = arena_grow(walk->arena, walk->moments, used, capacity, sizeof *walk->moments);
    walk->places = ARENA_PUSH(walk->arena, uint32_t, 2 * (size_t)capacity);
    walk->capacity = capacity;
    note_places(walk);
}

static void push_set(struct walk *walk, const struct moment *moment)
{
    if (is_held(walk, moment)) {
        return;
    }
    if (moment->total > walk->least) {
        drop_contained(walk, moment);
    }
    if (walk->count == walk->capacity) {
        make_room(walk);
    }
    memcpy(&walk->sets[(size_t)walk->count * walk->chunks], moment->live,
           walk->chunks * sizeof *walk->sets);
    *place_of(walk, moment->digest) = walk->count + 1;
    walk->moments[walk->count++] = *moment;
    walk->least = walk->count == 1 || moment->total < walk->least ? moment->total : walk->least;
    walk->most = moment->total > walk->most ? moment->total : walk->most;
}

static bool has_weight_slots(const struct stream *stream, uint32_t stage)
{
    for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
        if (stream->slots[stage][i].kind == SLOT_WEIGHT_GRADIENT) {
            return true;
        }
    }
    return false;
}

static void walk_stage(const struct stream *stream, uint32_t stage, struct walk *walk,
                       uint32_t *live)
{
    const enum slot_kind last =
        has_weight_slots(stream, stage) ? SLOT_WEIGHT_GRADIENT : SLOT_BACKWARD;
    const uint32_t count = stream->slot_counts[stage];
    struct moment moment = {.live = live};
    memset(live, 0, walk->chunks * sizeof *live);
    bool grew = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct slot *slot = &stream->slots[stage][i];
        if (slot->kind == SLOT_FORWARD) {
            live[slot->chunk]++;
            moment.total++;
            moment.digest += digest_of(slot->chunk);
            grew = true;
        } else if (slot->kind == last || slot->kind == SLOT_BACKWARD) {
            if (grew) {
                push_set(walk, &moment);
            }
            grew = false;
            live[slot->chunk]--;
            moment.total--;
            moment.digest -= digest_of(slot->chunk);
        }
    }
    if (grew) {
        push_set(walk, &moment);
    }
}

void live_build(const struct stream *stream, struct arena *arena, struct live_sets *out)
{
    const uint32_t stages = stream->shape.stages, chunks = stream->shape.chunks;
    uint32_t *live = ARENA_PUSH(arena, uint32_t, chunks);
    out->chunks = chunks;
    out->counts = ARENA_PUSH(arena, uint32_t, stages);
    out->sets = ARENA_PUSH(arena, uint32_t *, stages);
    for (uint32_t stage = 0; stage < stages; stage++) {
        struct walk walk = {.arena = arena, .chunks = chunks};
        walk_stage(stream, stage, &walk, live);
        out->counts[stage] = walk.count;
        out->sets[stage] = walk.sets;
    }
}

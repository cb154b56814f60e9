/* The analytic judge behind the common interface. */
#include "costmodel/costmodel.h"

#include <string.h>

#include "costmodel/costmodel_inside.h"
#include "plan/rank_nest.h"

#define PRICE_BUCKETS 65536

/* One message already priced. */
struct price_entry {
    unsigned long long key;
    double seconds;
    struct price_entry *next;
};

struct price_table {
    struct price_entry *buckets[PRICE_BUCKETS];
};

void costmodel_init(struct costmodel *model, const struct problem *problem,
                    const struct prices *prices, struct arena *arena)
{
    memset(model, 0, sizeof *model);
    model->problem = problem;
    model->prices = prices;
    model->arena = arena;
    model->book = collective_book_init(arena);
    model->cache = ARENA_PUSH(arena, struct costmodel_cache, 1);
    model->cache->messages = ARENA_PUSH(arena, struct price_table, 1);
    arena_init(&model->cache->streams_arena);
}

void costmodel_release(struct costmodel *model)
{
    arena_release(&model->cache->streams_arena);
}

void costmodel_forget_kernels(struct costmodel *model)
{
    memset(model->cache->kernels, 0, sizeof model->cache->kernels);
    memset(model->provenance_s, 0, sizeof model->provenance_s);
}

static void forget_streams(void *state)
{
    struct costmodel *model = state;
    arena_release(&model->cache->streams_arena);
    arena_init(&model->cache->streams_arena);
    memset(model->cache->streams, 0, sizeof model->cache->streams);
}

static unsigned long long message_key(const struct work *work, const struct work_message *message,
                                      const struct collective_request *request)
{
    const unsigned long long nest =
        request->base == 0 ? work->nests[message->group]
                           : rank_nest_digest(request->cluster, request->group, request->base);
    unsigned long long bytes;
    memcpy(&bytes, &message->bytes, sizeof bytes);
    const unsigned long long key =
        text_digest_word(text_digest_word(nest, (unsigned long long)message->kind), bytes);
    return request->crowd.places == 0 ? key
                                      : text_digest(key, &request->crowd, sizeof request->crowd);
}

double costmodel_message_s(struct costmodel *model, const struct work *work,
                           const struct work_message *message, uint32_t base)
{
    if (message->bytes == 0.0) {
        return 0.0;
    }
    const struct rank_group *group = &work->groups[message->group];
    const struct collective_request request = {.cluster = model->problem->cluster,
                                               .prices = model->prices,
                                               .kind = message->kind,
                                               .group = group,
                                               .base = base,
                                               .bytes = message->bytes,
                                               .crowd = work_find_crowd(work, message)};
    const unsigned long long key = message_key(work, message, &request);
    struct price_entry **bucket = &model->cache->messages->buckets[key % PRICE_BUCKETS];
    for (const struct price_entry *entry = *bucket; entry != NULL; entry = entry->next) {
        if (entry->key == key) {
            return entry->seconds;
        }
    }
    const struct collective_choice choice = collective_cost_find(model->book, &request);
    if (choice.member == NULL && group->ranks > 1) {
        BUG("no collective serves a %s over %u ranks", collective_kind_name(message->kind),
            group->ranks);
    }
    struct price_entry *entry = ARENA_PUSH(model->arena, struct price_entry, 1);
    *entry = (struct price_entry){key, choice.seconds, *bucket};
    *bucket = entry;
    return choice.seconds;
}

static void piece(void *state, const struct work *work, uint32_t block, uint32_t site,
                  const struct piece *like, struct piece *out)
{
    costmodel_piece(state, work, block, site, like, out);
}

static double message_s(void *state, const struct work *work, const struct work_message *message,
                        uint32_t base)
{
    return costmodel_message_s(state, work, message, base);
}

static void combine(void *state, const struct load *load, bool detail, struct arena *arena,
                    struct estimate *out)
{
    costmodel_combine(state, load, detail, arena, out);
}

static double capacity_bytes(void *state)
{
    const struct costmodel *model = state;
    return costmodel_capacity_bytes(model->problem);
}

static double bound(void *state, const struct load *load)
{
    return costmodel_bound(state, load);
}

double costmodel_room_bytes(struct costmodel *model, const struct load *load, uint32_t stage)
{
    struct stage_estimate account;
    costmodel_memory(model, load, costmodel_notes(model, load->stream), stage, &account);
    return estimator_room_bytes(&account);
}

static double room_bytes(void *state, const struct load *load, uint32_t stage)
{
    return costmodel_room_bytes(state, load, stage);
}

void costmodel_estimator(struct costmodel *model, struct estimator *out)
{
    *out = (struct estimator){.name = "cost model",
                              .state = model,
                              .piece = piece,
                              .message_s = message_s,
                              .combine = combine,
                              .capacity_bytes = capacity_bytes,
                              .room_bytes = room_bytes,
                              .bound = bound,
                              .forget_streams = forget_streams};
}

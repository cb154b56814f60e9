/* Seconds of one collective: rounds that are alike are priced once; a round takes as long as its
 * slowest message. */
#include "costmodel/collective_cost.h"

/* Of larger groups a look at so many ranks says which members are worth a look at all. */
#define SAMPLE_RANKS 4096u

static double page_s(const struct collective_page *page, const struct collective_request *request,
                     uint32_t protocol)
{
    double seconds = 0.0, base_s = 0.0, fill_s = 0.0;
    for (uint32_t i = 0; i < page->phase_count; i++) {
        const struct collective_phase *phase = &page->phases[i];
        double slowest = 0.0;
        for (uint32_t k = 0; k < phase->class_count; k++) {
            const struct path_class *class = &phase->classes[k];
            const struct link_kind *link = prices_find_link(request->prices, class->link);
            const double bytes = request->bytes * class->bytes_frac;
            const uint32_t own = prices_find_protocol(link, protocol, request->kind, bytes);
            const struct path path = {.latency_s = class->latency_s,
                                      .bandwidth_Bps = class->bandwidth_Bps,
                                      .link = class->link};
            const struct message_price price =
                prices_message(request->prices, &path, own, class->in_network);
            const double message_s = price.latency_s + bytes / price.rate_Bps;
            slowest = message_s > slowest ? message_s : slowest;
            const double own_fill_s =
                prices_fill_s(link, own, class->in_network, class->alone_Bps, bytes);
            base_s = link->base_s > base_s ? link->base_s : base_s;
            fill_s = own_fill_s > fill_s ? own_fill_s : fill_s;
        }
        seconds += slowest * (double)phase->repeat;
    }
    return base_s + fill_s + seconds;
}

static uint32_t protocol_count(const struct prices *prices, const struct collective_page *page)
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

/* A question about a group under way: the members that may answer it, the best answer so far. */
struct trial {
    struct collective_book *book;
    const struct collective_request *request;
    const struct collective_place *place;
    struct collective_group shape;
    struct collective_choice best;
    uint32_t best_index; /* in the table */
};

/* Of equal times the earlier member's. */
static bool is_better(const struct trial *trial, double seconds, uint32_t index)
{
    return trial->best.member == NULL || seconds < trial->best.seconds ||
           (seconds == trial->best.seconds && index < trial->best_index);
}

static void try_member(struct trial *trial, uint32_t index)
{
    const struct collective_request *request = trial->request;
    const struct collective *member = collective_table[index];
    struct collective_topic topic = {
        .place = trial->place, .kind = request->kind, .member = member, .shape = trial->shape};
    for (uint32_t pipeline = 1; pipeline <= member->pipeline_max; pipeline *= 2) {
        topic.shape.pipeline = pipeline;
        const struct collective_page *page = collective_book_find_page(trial->book, &topic);
        if (!page->accepted) {
            return;
        }
        const uint32_t protocols = protocol_count(request->prices, page);
        for (uint32_t protocol = 0; protocol < protocols; protocol++) {
            const double seconds = page_s(page, request, protocol);
            if (is_better(trial, seconds, index)) {
                trial->best = (struct collective_choice){member, protocol, pipeline, seconds};
                trial->best_index = index;
            }
        }
    }
}

/* Never above what the member takes: a round of few ranks is no slower than one of all. */
static double bound_s(const struct trial *trial, const struct collective *member)
{
    const struct collective_topic topic = {.place = trial->place,
                                           .kind = trial->request->kind,
                                           .member = member,
                                           .shape = trial->shape,
                                           .ranks_max = SAMPLE_RANKS};
    if (trial->shape.ranks <= SAMPLE_RANKS || member->staggered || member->pipeline_max > 1) {
        return 0.0;
    }
    const struct collective_page *page = collective_book_find_page(trial->book, &topic);
    double least = 0.0;
    for (uint32_t i = 0; page->accepted && i < protocol_count(trial->request->prices, page); i++) {
        const double seconds = page_s(page, trial->request, i);
        least = i == 0 || seconds < least ? seconds : least;
    }
    return least;
}

static bool may_serve(const struct trial *trial, const struct collective *member)
{
    const struct collective_request *request = trial->request;
    return serves(member, request->kind) &&
           (request->member == NULL ? prices_offers(request->prices, request->kind, member) &&
                                          !is_dense(member, request->kind, &trial->shape)
                                    : request->member == member);
}

/* The member with the least bound; the first where all bounds are 0. */
static uint32_t find_promising(const struct trial *trial)
{
    uint32_t promising = 0;
    double least_s = -1.0;
    for (uint32_t i = 0; i < collective_table_count; i++) {
        const double seconds =
            may_serve(trial, collective_table[i]) ? bound_s(trial, collective_table[i]) : -1.0;
        if (seconds >= 0.0 && (least_s < 0.0 || seconds < least_s)) {
            promising = i;
            least_s = seconds;
        }
    }
    return promising;
}

/* One that promises much first: then few others are below what it takes. */
static void try_all(struct trial *trial)
{
    const uint32_t first = trial->shape.ranks > SAMPLE_RANKS ? find_promising(trial) : 0;
    for (uint32_t i = 0; i < collective_table_count; i++) {
        const uint32_t next = i == 0 ? first : i <= first ? i - 1 : i;
        if (may_serve(trial, collective_table[next]) &&
            is_better(trial, bound_s(trial, collective_table[next]), next)) {
            try_member(trial, next);
        }
    }
}

struct collective_choice collective_cost_find(struct collective_book *book,
                                              const struct collective_request *request)
{
    const struct collective_place place = {request->cluster, request->group, request->base,
                                           request->crowd};
    struct trial trial = {
        .book = book, .request = request, .place = &place, .best = {.pipeline = 1}};
    if (request->group->ranks > 1) {
        trial.shape = collective_book_find_group(book, &place);
        trial.shape.pipeline = 1;
        try_all(&trial);
    }
    return trial.best;
}

/* Seconds of one collective: rounds that are alike are priced once; a round takes as long as its
 * slowest message. */
#include "costmodel/collective_cost.h"

static double page_s(const struct collective_page *page, const struct collective_request *request,
                     uint32_t protocol)
{
    double seconds = 0.0, base_s = 0.0;
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
            base_s = link->base_s > base_s ? link->base_s : base_s;
        }
        seconds += slowest * (double)phase->repeat;
    }
    return base_s + seconds;
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

static void try_member(struct collective_book *book, const struct collective_request *request,
                       const struct collective_place *place, const struct collective *member,
                       struct collective_group shape, struct collective_choice *best)
{
    for (uint32_t pipeline = 1; pipeline <= member->pipeline_max; pipeline *= 2) {
        shape.pipeline = pipeline;
        const struct collective_page *page =
            collective_book_find_page(book, place, request->kind, member, shape);
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
    const struct collective_place place = {request->cluster, request->group, request->base};
    struct collective_group shape = collective_book_find_group(book, &place);
    for (uint32_t i = 0; i < collective_table_count; i++) {
        const struct collective *member = collective_table[i];
        if (!serves(member, request->kind) ||
            (request->member == NULL ? !prices_offers(request->prices, request->kind, member)
                                     : request->member != member)) {
            continue;
        }
        shape.pipeline = 1;
        if (request->member != NULL || !is_dense(member, request->kind, &shape)) {
            try_member(book, request, &place, member, shape, &best);
        }
    }
    return best;
}

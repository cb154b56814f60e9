/* One block priced: kernels in a row, messages between them, under one, under all. */
#include <string.h>

#include "costmodel/costmodel.h"
#include "tests/law/single_plan.h"
#include "tests/tap_main.h"

#define RANKS 4u
#define BANDWIDTH 100e9
#define DIM 0u

static struct arena arena;
static struct diag diag;
static struct cluster cluster;
static struct prices prices;
static struct problem problem;
static struct costmodel judge;
static struct work work;
static struct work_item forward[8];

/* Four devices behind a raw switch without latency. */
static void begin(void)
{
    static const char text[] =
        "{\"format\": \"shardplan/cluster/1\", \"name\": \"t\", \"device\": \"H100\", \"levels\": "
        "[{\"name\": \"node\", \"kind\": \"switch\", \"degree\": 4, \"bandwidth\": \"100 GB/s\", "
        "\"latency\": \"0 us\"}]}";
    struct json *document;
    arena_init(&arena);
    diag_init(&diag, &arena);
    ck_assert(json_open_text("t.json", text, strlen(text), false, &arena, &document, &diag));
    ck_assert(cluster_read_json(json_root(document), "t", &arena, &cluster, &diag));
    json_close(document);
    cluster.accelerators[0].training.spread_frac = 0.0; /* times here are of one device */
    ck_assert(prices_read(&cluster, NULL, &arena, &prices, &diag));
    problem = (struct problem){.cluster = &cluster};
    costmodel_init(&judge, &problem, &prices, &arena);
    memset(&work, 0, sizeof work);
    work.problem = &problem;
    work.block_count = 1;
    work.group_count = 1;
    work.groups[0] = (struct rank_group){.ranks = RANKS, .step_count = 1};
    work.groups[0].steps[0].stride = 1;
    work.groups[0].steps[0].size = RANKS;
    work.blocks[0].forward.items = forward;
}

static void end(void)
{
    costmodel_release(&judge);
    arena_release(&arena);
}

static struct work_item *push(void)
{
    struct work_item *item = &forward[work.blocks[0].forward.count++];
    memset(item, 0, sizeof *item);
    return item;
}

/* A kernel of that many seconds, launch included. */
static struct work_compute *push_kernel(double seconds)
{
    struct work_item *item = push();
    const struct accelerator *device = &cluster.accelerators[0];
    item->compute =
        (struct work_compute){.name = "kernel",
                              .kind = OP_STREAM,
                              .bytes = (seconds - device->launch_s) * device->memory_Bps *
                                       device->memory_efficiency_frac};
    return &item->compute;
}

/* An all-gather of that many seconds. */
static struct work_message *push_message(double seconds, enum work_overlap overlap, uint32_t pieces)
{
    struct work_item *item = push();
    item->is_message = true;
    item->message = (struct work_message){.kind = COLLECTIVE_ALL_GATHER,
                                          .bytes = seconds * BANDWIDTH * RANKS / (RANKS - 1.0),
                                          .dim = DIM,
                                          .overlap = overlap,
                                          .pieces = pieces,
                                          .period = 1};
    return &item->message;
}

/* Prices what was pushed: all of it, and how much of it is communication. */
static void expect(double total_s, double exposed_s)
{
    struct piece piece;
    costmodel_piece(&judge, &work, 0, 0, NULL, &piece);
    double sum = 0.0;
    for (uint32_t i = 0; i < COST_COUNT; i++) {
        sum += piece.forward_s[i];
    }
    ck_assert_msg(same(piece.forward_total_s, total_s) && same(sum, total_s),
                  "%.9g s, by cost %.9g s, should be %.9g s", piece.forward_total_s, sum, total_s);
    ck_assert_double_eq_tol(piece.forward_s[COST_DIM + DIM], exposed_s, 1e-12);
    work.blocks[0].forward.count = 0;
}

START_TEST(messages_are_waited_for)
{
    begin();
    push_kernel(1e-3);
    push_message(2e-3, OVERLAP_NONE, 1);
    push_kernel(3e-3);
    expect(6e-3, 2e-3);
    push_message(2e-3, OVERLAP_NONE, 1)->period = 4;
    expect(0.5e-3, 0.5e-3);
    end();
}
END_TEST

START_TEST(messages_hide_under_the_next_kernel)
{
    begin();
    push_message(2e-3, OVERLAP_NEXT, 1);
    push_kernel(3e-3);
    push_kernel(1e-3);
    expect(4e-3, 0.0);
    push_message(5e-3, OVERLAP_NEXT, 1);
    push_kernel(3e-3);
    push_kernel(9e-3);
    expect(5e-3 + 9e-3, 2e-3);
    push_kernel(3e-3);
    push_message(2e-3, OVERLAP_NEXT, 1); /* nothing follows */
    expect(5e-3, 2e-3);
    end();
}
END_TEST

/* The first of N parts is at hand: T = x/N + (N-1) max(x/N, a/(N-1)). */
START_TEST(pieces_feed_the_kernel)
{
    static const double messages[] = {1e-3, 2.9e-3, 3.1e-3, 8e-3};
    begin();
    for (uint32_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        for (uint32_t n = 2; n <= 8; n *= 2) {
            const double x = 4e-3, a = messages[i], part = x / n, each = a / (n - 1.0);
            const double total = part + (n - 1.0) * (part > each ? part : each);
            push_message(a, OVERLAP_NEXT, n);
            push_kernel(x);
            expect(total, total - x);
        }
    }
    end();
}
END_TEST

START_TEST(prefetches_hide_under_the_block)
{
    begin();
    push_kernel(1e-3);
    push_kernel(3e-3);
    push_message(2e-3, OVERLAP_BLOCK, 1);
    push_message(1e-3, OVERLAP_BLOCK, 1);
    expect(4e-3, 0.0);
    push_message(5e-3, OVERLAP_BLOCK, 1);
    push_kernel(1e-3);
    push_message(2e-3, OVERLAP_NONE, 1);
    expect(5e-3, 4e-3);
    end();
}
END_TEST

START_TEST(seconds_are_kept_apart)
{
    begin();
    push_kernel(1e-3);
    push_kernel(2e-3)->recompute = true;
    struct piece piece;
    costmodel_piece(&judge, &work, 0, 0, NULL, &piece);
    ck_assert(same(piece.forward_s[COST_COMPUTE], 1e-3));
    ck_assert(same(piece.forward_s[COST_RECOMPUTE], 2e-3));
    work.blocks[0].backward = work.blocks[0].forward;
    work.blocks[0].forward.count = 0;
    forward[1].compute.pass = PASS_WEIGHT_GRADIENT;
    costmodel_piece(&judge, &work, 0, 0, NULL, &piece);
    ck_assert(same(piece.backward_total_s, 3e-3) && same(piece.weight_s, 2e-3));
    ck_assert(same(judge.provenance_s[PROVENANCE_ANALYTIC], 6e-3));
    end();
}
END_TEST

TAP_MAIN("piece", messages_are_waited_for, messages_hide_under_the_next_kernel,
         pieces_feed_the_kernel, prefetches_hide_under_the_block, seconds_are_kept_apart)

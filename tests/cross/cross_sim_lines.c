/* Pipelines whose messages meet on lines: the replay's turns beside an event-driven run in which
 * every rank sends over the links that it really takes. */
#include "plan/boundary.h"
#include "tests/cross/thrown_plan.h"
#include "tests/law/single_plan.h"

#define LAYERS 8u
#define MICRO_BATCHES 16u

static const struct {
    const char *text;
    double bandwidth_Bps;
} bandwidths[] = {{"500 MB/s", 500e6}, {"2 GB/s", 2e9}, {"8 GB/s", 8e9}, {"50 GB/s", 50e9}};
static const uint32_t stage_list[] = {2, 4, 8};

#define COUNT_OF(list) (sizeof(list) / sizeof(list)[0])

/* Two switches with four devices each and a line between them, or one switch and a device for each
 * stage by lines of their own. */
static const char *build_graph(bool ends, uint32_t stages, const char *line)
{
    return ends ? text_build(&arena,
                             "{\"format\": \"shardplan/cluster/1\", \"name\": \"ends\", "
                             "\"devices\": [{\"id\": \"d[0-7]\", \"kind\": \"H100-SXM5\"}], "
                             "\"switches\": [{\"id\": \"a\"}, {\"id\": \"b\"}], \"links\": ["
                             "{\"from\": \"d[0-3]\", \"to\": \"a\", \"bandwidth\": \"200 GB/s\"}, "
                             "{\"from\": \"d[4-7]\", \"to\": \"b\", \"bandwidth\": \"200 GB/s\"}, "
                             "{\"from\": \"a\", \"to\": \"b\", %s}]}",
                             line)
                : text_build(&arena,
                             "{\"format\": \"shardplan/cluster/1\", \"name\": \"hub\", "
                             "\"devices\": [{\"id\": \"d[0-%u]\", \"kind\": \"H100-SXM5\"}], "
                             "\"switches\": [{\"id\": \"a\"}], \"links\": ["
                             "{\"from\": \"d[0-%u]\", \"to\": \"a\", %s}]}",
                             stages - 1, stages - 1, line);
}

static void read_graph(bool ends, uint32_t stages, const char *bandwidth, bool half)
{
    struct json *document;
    const char *text = build_graph(
        ends, stages,
        text_build(&arena, "\"bandwidth\": \"%s\", \"latency\": \"10 us\", \"duplex\": \"%s\"",
                   bandwidth, half ? "half" : "full"));
    ck_assert(json_open_text("lines", text, strlen(text), false, &arena, &document, &diag));
    ck_assert_msg(cluster_read_json(json_root(document), "lines", &arena, &cluster, &diag), "%s",
                  diag.entries[0].message);
    json_close(document);
}

/* So many stages, data parallel inside them; false: no plan of that schedule. */
static bool lay_out(const struct schedule *schedule, uint32_t stages, uint32_t lanes,
                    uint32_t chunks, struct judged *judged)
{
    memset(judged, 0, sizeof *judged);
    judged->group.mesh[0] = (struct mesh_dim){.dim = the_dim("dp"), .degree = lanes};
    judged->group.mesh[1] = (struct mesh_dim){.dim = the_dim("pp"), .degree = stages};
    judged->group.mesh_count = 2;
    judged->plan =
        (struct plan){.groups = &judged->group,
                      .group_count = 1,
                      .schedule = {.schedule = schedule, .micro_batch = 1, .chunks = chunks}};
    setup.global_batch = MICRO_BATCHES * lanes;
    setup.spare_devices = cluster.device_count - stages * lanes;
    if (LAYERS % (stages * chunks) != 0 || !build_work(judged)) {
        return false;
    }
    judged->layers = ARENA_PUSH(&arena, uint32_t, (size_t)stages * chunks);
    for (uint32_t i = 0; i < stages * chunks; i++) {
        judged->layers[i] = LAYERS / (stages * chunks);
    }
    return true;
}

/* Seconds for which the busiest line carries what the plan sends: counted chunk by chunk, the ranks
 * of a stage together over the one between the ends, by themselves over those of a hub. */
static double line_s(const struct judged *judged, bool ends, double bandwidth_Bps, bool half)
{
    const struct stream *stream = &judged->stream;
    const uint32_t stages = stream->shape.stages, chunks = stages * stream->shape.chunks;
    uint32_t there[8] = {0}, back[8] = {0}; /* [device, or 0 the line between the ends] */
    for (uint32_t i = 0; i + 1 < chunks; i++) {
        const uint32_t from = stream->chunk_place[i] / stream->shape.chunks,
                       to = stream->chunk_place[i + 1] / stream->shape.chunks;
        if ((i + 1) % (chunks / stream->copies) == 0 || from == to) {
            continue;
        }
        if (!ends) {
            there[from]++, back[from]++, there[to]++, back[to]++;
        } else if ((from < stages / 2) != (to < stages / 2)) {
            there[0]++, back[0]++;
        }
    }
    uint32_t most = 0;
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t own = there[i] + (half ? back[i] : 0);
        most = own > most ? own : most;
    }
    return most * judged->work->send.bytes * MICRO_BATCHES / stream->copies *
           (ends ? work_count_lanes(judged->work) : 1) / bandwidth_Bps;
}

struct tally {
    uint32_t seen, near;
};

/* One after another in the model, side by side in the simulation: lines carry the same in all, but
 * what is sent first comes earlier, and what is sent last no later. */
static void hold_plan(struct judged *judged, bool ends, double bandwidth_Bps, bool half,
                      struct tally *tally)
{
    struct costmodel costmodel;
    struct sim_options options = sim_full_options();
    struct sim_result folded, messages;
    price(judged, &costmodel);
    simulate(judged, &options, false, &folded);
    options.fold = SIM_MESSAGES;
    simulate(judged, &options, false, &messages);
    const double least_s = line_s(judged, ends, bandwidth_Bps, half),
                 step_s = judged->estimate.step_s;
    ck_assert_double_ge(step_s, least_s);
    ck_assert_double_ge(messages.estimate.step_s, least_s);
    ck_assert_double_eq_tol(folded.estimate.step_s, messages.estimate.step_s,
                            1e-3 * messages.estimate.step_s);
    const double ratio = step_s / messages.estimate.step_s;
    ck_assert_msg(ratio > 0.75 && ratio < 1.15, "%s on %s, %g B/s, %s duplex: %g s, simulated %g s",
                  describe(judged), cluster.name, bandwidth_Bps, half ? "half" : "full", step_s,
                  messages.estimate.step_s);
    tally->seen++;
    tally->near += ratio > 0.95 && ratio < 1.05 ? 1 : 0;
    costmodel_release(&costmodel);
}

static void hold_shapes(bool ends, uint32_t stages, uint32_t bandwidth, bool half,
                        struct tally *tally)
{
    read_graph(ends, stages, bandwidths[bandwidth].text, half);
    for (uint32_t i = 0; i < schedule_table_count; i++) {
        for (uint32_t chunks = 1; chunks <= 4; chunks *= 2) {
            const struct arena_mark mark = arena_find_mark(&arena);
            struct judged judged;
            if (lay_out(schedule_table[i], stages, cluster.device_count / stages, chunks,
                        &judged)) {
                hold_plan(&judged, ends, bandwidths[bandwidth].bandwidth_Bps, half, tally);
            }
            arena_pop(&arena, mark);
        }
    }
}

static void hold_graphs(bool ends)
{
    struct tally tally = {0};
    begin("toy-gqa-8l");
    for (uint32_t bandwidth = 0; bandwidth < COUNT_OF(bandwidths); bandwidth++) {
        for (uint32_t i = 0; i < COUNT_OF(stage_list); i++) {
            hold_shapes(ends, stage_list[i], bandwidth, false, &tally);
            hold_shapes(ends, stage_list[i], bandwidth, true, &tally);
        }
    }
    ck_assert_uint_gt(tally.near, tally.seen * 4 / 5);
    arena_release(&arena);
}

START_TEST(stages_at_both_ends_of_a_line)
{
    hold_graphs(true);
}
END_TEST

START_TEST(stages_on_lines_of_their_own)
{
    hold_graphs(false);
}
END_TEST

/* Two stages of three ranks: the first three are at one end, the others at both. The sums of the
 * second stage are what the step waits for, whichever is priced first. */
START_TEST(a_group_at_both_ends_sets_the_pace)
{
    begin("toy-gqa-8l");
    for (uint32_t i = 0; i < 2 * COUNT_OF(bandwidths); i++) {
        struct judged judged;
        struct costmodel costmodel;
        struct sim_options options = sim_full_options();
        struct sim_result ranks;
        read_graph(true, 2, bandwidths[i / 2].text, i % 2 == 1);
        ck_assert(lay_out(schedule_find("1f1b"), 2, 3, 1, &judged));
        price(&judged, &costmodel);
        options.fold = SIM_RANKS;
        simulate(&judged, &options, false, &ranks);
        ck_assert_msg(judged.estimate.step_s > 0.97 * ranks.estimate.step_s &&
                          judged.estimate.step_s < 1.1 * ranks.estimate.step_s,
                      "%s: %g s, rank by rank %g s", bandwidths[i / 2].text, judged.estimate.step_s,
                      ranks.estimate.step_s);
        costmodel_release(&costmodel);
    }
    arena_release(&arena);
}
END_TEST

TAP_MAIN("sim_lines", stages_at_both_ends_of_a_line, stages_on_lines_of_their_own,
         a_group_at_both_ends_sets_the_pace)

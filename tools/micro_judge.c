/* Measured kernels and collectives beside what the price list says of them. */
#include <string.h>

#include "base/logarithm.h"
#include "prices/measured_kernels.h"
#include "tools/micro.h"

struct known_cluster {
    const char *text;
    bool good;
    struct cluster cluster;
    struct prices prices;
    struct collective_book *book;
};

struct known_device {
    const char *name;
    bool good;
    struct accelerator device;
};

struct micro_bench {
    struct command *command;
    struct known_cluster *clusters;
    struct known_device *devices;
    uint32_t cluster_count, cluster_capacity, device_count, device_capacity;
};

struct micro_bench *micro_bench_init(struct command *command)
{
    struct micro_bench *bench = ARENA_PUSH(command->arena, struct micro_bench, 1);
    *bench = (struct micro_bench){.command = command};
    return bench;
}

struct arena *micro_arena(struct micro_bench *bench)
{
    return bench->command->arena;
}

/* --- what is read once ------------------------------------------------------------------------ */

static struct known_device *find_device(struct micro_bench *bench, const char *name)
{
    struct arena *arena = bench->command->arena;
    for (uint32_t i = 0; i < bench->device_count; i++) {
        if (strcmp(bench->devices[i].name, name) == 0) {
            return &bench->devices[i];
        }
    }
    ARENA_MAKE_ROOM(arena, bench->devices, bench->device_count, bench->device_capacity);
    struct known_device *known = &bench->devices[bench->device_count++];
    struct diag quiet;
    diag_init(&quiet, arena);
    known->name = name;
    known->good = name[0] != '\0' && accelerator_read(name, (struct diag_place){.file = NULL},
                                                      arena, &known->device, &quiet);
    return known;
}

const struct accelerator *micro_find_accelerator(struct micro_bench *bench, const char *name)
{
    const struct known_device *known = find_device(bench, name);
    return known->good ? &known->device : NULL;
}

static bool read_cluster(struct arena *arena, struct known_cluster *known)
{
    struct diag quiet;
    struct json *document = NULL;
    diag_init(&quiet, arena);
    if (!json_open_text("row", known->text, strlen(known->text), false, arena, &document, &quiet)) {
        return false;
    }
    const bool good =
        cluster_read_json(json_root(document), "row", arena, &known->cluster, &quiet) &&
        prices_read(&known->cluster, NULL, arena, &known->prices, &quiet);
    json_close(document);
    known->book = collective_book_init(arena);
    return good;
}

static struct known_cluster *find_cluster(struct micro_bench *bench, const char *text)
{
    struct arena *arena = bench->command->arena;
    for (uint32_t i = 0; i < bench->cluster_count; i++) {
        if (strcmp(bench->clusters[i].text, text) == 0) {
            return &bench->clusters[i];
        }
    }
    ARENA_MAKE_ROOM(arena, bench->clusters, bench->cluster_count, bench->cluster_capacity);
    struct known_cluster *known = &bench->clusters[bench->cluster_count++];
    *known = (struct known_cluster){.text = text};
    known->good = read_cluster(arena, known);
    return known;
}

/* --- kernels ---------------------------------------------------------------------------------- */

static double matmul_s(const struct accelerator *device, struct micro_row *row)
{
    const struct profile_matmul *shape = &row->matmul;
    const struct matmul_shape asked = {shape->m,      shape->n,     shape->k,
                                       shape->groups, shape->dtype, 0.0};
    row->kernel_s = price_matmul_s(device, &asked, true) + device->launch_s;
    const double converted = row->quantises ? device->bench.quantise_bytes[shape->dtype] : 0.0;
    return row->kernel_s + converted * (double)shape->m * (double)shape->k / device->memory_Bps;
}

static double attention_s(const struct accelerator *device, struct micro_row *row)
{
    const struct work_compute item = profile_attention_item(&row->attention);
    row->kernel_s = price_attention_s(device, &item, true) + device->launch_s;
    return row->kernel_s +
           (row->prefills ? device->bench.prefill_passes * item.bytes : 0.0) / device->memory_Bps;
}

static void judge_kernel(struct micro_bench *bench, struct micro_row *row)
{
    const struct known_device *known = find_device(bench, row->accelerator);
    if (!known->good) {
        row->skipped = text_build(bench->command->arena, "accelerator '%s'", row->accelerator);
        return;
    }
    if (row->kind == PROFILE_GEMM) {
        if (!(known->device.peak_flops_per_s[row->matmul.dtype] > 0.0)) {
            row->skipped = "the accelerator has no units of that number format";
            return;
        }
        row->predicted_s = matmul_s(&known->device, row);
    } else if (row->kind == PROFILE_ATTENTION) {
        row->predicted_s = attention_s(&known->device, row);
    } else {
        row->predicted_s =
            price_memory_s(&known->device, row->stream.bytes) + known->device.launch_s;
        row->kernel_s = row->predicted_s;
    }
}

/* --- collectives ------------------------------------------------------------------------------ */

static const char *cluster_text(struct micro_bench *bench, struct micro_row *row)
{
    const struct measured asked = {.accelerator = row->accelerator,
                                   .intra_net = row->intra_net,
                                   .inter_net = row->inter_net,
                                   .notes = "",
                                   .devices = row->collective.ranks,
                                   .node_devices = row->collective.ranks_per_node};
    return measured_cluster_text(&asked, bench->command->arena, &row->skipped);
}

/* Benchmarks time calls out of place: the rank's own share is copied too, by the kernels that send.
 * A sum in the end is written in place of its parts. */
static double own_share_s(const struct micro_row *row, const struct known_cluster *known,
                          const struct prices *prices)
{
    const struct level *inner = &known->cluster.levels[0];
    const struct link_kind *link = prices_find_link(prices, inner->link);
    const double rate = inner->bandwidth_Bps * link->protocols[link->protocol_count - 1].rate_frac;
    const bool copies = row->collective.kind == COLLECTIVE_ALL_GATHER ||
                        row->collective.kind == COLLECTIVE_REDUCE_SCATTER ||
                        row->collective.kind == COLLECTIVE_ALL_TO_ALL;
    const double times =
        row->collective.kind == COLLECTIVE_ALL_TO_ALL ? link->own_copy_pairs : link->own_copy;
    return copies ? times * row->collective.bytes / row->collective.ranks / rate : 0.0;
}

static double choose_s(const struct micro_row *row, struct known_cluster *known,
                       const struct prices *prices)
{
    struct rank_group group = {.ranks = row->collective.ranks, .step_count = 1};
    group.steps[0].stride = 1;
    group.steps[0].size = row->collective.ranks;
    const struct collective_request request = {.cluster = &known->cluster,
                                               .prices = prices,
                                               .kind = row->collective.kind,
                                               .group = &group,
                                               .bytes = row->collective.bytes,
                                               .member = row->member};
    const struct collective_choice choice = collective_cost_find(known->book, &request);
    return choice.seconds + own_share_s(row, known, prices);
}

static void judge_collective(struct micro_bench *bench, struct micro_row *row)
{
    const char *text = cluster_text(bench, row);
    struct known_cluster *known = text == NULL ? NULL : find_cluster(bench, text);
    if (known == NULL || !known->good) {
        row->skipped = row->skipped != NULL
                           ? row->skipped
                           : text_build(bench->command->arena, "device '%s'", row->accelerator);
        return;
    }
    const uint32_t level = known->cluster.level_count - 1;
    row->collective.link = known->cluster.levels[level].link;
    row->predicted_s = row->kernel_s = choose_s(row, known, &known->prices);
    if (!(row->predicted_s > 0.0)) {
        row->skipped = "the algorithm does not take the group";
    }
}

double micro_collective_s(struct micro_bench *bench, const struct micro_row *row,
                          const struct link_kind *link)
{
    struct micro_row copy = *row;
    struct known_cluster *known = find_cluster(bench, cluster_text(bench, &copy));
    struct prices prices = known->prices;
    struct link_kind links[64];
    if (prices.link_count > sizeof links / sizeof links[0]) {
        return row->predicted_s;
    }
    memcpy(links, prices.links, prices.link_count * sizeof links[0]);
    for (uint32_t i = 0; i < prices.link_count; i++) {
        links[i] = strcmp(links[i].name, link->name) == 0 ? *link : links[i];
    }
    prices.links = links;
    return choose_s(row, known, &prices);
}

const struct link_kind *micro_find_link(struct micro_bench *bench, const char *name)
{
    for (uint32_t i = 0; i < bench->cluster_count; i++) {
        const struct prices *prices = &bench->clusters[i].prices;
        for (uint32_t k = 0; bench->clusters[i].good && k < prices->link_count; k++) {
            if (strcmp(prices->links[k].name, name) == 0) {
                return &prices->links[k];
            }
        }
    }
    return NULL;
}

/* --- each from the others --------------------------------------------------------------------- */

static bool same_table(const struct micro_row *a, const struct micro_row *b)
{
    if (a->kind != b->kind || strcmp(a->accelerator, b->accelerator) != 0 ||
        strcmp(a->source, b->source) != 0) {
        return false;
    }
    switch (a->kind) {
    case PROFILE_GEMM: return a->matmul.dtype == b->matmul.dtype;
    case PROFILE_ATTENTION: return a->attention.backward == b->attention.backward;
    case PROFILE_COLLECTIVES:
        return a->collective.kind == b->collective.kind &&
               a->collective.ranks == b->collective.ranks && a->member == b->member;
    case PROFILE_STREAM:
    case PROFILE_KIND_COUNT: break;
    }
    return true;
}

static uint32_t place(const struct micro_row *row, double at[RESIDUAL_AXES_MAX])
{
    const struct profile_matmul *shape = &row->matmul;
    const struct matmul_shape asked = {shape->m,      shape->n,     shape->k,
                                       shape->groups, shape->dtype, 0.0};
    const struct work_compute item = profile_attention_item(&row->attention);
    switch (row->kind) {
    case PROFILE_GEMM: measured_kernels_place_matmul(&asked, at); return MATMUL_AXES;
    case PROFILE_ATTENTION: measured_kernels_place_attention(&item, at); return ATTENTION_AXES;
    case PROFILE_COLLECTIVES:
        measured_kernels_place_stream(row->collective.bytes, at);
        return STREAM_AXES;
    case PROFILE_STREAM:
    case PROFILE_KIND_COUNT: break;
    }
    measured_kernels_place_stream(row->stream.bytes, at);
    return STREAM_AXES;
}

static void judge_table(struct micro_bench *bench, struct micro *all, uint32_t first)
{
    struct residual_table table = {.count = 0};
    struct arena *arena = bench->command->arena;
    enum provenance provenance;
    table.points = ARENA_PUSH(arena, struct residual_point, all->count - first);
    uint32_t *members = ARENA_PUSH(arena, uint32_t, all->count - first);
    for (uint32_t i = first; i < all->count; i++) {
        struct micro_row *row = &all->rows[i];
        if (row->skipped != NULL || !same_table(row, &all->rows[first])) {
            continue;
        }
        row->table = first;
        members[table.count] = i;
        table.axes = place(row, table.points[table.count].at);
        table.points[table.count++].residual = logarithm_of(row->seconds / row->predicted_s);
    }
    residual_close(&table, arena);
    for (uint32_t i = 0; i < table.count && table.count > 1; i++) {
        struct micro_row *row = &all->rows[members[i]];
        row->neighbours_s =
            row->predicted_s * residual_find(&table, table.points[i].at, i, &provenance);
    }
}

void micro_judge(struct micro_bench *bench, struct micro *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        struct micro_row *row = &all->rows[i];
        row->table = UINT32_MAX;
        if (row->skipped == NULL && row->kind == PROFILE_COLLECTIVES) {
            judge_collective(bench, row);
        } else if (row->skipped == NULL) {
            judge_kernel(bench, row);
        }
    }
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->rows[i].skipped == NULL && all->rows[i].table == UINT32_MAX) {
            judge_table(bench, all, i);
        }
    }
}

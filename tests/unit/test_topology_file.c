/* Topology files of other programs: what becomes of small ones, number by number. */
#include <string.h>

#include "base/data_folder.h"
#include "base/file_text.h"
#include "tests/fresh.h"
#include "topologies/cluster.h"

static const char *sample(const char *name)
{
    return data_folder_find(text_build(&arena, "tests/samples/topologies/%s", name), &arena);
}

static bool read_one(const char *name, const char *device, const char *fabric, const char *nodes,
                     struct cluster *out)
{
    begin();
    const struct cluster_request request = {.text = text_build(&arena, "%s%s", sample(name), nodes),
                                            .device = device,
                                            .fabric = fabric};
    return cluster_read_request(&request, &arena, out, &diag);
}

static struct cluster read_good(const char *name, const char *device, const char *fabric,
                                const char *nodes)
{
    struct cluster cluster;
    ck_assert_msg(read_one(name, device, fabric, nodes, &cluster), "%s: %s", name,
                  diag.entries[0].message);
    ck_assert(cluster_check(&cluster, &diag));
    return cluster;
}

static void expect_path(const struct cluster *cluster, uint32_t from, uint32_t to, double Bps,
                        uint32_t hops, const char *link)
{
    struct path path;
    ck_assert(cluster_find_path(cluster, from, to, &path));
    ck_assert_double_eq_tol(path.bandwidth_Bps, Bps, 1e-3 * Bps);
    ck_assert_uint_eq(path.hop_count, hops);
    ck_assert_str_eq(path.link, link);
}

static uint32_t count_warnings(const char *words)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < diag.kept; i++) {
        count += diag.entries[i].warning && strstr(diag.entries[i].message, words) != NULL;
    }
    return count;
}

/* Four links of 25 GB/s between each two, named by their PCI ids: nothing is assumed. */
START_TEST(links_between_gpus_are_counted)
{
    const struct cluster cluster = read_good("nccl-four.xml", NULL, NULL, "");
    ck_assert_uint_eq(cluster.device_count, 4);
    ck_assert_str_eq(cluster.name, "nccl-four");
    ck_assert_str_eq(cluster.accelerators[0].name, "A100-SXM4-80GB");
    ck_assert_uint_eq(diag.kept, 0);
    for (uint32_t pair = 0; pair < 16; pair++) {
        if (pair / 4 != pair % 4) {
            expect_path(&cluster, pair / 4, pair % 4, 100e9, 1, "nvlink3");
        }
    }
    arena_release(&arena);
}
END_TEST

/* 3 + 3 + 3 + 3 links to switches are one way of 300 GB/s. */
START_TEST(switches_are_one_switch)
{
    const struct cluster cluster = read_good("nccl-switch.xml", NULL, NULL, "");
    expect_path(&cluster, 0, 3, 300e9, 2, "nvlink3");
    ck_assert_uint_eq(diag.kept, 0);
    arena_release(&arena);
}
END_TEST

/* Two computers meet by the card of each socket, 200 Gb/s for two GPUs. */
START_TEST(computers_are_joined_by_their_cards)
{
    const struct cluster cluster = read_good("nccl-four.xml", NULL, NULL, ":2");
    ck_assert_uint_eq(cluster.device_count, 8);
    expect_path(&cluster, 0, 3, 100e9, 1, "nvlink3");
    expect_path(&cluster, 0, 4, 25e9, 6, "ib-hdr");
    expect_path(&cluster, 3, 7, 25e9, 6, "ib-hdr");
    arena_release(&arena);
}
END_TEST

START_TEST(cloud_files_are_completed_by_name)
{
    struct cluster cluster;
    ck_assert(!read_one("nccl-cloud.xml", NULL, NULL, "", &cluster));
    ck_assert_int_eq(diag.entries[0].code, DIAG_T317);
    arena_release(&arena);
    cluster = read_good("nccl-cloud.xml", "H100", NULL, "");
    expect_path(&cluster, 0, 1, 450e9, 2, "nvlink4");
    ck_assert_uint_eq(count_warnings("are taken to be joined by a switch"), 1);
    ck_assert_uint_eq(count_warnings("no speed for 2 network cards"), 1);
    arena_release(&arena);
    ck_assert(!read_one("nccl-cloud.xml", "H100", NULL, ":2", &cluster));
    ck_assert_int_eq(diag.entries[diag.kept - 1].code, DIAG_T319);
    arena_release(&arena);
    cluster = read_good("nccl-cloud.xml", "H100", "ib-ndr", ":2");
    expect_path(&cluster, 0, 2, 50e9, 6, "ib-ndr");
    ck_assert_uint_eq(count_warnings("no speed for 2 PCI links: 63.02 GB/s"), 1);
    arena_release(&arena);
    ck_assert(!read_one("nccl-cloud.xml", "H100", "roce-400", ":2", &cluster));
    ck_assert_int_eq(diag.entries[diag.kept - 1].code, DIAG_T320);
    arena_release(&arena);
}
END_TEST

/* A matrix of MB/s between the NVML objects; without it PCI alone, 63 GB/s behind one package. */
START_TEST(hwloc_matrices_are_bandwidths)
{
    struct cluster cluster = read_good("hwloc-four.v2.xml", NULL, NULL, "");
    ck_assert_uint_eq(cluster.device_count, 4);
    ck_assert_str_eq(cluster.accelerators[0].name, "H100-SXM5");
    expect_path(&cluster, 0, 1, 150e9, 1, "nvlink4");
    expect_path(&cluster, 0, 3, 150e9, 1, "nvlink4");
    ck_assert_uint_eq(diag.kept, 0);
    arena_release(&arena);
    ck_assert(!read_one("hwloc-board-display.v3.xml", NULL, NULL, "", &cluster));
    ck_assert_int_eq(diag.entries[0].code, DIAG_T318);
    arena_release(&arena);
}
END_TEST

/* NV4 to each of three others fits 12 links: they are direct. As an H800 of 8 links it cannot:
 * there must be a switch. */
START_TEST(tables_are_rated_by_the_kind)
{
    struct cluster cluster = read_good("nvidia-smi-four.txt", "A100", NULL, "");
    expect_path(&cluster, 0, 3, 100e9, 1, "nvlink3");
    arena_release(&arena);
    cluster = read_good("nvidia-smi-four.txt", "H800", NULL, "");
    expect_path(&cluster, 0, 3, 100e9, 2, "nvlink4");
    arena_release(&arena);
    cluster = read_good("nvidia-smi-four.txt", "A100", "ib-hdr", ":2");
    expect_path(&cluster, 0, 4, 25e9, 6, "ib-hdr");
    expect_path(&cluster, 2, 7, 25e9, 6, "ib-hdr");
    arena_release(&arena);
}
END_TEST

/* Ends of one network join; a device keeps its share of the port's rate. */
START_TEST(unlike_clusters_are_joined)
{
    const struct cluster_request request = {.text = "dgx-a100:2,dgx-v100:3", .fabric = "ib-hdr"};
    struct cluster cluster;
    begin();
    ck_assert(cluster_read_request(&request, &arena, &cluster, &diag));
    ck_assert_uint_eq(cluster.device_count, 40);
    ck_assert_str_eq(cluster_find_accelerator(&cluster, 15)->name, "A100-SXM4-80GB");
    ck_assert_str_eq(cluster_find_accelerator(&cluster, 16)->name, "V100-SXM2-32GB");
    expect_path(&cluster, 0, 7, 300e9, 2, "nvlink3");
    expect_path(&cluster, 0, 8, 25e9, 2, "ib-hdr");
    expect_path(&cluster, 0, 16, 6.25e9, 2, "ib-hdr");
    expect_path(&cluster, 16, 24, 6.25e9, 2, "ib-hdr");
    struct cluster slow;
    const struct cluster_request edr = {.text = "dgx-a100:2,dgx-v100:3", .fabric = "ib-edr"};
    ck_assert(cluster_read_request(&edr, &arena, &slow, &diag));
    expect_path(&slow, 0, 8, 12.5e9, 2, "ib-edr");
    arena_release(&arena);
}
END_TEST

TAP_MAIN("topology_file", links_between_gpus_are_counted, switches_are_one_switch,
         computers_are_joined_by_their_cards, cloud_files_are_completed_by_name,
         hwloc_matrices_are_bandwidths, tables_are_rated_by_the_kind, unlike_clusters_are_joined)

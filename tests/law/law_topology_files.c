/* Topology files that other programs wrote, where the folder SHARDPLAN_SHARED has them: each is
 * read, or refused for a reason that it states; what is read is a cluster like any other. Skipped
 * where there is no such folder. */
#include <dirent.h>
#include <string.h>
#include <time.h>

#include "base/file_text.h"
#include "tests/tap_main.h"
#include "topologies/cluster.h"

#define SECONDS_MAX 5.0

static struct arena arena;
static struct diag diag;

static const char *folder(const char *kind)
{
    const char *shared = getenv("SHARDPLAN_SHARED");
    return shared == NULL ? NULL : text_build(&arena, "%s/fixtures/%s", shared, kind);
}

static bool read_one(const char *path, const char *device, struct cluster *out)
{
    const struct cluster_request request = {.text = path, .device = device};
    diag_init(&diag, &arena);
    return cluster_read_request(&request, &arena, out, &diag);
}

static void is_written_as_read(const char *path, const struct cluster *cluster)
{
    struct text text;
    struct json_writer writer;
    struct json *document;
    struct cluster again;
    ck_assert_msg(cluster_check(cluster, &diag), "%s", path);
    text_init(&text, &arena);
    json_writer_init(&writer, &text, true);
    cluster_dump(cluster, &writer);
    ck_assert(json_open_text("dump", text.bytes, text.length, false, &arena, &document, &diag));
    ck_assert_msg(cluster_read_json(json_root(document), "dump", &arena, &again, &diag), "%s",
                  path);
    json_close(document);
    ck_assert_msg(again.digest == cluster->digest, "%s", path);
}

struct counts {
    uint32_t files, read, by_device, refused[DIAG_CODE_COUNT];
};

static void try_file(const char *path, struct counts *counts)
{
    const struct arena_mark mark = arena_find_mark(&arena);
    const clock_t begin = clock();
    struct cluster cluster;
    counts->files++;
    if (read_one(path, NULL, &cluster)) {
        counts->read++;
        is_written_as_read(path, &cluster);
    } else if (diag.entries[diag.kept - 1].code == DIAG_T317 &&
               read_one(path, "H200-SXM", &cluster)) {
        counts->by_device++;
        is_written_as_read(path, &cluster);
    } else {
        ck_assert_msg(diag.count == 1, "%s: %u reports", path, diag.count);
        for (uint32_t i = 0; i < diag.kept; i++) {
            counts->refused[diag.entries[i].code] += !diag.entries[i].warning;
        }
    }
    ck_assert_msg((double)(clock() - begin) / CLOCKS_PER_SEC < SECONDS_MAX, "%s", path);
    arena_pop(&arena, mark);
}

static struct counts try_folder(const char *kind)
{
    struct counts counts = {.files = 0};
    DIR *files = opendir(folder(kind));
    ck_assert_ptr_nonnull(files);
    for (const struct dirent *entry = readdir(files); entry != NULL; entry = readdir(files)) {
        if (entry->d_name[0] != '.') {
            try_file(text_build(&arena, "%s/%s", folder(kind), entry->d_name), &counts);
        }
    }
    closedir(files);
    fprintf(stderr, "%-16s %3u files: %3u read, %3u with --device", kind, counts.files, counts.read,
            counts.by_device);
    for (enum diag_code code = 0; code < DIAG_CODE_COUNT; code++) {
        if (counts.refused[code] > 0) {
            fprintf(stderr, ", %u %s", counts.refused[code], diag_code_slug(code));
        }
    }
    fprintf(stderr, "\n");
    return counts;
}

START_TEST(files_are_read_or_refused)
{
    arena_init(&arena);
    const struct counts nccl = try_folder("nccl-topo");
    ck_assert_uint_ge(nccl.read, 10);
    ck_assert_uint_eq(nccl.read + nccl.by_device + nccl.refused[DIAG_T319], nccl.files);
    const struct counts hwloc = try_folder("hwloc");
    ck_assert_uint_ge(hwloc.read, 2);
    ck_assert_uint_eq(hwloc.read + hwloc.by_device + hwloc.refused[DIAG_T318], hwloc.files);
    const struct counts table = try_folder("nvidia-smi-topo");
    ck_assert_uint_eq(table.by_device, table.files);
    arena_release(&arena);
}
END_TEST

static void expect(const char *path, const char *device, uint32_t devices, double Bps)
{
    struct cluster cluster;
    struct path way;
    ck_assert_msg(read_one(text_build(&arena, "%s", folder(path)), device, &cluster), "%s: %s",
                  path, diag.entries[0].message);
    ck_assert_uint_eq(cluster.device_count, devices);
    ck_assert(cluster_find_path(&cluster, 0, 1, &way));
    ck_assert_double_eq_tol(way.bandwidth_Bps, Bps, 1e-6 * Bps);
}

/* Link counts of the files times 25, 50 or 64 GB/s of their kinds. */
START_TEST(bandwidths_are_those_of_the_kinds)
{
    arena_init(&arena);
    expect("nccl-topo/oci-H100-topology.xml", NULL, 8, 450e9);
    expect("nccl-topo/yccl-topo_h800.xml", NULL, 8, 200e9);
    expect("nccl-topo/rccl-topo_8p_940.xml", NULL, 8, 64e9);
    expect("nccl-topo/rccl-topo_16p1h.xml", NULL, 16, 200e9);
    expect("nccl-topo/aws-p4d-24xl-topo.xml", NULL, 8, 300e9);
    expect("hwloc/nvidiaDGX2.xml", NULL, 16, 150e9);
    expect("hwloc/prrte-turin-4gpu-nvml.v2.xml", NULL, 4, 150e9);
    expect("nvidia-smi-topo/a100_nv12_nonic.txt", "A100", 8, 300e9);
    expect("nvidia-smi-topo/gcp_h200_8nic_ansi.txt", "H200-SXM", 8, 450e9);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {files_are_read_or_refused, bandwidths_are_those_of_the_kinds};
    arena_init(&arena);
    DIR *files = folder("nccl-topo") == NULL ? NULL : opendir(folder("nccl-topo"));
    arena_release(&arena);
    if (files == NULL) {
        puts("1..0 # SKIP SHARDPLAN_SHARED has no fixtures/nccl-topo");
        return EXIT_SUCCESS;
    }
    closedir(files);
    return tap_run("topology_files", tests, 2);
}

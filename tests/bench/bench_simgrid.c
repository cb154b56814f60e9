/* User time of SimGrid on the cases of bench_peers that it ends soon.
 *
 * An actor on each host, asynchronous messages, model CM02 without cross traffic: as the cases were
 * measured first. One process for each case, since SimGrid has one platform for each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <simgrid/actor.h>
#include <simgrid/comm.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>

#include "base/random.h"
#include "tests/published/peers_cases.h"

#define OPS 200u
#define FLOPS_PER_S 1e9

static struct arena arena;
static uint32_t size, hosts;
static const struct flows_transfer *transfers;
static double *op_s; /* [rank * OPS + op] */
static void *received;

static double user_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
}

static sg_mailbox_t mailbox(uint32_t number)
{
    return sg_mailbox_by_name(text_build(&arena, "%u", number));
}

/* Each rank sends a chunk on and receives one, 2 (N - 1) times. */
static void ring(int argc, char **argv)
{
    const uint32_t rank = (uint32_t)strtoul(argv[argc - 1], NULL, 10);
    const sg_mailbox_t to = mailbox((rank + 1) % hosts), from = mailbox(rank);
    for (uint32_t step = 0; step < 2 * (hosts - 1); step++) {
        sg_comm_t both[2];
        void *got;
        both[0] = sg_mailbox_put_async(to, &arena, (long)(MIB / hosts));
        both[1] = sg_mailbox_get_async(from, &got);
        sg_comm_wait_all(both, 2);
    }
}

/* Each host starts all that it sends and all that it receives. */
static void unequal(int argc, char **argv)
{
    const uint32_t host = (uint32_t)strtoul(argv[argc - 1], NULL, 10);
    sg_comm_t *own = ARENA_PUSH(&arena, sg_comm_t, size);
    uint32_t count = 0;
    for (uint32_t i = 0; i < size; i++) {
        if (transfers[i].source == host) {
            own[count++] = sg_mailbox_put_async(mailbox(i), &arena, (long)transfers[i].bytes);
        } else if (transfers[i].destination == host) {
            own[count++] = sg_mailbox_get_async(mailbox(i), &received);
        }
    }
    sg_comm_wait_all(own, count);
}

static void chained(int argc, char **argv)
{
    const uint32_t rank = (uint32_t)strtoul(argv[argc - 1], NULL, 10);
    for (uint32_t op = 0; op < OPS; op++) {
        sg_actor_execute(op_s[rank * OPS + op] * FLOPS_PER_S);
    }
}

static const struct {
    const char *name;
    void (*actor)(int argc, char **argv);
    uint32_t size, hosts; /* hosts 0: as many as the size says */
    const char *topology;
} cases[] = {
    {"C1 ring all-reduce, 1 MiB", ring, 64, 0, "topology=\"TORUS\" topo_parameters"},
    {"C1 ring all-reduce, 1 MiB", ring, 512, 0, "topology=\"TORUS\" topo_parameters"},
    {"C4 unequal flows", unequal, 1000, 64, NULL},
    {"C4 unequal flows", unequal, 3000, 64, NULL},
    {"C6 chained ops", chained, 1024, 0, NULL},
};

/* What the actors read, before the clock starts. */
static void draw(void)
{
    struct random random;
    random_init(&random, 1);
    transfers = peers_transfers(hosts, size, &arena);
    op_s = ARENA_PUSH(&arena, double, (size_t)hosts *OPS);
    for (uint32_t i = 0; i < hosts * OPS; i++) {
        op_s[i] = 1e-6 * (double)(1 + random_pop_below(&random, 99999));
    }
}

static bool write_platform(const char *path, const char *topology)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    fprintf(file,
            "<?xml version='1.0'?>\n"
            "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            "<platform version=\"4.1\">\n"
            "<cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-%u\" speed=\"1Gf\" "
            "bw=\"%.0fBps\" lat=\"500ns\"",
            hosts - 1, LINK_BPS);
    if (topology != NULL) {
        fprintf(file, " %s=\"%u\"", topology, hosts);
    }
    fprintf(file, "/>\n</platform>\n");
    return fclose(file) == 0;
}

static void run_case(size_t index, int argc, char **argv)
{
    const char *path = "bench_simgrid.xml";
    simgrid_init(&argc, argv);
    if (!write_platform(path, cases[index].topology)) {
        fprintf(stderr, "bench_simgrid: cannot write %s\n", path);
        return;
    }
    simgrid_load_platform(path);
    remove(path);
    for (uint32_t i = 0; i < hosts; i++) {
        const char *number = text_build(&arena, "%u", i);
        const sg_host_t host = sg_host_by_name(text_build(&arena, "h%u", i));
        sg_actor_create("actor", host, cases[index].actor, 1, (char **)&number);
    }
    const double begin_s = user_s();
    simgrid_run();
    printf("%-28s %6u %9.4f %14.9f\n", cases[index].name, size, user_s() - begin_s,
           simgrid_get_clock());
    fflush(stdout);
}

int main(void)
{
    char words[][32] = {"bench_simgrid", "--cfg=network/model:CM02", "--cfg=network/crosstraffic:0",
                        "--log=root.thres:error"};
    char *options[] = {words[0], words[1], words[2], words[3], NULL};
    printf("%-28s %6s %9s %14s\n", "SimGrid, user time", "size", "s", "simulated, s");
    fflush(stdout);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pid_t child = fork();
        if (child == 0) {
            arena_init(&arena);
            size = cases[i].size;
            hosts = cases[i].hosts == 0 ? size : cases[i].hosts;
            draw();
            run_case(i, 4, options);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return 0;
}

/* Clusters from texts, for the tests of the noun cluster. */
#ifndef SHARDPLAN_TESTS_UNIT_CLUSTER_TEXT_H
#define SHARDPLAN_TESTS_UNIT_CLUSTER_TEXT_H

#include <string.h>

#include "tests/fresh.h"
#include "topologies/cluster.h"

static inline bool read_text(const char *text, struct cluster *out)
{
    struct json *document;
    if (!json_open_text("t.json", text, strlen(text), false, &arena, &document, &diag)) {
        return false;
    }
    const bool good = cluster_read_json(json_root(document), "t", &arena, out, &diag);
    json_close(document);
    return good;
}

static inline struct cluster read_good(const char *text)
{
    struct cluster cluster;
    begin();
    ck_assert_msg(read_text(text, &cluster), "%s: %s", text, diag.entries[0].message);
    ck_assert(cluster_check(&cluster, &diag));
    return cluster;
}
static inline struct path find(const struct cluster *cluster, uint32_t from, uint32_t to)
{
    struct path path;
    ck_assert(cluster_find_path(cluster, from, to, &path));
    for (uint32_t i = 0; i < path.hop_count; i++) {
        ck_assert_uint_lt(path.hops[i].resource, cluster_count_resources(cluster));
    }
    return path;
}

static inline void expect_path(const struct cluster *cluster, uint32_t from, uint32_t to,
                               const char *resources, double bandwidth_Bps, double latency_s)
{
    const struct path path = find(cluster, from, to);
    struct text text;
    text_init(&text, &arena);
    for (uint32_t i = 0; i < path.hop_count; i++) {
        text_push(&text, "%s%u", i == 0 ? "" : " ", path.hops[i].resource);
    }
    ck_assert_str_eq(text.bytes, resources);
    ck_assert_double_eq(path.bandwidth_Bps, bandwidth_Bps);
    ck_assert_double_eq_tol(path.latency_s, latency_s, 1e-15);
}
#define HEAD "{\"format\": \"shardplan/cluster/1\", \"name\": \"x\", "
#define DEVICE "\"device\": \"H100\", "
#define LEVEL(kind, degree, rate) \
    "{\"name\": \"l\", \"kind\": \"" kind "\", \"degree\": " degree ", \"bandwidth\": \"" rate \
    "\", \"latency\": \"1 us\"}"
#define LEVELS(levels) HEAD DEVICE "\"levels\": [" levels "]}"
#define AB "\"devices\": [{\"id\": \"a\", \"kind\": \"H100\"}, {\"id\": \"b\", \"kind\": \"H100\"}]"
#define LINK(from, to, rate) \
    "{\"from\": \"" from "\", \"to\": \"" to "\", \"bandwidth\": \"" rate \
    "\", \"latency\": \"1 us\"}"
#define GRAPH(devices, links) \
    HEAD "\"devices\": [{\"id\": \"" devices "\", \"kind\": \"H100\"}], " \
         "\"switches\": [{\"id\": \"s\"}], \"links\": [" links "]}"

#endif

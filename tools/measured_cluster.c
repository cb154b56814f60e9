/* The cluster of a row as native JSON: devices by name, nodes, and what its network columns say. */
#include "tools/measured.h"

#include <stdlib.h>
#include <string.h>

#define GBIT_BYTES 1.25e8

/* Inside a node (or a rack): per device and direction, vendor figures as in topologies/zoo. The
 * first word that stands in the column counts. */
struct inner {
    const char *word, *link;
    double bandwidth_Bps;
    bool reduces;
};

static const struct inner inners[] = {
    {"NVLink2", "nvlink2", 150e9, false},
    {"NVLink3", "nvlink3", 300e9, false},
    {"NVLink4", "nvlink4", 450e9, true},
    {"NVLink5", "nvlink5", 900e9, true},
    {NULL, NULL, 0.0, false},
};

/* What "NVLink" without a generation is, by device. */
struct generation {
    const char *device, *link;
};
static const struct generation generations[] = {
    {"V100", "NVLink2"}, {"A100", "NVLink3"}, {"H100", "NVLink4"},
    {"H200", "NVLink4"}, {"B200", "NVLink5"}, {"B300", "NVLink5"},
};

/* Devices in one NVLink domain of a rack; runs on several racks take 64 of the 72 in each. */
#define RACK_DEVICES 72u
#define RACK_USED 64u

static const struct inner *find_inner(const char *text)
{
    for (uint32_t i = 0; inners[i].word != NULL; i++) {
        const char *const words[] = {inners[i].word, NULL};
        if (measured_find_word(text, words) != NULL) {
            return &inners[i];
        }
    }
    return NULL;
}

static const struct inner *inner_of(const struct measured *row)
{
    const struct inner *found = find_inner(row->intra_net);
    for (uint32_t i = 0; found == NULL && i < sizeof generations / sizeof generations[0]; i++) {
        const char *const words[] = {generations[i].device, NULL};
        if (measured_find_word(row->accelerator, words) != NULL) {
            found = find_inner(generations[i].link);
        }
    }
    return found;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "8x400Gb/s", "EFA 4x100Gb/s", "4x Omni-Path 100Gb/s": the count before an 'x' right before the
 * number, else the text's first number where an 'x' follows it, but not for what stands in
 * brackets. */
static double times_of(const char *text, const char *at)
{
    if (at > text + 1 && at[-1] == 'x' && is_digit(at[-2])) {
        const char *count = at - 2;
        for (; count > text && is_digit(count[-1]); count--) {
        }
        return strtod(count, NULL);
    }
    const size_t digits = strspn(text, "0123456789");
    const char *bracket = strchr(text, '(');
    const bool counts = digits > 0 && text[digits] == 'x' && at > text + digits &&
                        (bracket == NULL || at < bracket);
    return counts ? strtod(text, NULL) : 1.0;
}

/* Largest number before "Gb" in the text, with its count, in bytes per second. 0: none. */
static double rate_Bps(const char *text)
{
    double most = 0.0;
    for (const char *at = text; *at != '\0'; at++) {
        if (!is_digit(*at) || (at > text && (is_digit(at[-1]) || at[-1] == '.'))) {
            continue;
        }
        char *end;
        const double number = strtod(at, &end);
        end += strspn(end, " ");
        if (strncmp(end, "Gb", 2) == 0) {
            const double rate = number * times_of(text, at) * GBIT_BYTES;
            most = rate > most ? rate : most;
        }
    }
    return most;
}

/* "4x HDR200 IB per node": the kind carries the rate. */
static double named_rate_Bps(const char *text)
{
    static const struct {
        const char *word;
        double gbit;
    } kinds[] = {{"HDR", 200}, {"NDR", 400}, {"EDR", 100}, {"XDR", 800}};
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *const words[] = {kinds[i].word, NULL};
        if (measured_find_word(text, words) != NULL) {
            const double count = strtod(text, NULL);
            return (count > 0.0 ? count : 1.0) * kinds[i].gbit * GBIT_BYTES;
        }
    }
    return 0.0;
}

static const char *outer_link(const char *text, double device_Bps)
{
    static const char *const efa[] = {"EFA", NULL}, *const ethernet[] = {"RoCE", "Ethernet", NULL};
    static const char *const omni[] = {"Omni-Path", NULL};
    static const char *const tcpxo[] = {"TCPXO", NULL}, *const tcpx[] = {"TCPX", NULL};
    if (measured_find_word(text, efa) != NULL) {
        return "efa";
    }
    if (measured_find_word(text, tcpx) != NULL) {
        return measured_find_word(text, tcpxo) != NULL ? "tcpxo" : "tcpx";
    }
    if (measured_find_word(text, ethernet) != NULL) {
        return "roce-400";
    }
    if (measured_find_word(text, omni) != NULL) {
        return "ib-edr";
    }
    return device_Bps > 51e9 ? "ib-xdr" : device_Bps > 26e9 ? "ib-ndr" : "ib-hdr";
}

struct outer {
    double bandwidth_Bps; /* per device */
    const char *link;
};

static struct outer outer_of(const struct measured *row, uint32_t node_devices)
{
    static const char *const per_device[] = {"per GPU", "per chip", NULL};
    static const char *const per_tray[] = {"per 4-GPU tray", NULL};
    const char *text = row->inter_net;
    const double named = rate_Bps(text);
    const double total = named > 0.0 ? named : named_rate_Bps(text);
    const bool tray = measured_find_word(text, per_tray) != NULL;
    const bool single = !tray && measured_find_word(text, per_device) != NULL;
    const double bandwidth = total / (single ? 1.0 : tray ? 4.0 : (double)node_devices);
    return (struct outer){bandwidth, outer_link(text, bandwidth)};
}

static void push_level(struct json_writer *out, const char *kind, uint32_t degree,
                       const struct outer *link, bool reduces)
{
    json_push_object(out);
    json_push_key_string(out, "kind", kind);
    json_push_key_u64(out, "degree", degree);
    json_push_key_quantity(out, "bandwidth", UNIT_BYTES_PER_SECOND, link->bandwidth_Bps);
    json_push_key_string(out, "link", link->link);
    json_push_key_bool(out, "in_network_reduction", reduces);
    json_pop_object(out);
}

/* Devices that share the inner network. */
static uint32_t domain_of(const struct measured *row)
{
    static const char *const rack[] = {"NVL72", NULL};
    if (measured_find_word(row->intra_net, rack) == NULL) {
        const uint32_t node = row->node_devices > 0 ? row->node_devices : 8;
        return row->devices < node ? row->devices : node;
    }
    if (row->devices <= RACK_DEVICES) {
        return row->devices;
    }
    return row->devices % RACK_USED == 0 ? RACK_USED : RACK_DEVICES;
}

static bool push_levels(const struct measured *row, struct json_writer *out, struct arena *arena,
                        const char **reason)
{
    const struct inner *inner = inner_of(row);
    const uint32_t domain = domain_of(row);
    const uint32_t node = row->node_devices > 0 ? row->node_devices : domain;
    if (inner == NULL) {
        *reason = text_build(arena, "intra_net is '%s': no known link", row->intra_net);
        return false;
    }
    if (row->devices % domain != 0) {
        *reason = text_build(arena, "%u devices do not fill nodes of %u", row->devices, domain);
        return false;
    }
    const struct outer within = {inner->bandwidth_Bps, inner->link};
    push_level(out, "switch", domain, &within, inner->reduces);
    if (row->devices > domain) {
        const struct outer outer = outer_of(row, node);
        if (!(outer.bandwidth_Bps > 0.0)) {
            *reason = text_build(arena, "inter_net is '%s': no rate", row->inter_net);
            return false;
        }
        push_level(out, "switch", row->devices / domain, &outer, false);
    }
    return true;
}

/* --- torus ----------------------------------------------------------------------------------- */

/* Chips of one slice: v5e and v6e slices are squares of 16. */
#define TORUS_SIDE 16u

static bool push_torus(const struct measured *row, struct json_writer *out, struct arena *arena,
                       const char **reason)
{
    static const char *const plane[] = {"2D", NULL};
    const double chip_Bps = rate_Bps(row->intra_net); /* of all its links, one direction */
    const struct outer all = {chip_Bps, "ici"}, axis = {chip_Bps / 2.0, "ici"};
    if (!(chip_Bps > 0.0)) {
        *reason = text_build(arena, "intra_net is '%s': no rate", row->intra_net);
        return false;
    }
    if (measured_find_word(row->intra_net, plane) == NULL) {
        push_level(out, "switch", row->devices, &all, false);
        return true;
    }
    const uint32_t slice = TORUS_SIDE * TORUS_SIDE;
    if (row->devices % slice != 0) {
        *reason = text_build(arena, "%u chips do not fill slices of %u", row->devices, slice);
        return false;
    }
    push_level(out, "ring", TORUS_SIDE, &axis, false);
    push_level(out, "ring", TORUS_SIDE, &axis, false);
    if (row->devices > slice) {
        /* a data centre network that the rows do not describe: 200 Gb/s per host of 4 chips
         * (public documentation of multislice, remembered) */
        const struct outer centre = {25e9 / 4.0, "ethernet-100"};
        push_level(out, "switch", row->devices / slice, &centre, false);
    }
    return true;
}

/* A100 and V100 come with two sizes of memory; the notes say which. */
static const char *device_name(const struct measured *row, struct arena *arena)
{
    static const char *const small[] = {"40GB", "40 GB", "A100-40", NULL};
    static const char *const wide[] = {"32GB", "32 GB", NULL};
    if (strcmp(row->accelerator, "A100") == 0) {
        const bool both = measured_find_word(row->notes, small) != NULL;
        return both ? "A100-SXM4-40GB" : "A100-SXM4-80GB";
    }
    if (strcmp(row->accelerator, "V100") == 0) {
        return measured_find_word(row->notes, wide) != NULL ? "V100-SXM2-32GB" : "V100-SXM2-16GB";
    }
    return text_build(arena, "%s", row->accelerator);
}

const char *measured_cluster_text(const struct measured *row, struct arena *arena,
                                  const char **reason)
{
    static const char *const torus[] = {"ICI", NULL};
    struct text text;
    struct json_writer out;
    text_init(&text, arena);
    json_writer_init(&out, &text, true);
    json_push_object(&out);
    json_push_key_string(&out, "format", "shardplan/cluster/1");
    json_push_key_string(&out, "name", "row");
    json_push_key_string(&out, "device", device_name(row, arena));
    json_push_key(&out, "levels");
    json_push_array(&out);
    const bool good = measured_find_word(row->intra_net, torus) != NULL
                          ? push_torus(row, &out, arena, reason)
                          : push_levels(row, &out, arena, reason);
    json_pop_array(&out);
    json_pop_object(&out);
    return good ? text.bytes : NULL;
}

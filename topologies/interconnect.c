/* Reading the rates of links that topology files leave out. */
#include "topologies/interconnect.h"

#include <string.h>

#include "base/data_folder.h"
#include "base/json.h"
#include "topologies/member.h"

#define FORMAT "shardplan/interconnects/1"
#define RATE_MAX 1e4
#define MODEL_MAX 65535u

static bool read_pci(struct json_value value, struct arena *arena, void *out, struct diag *diag)
{
    struct pci_rate *rate = out;
    return json_read_double(value, "gt_per_s", 0, RATE_MAX, &rate->gt_per_s, diag) &&
           json_read_quantity(value, "lane", UNIT_BYTES_PER_SECOND, &rate->lane_Bps, diag) &&
           json_read_string(value, "link", arena, &rate->link, diag);
}

static bool read_socket(struct json_value value, struct arena *arena, void *out, struct diag *diag)
{
    struct socket_rate *rate = out;
    return json_read_string(value, "vendor", arena, &rate->vendor, diag) &&
           json_read_u32(value, "family", 0, MODEL_MAX, &rate->family, diag) &&
           json_read_u32(value, "model_from", 0, MODEL_MAX, &rate->model_from, diag) &&
           json_read_quantity(value, "bandwidth", UNIT_BYTES_PER_SECOND, &rate->bandwidth_Bps,
                              diag);
}

static bool read_network(struct json_value value, struct arena *arena, void *out, struct diag *diag)
{
    struct network *network = out;
    return json_read_string(value, "link", arena, &network->link, diag) &&
           json_read_string(value, "family", arena, &network->family, diag) &&
           json_read_quantity(value, "port", UNIT_BYTES_PER_SECOND, &network->port_Bps, diag) &&
           json_read_quantity(value, "latency", UNIT_SECONDS, &network->latency_s, diag);
}

/* A list of the file, whose elements are of one kind. */
struct list {
    const char *key;
    size_t size; /* of an element, bytes */
    bool (*read)(struct json_value value, struct arena *arena, void *out, struct diag *diag);
    void *items; /* filled by read_list, with the next */
    uint32_t count;
};

static bool read_list(struct json_value object, struct list *list, struct arena *arena,
                      struct diag *diag)
{
    struct json_value values;
    if (!member_read_array(object, list->key, "a list of rates", &values, diag)) {
        return false;
    }
    list->count = json_count(values);
    char *items = arena_push(arena, list->count, list->size);
    for (uint32_t i = 0; i < list->count; i++) {
        if (!list->read(json_find_index(values, i), arena, items + i * list->size, diag)) {
            return false;
        }
    }
    list->items = items;
    return true;
}

static bool read_assumed(struct json_value object, struct interconnect *out, struct diag *diag)
{
    const struct json_value pci = json_find(object, "pci_assumed");
    const struct json_value socket = json_find(object, "socket_assumed");
    return json_read_double(pci, "gt_per_s", 0, RATE_MAX, &out->pci_assumed_gt_per_s, diag) &&
           json_read_u32(pci, "width", 1, 32, &out->pci_assumed_width, diag) &&
           json_read_quantity(socket, "bandwidth", UNIT_BYTES_PER_SECOND, &out->socket_assumed_Bps,
                              diag);
}

static bool read_object(struct json_value object, struct arena *arena, struct interconnect *out,
                        struct diag *diag)
{
    struct interconnect read = {.pci_count = 0};
    struct list pci = {"pci", sizeof *read.pci, read_pci, NULL, 0};
    struct list sockets = {"sockets", sizeof *read.sockets, read_socket, NULL, 0};
    struct list networks = {"networks", sizeof *read.networks, read_network, NULL, 0};
    if (!member_check_format(object, FORMAT, diag) || !read_list(object, &pci, arena, diag) ||
        !read_list(object, &sockets, arena, diag) || !read_list(object, &networks, arena, diag) ||
        !read_assumed(object, &read, diag)) {
        return false;
    }
    read.pci = pci.items;
    read.pci_count = pci.count;
    read.sockets = sockets.items;
    read.socket_count = sockets.count;
    read.networks = networks.items;
    read.network_count = networks.count;
    *out = read;
    return true;
}

bool interconnect_read(struct arena *arena, struct interconnect *out, struct diag *diag)
{
    struct json *document;
    const char *path = data_folder_find("topologies/interconnects.json", arena);
    if (!json_open(path, false, arena, &document, diag)) {
        return false;
    }
    const bool good = read_object(json_root(document), arena, out, diag);
    json_close(document);
    return good;
}

/* --- finding ---------------------------------------------------------------------------------- */

const struct pci_rate *interconnect_find_pci(const struct interconnect *interconnect,
                                             double gt_per_s)
{
    for (uint32_t i = 0; i < interconnect->pci_count; i++) {
        const struct pci_rate *rate = &interconnect->pci[i];
        if (!(rate->gt_per_s < gt_per_s) && !(rate->gt_per_s > gt_per_s)) {
            return rate;
        }
    }
    return NULL;
}

const struct socket_rate *interconnect_find_socket(const struct interconnect *interconnect,
                                                   const char *vendor, uint32_t family,
                                                   uint32_t model)
{
    for (uint32_t i = 0; i < interconnect->socket_count; i++) {
        const struct socket_rate *rate = &interconnect->sockets[i];
        if (strcmp(rate->vendor, vendor) == 0 && (rate->family == 0 || rate->family == family) &&
            rate->model_from <= model) {
            return rate;
        }
    }
    return NULL;
}

bool interconnect_find_network(const struct interconnect *interconnect, const char *link,
                               const struct network **out, struct diag *diag)
{
    const char **names = ARENA_PUSH(diag->arena, const char *, interconnect->network_count);
    struct text all;
    text_init(&all, diag->arena);
    for (uint32_t i = 0; i < interconnect->network_count; i++) {
        names[i] = interconnect->networks[i].link;
        text_push(&all, "%s%s", i == 0 ? "" : ", ", names[i]);
        if (strcmp(names[i], link) == 0) {
            *out = &interconnect->networks[i];
            return true;
        }
    }
    const char *near = text_find_nearest(link, names, interconnect->network_count);
    return diag_push(diag, DIAG_T316, (struct diag_place){.file = NULL},
                     near == NULL ? NULL : text_build(diag->arena, "did you mean '%s'?", near),
                     "'%s' is no network that joins nodes: %s", link, all.bytes);
}

const struct network *interconnect_find_family(const struct interconnect *interconnect,
                                               const char *family, double port_Bps)
{
    const struct network *best = NULL;
    for (uint32_t i = 0; i < interconnect->network_count; i++) {
        const struct network *network = &interconnect->networks[i];
        if (strcmp(network->family, family) != 0) {
            continue;
        }
        const bool fits = network->port_Bps <= port_Bps;
        if (best == NULL ||
            (fits && (network->port_Bps >= best->port_Bps || best->port_Bps > port_Bps))) {
            best = network;
        }
    }
    return best;
}

/* NCCL's topology XML (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE), RCCL's dialect too. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "topologies/id_index.h"
#include "topologies/topology_file.h"

#define UNKNOWN_DEVICE_ORDER 1000000u /* behind those that the file numbers */

struct reading {
    const struct xml *document;
    struct machine *machine;
    struct interconnect interconnect;
    struct diag *diag;
    uint32_t *part_of; /* per element: its part, or that of the nearest element around it */
};

static const struct xml_element *element_at(const struct reading *reading, uint32_t index)
{
    return &reading->document->elements[index];
}

static struct diag_place place_of(const struct reading *reading, uint32_t index)
{
    return xml_place(reading->document, element_at(reading, index));
}

static bool is_named(const struct reading *reading, uint32_t index, const char *name)
{
    return strcmp(element_at(reading, index)->name, name) == 0;
}

static const char *value_of(const struct reading *reading, uint32_t index, const char *attribute)
{
    const char *value = xml_find(element_at(reading, index), attribute);
    return value == NULL ? "" : value;
}

static double number_of(const struct reading *reading, uint32_t index, const char *attribute)
{
    const double number = strtod(value_of(reading, index, attribute), NULL);
    return number > 0 && number < 1e12 ? number : 0;
}

static bool has_child(const struct reading *reading, uint32_t index, const char *name)
{
    for (uint32_t child = element_at(reading, index)->first_child; child != XML_NONE;
         child = element_at(reading, child)->next) {
        if (is_named(reading, child, name)) {
            return true;
        }
    }
    return false;
}

static uint32_t find_child(const struct reading *reading, uint32_t index, const char *name)
{
    uint32_t child = element_at(reading, index)->first_child;
    while (child != XML_NONE && !is_named(reading, child, name)) {
        child = element_at(reading, child)->next;
    }
    return child;
}

/* --- PCI -------------------------------------------------------------------------------------- */

/* "32.0 GT/s PCIe" and a width; a width of 0 stands for 16. */
static void read_speed(const struct reading *reading, uint32_t index, struct machine_part *out)
{
    const struct pci_rate *rate =
        interconnect_find_pci(&reading->interconnect, number_of(reading, index, "link_speed"));
    const double width = number_of(reading, index, "link_width");
    if (rate != NULL) {
        out->up_Bps =
            rate->lane_Bps * (width > 0 ? width : reading->interconnect.pci_assumed_width);
        out->up_link = rate->link;
    }
}

static bool starts_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* "0x10de" and "0x2330" to "10de:2330"; NULL where the file leaves them out. */
static const char *find_pci_id(const struct reading *reading, uint32_t index)
{
    const char *vendor = value_of(reading, index, "vendor");
    const char *device = value_of(reading, index, "device");
    if (!starts_with(vendor, "0x") || !starts_with(device, "0x") || strcmp(vendor, "0x0000") == 0 ||
        strcmp(vendor, "0xffff") == 0) {
        return NULL;
    }
    return text_build(reading->machine->arena, "%s:%s", vendor + 2, device + 2);
}

static enum machine_kind find_kind(const struct reading *reading, uint32_t index)
{
    const char *class = value_of(reading, index, "class");
    if (has_child(reading, index, "gpu") || starts_with(class, "0x03") ||
        starts_with(class, "0x12")) {
        return MACHINE_DEVICE;
    }
    if (has_child(reading, index, "nic") || starts_with(class, "0x02")) {
        return MACHINE_CARD;
    }
    return has_child(reading, index, "pci") || starts_with(class, "0x06") ||
                   starts_with(class, "0x08")
               ? MACHINE_BRIDGE
               : MACHINE_KIND_COUNT;
}

static const char *find_family(const struct reading *reading, uint32_t index)
{
    const char *class = value_of(reading, index, "class");
    if (strcmp(value_of(reading, index, "vendor"), "0x1d0f") == 0) {
        return "efa";
    }
    return starts_with(class, "0x0207")   ? "infiniband"
           : starts_with(class, "0x0200") ? "ethernet"
                                          : NULL;
}

static bool push(struct reading *reading, uint32_t index, struct machine_part *part)
{
    part->place = place_of(reading, index);
    return machine_push_part(reading->machine, part, &reading->part_of[index], reading->diag);
}

static bool read_pci(struct reading *reading, uint32_t index)
{
    const struct xml_element *element = element_at(reading, index);
    struct machine_part part = {.kind = find_kind(reading, index),
                                .name = value_of(reading, index, "busid"),
                                .parent = reading->part_of[element->parent],
                                .order = UNKNOWN_DEVICE_ORDER};
    if (part.parent == MACHINE_NONE) {
        return diag_push(reading->diag, DIAG_T320, place_of(reading, index), NULL,
                         "<pci> '%s' stands in no <cpu>", part.name);
    }
    if (part.kind == MACHINE_KIND_COUNT && xml_find(element, "class") != NULL) {
        reading->part_of[index] = part.parent; /* a disk, a USB port */
        return true;
    }
    if (part.kind == MACHINE_KIND_COUNT) {
        return diag_push(reading->diag, DIAG_T319, place_of(reading, index),
                         "NCCL_TOPO_DUMP_FILE writes all of it on the computer",
                         "<pci> '%s' has no class: the file leaves it to the computer that it is "
                         "used on whether that is a GPU",
                         part.name);
    }
    read_speed(reading, index, &part);
    if (part.kind == MACHINE_DEVICE) {
        const uint32_t gpu = find_child(reading, index, "gpu");
        part.device_kind = find_pci_id(reading, index);
        part.order = gpu == XML_NONE || xml_find(element_at(reading, gpu), "dev") == NULL
                         ? UNKNOWN_DEVICE_ORDER
                         : (uint32_t)number_of(reading, gpu, "dev") % UNKNOWN_DEVICE_ORDER;
    }
    part.net_family = part.kind == MACHINE_CARD ? find_family(reading, index) : NULL;
    return push(reading, index, &part);
}

static bool read_cpu(struct reading *reading, uint32_t index)
{
    const char *vendor = value_of(reading, index, "vendor");
    const char *arch = value_of(reading, index, "arch");
    struct machine_part part = {
        .kind = MACHINE_SOCKET,
        .name = text_build(reading->machine->arena, "cpu %s", value_of(reading, index, "numaid")),
        .parent = MACHINE_NONE,
        .cpu_vendor = vendor[0] != '\0'            ? vendor
                      : strcmp(arch, "arm64") == 0 ? "ARM"
                                                   : NULL,
        .cpu_family = (uint32_t)number_of(reading, index, "familyid") % 100000,
        .cpu_model = (uint32_t)number_of(reading, index, "modelid") % 100000,
    };
    return push(reading, index, &part);
}

/* --- network ---------------------------------------------------------------------------------- */

/* A card outside of PCI hangs on its socket. */
static bool read_nic(struct reading *reading, uint32_t index)
{
    const uint32_t around = reading->part_of[element_at(reading, index)->parent];
    struct machine_part part = {.kind = MACHINE_CARD, .name = "nic", .parent = around};
    if (around == MACHINE_NONE) {
        return true;
    }
    if (reading->machine->parts[around].kind == MACHINE_CARD) {
        reading->part_of[index] = around;
        return true;
    }
    return push(reading, index, &part);
}

static bool read_net(struct reading *reading, uint32_t index)
{
    const uint32_t part = reading->part_of[element_at(reading, index)->parent];
    if (part != MACHINE_NONE && reading->machine->parts[part].kind == MACHINE_CARD) {
        reading->machine->parts[part].net_Bps += number_of(reading, index, "speed") * 1e6 / 8;
    }
    return true;
}

/* --- links beside PCI ------------------------------------------------------------------------- */

static void index_parts(const struct reading *reading, struct id_index *out)
{
    struct machine *machine = reading->machine;
    struct id_entry *entries = ARENA_PUSH(machine->arena, struct id_entry, machine->part_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < machine->part_count; i++) {
        if (machine->parts[i].kind != MACHINE_SOCKET && machine->parts[i].name[0] != '\0') {
            entries[count++] = (struct id_entry){machine->parts[i].name, i};
        }
    }
    id_index_init(out, entries, count);
}

static bool check_twins(const struct reading *reading, const struct id_index *index)
{
    for (uint32_t at = id_index_find_twin(index, 0); at < index->count;
         at = id_index_find_twin(index, at + 1)) {
        const struct machine_part *part = &reading->machine->parts[index->entries[at].number];
        if (strcmp(part->name, "nic") != 0) {
            return diag_push(reading->diag, DIAG_T310, part->place, NULL,
                             "the bus id '%s' is taken already", part->name);
        }
    }
    return true;
}

/* The device whose <gpu> holds the link, or MACHINE_NONE. */
static uint32_t find_device(const struct reading *reading, uint32_t index)
{
    const uint32_t part = reading->part_of[element_at(reading, index)->parent];
    return part != MACHINE_NONE && reading->machine->parts[part].kind == MACHINE_DEVICE
               ? part
               : MACHINE_NONE;
}

static bool read_link(struct reading *reading, uint32_t index, const struct id_index *ids,
                      uint32_t *out_lost)
{
    struct machine_peer peer = {.a = find_device(reading, index), .b = MACHINE_SWITCH};
    const double count = number_of(reading, index, "count");
    if (peer.a == MACHINE_NONE || count < 1 || count > 1000) {
        return diag_push(reading->diag, DIAG_T320, place_of(reading, index), NULL,
                         "<%s> must stand in a <gpu> and count from 1 to 1000 links",
                         element_at(reading, index)->name);
    }
    peer.count = (uint32_t)count;
    /* NVSwitches have class 0x0680; virtual machines hide their bus ids. */
    if (!starts_with(value_of(reading, index, "tclass"), "0x0680")) {
        const char *target = value_of(reading, index, "target");
        if (!id_index_find(ids, target, &peer.b)) {
            (*out_lost)++;
            return true;
        }
        if (reading->machine->parts[peer.b].kind != MACHINE_DEVICE) {
            return diag_push(reading->diag, DIAG_T320, place_of(reading, index), NULL,
                             "the links lead to '%s', which is no GPU", target);
        }
    }
    return machine_push_peer(reading->machine, &peer, reading->diag);
}

/* Chip-to-chip links replace PCI on the way to the socket. */
static void read_chip_link(struct reading *reading, uint32_t index)
{
    const uint32_t device = find_device(reading, index);
    const double Bps = number_of(reading, index, "bw") * number_of(reading, index, "count") * 1e6;
    if (device != MACHINE_NONE && Bps > reading->machine->parts[device].up_Bps) {
        reading->machine->parts[device].up_Bps = Bps;
        reading->machine->parts[device].up_link = LINK_RAW;
    }
}

static bool read_links(struct reading *reading)
{
    struct id_index ids;
    uint32_t lost = 0;
    uint32_t shortcuts = 0;
    index_parts(reading, &ids);
    if (!check_twins(reading, &ids)) {
        return false;
    }
    for (uint32_t i = 0; i < reading->document->count; i++) {
        if ((is_named(reading, i, "nvlink") || is_named(reading, i, "xgmi")) &&
            !read_link(reading, i, &ids, &lost)) {
            return false;
        }
        shortcuts += is_named(reading, i, "pcilink");
        if (is_named(reading, i, "c2c")) {
            read_chip_link(reading, i);
        }
    }
    if (lost > 0 || shortcuts > 0) {
        diag_push_warning(reading->diag, DIAG_T319, reading->machine->place, NULL,
                          "%u links lead to GPUs that the file does not show, %u <pcilink> join "
                          "bridges: they are left out",
                          lost, shortcuts);
    }
    return true;
}

/* --- all of it -------------------------------------------------------------------------------- */

static bool read_element(struct reading *reading, uint32_t index)
{
    static const struct {
        const char *name;
        bool (*read)(struct reading *reading, uint32_t index);
    } readers[] = {{"cpu", read_cpu}, {"pci", read_pci}, {"nic", read_nic}, {"net", read_net}};
    for (uint32_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        if (is_named(reading, index, readers[i].name)) {
            return readers[i].read(reading, index);
        }
    }
    return true;
}

bool nccl_xml_read(const struct xml *document, struct machine *out, struct diag *diag)
{
    struct reading reading = {.document = document, .machine = out, .diag = diag};
    if (!interconnect_read(out->arena, &reading.interconnect, diag)) {
        return false;
    }
    reading.part_of = ARENA_PUSH(out->arena, uint32_t, document->count);
    reading.part_of[0] = MACHINE_NONE;
    for (uint32_t i = 1; i < document->count; i++) {
        reading.part_of[i] = reading.part_of[document->elements[i].parent];
        if (!read_element(&reading, i)) {
            return false;
        }
    }
    return read_links(&reading);
}

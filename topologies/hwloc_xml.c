/* hwloc's XML of the formats 1.x, 2.x, 3.x: PCI devices below packages, bandwidths as matrices. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "topologies/topology_file.h"

#define MATRIX_MAX 1024u /* objects of one matrix */

struct reading {
    const struct xml *document;
    struct machine *machine;
    struct interconnect interconnect;
    struct diag *diag;
    uint32_t *part_of;    /* per element: its part, or that of the nearest element around it */
    uint32_t *package_of; /* per element: nearest package around it, or XML_NONE */
    uint32_t *socket_of;  /* per element that I/O hangs on: its socket, or MACHINE_NONE */
};

static const struct xml_element *element_at(const struct reading *reading, uint32_t index)
{
    return &reading->document->elements[index];
}

static const char *value_of(const struct reading *reading, uint32_t index, const char *attribute)
{
    const char *value = xml_find(element_at(reading, index), attribute);
    return value == NULL ? "" : value;
}

static bool is_object(const struct reading *reading, uint32_t index, const char *type)
{
    return strcmp(element_at(reading, index)->name, "object") == 0 &&
           strcmp(value_of(reading, index, "type"), type) == 0;
}

/* --- sockets ---------------------------------------------------------------------------------- */

/* An <info name= value=> right below the element. */
static const char *find_info(const struct reading *reading, uint32_t index, const char *name)
{
    for (uint32_t child = element_at(reading, index)->first_child; child != XML_NONE;
         child = element_at(reading, child)->next) {
        if (strcmp(element_at(reading, child)->name, "info") == 0 &&
            strcmp(value_of(reading, child, "name"), name) == 0) {
            return value_of(reading, child, "value");
        }
    }
    return NULL;
}

static uint32_t number_info(const struct reading *reading, uint32_t index, const char *name)
{
    const char *value = find_info(reading, index, name);
    return value == NULL ? 0 : (uint32_t)(strtoul(value, NULL, 10) % 100000);
}

/* The part of the package that I/O hangs on; where it hangs on no package, of what it hangs on. */
static bool find_socket(struct reading *reading, uint32_t around, uint32_t *out)
{
    const uint32_t package = reading->package_of[around];
    const uint32_t holder = package == XML_NONE ? around : package;
    if (reading->socket_of[holder] == MACHINE_NONE) {
        struct machine_part part = {
            .kind = MACHINE_SOCKET,
            .name = "package",
            .place = xml_place(reading->document, element_at(reading, holder)),
            .parent = MACHINE_NONE,
            .cpu_vendor = find_info(reading, holder, "CPUVendor"),
            .cpu_family = number_info(reading, holder, "CPUFamilyNumber"),
            .cpu_model = number_info(reading, holder, "CPUModelNumber"),
        };
        if (!machine_push_part(reading->machine, &part, &reading->socket_of[holder],
                               reading->diag)) {
            return false;
        }
    }
    *out = reading->socket_of[holder];
    return true;
}

/* --- PCI -------------------------------------------------------------------------------------- */

/* The link kind of the oldest generation that makes that speed with up to 16 lanes; hwloc gives the
 * product of both only. */
static const char *find_link(const struct reading *reading, double Bps)
{
    for (uint32_t i = 0; i < reading->interconnect.pci_count; i++) {
        for (uint32_t lanes = 1; lanes <= 16; lanes *= 2) {
            const double rate_Bps = reading->interconnect.pci[i].lane_Bps * lanes;
            if (Bps > 0.97 * rate_Bps && Bps < 1.03 * rate_Bps) {
                return reading->interconnect.pci[i].link;
            }
        }
    }
    return reading->interconnect.pci[0].link;
}

static void read_speed(const struct reading *reading, uint32_t index, struct machine_part *out)
{
    const double Bps = 1e9 * strtod(value_of(reading, index, "pci_link_speed"), NULL);
    if (Bps > 0 && Bps < 1e13) {
        out->up_Bps = Bps;
        out->up_link = find_link(reading, Bps);
    }
}

/* "0302 [10de:2335] [10de:18bf] a1": class, "10de:2335". */
struct pci_type {
    char class[5], id[10];
};

static struct pci_type read_type(const struct reading *reading, uint32_t index)
{
    struct pci_type type = {.class = ""};
    const char *text = value_of(reading, index, "pci_type");
    const char *bracket = strchr(text, '[');
    if (strlen(text) >= 4) {
        memcpy(type.class, text, 4);
    }
    if (bracket != NULL && strlen(bracket) >= 10) {
        memcpy(type.id, bracket + 1, 9);
    }
    return type;
}

static bool has_backend(const struct reading *reading, uint32_t index)
{
    static const char *const subtypes[] = {"CUDA", "NVML", "RSMI", "LevelZero"};
    for (uint32_t child = element_at(reading, index)->first_child; child != XML_NONE;
         child = element_at(reading, child)->next) {
        for (uint32_t i = 0; i < sizeof subtypes / sizeof subtypes[0]; i++) {
            if (strcmp(value_of(reading, child, "subtype"), subtypes[i]) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Display controllers of boards are no devices: VGA counts where a vendor of GPUs made it. */
static bool is_device(const struct reading *reading, uint32_t index, const struct pci_type *type)
{
    const bool gpus = strncmp(type->id, "10de:", 5) == 0 || strncmp(type->id, "1002:", 5) == 0;
    return strcmp(type->class, "0302") == 0 || strncmp(type->class, "12", 2) == 0 ||
           strcmp(type->class, "0b40") == 0 || strcmp(type->class, "0380") == 0 ||
           (gpus && strcmp(type->class, "0300") == 0) || has_backend(reading, index);
}

static const char *find_family(const struct pci_type *type)
{
    if (strncmp(type->id, "1d0f:", 5) == 0) {
        return "efa";
    }
    return strcmp(type->class, "0207") == 0 ? "infiniband" : "ethernet";
}

/* Part of what the element hangs on: a bridge or device around it, else a socket. */
static bool find_parent(struct reading *reading, uint32_t index, uint32_t *out)
{
    const uint32_t around = element_at(reading, index)->parent;
    *out = reading->part_of[around];
    return *out != MACHINE_NONE || find_socket(reading, around, out);
}

static bool push(struct reading *reading, uint32_t index, struct machine_part *part)
{
    part->name = value_of(reading, index, "pci_busid");
    part->place = xml_place(reading->document, element_at(reading, index));
    read_speed(reading, index, part);
    return find_parent(reading, index, &part->parent) &&
           machine_push_part(reading->machine, part, &reading->part_of[index], reading->diag);
}

/* Host bridges only say where the tree begins. */
static bool read_bridge(struct reading *reading, uint32_t index)
{
    struct machine_part part = {.kind = MACHINE_BRIDGE};
    return strncmp(value_of(reading, index, "bridge_type"), "0-", 2) == 0 ||
           push(reading, index, &part);
}

static bool read_device(struct reading *reading, uint32_t index)
{
    const struct pci_type type = read_type(reading, index);
    struct machine_part part = {.kind = MACHINE_KIND_COUNT};
    if (is_device(reading, index, &type)) {
        part.kind = MACHINE_DEVICE;
        part.device_kind =
            type.id[0] == '\0' ? NULL : text_build(reading->machine->arena, "%s", type.id);
    } else if (strncmp(type.class, "02", 2) == 0) {
        part.kind = MACHINE_CARD;
        part.net_family = find_family(&type);
    }
    return part.kind == MACHINE_KIND_COUNT || push(reading, index, &part);
}

static bool read_object(struct reading *reading, uint32_t index)
{
    if (is_object(reading, index, "Package") || is_object(reading, index, "Socket")) {
        reading->package_of[index] = index;
    }
    return is_object(reading, index, "Bridge")   ? read_bridge(reading, index)
           : is_object(reading, index, "PCIDev") ? read_device(reading, index)
                                                 : true;
}

/* --- matrices --------------------------------------------------------------------------------- */

/* Objects of a matrix as elements, its values row by row. */
struct matrix {
    uint32_t count;
    uint32_t *elements;
    double *values; /* MB/s */
};

struct word_cursor {
    const struct reading *reading;
    uint32_t child; /* of the matrix */
    const char *at, *name;
};

/* The next blank-separated word of the children called `name`, "" at the end. */
static const char *next_word(struct word_cursor *cursor, size_t *out_length)
{
    while (cursor->child != XML_NONE) {
        const struct xml_element *element = element_at(cursor->reading, cursor->child);
        if (cursor->at == NULL) {
            cursor->at = strcmp(element->name, cursor->name) == 0 ? element->text : "";
        }
        cursor->at += strspn(cursor->at, " \t\r\n");
        *out_length = strcspn(cursor->at, " \t\r\n");
        if (*out_length > 0) {
            const char *word = cursor->at;
            cursor->at += *out_length;
            return word;
        }
        cursor->child = element->next;
        cursor->at = NULL;
    }
    *out_length = 0;
    return "";
}

/* The object of that gp_index; "OSDev:332" or "332". XML_NONE: none. */
static uint32_t find_object(const struct reading *reading, const char *word, size_t length)
{
    const char *colon = memchr(word, ':', length);
    const char *number = colon == NULL ? word : colon + 1;
    const size_t digits = length - (size_t)(number - word);
    for (uint32_t i = 0; i < reading->document->count; i++) {
        const char *index = value_of(reading, i, "gp_index");
        if (strlen(index) == digits && strncmp(index, number, digits) == 0) {
            return i;
        }
    }
    return XML_NONE;
}

static bool read_matrix(const struct reading *reading, uint32_t index, struct matrix *out)
{
    const uint32_t first = element_at(reading, index)->first_child;
    struct word_cursor indexes = {reading, first, NULL, "indexes"};
    struct word_cursor values = {reading, first, NULL, "u64values"};
    const unsigned long count = strtoul(value_of(reading, index, "nbobjs"), NULL, 10);
    size_t length;
    if (count == 0 || count > MATRIX_MAX) {
        return false;
    }
    struct arena *arena = reading->machine->arena;
    *out = (struct matrix){.count = (uint32_t)count,
                           .elements = ARENA_PUSH(arena, uint32_t, count),
                           .values = ARENA_PUSH(arena, double, count *count)};
    for (uint32_t i = 0; i < count; i++) {
        const char *word = next_word(&indexes, &length);
        out->elements[i] = length == 0 ? XML_NONE : find_object(reading, word, length);
        if (out->elements[i] == XML_NONE) {
            return false;
        }
    }
    for (uint32_t i = 0; i < count * count; i++) {
        const char *word = next_word(&values, &length);
        out->values[i] = strtod(word, NULL);
        if (length == 0 || !(out->values[i] >= 0) || out->values[i] > 1e9) {
            return false;
        }
    }
    return true;
}

static uint32_t find_device(const struct reading *reading, uint32_t element)
{
    const uint32_t part = reading->part_of[element];
    return part != MACHINE_NONE && reading->machine->parts[part].kind == MACHINE_DEVICE
               ? part
               : MACHINE_NONE;
}

/* What joins object `row`, a device, to object `column`: a device, a switch, its package. */
static bool read_value(struct reading *reading, const struct matrix *matrix, uint32_t row,
                       uint32_t column)
{
    const double Bps = 1e6 * matrix->values[row * matrix->count + column];
    const uint32_t device = find_device(reading, matrix->elements[row]);
    const uint32_t other = find_device(reading, matrix->elements[column]);
    if (device == MACHINE_NONE || device == other || !(Bps > 0)) {
        return true;
    }
    if (other == MACHINE_NONE && !is_object(reading, matrix->elements[column], "PCIDev") &&
        !is_object(reading, matrix->elements[column], "OSDev")) {
        struct machine_part *part = &reading->machine->parts[device];
        part->up_link = Bps > part->up_Bps ? LINK_RAW : part->up_link;
        part->up_Bps = Bps > part->up_Bps ? Bps : part->up_Bps;
        return true;
    }
    const struct machine_peer peer = {
        .a = device, .b = other == MACHINE_NONE ? MACHINE_SWITCH : other, .Bps = Bps};
    return machine_push_peer(reading->machine, &peer, reading->diag);
}

static bool read_distances(struct reading *reading, uint32_t index)
{
    const char *name = value_of(reading, index, "name");
    const char *indexing = value_of(reading, index, "indexing");
    struct matrix matrix;
    if (strcmp(name, "NVLinkBandwidth") != 0 && strcmp(name, "XGMIBandwidth") != 0) {
        return true;
    }
    if (strcmp(indexing, "os") == 0 || !read_matrix(reading, index, &matrix)) {
        return diag_push(reading->diag, DIAG_T320,
                         xml_place(reading->document, element_at(reading, index)), NULL,
                         "the matrix '%s' must have up to %u objects that the file shows, by "
                         "gp_index, with as many MB/s as pairs of them",
                         name, MATRIX_MAX);
    }
    for (uint32_t i = 0; i < matrix.count * matrix.count; i++) {
        if (!read_value(reading, &matrix, i / matrix.count, i % matrix.count)) {
            return false;
        }
    }
    return true;
}

/* --- all of it -------------------------------------------------------------------------------- */

bool hwloc_xml_read(const struct xml *document, struct machine *out, struct diag *diag)
{
    struct reading reading = {.document = document, .machine = out, .diag = diag};
    if (!interconnect_read(out->arena, &reading.interconnect, diag)) {
        return false;
    }
    reading.part_of = ARENA_PUSH(out->arena, uint32_t, document->count);
    reading.package_of = ARENA_PUSH(out->arena, uint32_t, document->count);
    reading.socket_of = ARENA_PUSH(out->arena, uint32_t, document->count);
    for (uint32_t i = 0; i < document->count; i++) {
        const uint32_t parent = document->elements[i].parent;
        reading.part_of[i] = parent == XML_NONE ? MACHINE_NONE : reading.part_of[parent];
        reading.package_of[i] = parent == XML_NONE ? XML_NONE : reading.package_of[parent];
        reading.socket_of[i] = MACHINE_NONE;
        if (!read_object(&reading, i)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < document->count; i++) {
        const char *name = document->elements[i].name;
        if ((strcmp(name, "distances2") == 0 || strcmp(name, "distances2hetero") == 0) &&
            !read_distances(&reading, i)) {
            return false;
        }
    }
    return true;
}

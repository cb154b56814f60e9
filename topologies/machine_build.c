/* One computer, or several alike, as a cluster; what its file leaves out is added by name. */
#include "topologies/machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "topologies/machine_inside.h"

/* --- devices ---------------------------------------------------------------------------------- */

static int compare_devices(const void *left, const void *right)
{
    const struct machine_part *a = *(const struct machine_part *const *)left;
    const struct machine_part *b = *(const struct machine_part *const *)right;
    if (a->order != b->order) {
        return a->order < b->order ? -1 : 1;
    }
    const int names = strcmp(a->name, b->name);
    return names != 0 ? names : (a > b) - (a < b);
}

static bool find_devices(struct machine_building *building)
{
    const struct machine *machine = building->machine;
    const struct machine_part **devices =
        ARENA_PUSH(building->arena, const struct machine_part *, machine->part_count);
    for (uint32_t i = 0; i < machine->part_count; i++) {
        if (machine->parts[i].kind == MACHINE_DEVICE) {
            devices[building->device_count++] = &machine->parts[i];
        }
    }
    qsort(devices, building->device_count, sizeof *devices, compare_devices);
    building->device_of = ARENA_PUSH(building->arena, uint32_t, machine->part_count);
    building->kinds = ARENA_PUSH(building->arena, uint32_t, building->device_count);
    for (uint32_t i = 0; i < building->device_count; i++) {
        building->device_of[devices[i] - machine->parts] = i;
    }
    building->devices = devices;
    return building->device_count > 0 ||
           diag_push(building->diag, DIAG_T318, machine->place, NULL,
                     "the file shows no GPU or other accelerator; a topology without one cannot "
                     "train");
}

/* Index among the accelerators met so far of the one that `word` names; false without a report
 * when there is none. */
static bool look_up(struct machine_building *building, const char *word, uint32_t *out)
{
    struct accelerator found;
    struct diag silent;
    for (uint32_t i = 0; i < building->word_count; i++) {
        if (strcmp(building->words[i].word, word) == 0) {
            *out = building->words[i].kind;
            return *out != MACHINE_NONE;
        }
    }
    diag_init(&silent, building->arena);
    uint32_t kind = MACHINE_NONE;
    if (accelerator_read(word, building->machine->place, building->arena, &found, &silent)) {
        for (kind = 0; kind < building->accelerator_count &&
                       strcmp(building->accelerators[kind].name, found.name) != 0;) {
            kind++;
        }
        building->accelerators[kind] = found;
        building->accelerator_count += kind == building->accelerator_count;
    }
    building->words[building->word_count++] = (struct machine_word){word, kind};
    *out = kind;
    return kind != MACHINE_NONE;
}

static bool refuse_unnamed(struct machine_building *building, const struct machine_part *part)
{
    const char *hint = "say which with --device, such as --device H100-SXM5 (`shardplan list "
                       "accelerators`)";
    return part->device_kind == NULL
               ? diag_push(building->diag, DIAG_T317, part->place, hint,
                           "the file does not say of which kind device '%s' is", part->name)
               : diag_push(building->diag, DIAG_T317, part->place, hint,
                           "device '%s' is a '%s', which is no accelerator that is known",
                           part->name, part->device_kind);
}

/* The file's word counts, then that of the request; both must not differ. */
static bool name_device(struct machine_building *building, uint32_t device, uint32_t asked)
{
    const struct machine_part *part = building->devices[device];
    uint32_t *kind = &building->kinds[device];
    if (part->device_kind == NULL || !look_up(building, part->device_kind, kind)) {
        *kind = asked;
        return asked != MACHINE_NONE || refuse_unnamed(building, part);
    }
    return asked == MACHINE_NONE || asked == *kind ||
           diag_push(building->diag, DIAG_T320, part->place, "leave --device out",
                     "device '%s' is a %s as the file says, not a %s", part->name,
                     building->accelerators[*kind].name, building->accelerators[asked].name);
}

static bool name_devices(struct machine_building *building)
{
    uint32_t asked = MACHINE_NONE;
    struct accelerator unused;
    /* One word of every device and that of the request. */
    building->words = ARENA_PUSH(building->arena, struct machine_word, building->device_count + 1);
    building->accelerators =
        ARENA_PUSH(building->arena, struct accelerator, building->device_count + 1);
    if (building->request->device != NULL &&
        !look_up(building, building->request->device, &asked)) {
        return accelerator_read(building->request->device, (struct diag_place){.file = NULL},
                                building->arena, &unused, building->diag);
    }
    for (uint32_t i = 0; i < building->device_count; i++) {
        if (!name_device(building, i, asked)) {
            return false;
        }
    }
    return true;
}

/* --- PCI -------------------------------------------------------------------------------------- */

/* Marks what leads to a device or a card that is kept. */
static void mark_used(struct machine_building *building)
{
    const struct machine *machine = building->machine;
    for (uint32_t i = machine->part_count; i-- > 0;) {
        const struct machine_part *part = &machine->parts[i];
        const bool leaf = part->kind == MACHINE_DEVICE ||
                          (part->kind == MACHINE_CARD && building->cards[i].Bps > 0);
        building->used[i] = building->used[i] || leaf;
        if (building->used[i] && part->parent != MACHINE_NONE) {
            building->used[part->parent] = true;
        }
    }
}

/* The oldest generation of the devices, else what NCCL takes. */
static const struct pci_rate *find_assumed(const struct machine_building *building)
{
    const struct interconnect *rates = &building->interconnect;
    uint32_t oldest = UINT32_MAX;
    for (uint32_t i = 0; i < building->accelerator_count; i++) {
        const uint32_t generation = building->accelerators[i].pci_generation;
        oldest = generation < oldest ? generation : oldest;
    }
    return oldest >= 1 && oldest <= rates->pci_count
               ? &rates->pci[oldest - 1]
               : interconnect_find_pci(rates, rates->pci_assumed_gt_per_s);
}

static void assume_pci(struct machine_building *building)
{
    const struct pci_rate *assumed = find_assumed(building);
    const uint32_t width = building->interconnect.pci_assumed_width;
    uint32_t count = 0;
    for (uint32_t i = 0; i < building->machine->part_count; i++) {
        struct machine_part *part = &building->machine->parts[i];
        if (part->parent != MACHINE_NONE && building->used[i] && !(part->up_Bps > 0)) {
            part->up_Bps = assumed->lane_Bps * width;
            part->up_link = assumed->link;
            count++;
        }
    }
    if (count > 0) {
        diag_push_warning(building->diag, DIAG_T319, building->machine->place, NULL,
                          "the file gives no speed for %u PCI links: %.4g GB/s taken, %u lanes of "
                          "%g GT/s",
                          count, assumed->lane_Bps * width / 1e9, width, assumed->gt_per_s);
    }
}

double machine_socket_Bps(struct machine_building *building, const struct machine_part *a,
                          const struct machine_part *b)
{
    const struct interconnect *rates = &building->interconnect;
    const struct socket_rate *rate_a =
        a->cpu_vendor == NULL
            ? NULL
            : interconnect_find_socket(rates, a->cpu_vendor, a->cpu_family, a->cpu_model);
    const struct socket_rate *rate_b =
        b->cpu_vendor == NULL
            ? NULL
            : interconnect_find_socket(rates, b->cpu_vendor, b->cpu_family, b->cpu_model);
    if (rate_a == NULL || rate_b == NULL) {
        building->sockets_assumed = true;
        return rates->socket_assumed_Bps;
    }
    return rate_a->bandwidth_Bps < rate_b->bandwidth_Bps ? rate_a->bandwidth_Bps
                                                         : rate_b->bandwidth_Bps;
}

/* --- network cards ---------------------------------------------------------------------------- */

static bool name_card(struct machine_building *building, uint32_t index,
                      const struct network *asked)
{
    const struct machine_part *part = &building->machine->parts[index];
    struct machine_card *card = &building->cards[index];
    if (asked != NULL && part->net_family != NULL && strcmp(asked->family, part->net_family) != 0) {
        return diag_push(building->diag, DIAG_T320, part->place, NULL,
                         "card '%s' is of the family %s, which does not join %s", part->name,
                         part->net_family, asked->link);
    }
    const char *family = part->net_family != NULL ? part->net_family
                         : asked != NULL          ? asked->family
                                                  : NULL;
    const double port_Bps = part->net_Bps > 0 ? part->net_Bps : asked != NULL ? asked->port_Bps : 0;
    if (family == NULL || !(port_Bps > 0)) {
        building->cards_silent++;
        return true;
    }
    card->network =
        asked != NULL ? asked : interconnect_find_family(&building->interconnect, family, port_Bps);
    card->Bps = card->network == NULL ? 0 : port_Bps;
    building->cards_silent += card->network == NULL;
    return true;
}

/* Cards of one network under one bridge act as one card; those of other networks than the widest
 * are left out. */
static void join_cards(struct machine_building *building)
{
    const struct machine *machine = building->machine;
    uint32_t dropped = 0;
    for (uint32_t i = 0; i < machine->part_count; i++) {
        struct machine_card *card = &building->cards[i];
        if (card->network != building->network && card->Bps > 0) {
            card->Bps = 0;
            dropped++;
        }
        if (!(card->Bps > 0)) {
            continue;
        }
        uint32_t *first = &building->first_card[machine->parts[i].parent];
        if (*first == MACHINE_NONE) {
            *first = i;
            continue;
        }
        building->cards[*first].Bps += card->Bps;
        building->cards[*first].up_Bps += machine->parts[i].up_Bps;
        card->Bps = 0;
    }
    if (dropped > 0) {
        diag_push_warning(building->diag, DIAG_T319, machine->place, NULL,
                          "%u network cards are not of the widest network, %s: they are left out",
                          dropped, building->network->link);
    }
}

/* The network that most bytes per second leave by. */
static const struct network *find_widest(const struct machine_building *building)
{
    const struct interconnect *rates = &building->interconnect;
    const struct network *best = NULL;
    double best_Bps = 0;
    for (uint32_t k = 0; k < rates->network_count; k++) {
        double Bps = 0;
        for (uint32_t i = 0; i < building->machine->part_count; i++) {
            Bps += building->cards[i].network == &rates->networks[k] ? building->cards[i].Bps : 0;
        }
        if (Bps > best_Bps) {
            best = &rates->networks[k];
            best_Bps = Bps;
        }
    }
    return best;
}

static bool check_network(struct machine_building *building)
{
    const bool alone = building->request->nodes < 2;
    if (building->network == NULL && !alone) {
        return diag_push(
            building->diag, DIAG_T319, building->machine->place,
            building->cards_silent > 0
                ? "say which network they are on with --fabric, such as --fabric ib-ndr"
                : NULL,
            "%u of these computers cannot be joined: the file gives no speed of a "
            "network card",
            building->request->nodes);
    }
    if (building->cards_silent > 0) {
        diag_push_warning(building->diag, DIAG_T319, building->machine->place,
                          alone ? NULL : "--fabric says which network they are on",
                          "the file gives no speed for %u network cards: they are left out",
                          building->cards_silent);
    }
    return true;
}

static bool find_cards(struct machine_building *building)
{
    const struct machine *machine = building->machine;
    const struct network *asked = NULL;
    if (building->request->fabric != NULL &&
        !interconnect_find_network(&building->interconnect, building->request->fabric, &asked,
                                   building->diag)) {
        return false;
    }
    building->cards = ARENA_PUSH(building->arena, struct machine_card, machine->part_count);
    building->first_card = ARENA_PUSH(building->arena, uint32_t, machine->part_count);
    for (uint32_t i = 0; i < machine->part_count; i++) {
        building->first_card[i] = MACHINE_NONE;
        building->cards[i].up_Bps = machine->parts[i].up_Bps;
        if (machine->parts[i].kind == MACHINE_CARD && !name_card(building, i, asked)) {
            return false;
        }
    }
    building->network = find_widest(building);
    join_cards(building);
    return check_network(building);
}

/* --- all of it -------------------------------------------------------------------------------- */

bool machine_build(struct machine *machine, const struct cluster_request *request,
                   struct cluster *out, struct diag *diag)
{
    struct machine_building building = {
        .machine = machine, .request = request, .arena = machine->arena, .diag = diag};
    if (!interconnect_read(machine->arena, &building.interconnect, diag) ||
        !find_devices(&building) || !name_devices(&building)) {
        return false;
    }
    building.used = ARENA_PUSH(machine->arena, bool, machine->part_count);
    if (!machine_peers_find(&building) || !find_cards(&building)) {
        return false;
    }
    mark_used(&building);
    assume_pci(&building);
    return machine_graph_build(&building, out);
}

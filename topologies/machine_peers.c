/* Links beside PCI between the devices of one computer: counted in the file, rated by the kind. */
#include <stdlib.h>
#include <string.h>

#include "topologies/machine_inside.h"

static const struct accelerator *kind_of(const struct machine_building *building, uint32_t device)
{
    return &building->accelerators[building->kinds[device]];
}

/* One direction of what joins devices `low` and `high`; `high` may be the switch. */
struct count {
    uint32_t low, high;
    bool back;
    uint64_t links;
    double Bps;
};

static int compare_counts(const void *left, const void *right)
{
    const struct count *a = left;
    const struct count *b = right;
    if (a->low != b->low) {
        return a->low < b->low ? -1 : 1;
    }
    if (a->high != b->high) {
        return a->high < b->high ? -1 : 1;
    }
    return (int)a->back - (int)b->back;
}

/* The peers by device numbers, each direction summed; links to oneself are left out. */
static uint32_t gather(struct machine_building *building, struct count *out)
{
    const struct machine *machine = building->machine;
    uint32_t count = 0;
    uint32_t selves = 0;
    for (uint32_t i = 0; i < machine->peer_count; i++) {
        const struct machine_peer *peer = &machine->peers[i];
        const uint32_t a = building->device_of[peer->a];
        const uint32_t b =
            peer->b == MACHINE_SWITCH ? MACHINE_SWITCH : building->device_of[peer->b];
        if (a == b) {
            selves++;
            continue;
        }
        out[count++] = (struct count){a < b ? a : b, a < b ? b : a, a > b, peer->count, peer->Bps};
    }
    if (selves > 0) {
        diag_push_warning(building->diag, DIAG_T319, machine->place, NULL,
                          "%u links lead from a device to itself: they are left out", selves);
    }
    qsort(out, count, sizeof *out, compare_counts);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept > 0 && compare_counts(&out[kept - 1], &out[i]) == 0) {
            out[kept - 1].links += out[i].links;
            out[kept - 1].Bps += out[i].Bps;
        } else {
            out[kept++] = out[i];
        }
    }
    return kept;
}

/* Both directions are one link, as wide as the wider says. */
static uint32_t join_directions(struct count *counts, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct count *last = kept == 0 ? NULL : &counts[kept - 1];
        if (last != NULL && last->low == counts[i].low && last->high == counts[i].high) {
            last->links = counts[i].links > last->links ? counts[i].links : last->links;
            last->Bps = counts[i].Bps > last->Bps ? counts[i].Bps : last->Bps;
        } else {
            counts[kept++] = counts[i];
        }
    }
    return kept;
}

/* More links to others than the device has can only be the same links through a switch. */
static uint32_t see_switch(struct machine_building *building, struct count *counts, uint32_t count)
{
    uint64_t *total = ARENA_PUSH(building->arena, uint64_t, building->device_count);
    uint64_t *widest = ARENA_PUSH(building->arena, uint64_t, building->device_count);
    bool more = false;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t ends[2] = {counts[i].low, counts[i].high};
        for (uint32_t k = 0; k < 2; k++) {
            if (counts[i].high == MACHINE_SWITCH) {
                return count;
            }
            const uint32_t device = ends[k];
            const struct scaleup *scaleup = &kind_of(building, device)->scaleup;
            total[device] += counts[i].links;
            widest[device] = counts[i].links > widest[device] ? counts[i].links : widest[device];
            more = more || (scaleup->kind == SCALEUP_SWITCH && scaleup->link != NULL &&
                            total[device] > scaleup->links);
        }
    }
    if (!more) {
        return count;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < building->device_count; i++) {
        if (widest[i] > 0) {
            counts[kept++] = (struct count){i, MACHINE_SWITCH, false, widest[i], 0};
        }
    }
    return kept;
}

static bool push_joint(struct machine_building *building, const struct count *count)
{
    const struct accelerator *kind = kind_of(building, count->low);
    const struct scaleup *scaleup = &kind->scaleup;
    if (scaleup->link == NULL) {
        return diag_push(building->diag, DIAG_T319, building->machine->place, NULL,
                         "the file joins device '%s' to others by links beside PCI, but none are "
                         "known of a %s",
                         building->devices[count->low]->name, kind->name);
    }
    if (count->high == MACHINE_SWITCH && count->links > scaleup->links) {
        return diag_push(building->diag, DIAG_T320, building->devices[count->low]->place, NULL,
                         "device '%s' has %llu links to the switch; a %s has %u",
                         building->devices[count->low]->name, (unsigned long long)count->links,
                         kind->name, scaleup->links);
    }
    if (count->links == 0 && !(count->Bps > 0)) {
        return true;
    }
    building->joints[building->joint_count++] = (struct machine_joint){
        .a = count->low,
        .b = count->high,
        .Bps = count->links > 0 ? (double)count->links * scaleup->link_Bps : count->Bps,
        .link = scaleup->link,
    };
    if (count->high == MACHINE_SWITCH) {
        building->switched = true;
        building->reduces = building->reduces || scaleup->reduces;
    }
    return true;
}

/* --- files that leave the links out ----------------------------------------------------------- */

static bool are_alike(const struct machine_building *building)
{
    for (uint32_t i = 1; i < building->device_count; i++) {
        if (building->kinds[i] != building->kinds[0]) {
            return false;
        }
    }
    return true;
}

static void assume_peers(struct machine_building *building)
{
    const struct accelerator *kind = kind_of(building, 0);
    const struct scaleup *scaleup = &kind->scaleup;
    const uint32_t count = building->device_count;
    const bool meshed = scaleup->kind == SCALEUP_FULLMESH && count == scaleup->domain;
    if (count < 2 || scaleup->link == NULL || !are_alike(building)) {
        return;
    }
    if (count > scaleup->domain || (scaleup->kind != SCALEUP_SWITCH && !meshed)) {
        diag_push_warning(building->diag, DIAG_T319, building->machine->place, NULL,
                          "the file shows no links beside PCI; a %s may have some, none are taken",
                          kind->name);
        return;
    }
    building->joints = ARENA_PUSH(building->arena, struct machine_joint,
                                  meshed ? (size_t)count * count / 2 : count);
    for (uint32_t a = 0; a < count; a++) {
        for (uint32_t b = a + 1; b < count && meshed; b++) {
            building->joints[building->joint_count++] =
                (struct machine_joint){a, b, scaleup->link_Bps, scaleup->link};
        }
        if (!meshed) {
            building->joints[building->joint_count++] = (struct machine_joint){
                a, MACHINE_SWITCH, scaleup->links * scaleup->link_Bps, scaleup->link};
        }
    }
    building->switched = !meshed;
    building->reduces = !meshed && scaleup->reduces;
    diag_push_warning(building->diag, DIAG_T319, building->machine->place, NULL,
                      "the file shows no links beside PCI: the %u %s are taken to be joined by %s "
                      "with %u %s links of %.4g GB/s each",
                      count, kind->name, meshed ? "a full mesh" : "a switch", scaleup->links,
                      scaleup->link, scaleup->link_Bps / 1e9);
}

bool machine_peers_find(struct machine_building *building)
{
    struct count *counts =
        ARENA_PUSH(building->arena, struct count,
                   (size_t)building->machine->peer_count + building->device_count);
    uint32_t count = gather(building, counts);
    count = join_directions(counts, count);
    count = see_switch(building, counts, count);
    if (count == 0) {
        assume_peers(building);
        return true;
    }
    building->joints = ARENA_PUSH(building->arena, struct machine_joint, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!push_joint(building, &counts[i])) {
            return false;
        }
    }
    return true;
}

/* Filling one computer, part by part. */
#include "topologies/machine.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"

static const char *name_of(const char *file, struct arena *arena)
{
    const char *slash = strrchr(file, '/');
    const char *begin = slash == NULL ? file : slash + 1;
    const char *dot = strrchr(begin, '.');
    const size_t length = dot == NULL || dot == begin ? strlen(begin) : (size_t)(dot - begin);
    return length == 0 ? "machine" : text_build_copy(arena, begin, length);
}

void machine_init(struct machine *machine, const char *file, const char *source,
                  struct arena *arena)
{
    *machine = (struct machine){.name = name_of(file, arena),
                                .source = text_build(arena, "%s %s", source, file),
                                .place = {.file = file},
                                .arena = arena};
}

bool machine_push_part(struct machine *machine, const struct machine_part *part, uint32_t *out,
                       struct diag *diag)
{
    assert(part->parent == MACHINE_NONE || part->parent < machine->part_count);
    if (machine->part_count == MACHINE_PART_MAX) {
        return diag_push(diag, DIAG_T314, part->place, NULL,
                         "more than %u sockets, bridges, devices and cards in one computer",
                         MACHINE_PART_MAX);
    }
    ARENA_MAKE_ROOM(machine->arena, machine->parts, machine->part_count, machine->part_capacity);
    machine->parts[machine->part_count] = *part;
    *out = machine->part_count++;
    return true;
}

bool machine_push_peer(struct machine *machine, const struct machine_peer *peer, struct diag *diag)
{
    assert(peer->a < machine->part_count);
    assert(peer->b == MACHINE_SWITCH || peer->b < machine->part_count);
    if (machine->peer_count == MACHINE_PEER_MAX) {
        return diag_push(diag, DIAG_T314, machine->place, NULL,
                         "more than %u links between the devices of one computer",
                         MACHINE_PEER_MAX);
    }
    ARENA_MAKE_ROOM(machine->arena, machine->peers, machine->peer_count, machine->peer_capacity);
    machine->peers[machine->peer_count++] = *peer;
    return true;
}

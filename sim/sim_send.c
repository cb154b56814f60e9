/* Transfers between stages as tasks: over the ports of their devices, over real links, or as delays
 * that keep a line. */
#include <string.h>

#include "plan/boundary.h"
#include "sim/sim_inside.h"

/* In the cluster: of the lane at hand, or of the one that stands for all. */
static uint32_t device_of(const struct step_run *run, uint32_t stage)
{
    const struct work *work = run->load->work;
    const uint32_t place = run->meet == NULL ? work_find_pair(work, stage, 0)
                                             : work_find_place(work, stage, run->lane);
    return work->sites.map == NULL ? place : work->sites.map->devices[place];
}

static uint32_t find_link(const struct step_run *run, uint32_t slot)
{
    return boundary_find_link(run->slots.stage[slot], run->slots.stage[run->slots.target[slot]]);
}

/* Last task that the stage sent over the slot's link. */
static uint32_t *find_sent(const struct step_run *run, uint32_t *sent, uint32_t slot)
{
    return &sent[find_link(run, slot) % BOUNDARY_LINKS];
}

/* Over the ports of its devices, message by message over the links that it really takes: behind
 * what was sent over the same link before, but for the time under way. */
static uint32_t send_on_ports(struct step_run *run, uint32_t *sent, uint32_t slot)
{
    const uint32_t from = run->slots.stage[slot], to = run->slots.stage[run->slots.target[slot]];
    uint32_t *const before = find_sent(run, sent, slot);
    struct lump lump = lump_find_pair(run->sim->book, device_of(run, from), device_of(run, to),
                                      run->load->work->send.bytes);
    const double latency_s = lump.latency_s * run->emit.message_factor;
    const bool by_message = run->meet != NULL && run->meet->by_message;
    struct path path;
    lump.latency_s = 0.0;
    if (by_message) {
        ways_find_path(&run->meet->ways, device_of(run, from), device_of(run, to), &path);
    }
    const uint32_t under_way =
        engine_push_delay(&run->engine, emit_label(&run->emit, EMIT_SEND, "send"), latency_s);
    engine_push_edge(&run->engine, run->emit.cursor, under_way);
    *before = emit_send(&run->emit, &lump, sim_find_device(run, to, run->lane),
                        by_message ? &path : NULL, emit_join(&run->emit, under_way, *before));
    return *before;
}

/* Resource of a line as the lane at hand sees it, pushed when first met. */
static uint32_t find_line(struct step_run *run, uint32_t line)
{
    const size_t lines = (size_t)BOUNDARY_LINES * run->load->work->shape.stages;
    if (run->lines == NULL) {
        run->lines = ARENA_PUSH(run->arena, uint32_t, lines * run->lanes);
        memset(run->lines, 0xff, lines * run->lanes * sizeof *run->lines);
    }
    uint32_t *const resource = &run->lines[run->lane * lines + line];
    if (*resource == UINT32_MAX) {
        *resource = engine_push_resource(&run->engine, 1.0);
    }
    return *resource;
}

/* The link's lines, of one second each second, kept for so long when nothing else is on them. */
static uint32_t push_on_lines(struct step_run *run, uint32_t link, double seconds)
{
    const uint32_t *lines = &run->load->lines[2 * link];
    uint32_t *const resources = ARENA_PUSH(run->arena, uint32_t, 2);
    resources[0] = find_line(run, lines[0]);
    resources[1] = find_line(run, lines[1]);
    return engine_push_flow(
        &run->engine, emit_label(&run->emit, EMIT_SEND, NULL),
        &(struct world_flow){.resources = resources,
                             .resource_count = resources[0] == resources[1] ? 1 : 2,
                             .weight = 1.0,
                             .cap_Bps = 1.0,
                             .bytes = seconds});
}

/* A delay that keeps its link for a part of it, behind what the stage sent over that before. */
static uint32_t push_delayed(struct step_run *run, uint32_t *sent, uint32_t slot)
{
    const uint32_t from = run->slots.stage[slot], to = run->slots.stage[run->slots.target[slot]];
    const double factor = run->emit.message_factor,
                 queue_s = factor * estimator_queue_s(run->load, from, to);
    double send_s = factor * estimator_send_s(run->load, from, to);
    uint32_t *const before = find_sent(run, sent, slot);
    uint32_t begin = emit_join(&run->emit, run->emit.cursor, *before);
    if (queue_s > 0.0) {
        const bool shares = run->load->lines != NULL;
        *before = shares ? push_on_lines(run, find_link(run, slot), queue_s)
                         : engine_push_delay(&run->engine, emit_label(&run->emit, EMIT_SEND, NULL),
                                             queue_s);
        engine_push_edge(&run->engine, begin, *before);
        begin = shares ? *before : begin;
        send_s = !shares ? send_s : send_s > queue_s ? send_s - queue_s : 0.0;
    }
    const uint32_t arrived =
        engine_push_delay(&run->engine, emit_label(&run->emit, EMIT_SEND, "send"), send_s);
    engine_push_edge(&run->engine, begin, arrived);
    return arrived;
}

/* Do both directions of a boundary go over one line? */
static bool is_two_way(const struct step_run *run, uint32_t from, uint32_t to)
{
    const uint32_t *lines = run->load->lines;
    bool both = false;
    for (uint32_t i = 0; lines != NULL && i < 4; i++) {
        both = both || lines[2 * boundary_find_link(from, to) + i / 2] ==
                           lines[2 * boundary_find_link(to, from) + i % 2];
    }
    return both;
}

/* Do the boundary's messages meet on links that are nobody's port? */
static bool is_crowded(const struct step_run *run, uint32_t slot)
{
    const uint32_t from = run->slots.stage[slot], to = run->slots.stage[run->slots.target[slot]];
    return estimator_crowding(run->load, from, to) > 1.0 || is_two_way(run, from, to) ||
           !lump_is_port_wide(run->sim->book, device_of(run, from), device_of(run, to));
}

/* What the receivers of parts do next: they gather them. */
static uint32_t spread_after(struct step_run *run, uint32_t sent)
{
    if (run->load->spread_s == 0.0) {
        return sent;
    }
    const uint32_t spread =
        engine_push_delay(&run->engine, emit_label(&run->emit, EMIT_SEND, "gather"),
                          run->load->spread_s * run->emit.message_factor);
    engine_push_edge(&run->engine, sent, spread);
    return spread;
}

uint32_t sim_push_send(struct step_run *run, uint32_t *sent, uint32_t slot)
{
    if (!slots_sends(&run->slots, slot) ||
        (run->load->work->forward_only && slots_find(&run->slots, slot)->kind != SLOT_FORWARD)) {
        return ENGINE_NO_TASK;
    }
    sim_draw_messages(run);
    if (!run->emit.contends || run->load->work->send.bytes == 0.0) {
        return push_delayed(run, sent, slot);
    }
    const bool by_message = run->meet != NULL && run->meet->by_message;
    return by_message || !is_crowded(run, slot) ? spread_after(run, send_on_ports(run, sent, slot))
                                                : push_delayed(run, sent, slot);
}

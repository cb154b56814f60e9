/* In what order ranks take the devices: kind after kind, so that a pipeline's stages may begin with
 * any of them. */
#include <string.h>

#include "planner/planner_inside.h"

/* Orders of more kinds than that are left out, but for their own and its reverse. */
#define KIND_ORDERS_MAX 4u
/* Kinds that take turns more often are left as they are: each turn is a slice. */
#define RUNS_MAX 256u

static uint32_t kind_of(const struct cluster *cluster, uint32_t device)
{
    return cluster->device_kind == NULL ? 0 : cluster->device_kind[device];
}

/* Kinds in the order in which they first appear; their number. */
static uint32_t list_kinds(const struct cluster *cluster, uint32_t *kinds)
{
    uint32_t count = 0;
    for (uint32_t device = 0; device < cluster->device_count; device++) {
        uint32_t i = 0;
        while (i < count && kinds[i] != kind_of(cluster, device)) {
            i++;
        }
        if (i == count) {
            kinds[count++] = kind_of(cluster, device);
        }
    }
    return count;
}

static void push_slice(struct device_order *order, uint32_t device)
{
    struct slice_range *last = order->count == 0 ? NULL : &order->slices[order->count - 1];
    if (last != NULL && last->first_device + last->device_count == device) {
        last->device_count++;
    } else {
        order->slices[order->count++] =
            (struct slice_range){.first_device = device, .device_count = 1, .compute_frac = 1.0};
    }
}

static uint32_t count_runs(const struct cluster *cluster)
{
    uint32_t runs = 1;
    for (uint32_t device = 1; device < cluster->device_count; device++) {
        runs += kind_of(cluster, device) != kind_of(cluster, device - 1);
    }
    return runs;
}

/* Devices of each kind in turn; nothing where that is the order they have. */
static void push_order(struct search *search, const uint32_t *kinds, uint32_t kind_count)
{
    const struct cluster *cluster = search->problem->cluster;
    struct device_order order = {
        .slices = ARENA_PUSH(search->arena, struct slice_range, count_runs(cluster))};
    for (uint32_t i = 0; i < kind_count; i++) {
        for (uint32_t device = 0; device < cluster->device_count; device++) {
            if (kind_of(cluster, device) == kinds[i]) {
                push_slice(&order, device);
            }
        }
    }
    if (order.count > 1) {
        search->device_orders[search->device_order_count++] = order;
    }
}

static void each_order(struct search *search, uint32_t *kinds, uint32_t kind_count, uint32_t place)
{
    if (place == kind_count) {
        push_order(search, kinds, kind_count);
        return;
    }
    for (uint32_t i = place; i < kind_count; i++) {
        const uint32_t chosen = kinds[i];
        memmove(&kinds[place + 1], &kinds[place], (i - place) * sizeof *kinds);
        kinds[place] = chosen;
        each_order(search, kinds, kind_count, place + 1);
        memmove(&kinds[place], &kinds[place + 1], (i - place) * sizeof *kinds);
        kinds[i] = chosen;
    }
}

void space_list_devices(struct search *search)
{
    const struct cluster *cluster = search->problem->cluster;
    search->device_orders = ARENA_PUSH(search->arena, struct device_order, SPACE_DEVICES_MAX);
    search->device_order_count = 1; /* as they are */
    const struct planner_pins *pins = &search->options->pins;
    if (pins->slice_count > 0) {
        search->device_orders[0] = (struct device_order){pins->slices, pins->slice_count};
        return;
    }
    if (cluster->accelerator_count == 1 || pins->order_pinned || count_runs(cluster) > RUNS_MAX) {
        return;
    }
    uint32_t *kinds = ARENA_PUSH(search->arena, uint32_t, cluster->accelerator_count);
    const uint32_t count = list_kinds(cluster, kinds);
    if (count <= KIND_ORDERS_MAX) {
        each_order(search, kinds, count, 0);
        return;
    }
    push_order(search, kinds, count);
    for (uint32_t i = 0; i < count / 2; i++) {
        const uint32_t swapped = kinds[i];
        kinds[i] = kinds[count - 1 - i];
        kinds[count - 1 - i] = swapped;
    }
    push_order(search, kinds, count);
}

uint32_t space_count_devices(const struct search *search)
{
    const struct planner_pins *pins = &search->options->pins;
    uint32_t devices = 0;
    for (uint32_t i = 0; i < pins->slice_count; i++) {
        devices += pins->slices[i].device_count;
    }
    return pins->slice_count == 0 ? search->problem->cluster->device_count : devices;
}

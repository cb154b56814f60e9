/* The host tier as files describe it. */
#include "topologies/host.h"

#include <string.h>

#include "topologies/member.h"

#define DEVICES_MAX 4096u
#define BYTES_MAX 1e18 /* 1 EB */
#define RATE_MAX 1e18

bool host_check(const struct host *host)
{
    return host->memory_bytes == 0 ||
           (host->devices >= 1 && host->link_Bps > 0.0 && host->latency_s >= 0.0 &&
            host->memory_Bps > 0.0 && host->memory_efficiency_frac > 0.0 &&
            host->memory_efficiency_frac <= 1.0);
}

/* Readers of quantities let 0 pass. */
static bool are_above_zero(struct json_value object, double memory_bytes, const struct host *read,
                           struct diag *diag)
{
    const struct {
        const char *key, *unit;
        double value, most;
    } amounts[] = {
        {"memory", "B", memory_bytes, BYTES_MAX},
        {"link", "B/s", read->link_Bps, RATE_MAX},
        {"memory_bandwidth", "B/s", read->memory_Bps, RATE_MAX},
        {"memory_efficiency", "", read->memory_efficiency_frac, 1.0},
    };
    bool good = true;
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++) {
        if (amounts[i].value <= 0.0 || amounts[i].value > amounts[i].most) {
            good = diag_push(diag, DIAG_T322, json_place(json_find(object, amounts[i].key)),
                             "leave 'host' out where plans cannot use one",
                             "host: '%s' is %g %s: it must be above 0 and at most %g %s",
                             amounts[i].key, amounts[i].value, amounts[i].unit, amounts[i].most,
                             amounts[i].unit);
        }
    }
    return good;
}

bool host_read(struct json_value object, struct arena *arena, struct host *out, struct diag *diag)
{
    static const char *const keys[] = {"memory",           "devices",           "link",   "latency",
                                       "memory_bandwidth", "memory_efficiency", "source", NULL};
    struct host read = {.source = ""};
    struct json_value host;
    double bytes = 0.0;
    if (json_is_null(json_find(object, "host"))) {
        return true;
    }
    if (!member_read_object(object, "host", "the memory beside the devices", &host, diag)) {
        return false;
    }
    bool good = json_check_keys(host, keys, diag);
    good = json_read_quantity(host, "memory", UNIT_BYTES, &bytes, diag) && good;
    good = json_read_u32(host, "devices", 1, DEVICES_MAX, &read.devices, diag) && good;
    good = json_read_quantity(host, "link", UNIT_BYTES_PER_SECOND, &read.link_Bps, diag) && good;
    good = json_read_quantity_or(host, "latency", UNIT_SECONDS, 0, &read.latency_s, diag) && good;
    good = json_read_quantity(host, "memory_bandwidth", UNIT_BYTES_PER_SECOND, &read.memory_Bps,
                              diag) &&
           good;
    good = json_read_double(host, "memory_efficiency", 0, 1, &read.memory_efficiency_frac, diag) &&
           good;
    good = json_read_string_or(host, "source", "", arena, &read.source, diag) && good;
    if (!good) {
        return false;
    }
    read.memory_bytes = bytes < BYTES_MAX ? (uint64_t)bytes : 0;
    if (!are_above_zero(host, bytes, &read, diag)) {
        return false;
    }
    *out = read;
    return true;
}

void host_dump(const struct host *host, struct json_writer *out)
{
    if (host->memory_bytes == 0) {
        return;
    }
    json_push_key(out, "host");
    json_push_object(out);
    json_push_key_quantity(out, "memory", UNIT_BYTES, (double)host->memory_bytes);
    json_push_key_u64(out, "devices", host->devices);
    json_push_key_quantity(out, "link", UNIT_BYTES_PER_SECOND, host->link_Bps);
    json_push_key_quantity(out, "latency", UNIT_SECONDS, host->latency_s);
    json_push_key_quantity(out, "memory_bandwidth", UNIT_BYTES_PER_SECOND, host->memory_Bps);
    json_push_key_double(out, "memory_efficiency", host->memory_efficiency_frac);
    member_dump_text("source", host->source, out);
    json_pop_object(out);
}

double host_share_bytes(const struct host *host)
{
    return host->memory_bytes == 0 ? 0.0 : (double)host->memory_bytes / (double)host->devices;
}

double host_copy_Bps(const struct host *host)
{
    const double share_Bps = host->memory_Bps / (double)host->devices;
    return host->link_Bps < share_Bps ? host->link_Bps : share_Bps;
}

double host_update_Bps(const struct host *host)
{
    return host->memory_Bps * host->memory_efficiency_frac / (double)host->devices;
}

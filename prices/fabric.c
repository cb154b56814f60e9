/* The table of link kinds: latency, rate of one message step per protocol. */
#include "prices/fabric.h"

#include <string.h>

#include "base/data_folder.h"

static bool read_protocol(struct json_value object, struct arena *arena, struct protocol *out,
                          struct diag *diag)
{
    static const char *const keys[] = {"name", "latency", "rate_frac", "rate_cap", NULL};
    bool good = json_check_keys(object, keys, diag);
    good = json_read_string(object, "name", arena, &out->name, diag) && good;
    good = json_read_quantity(object, "latency", UNIT_SECONDS, &out->latency_s, diag) && good;
    good = json_read_double(object, "rate_frac", 1e-6, 1.0, &out->rate_frac, diag) && good;
    good = json_read_quantity_or(object, "rate_cap", UNIT_BYTES_PER_SECOND, 0.0, &out->rate_cap_Bps,
                                 diag) &&
           good;
    return good;
}

static bool read_in_network(struct json_value link, struct link_kind *out, struct diag *diag)
{
    static const char *const keys[] = {"latency", "rate_frac", "source", NULL};
    const struct json_value object = json_find(link, "in_network");
    if (json_is_absent(object)) {
        return true;
    }
    bool good = json_check_keys(object, keys, diag);
    good = json_read_quantity(object, "latency", UNIT_SECONDS, &out->in_network_latency_s, diag) &&
           good;
    good =
        json_read_double(object, "rate_frac", 1e-6, 1.0, &out->in_network_rate_frac, diag) && good;
    return good;
}

static bool read_link(struct json_value object, struct arena *arena, struct link_kind *out,
                      struct diag *diag)
{
    static const char *const keys[] = {"base",   "protocols", "in_network", "sm_frac",
                                       "source", "notes",     NULL};
    memset(out, 0, sizeof *out);
    out->name = text_build(arena, "%s", json_key(object));
    bool good = json_check_keys(object, keys, diag);
    good = json_read_quantity(object, "base", UNIT_SECONDS, &out->base_s, diag) && good;
    good = json_read_double_or(object, "sm_frac", 0.0, 1.0, 0.0, &out->sm_frac, diag) && good;
    good = json_read_string(object, "source", arena, &out->source, diag) && good;
    good = read_in_network(object, out, diag) && good;
    const struct json_value protocols = json_find(object, "protocols");
    const uint32_t count = json_is_array(protocols) ? json_count(protocols) : 0;
    if (count == 0 || count > PROTOCOL_MAX) {
        return diag_push(diag, DIAG_B108, json_place(object), NULL,
                         "link kind '%s' has %u protocols: give 1 to %u", out->name, count,
                         PROTOCOL_MAX);
    }
    for (uint32_t i = 0; i < count; i++) {
        good =
            read_protocol(json_find_index(protocols, i), arena, &out->protocols[i], diag) && good;
    }
    out->protocol_count = count;
    return good;
}

static bool read_links(struct json_value root, struct arena *arena, struct prices *out,
                       struct diag *diag)
{
    static const char *const keys[] = {"format", "notes", "links", NULL};
    const struct json_value links = json_find(root, "links");
    const char *format = NULL;
    bool good = json_check_keys(root, keys, diag);
    good = json_read_string(root, "format", arena, &format, diag) && good;
    if (good && strcmp(format, "shardplan/fabric/1") != 0) {
        return diag_push(diag, DIAG_B112, json_place(json_find(root, "format")), NULL,
                         "format '%s' is no link table: write \"shardplan/fabric/1\"", format);
    }
    out->link_count = json_is_object(links) ? json_count(links) : 0;
    out->links = ARENA_PUSH(arena, struct link_kind, out->link_count);
    for (uint32_t i = 0; i < out->link_count; i++) {
        good = read_link(json_find_index(links, i), arena, &out->links[i], diag) && good;
    }
    return good;
}

bool fabric_read(const char *path, struct arena *arena, struct prices *out, struct diag *diag)
{
    struct json *document = NULL;
    if (!json_open(path, false, arena, &document, diag)) {
        return false;
    }
    const bool good = read_links(json_root(document), arena, out, diag);
    json_close(document);
    return good;
}

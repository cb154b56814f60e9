/* The table of link kinds: latency, rate of one message step per protocol. */
#include "prices/fabric.h"

#include <string.h>

#include "base/data_folder.h"

#define PAIRS_MAX_BYTES 1e30 /* no limit */

static bool read_protocol(struct json_value object, struct arena *arena, struct protocol *out,
                          struct diag *diag)
{
    static const char *const keys[] = {"name",     "latency",   "rate_frac",
                                       "rate_cap", "pairs_max", NULL};
    bool good = json_check_keys(object, keys, diag);
    good = json_read_string(object, "name", arena, &out->name, diag) && good;
    good = json_read_quantity(object, "latency", UNIT_SECONDS, &out->latency_s, diag) && good;
    good = json_read_double(object, "rate_frac", 1e-6, 1.0, &out->rate_frac, diag) && good;
    good = json_read_quantity_or(object, "rate_cap", UNIT_BYTES_PER_SECOND, 0.0, &out->rate_cap_Bps,
                                 diag) &&
           good;
    return json_read_quantity_or(object, "pairs_max", UNIT_BYTES, PAIRS_MAX_BYTES,
                                 &out->pairs_max_bytes, diag) &&
           good;
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
    static const char *const keys[] = {"base",           "protocols", "in_network", "own_copy",
                                       "own_copy_pairs", "fill",      "library",    "source",
                                       "notes",          NULL};
    memset(out, 0, sizeof *out);
    out->name = text_build(arena, "%s", json_key(object));
    bool good = json_check_keys(object, keys, diag);
    good = json_read_quantity(object, "base", UNIT_SECONDS, &out->base_s, diag) && good;
    good = json_read_quantity_or(object, "fill", UNIT_BYTES, 0.0, &out->fill_bytes, diag) && good;
    good = json_read_double_or(object, "own_copy", 0.0, 10.0, 0.0, &out->own_copy, diag) && good;
    good = json_read_double_or(object, "own_copy_pairs", 0.0, 10.0, out->own_copy,
                               &out->own_copy_pairs, diag) &&
           good;
    good = json_read_string_or(object, "library", NULL, arena, &out->library, diag) && good;
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

bool fabric_read_links(struct json_value links, struct arena *arena, struct link_kind **out,
                       uint32_t *count, struct diag *diag)
{
    bool good = true;
    *count = json_is_object(links) ? json_count(links) : 0;
    *out = ARENA_PUSH(arena, struct link_kind, *count);
    for (uint32_t i = 0; i < *count; i++) {
        good = read_link(json_find_index(links, i), arena, &(*out)[i], diag) && good;
    }
    return good;
}

static bool read_library_kind(struct json_value list, const char *library, struct arena *arena,
                              struct library_kind *out, struct diag *diag)
{
    const uint32_t count = json_is_array(list) ? json_count(list) : 0;
    *out = (struct library_kind){.library = library,
                                 .kind = text_build(arena, "%s", json_key(list)),
                                 .members = ARENA_PUSH(arena, const char *, count),
                                 .member_count = count};
    for (uint32_t i = 0; i < count; i++) {
        const char *name;
        if (!json_value_string(json_find_index(list, i), &name) || collective_find(name) == NULL) {
            return diag_push(diag, DIAG_B110, json_place(list), NULL,
                             "library '%s': a list of collective algorithms by name is needed",
                             library);
        }
        out->members[i] = text_build(arena, "%s", name);
    }
    return count > 0 || diag_push(diag, DIAG_B108, json_place(list), NULL,
                                  "library '%s' has no algorithm for %s", library, out->kind);
}

static bool read_libraries(struct json_value libraries, struct arena *arena, struct prices *out,
                           struct diag *diag)
{
    const uint32_t count = json_is_object(libraries) ? json_count(libraries) : 0;
    bool good = true;
    out->library_kinds = ARENA_PUSH(arena, struct library_kind, count * COLLECTIVE_KIND_COUNT);
    for (uint32_t i = 0; i < count; i++) {
        const struct json_value library = json_find_index(libraries, i);
        const char *name = text_build(arena, "%s", json_key(library));
        for (uint32_t kind = 0; kind < COLLECTIVE_KIND_COUNT; kind++) {
            const struct json_value list =
                json_find(library, collective_kind_name((enum collective_kind)kind));
            good = (json_is_absent(list) ||
                    read_library_kind(list, name, arena,
                                      &out->library_kinds[out->library_kind_count++], diag)) &&
                   good;
        }
    }
    return good;
}

static bool read_root(struct json_value root, struct arena *arena, struct prices *out,
                      struct diag *diag)
{
    static const char *const keys[] = {"format", "notes", "libraries", "links", NULL};
    const struct json_value links = json_find(root, "links");
    const char *format = NULL;
    bool good = json_check_keys(root, keys, diag);
    good = json_read_string(root, "format", arena, &format, diag) && good;
    if (good && strcmp(format, "shardplan/fabric/1") != 0) {
        return diag_push(diag, DIAG_B112, json_place(json_find(root, "format")), NULL,
                         "format '%s' is no link table: write \"shardplan/fabric/1\"", format);
    }
    good = read_libraries(json_find(root, "libraries"), arena, out, diag) && good;
    return fabric_read_links(links, arena, &out->links, &out->link_count, diag) && good;
}

static void dump_protocol(const struct protocol *protocol, struct json_writer *out)
{
    json_push_object(out);
    json_push_key_string(out, "name", protocol->name);
    json_push_key_quantity(out, "latency", UNIT_SECONDS, protocol->latency_s);
    json_push_key_double(out, "rate_frac", protocol->rate_frac);
    if (protocol->rate_cap_Bps > 0.0) {
        json_push_key_quantity(out, "rate_cap", UNIT_BYTES_PER_SECOND, protocol->rate_cap_Bps);
    }
    if (protocol->pairs_max_bytes < PAIRS_MAX_BYTES) {
        json_push_key_quantity(out, "pairs_max", UNIT_BYTES, protocol->pairs_max_bytes);
    }
    json_pop_object(out);
}

static void dump_link(const struct link_kind *link, struct json_writer *out)
{
    json_push_key(out, link->name);
    json_push_object(out);
    json_push_key_quantity(out, "base", UNIT_SECONDS, link->base_s);
    json_push_key(out, "protocols");
    json_push_array(out);
    for (uint32_t i = 0; i < link->protocol_count; i++) {
        dump_protocol(&link->protocols[i], out);
    }
    json_pop_array(out);
    if (link->fill_bytes > 0.0) {
        json_push_key_quantity(out, "fill", UNIT_BYTES, link->fill_bytes);
    }
    if (link->own_copy > 0.0) {
        json_push_key_double(out, "own_copy", link->own_copy);
    }
    if (link->own_copy_pairs != link->own_copy) {
        json_push_key_double(out, "own_copy_pairs", link->own_copy_pairs);
    }
    if (link->library != NULL) {
        json_push_key_string(out, "library", link->library);
    }
    if (link->in_network_rate_frac > 0.0) {
        json_push_key(out, "in_network");
        json_push_object(out);
        json_push_key_quantity(out, "latency", UNIT_SECONDS, link->in_network_latency_s);
        json_push_key_double(out, "rate_frac", link->in_network_rate_frac);
        json_pop_object(out);
    }
    json_push_key_string(out, "source", link->source);
    json_pop_object(out);
}

void fabric_dump_links(const struct link_kind *links, uint32_t count, struct json_writer *out)
{
    json_push_object(out);
    for (uint32_t i = 0; i < count; i++) {
        dump_link(&links[i], out);
    }
    json_pop_object(out);
}

bool fabric_read(const char *path, struct arena *arena, struct prices *out, struct diag *diag)
{
    struct json *document = NULL;
    if (!json_open(path, false, arena, &document, diag)) {
        return false;
    }
    const bool good = read_root(json_root(document), arena, out, diag);
    json_close(document);
    return good;
}

/* Reading what an accelerator file says of links beside PCI. */
#include "topologies/scaleup.h"

#include "topologies/member.h"

#define LINKS_MAX 64u
#define DOMAIN_MAX 1000000u

bool scaleup_read(struct json_value accelerator, struct arena *arena, struct scaleup *out,
                  struct diag *diag)
{
    static const char *const keys[] = {
        "link", "links", "per_link", "domain", "kind", "in_network_reduction", NULL};
    static const char *const kinds[SCALEUP_KIND_COUNT + 1] = {
        [SCALEUP_SWITCH] = "switch", [SCALEUP_FULLMESH] = "fullmesh", [SCALEUP_OTHER] = "other"};
    struct scaleup read = {.link = NULL};
    struct json_value object;
    uint32_t kind = 0;
    if (json_is_null(json_find(accelerator, "scaleup"))) {
        *out = read;
        return true;
    }
    if (!member_read_object(accelerator, "scaleup", "the links beside PCI", &object, diag)) {
        return false;
    }
    bool good = json_check_keys(object, keys, diag);
    good = json_read_string(object, "link", arena, &read.link, diag) && good;
    good = json_read_u32(object, "links", 1, LINKS_MAX, &read.links, diag) && good;
    good =
        json_read_quantity(object, "per_link", UNIT_BYTES_PER_SECOND, &read.link_Bps, diag) && good;
    good = json_read_u32(object, "domain", 2, DOMAIN_MAX, &read.domain, diag) && good;
    good = json_read_choice(object, "kind", kinds, &kind, diag) && good;
    good = json_read_bool_or(object, "in_network_reduction", false, &read.reduces, diag) && good;
    read.kind = (enum scaleup_kind)kind;
    if (good) {
        *out = read;
    }
    return good;
}

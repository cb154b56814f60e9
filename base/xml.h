/* XML documents as plain elements, every one with its place. */
#ifndef SHARDPLAN_BASE_XML_H
#define SHARDPLAN_BASE_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"

#define XML_NONE UINT32_MAX
#define XML_DEPTH_MAX 200u     /* elements inside one another */
#define XML_TAG_MAX 65536u     /* bytes of one tag with its attributes */
#define XML_ATTRIBUTE_MAX 256u /* of one element */

struct xml_attribute {
    const char *name, *value;
};

struct xml_element {
    const char *name;
    const char *text; /* before its first child, "" if there is none but blanks */
    const struct xml_attribute *attributes;
    uint32_t attribute_count;
    uint32_t parent;      /* XML_NONE: the root */
    uint32_t first_child; /* XML_NONE: none */
    uint32_t next;        /* sibling, XML_NONE: none */
    uint32_t line;
};

/* In the order of the text: the root is element 0, parents precede their children. */
struct xml {
    const char *name; /* of the file */
    const struct xml_element *elements;
    uint32_t count;
};

/* All is copied to the arena; nothing to close. The text is never looked at beyond what it holds
 * itself: no network, no other file, no entity but the five of XML; a text that declares entities
 * is refused (B121), as is one above the limits (B102, B111) or no XML (B120). */
bool xml_read(const char *name, const char *text, size_t length, struct arena *arena,
              struct xml *out, struct diag *diag);

const char *xml_find(const struct xml_element *element, const char *attribute); /* NULL if none */
struct diag_place xml_place(const struct xml *document, const struct xml_element *element);

#endif

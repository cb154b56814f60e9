/* XML texts as elements: order, places, what is refused before it costs anything. */
#include <string.h>

#include "base/xml.h"
#include "tests/fresh.h"

static bool read_one(const char *text, struct xml *out)
{
    begin();
    return xml_read("t.xml", text, strlen(text), &arena, out, &diag);
}

START_TEST(elements_come_in_the_order_of_the_text)
{
    struct xml xml;
    ck_assert(
        read_one("<?xml version='1.0'?>\n<!-- <x> -->\n<a k=\"1 &amp; 2\">\n <b/>  <c>5 6\n</c>"
                 "<b l='&lt;'/></a>\n",
                 &xml));
    ck_assert_uint_eq(xml.count, 4);
    ck_assert_str_eq(xml.elements[0].name, "a");
    ck_assert_uint_eq(xml.elements[0].line, 3);
    ck_assert_str_eq(xml_find(&xml.elements[0], "k"), "1 & 2");
    ck_assert_ptr_null(xml_find(&xml.elements[0], "l"));
    ck_assert_uint_eq(xml.elements[0].parent, XML_NONE);
    ck_assert_uint_eq(xml.elements[0].first_child, 1);
    ck_assert_uint_eq(xml.elements[1].next, 2);
    ck_assert_uint_eq(xml.elements[2].next, 3);
    ck_assert_uint_eq(xml.elements[3].next, XML_NONE);
    ck_assert_uint_eq(xml.elements[3].parent, 0);
    ck_assert_str_eq(xml.elements[2].text, "5 6\n");
    ck_assert_str_eq(xml.elements[0].text, "");
    ck_assert_uint_eq(xml_place(&xml, &xml.elements[2]).line, 4);
    ck_assert_str_eq(xml_find(&xml.elements[3], "l"), "<");
    arena_release(&arena);
}
END_TEST

/* Lines beyond 65535 keep their number. */
START_TEST(lines_are_counted_on)
{
    struct xml xml;
    struct text text;
    struct arena own;
    arena_init(&own);
    text_init(&text, &own);
    text_push(&text, "<a>");
    for (uint32_t i = 0; i < 70000; i++) {
        text_push_bytes(&text, "\n", 1);
    }
    text_push(&text, "<b/></a>");
    ck_assert(read_one(text.bytes, &xml));
    ck_assert_uint_eq(xml.elements[1].line, 70001);
    arena_release(&arena);
    arena_release(&own);
}
END_TEST

START_TEST(texts_are_refused_with_one_report)
{
    static const struct {
        const char *text;
        enum diag_code code;
    } rows[] = {
        {"", DIAG_B120},
        {"x", DIAG_B120},
        {"<a>", DIAG_B120},
        {"<a></b>", DIAG_B120},
        {"<a/><b/>", DIAG_B120},
        {"<a k=1/>", DIAG_B120},
        {"<a k='1' k='2'/>", DIAG_B120},
        {"<a>&unknown;</a>", DIAG_B120},
        {"<a k='&unknown;'/>", DIAG_B120},
        {"<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", DIAG_B121},
        {"<!DOCTYPE a [<!-- > <![CDATA[ -->]><a/>", DIAG_B121},
        {"<!DOCTYPE a SYSTEM 'x' [ <!ELEMENT a ANY> ]><a/>", DIAG_B121},
        {"<a>\xff</a>", DIAG_B120},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct xml xml;
        ck_assert_msg(!read_one(rows[i].text, &xml), "%s", rows[i].text);
        ck_assert_msg(diag.count == 1, "%s: %u reports", rows[i].text, diag.count);
        ck_assert_msg(diag.entries[0].code == rows[i].code, "%s: %s", rows[i].text,
                      diag.entries[0].message);
        arena_release(&arena);
    }
}
END_TEST

/* The limits hold exactly: one more is refused. */
START_TEST(limits_hold)
{
    for (uint32_t more = 0; more < 2; more++) {
        struct xml xml;
        struct text text;
        struct arena own;
        arena_init(&own);
        text_init(&text, &own);
        for (uint32_t i = 0; i < XML_DEPTH_MAX + more; i++) {
            text_push(&text, "<a>");
        }
        for (uint32_t i = 0; i < XML_DEPTH_MAX + more; i++) {
            text_push(&text, "</a>");
        }
        ck_assert(read_one(text.bytes, &xml) == (more == 0));
        ck_assert(more == 0 || diag.entries[0].code == DIAG_B111);
        arena_release(&arena);
        text_init(&text, &own);
        text_push(&text, "<a");
        for (uint32_t i = 0; i < XML_ATTRIBUTE_MAX + more; i++) {
            text_push(&text, " k%u='1'", i);
        }
        text_push(&text, "/>");
        ck_assert(read_one(text.bytes, &xml) == (more == 0));
        ck_assert(more == 0 || diag.entries[0].code == DIAG_B102);
        arena_release(&arena);
        arena_release(&own);
    }
}
END_TEST

TAP_MAIN("xml", elements_come_in_the_order_of_the_text, lines_are_counted_on,
         texts_are_refused_with_one_report, limits_hold)

/* What the fuzzers of topology files share. */
#ifndef SHARDPLAN_TESTS_FUZZ_TOPOLOGY_FUZZ_H
#define SHARDPLAN_TESTS_FUZZ_TOPOLOGY_FUZZ_H

#include "tests/fuzz/fuzz.h"

#include "base/json.h"
#include "topologies/cluster.h"

/* Any text is either refused with a diagnostic, or becomes a cluster whose dump reads back to the
 * same one. */
static inline void topology_fuzz(const char *name, const uint8_t *bytes, size_t length)
{
    const struct cluster_request request = {.text = name, .device = "H100-SXM5"};
    struct arena arena;
    struct diag diag;
    struct cluster cluster, again;
    struct json *document;
    struct text text;
    struct json_writer writer;
    arena_init(&arena);
    diag_init(&diag, &arena);
    text_init(&text, &arena);
    json_writer_init(&writer, &text, true);
    const struct cluster_text input = {name, (const char *)bytes, length};
    if (cluster_read_topology(&input, &request, &arena, &cluster, &diag)) {
        cluster_dump(&cluster, &writer);
        if (!json_open_text("dump", text.bytes, text.length, false, &arena, &document, &diag)) {
            BUG("the dump of a topology is no JSON: %s", text.bytes);
        }
        if (!cluster_read_json(json_root(document), "dump", &arena, &again, &diag) ||
            again.digest != cluster.digest) {
            BUG("the dump of a topology reads back to another one: %s", text.bytes);
        }
        json_close(document);
    } else if (diag.count == 0) {
        BUG("refused without a word");
    }
    arena_release(&arena);
}

#endif

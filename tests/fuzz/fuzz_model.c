/* Any text is either refused with a diagnostic, or becomes a model that dumps to a text of the same
 * model. */
#include "tests/fuzz/fuzz.h"

#include "base/json.h"
#include "models/model.h"

static bool read_text(const char *text, size_t length, struct arena *arena, struct model *out,
                      struct diag *diag)
{
    struct json *document;
    if (!json_open_text("input", text, length, true, arena, &document, diag)) {
        return false;
    }
    const bool good = model_read_json(json_root(document), "input", arena, out, diag);
    json_close(document);
    return good;
}

static void expect_round_trip(const struct model *first, struct arena *arena, struct diag *diag)
{
    struct text text;
    struct json_writer writer;
    struct model second;
    text_init(&text, arena);
    json_writer_init(&writer, &text, true);
    model_dump(first, &writer);
    if (!read_text(text.bytes, text.length, arena, &second, diag)) {
        BUG("the dump of a model is refused: %s", text.bytes);
    }
    if (second.digest != first->digest) {
        BUG("the dump of a model reads back to another one: %s", text.bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct arena arena;
    struct diag diag;
    struct model model;
    arena_init(&arena);
    diag_init(&diag, &arena);
    if (read_text((const char *)bytes, length, &arena, &model, &diag)) {
        expect_round_trip(&model, &arena, &diag);
    } else if (diag.count == 0) {
        BUG("refused without a word");
    }
    arena_release(&arena);
    return 0;
}

/* Any text is either refused with a diagnostic, or every value of it has a place and a pointer. */
#include "tests/fuzz/fuzz.h"

#include "base/json.h"

static void walk(struct json_value value, struct arena *arena)
{
    const struct diag_place place = json_place(value);
    if (place.line == 0 || place.column == 0 || json_pointer(value, arena) == NULL) {
        BUG("a value without a place");
    }
    if (!json_is_object(value) && !json_is_array(value)) {
        return;
    }
    const uint32_t count = json_count(value);
    for (uint32_t i = 0; i < count; i++) {
        walk(json_find_index(value, i), arena);
    }
}

static void read_text(const uint8_t *bytes, size_t length, bool lenient)
{
    struct arena arena;
    struct diag diag;
    struct json *document;
    struct text text;
    arena_init(&arena);
    diag_init(&diag, &arena);
    if (json_open_text("input", (const char *)bytes, length, lenient, &arena, &document, &diag)) {
        walk(json_root(document), &arena);
        json_close(document);
    } else if (diag.count == 0) {
        BUG("refused without a word");
    }
    text_init(&text, &arena);
    diag_dump(&diag, &text);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    /* The place of a value costs a scan of the text: keep walks short. */
    if (length <= 4096) {
        read_text(bytes, length, false);
        read_text(bytes, length, true);
    }
    return 0;
}

/* Any text is either refused with a diagnostic, or becomes a plan that can be checked. */
#include "tests/fuzz/fuzz.h"

#include "base/json.h"
#include "plan/plan.h"

static bool read_text(const uint8_t *bytes, size_t length, struct arena *arena,
                      struct plan_file *out, struct diag *diag)
{
    struct json *document;
    if (!json_open_text("input", (const char *)bytes, length, false, arena, &document, diag)) {
        return false;
    }
    const bool good = plan_read_json(json_root(document), "input", arena, out, diag);
    json_close(document);
    return good;
}

static void expect_checkable(const struct plan_file *file, struct diag *diag)
{
    const struct problem problem = {
        .model = file->model, .cluster = file->cluster, .setup = file->setup};
    const uint32_t count = diag->count;
    if (!plan_check(&problem, file->plan, diag) && diag->count == count) {
        BUG("a plan is called illegal without a reason");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct arena arena;
    struct diag diag;
    struct plan_file file;
    arena_init(&arena);
    diag_init(&diag, &arena);
    if (read_text(bytes, length, &arena, &file, &diag)) {
        expect_checkable(&file, &diag);
    } else if (diag.count == 0) {
        BUG("refused without a word");
    }
    arena_release(&arena);
    return 0;
}
